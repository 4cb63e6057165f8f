// Package bench compares the result lines of two sides, such as the CPU and the GPU
// job of one benchmark, or the same job before and after a change. It reads the lines
// from logs, checks which can be compared, computes times with their intervals, costs
// and break-even sizes, and writes reports. It does no I/O, and the same input always gives the
// same bytes.
package bench
