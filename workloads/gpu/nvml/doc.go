// Package nvml reads what nvidia-smi shows from NVML, NVIDIA's management library, which it loads at
// run time.
package nvml
