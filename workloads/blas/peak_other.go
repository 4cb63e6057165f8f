//go:build !amd64 && !arm64

package blas

func assemblyPeak[T Float](ISA) (loop func(rounds int, x *T), chains, bytes int) { return nil, 0, 0 }
