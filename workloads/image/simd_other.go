//go:build !amd64 && !arm64

package image

// instructionSets is empty: other processors have the portable kernels.
func instructionSets() []*simd { return nil }
