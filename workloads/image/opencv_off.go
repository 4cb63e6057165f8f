//go:build !opencv

package image

// independent returns the kernels of other libraries for an operation: none without the build
// tag opencv. With the tag, the build fails if cgo or OpenCV is missing.
func independent(string) []Kernel { return nil }
