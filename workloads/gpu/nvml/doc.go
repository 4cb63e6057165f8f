// Package nvml asks NVML, loaded when the program runs, what nvidia-smi shows.
package nvml
