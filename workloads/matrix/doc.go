// Package matrix is the workload that multiplies square matrices and checks
// every product before it prints a time.
package matrix
