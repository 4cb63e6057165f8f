//go:build !linux

package local

// hideMemory does nothing on systems other than Linux.
func hideMemory() {}
