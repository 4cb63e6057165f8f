//go:build !amd64

package blas

func assemblyPeak[T Float](ISA) (loop func(rounds int), sums []T) { return nil, nil }
