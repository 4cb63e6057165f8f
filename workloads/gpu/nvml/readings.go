//go:build linux && (amd64 || arm64)

package nvml

import (
	"errors"
	"fmt"

	"github.com/batchctl/batchctl/workloads/gpu"
)

// Readings reads everything about one device. The error joins those of single readings; the others
// are valid. A MIG instance has the readings of its GPU, except for the memory.
func (m *management) Readings(uuid string) (gpu.Readings, error) {
	whole, instance, err := m.find(uuid)
	if err != nil {
		return gpu.Readings{}, err
	}
	r := reader{m: m, device: whole}
	all := gpu.Readings{
		UUID: uuid, Name: r.text("name", m.f.name), PCIBus: r.pci(),
		GraphicsMHz: r.ofKind("clock", m.f.clock, graphicsClock), MaxGraphicsMHz: r.ofKind("highest clock",
			m.f.maxClock, graphicsClock),
		MemoryMHz: r.ofKind("memory clock", m.f.clock, memoryClock), MaxMemoryMHz: r.ofKind("highest memory clock",
			m.f.maxClock, memoryClock),
		PowerWatts:      watts(r.number("power", m.f.power)),
		PowerLimitWatts: watts(r.number("power limit", m.f.powerLimit)),
		TemperatureC:    r.ofKind("temperature", m.f.temperature, gpuSensor), UtilizationPercent: r.utilization(),
		ECC: r.setting("ECC mode", m.f.ecc), ECCUncorrected: r.eccErrors(), MIG: r.setting("MIG mode", m.f.mig),
		PCIeGeneration:    r.number("PCIe generation", m.f.pcieGeneration),
		MaxPCIeGeneration: r.number("highest PCIe generation", m.f.maxPCIeGeneration),
		PCIeWidth:         r.number("PCIe width", m.f.pcieWidth), MaxPCIeWidth: r.number("highest PCIe width",
			m.f.maxPCIWidth),
		Throttling: r.throttling(),
	}
	// Only the memory of an instance is its own.
	if instance != 0 {
		r.device = instance
	}
	all.MemoryTotal, all.MemoryUsed = r.memory()
	return all, errors.Join(r.errs...)
}

// reader reads one device and collects the errors. Its methods return nil or "" for a value that
// the library, the device or an error does not provide.
type reader struct {
	m      *management
	device handle
	errs   []error
}

// ok reports whether a reading succeeded. A reading that the device does not support is no error.
func (r *reader) ok(what string, code int32) bool {
	if code != success && code != notSupported {
		r.errs = append(r.errs, fmt.Errorf("read the %s: %s", what, r.m.f.errorString(code)))
	}
	return code == success
}

func (r *reader) text(what string, f text) string {
	text := make([]byte, textSize)
	if f == nil || !r.ok(what, f(r.device, &text[0], textSize)) {
		return ""
	}
	return goText(text)
}

func (r *reader) number(what string, f number) *int {
	var value uint32
	if f == nil || !r.ok(what, f(r.device, &value)) {
		return nil
	}
	return new(int(value))
}

func (r *reader) ofKind(what string, f ofKind, kind uint32) *int {
	if f == nil {
		return nil
	}
	return r.number(what, func(device handle, value *uint32) int32 { return f(device, kind, value) })
}

func (r *reader) setting(what string, f setting) *bool {
	var current, pending uint32
	if f == nil || !r.ok(what, f(r.device, &current, &pending)) {
		return nil
	}
	return new(current == 1)
}

func (r *reader) pci() string {
	var info pciInfo
	if r.m.f.pci == nil || !r.ok("PCI address", r.m.f.pci(r.device, &info)) {
		return ""
	}
	return goText(info.id[:])
}

func (r *reader) memory() (total, used *int64) {
	var info memoryInfo
	if r.m.f.memory == nil || !r.ok("memory", r.m.f.memory(r.device, &info)) {
		return nil, nil
	}
	return new(int64(info.total)), new(int64(info.used))
}

func (r *reader) utilization() *int {
	var rates utilization
	if r.m.f.utilization == nil || !r.ok("utilization", r.m.f.utilization(r.device, &rates)) {
		return nil
	}
	return new(int(rates.gpu))
}

func (r *reader) eccErrors() *int64 {
	var count uint64
	if r.m.f.eccErrors == nil || !r.ok("ECC errors", r.m.f.eccErrors(r.device, uncorrected, sinceLoad, &count)) {
		return nil
	}
	return new(int64(count))
}

func (r *reader) throttling() []gpu.Throttle {
	var reasons uint64
	if r.m.f.throttling == nil || !r.ok("throttle reasons", r.m.f.throttling(r.device, &reasons)) {
		return nil
	}
	return throttles(reasons)
}

// watts converts NVML's milliwatts.
func watts(milliwatts *int) *float64 {
	if milliwatts == nil {
		return nil
	}
	return new(float64(*milliwatts) / 1000)
}
