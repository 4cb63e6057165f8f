package gpu

import (
	"errors"
	"fmt"
)

// Info is what the driver tells of a device. What a device does not tell is 0.
type Info struct {
	Ordinal int
	Name    string
	UUID    string
	// PCI is domain:bus:device, such as 0000:17:00.
	PCI string
	// Memory is all of it, in bytes.
	Memory int64
	// Capability is the compute capability: 10*major + minor, such as 80 or 90.
	Capability      int
	Multiprocessors int
	ClockKHz        int
	MemoryClockKHz  int
	MemoryBusBits   int
	L2Bytes         int
	// SharedBytes is the most shared memory that a block may ask for.
	SharedBytes int
	ECC         bool
}

// Devices describes all devices of the driver without opening one.
func Devices(d Driver) ([]Info, error) {
	n, err := count(d)
	if err != nil {
		return nil, fmt.Errorf("count the GPUs: %w", err)
	}
	all := make([]Info, n)
	for i := range all {
		if all[i], err = describe(d, i); err != nil {
			return nil, fmt.Errorf("query GPU %d: %w", i, err)
		}
	}
	return all, nil
}

// count is the number of devices; a driver may call none an error.
func count(d Driver) (int, error) {
	n, err := d.DeviceCount()
	if isCode(err, CodeNoDevice) {
		return 0, nil
	}
	return n, err
}

func describe(d Driver, ordinal int) (Info, error) {
	ask := asker{driver: d, ordinal: ordinal}
	major, minor := ask.attribute(CapabilityMajor), ask.attribute(CapabilityMinor)
	info := Info{
		Ordinal: ordinal, Capability: 10*major + minor, Multiprocessors: ask.attribute(MultiprocessorCount),
		PCI: fmt.Sprintf("%04x:%02x:%02x", ask.attribute(PCIDomain), ask.attribute(PCIBus),
			ask.attribute(PCIDevice)),
		ClockKHz: ask.attribute(ClockKHz), MemoryClockKHz: ask.attribute(MemoryClockKHz),
		MemoryBusBits: ask.attribute(MemoryBusBits),
		L2Bytes:       ask.attribute(L2Bytes), SharedBytes: max(ask.attribute(MaxSharedPerBlock),
			ask.attribute(SharedPerBlockOptin)),
		ECC: ask.attribute(ECCEnabled) == 1,
	}
	var errName, errUUID, errMemory error
	info.Name, errName = d.DeviceName(ordinal)
	info.UUID, errUUID = d.DeviceUUID(ordinal)
	info.Memory, errMemory = d.DeviceMemory(ordinal)
	return info, errors.Join(ask.err, errName, errUUID, errMemory)
}

// asker reads attributes until one fails.
type asker struct {
	driver  Driver
	ordinal int
	err     error
}

// attribute is 0 where the driver does not know of it.
func (a *asker) attribute(which Attribute) int {
	if a.err != nil {
		return 0
	}
	value, err := a.driver.DeviceAttribute(a.ordinal, which)
	if err != nil && !isCode(err, CodeInvalidValue) {
		a.err = err
	}
	return value
}
