// Package reportpages has the pages about what ran: cost, right-sizing, comparisons and benchmarks.
package reportpages
