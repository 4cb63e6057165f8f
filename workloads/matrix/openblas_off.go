//go:build !openblas

package matrix

// independent are the kernels of others that this build has: none without the
// tag openblas.
func independent() []Kernel { return nil }
