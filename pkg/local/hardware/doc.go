// Package hardware measures what this machine offers to jobs: vCPUs, memory, GPUs, and open files.
package hardware
