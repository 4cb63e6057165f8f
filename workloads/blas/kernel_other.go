//go:build !amd64 && !arm64

package blas

func assembly[T Float](ISA) (kernel[T], bool) { return kernel[T]{}, false }
