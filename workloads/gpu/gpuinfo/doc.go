// Package gpuinfo is the workload that reports the GPUs that a job can use, and explains what is
// missing.
package gpuinfo
