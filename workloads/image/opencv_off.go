//go:build !opencv

package image

// independent are the kernels of others for an operation that this build has: none
// without the tag opencv. With it, cgo has to be on: a build that asks for OpenCV and
// cannot have it does not compile.
func independent(string) []Kernel { return nil }
