//go:build !openblas

package matrix

// independent are the kernels of others that this build has: none without the
// tag openblas. With it, cgo has to be on: a build that asks for OpenBLAS and
// cannot have it does not compile.
func independent() []Kernel { return nil }
