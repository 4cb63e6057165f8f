//go:build !linux && !darwin

package hardware

import "errors"

func physicalMemory() (uint64, error) {
	return 0, errors.New("unknown on this operating system")
}
