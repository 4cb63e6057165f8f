// Package reportpages has the pages about what ran: cost, right-sizing and comparisons.
package reportpages
