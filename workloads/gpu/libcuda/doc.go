// Package libcuda reaches the CUDA driver by loading libcuda.so.1 when the program runs,
// without cgo. A program that imports it is linked to the C library of the system: it
// does not start in an image without one, or with another than glibc.
package libcuda

// Variable is the environment variable with the path of the library to load. Without it,
// the library is where the system, NVIDIA's container runtime or WSL puts it.
const Variable = "BATCHCTL_LIBCUDA"

// binding is the name of this way to the driver.
const binding = "libcuda"
