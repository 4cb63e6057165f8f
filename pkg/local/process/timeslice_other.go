//go:build !linux

package process

// AskForTimeSlices does nothing: only Linux has time slices to ask for.
func AskForTimeSlices() {}
