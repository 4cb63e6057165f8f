//go:build !amd64 && !arm64

package blas

func supported() []ISA { return nil }

func level2() int { return 0 }
