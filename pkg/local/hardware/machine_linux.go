package hardware

import "golang.org/x/sys/unix"

// physicalMemory returns the memory of the machine in bytes.
func physicalMemory() (uint64, error) {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return 0, err
	}
	return uint64(info.Totalram) * uint64(info.Unit), nil
}
