//go:build !amd64

package blas

func assemblyPeak[T Float](ISA) (loop func(rounds int), width int) { return nil, 0 }
