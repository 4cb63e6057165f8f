//go:build !linux

package local

func askForTimeSlices() {}
