// Package bench compares the result lines of two sides, such as the CPU and the GPU
// job of one benchmark, or the same job before and after a change. It reads the lines
// from logs, judges what may be compared, computes times with their intervals, costs
// and break-even sizes, and writes reports. It does no I/O of its own, and what it
// writes depends on its input alone, to the byte.
package bench
