package hardware

import "golang.org/x/sys/unix"

// physicalMemory returns the memory of the machine in bytes.
func physicalMemory() (uint64, error) { return unix.SysctlUint64("hw.memsize") }
