// Package gpuinfo is the workload that says what a job sees of its GPUs, and what is missing.
package gpuinfo
