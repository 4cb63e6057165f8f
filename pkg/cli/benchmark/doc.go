// Package benchmark contains the command that runs one workload on CPU and GPU and compares them.
package benchmark
