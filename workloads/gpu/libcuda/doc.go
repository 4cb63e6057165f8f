// Package libcuda is a binding to the CUDA driver that loads libcuda.so.1 at run time, without cgo. A
// program that imports it is linked to the system's C library: it starts only in an image with glibc.
package libcuda

// Variable is the environment variable with the path of the library to load. Without it, Open tries
// the paths of the system, NVIDIA's container runtime and WSL.
const Variable = "BATCHCTL_LIBCUDA"

// binding is the name of this binding.
const binding = "libcuda"
