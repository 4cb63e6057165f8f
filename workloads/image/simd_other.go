//go:build !amd64 && !arm64

package image

// instructionSets returns none: other processors use the portable kernels.
func instructionSets() []*simd { return nil }
