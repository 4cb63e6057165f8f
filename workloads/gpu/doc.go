// Package gpu drives NVIDIA GPUs: the Driver that a binding implements, and on top of it
// a Card, its memory, streams and events. It needs neither CUDA nor a driver to build;
// what reaches the driver at run time is in the packages libcuda and cu.
package gpu
