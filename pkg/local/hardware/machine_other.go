//go:build !linux && !darwin

package hardware

import "errors"

// physicalMemory returns the memory of the machine in bytes.
func physicalMemory() (uint64, error) {
	return 0, errors.New("unknown on this operating system")
}
