package gpuinfo

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/workloads/gpu"
)

// gather queries the driver, the libraries and every device. Failures become part of the report.
func gather(p gpu.Platform, binding string, from source) *Report {
	r := &Report{Host: from.host(), Devices: []Device{}, Problems: []Problem{}}
	r.connect(p.Bindings, binding)
	// After connect, because NVML's devices are compared with CUDA's.
	r.cublas(p)
	r.manage(p)
	for _, d := range r.Devices {
		if d.usable() {
			r.Usable++
		}
	}
	r.judge()
	return r
}

// connect opens the first binding that works, or the wanted one, and queries its devices.
func (r *Report) connect(bindings []gpu.Binding, wanted string) {
	r.Bindings = []Part{}
	for _, b := range bindings {
		part := Part{Name: b.Name}
		switch {
		case wanted != "" && b.Name != wanted:
			part.Missing = "not requested"
		case r.Binding != "":
			part.Missing = "not tried: an earlier binding works"
		default:
			part.tried = true
			driver, err := b.Open()
			if part.fail(err) {
				break
			}
			r.Binding, part.Version = b.Name, driver.Binding()
			r.query(driver)
		}
		r.Bindings = append(r.Bindings, part)
	}
}

// fail records why the part is not available, and reports whether err is an error.
func (p *Part) fail(err error) bool {
	if missing, ok := errors.AsType[*gpu.UnavailableError](err); ok {
		p.Missing, p.Remedy = missing.Reason, missing.Remedy
	} else if err != nil {
		p.Missing = err.Error()
	}
	return err != nil
}

// query adds the devices that the driver lists, each with its free memory.
func (r *Report) query(driver gpu.Driver) {
	version, err := driver.Version() // 1000*major + 10*minor
	if err != nil {
		r.problem("the driver does not report its version: "+err.Error(), "")
		return
	}
	r.CUDA = fmt.Sprintf("%d.%d", version/1000, version%1000/10)
	if version < oldestTensorCUDA {
		r.note("the driver supports CUDA "+r.CUDA+" at most; TF32 and bfloat16 need 11.0",
			"use a machine image with driver 450 or later")
	}
	all, err := gpu.Devices(driver)
	if err != nil {
		r.problem("the driver does not describe its devices: "+err.Error(), "")
		return
	}
	for _, info := range all {
		d := Device{
			Ordinal: new(info.Ordinal), Name: info.Name, UUID: info.UUID, PCI: info.PCI,
			Multiprocessors: info.Multiprocessors, MemoryBytes: info.Memory,
			Capability: fmt.Sprintf("%d.%d", info.Capability/10, info.Capability%10), capability: info.Capability,
		}
		if d.FreeBytes, err = free(driver, info.Ordinal); err != nil {
			d.Failure = err.Error()
		}
		r.Devices = append(r.Devices, d)
	}
}

// free opens the device, as a workload does, and returns its free memory in bytes.
func free(driver gpu.Driver, ordinal int) (size int64, err error) {
	card, err := gpu.Open(driver, ordinal)
	if err != nil {
		return 0, err
	}
	err = card.Do(func() (err error) {
		size, _, err = driver.MemoryInfo()
		return err
	})
	return size, errors.Join(err, card.Close())
}

// cublas loads cuBLAS and records its version, or why it is missing.
func (r *Report) cublas(p gpu.Platform) {
	r.CuBLAS.Name = "cuBLAS"
	if p.BLAS == nil {
		r.CuBLAS.Missing = "this program is built without it"
		return
	}
	if library, err := p.BLAS(); !r.CuBLAS.fail(err) {
		r.CuBLAS.Version = strings.TrimPrefix(library.Version(), "cuBLAS ")
	}
}

// manage adds NVML's readings to the devices, and the devices that CUDA does not see.
func (r *Report) manage(p gpu.Platform) {
	r.NVML.Name = "NVML"
	if p.Management == nil {
		r.NVML.Missing = "this program is built without it"
		return
	}
	nvml, err := p.Management()
	if r.NVML.fail(err) {
		return
	}
	if r.Driver, err = nvml.DriverVersion(); r.NVML.fail(err) {
		return
	}
	r.NVML.Version = r.Driver
	uuids, err := nvml.Devices()
	r.NVML.fail(err)
	for _, uuid := range uuids {
		if !slices.ContainsFunc(r.Devices, func(d Device) bool { return d.UUID == uuid }) {
			r.Devices = append(r.Devices, Device{UUID: uuid})
		}
	}
	for i := range r.Devices {
		r.Devices[i].read(nvml)
	}
	if len(r.seen()) > 0 { // a divided GPU is listed as its instances
		r.Devices = slices.DeleteFunc(r.Devices, func(d Device) bool { return d.Ordinal == nil && divided(d) })
	}
	r.NVML.fail(nvml.Close())
}

// read adds NVML's readings to the device. A device that CUDA does not see also gets its name and
// memory from NVML.
func (d *Device) read(nvml gpu.Management) {
	readings, err := nvml.Readings(d.UUID)
	if err != nil {
		d.Unread = strings.ReplaceAll(err.Error(), "\n", "; ")
	}
	if readings.UUID == "" { // NVML does not know the device
		return
	}
	d.Readings = &readings
	if d.Ordinal != nil {
		return
	}
	d.Name, d.PCI = readings.Name, readings.PCIBus
	if readings.MemoryTotal != nil {
		d.MemoryBytes = *readings.MemoryTotal
	}
}
