//go:build !openblas

package matrix

// independent returns the kernels of other libraries: none without the build tag openblas. With the
// tag, the build fails if cgo or OpenBLAS is missing.
func independent() []Kernel { return nil }
