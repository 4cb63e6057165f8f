package gpuinfo

import (
	"errors"
	"strings"
	"testing/fstest"

	"github.com/batchctl/batchctl/workloads/gpu"
)

// driver is a CUDA driver of some devices, as far as gpu-info asks one.
type driver struct {
	gpu.Driver
	binding string
	version int
	devices []device
	current *gpu.Context
}

type device struct {
	name, uuid   string
	capability   int
	total, free  int64
	openingError error
}

func (d driver) Binding() string                   { return d.binding }
func (d driver) Version() (int, error)             { return d.version, nil }
func (d driver) DeviceCount() (int, error)         { return len(d.devices), nil }
func (d driver) DeviceName(i int) (string, error)  { return d.devices[i].name, nil }
func (d driver) DeviceUUID(i int) (string, error)  { return d.devices[i].uuid, nil }
func (d driver) DeviceMemory(i int) (int64, error) { return d.devices[i].total, nil }
func (d driver) ReleasePrimaryContext(int) error   { return nil }
func (d driver) SetCurrent(c gpu.Context) error    { *d.current = c; return nil }
func (d driver) MemoryInfo() (free, total int64, err error) {
	at := d.devices[*d.current-1]
	return at.free, at.total, nil
}

func (d driver) RetainPrimaryContext(i int) (gpu.Context, error) {
	return gpu.Context(i + 1), d.devices[i].openingError
}

func (d driver) DeviceAttribute(i int, a gpu.Attribute) (int, error) {
	return map[gpu.Attribute]int{
		gpu.CapabilityMajor: d.devices[i].capability / 10, gpu.CapabilityMinor: d.devices[i].capability % 10,
		gpu.MultiprocessorCount: 132, gpu.PCIBus: 0x17 + i,
	}[a], nil
}

// management is NVML with what it reads of each device.
type management struct {
	driver   string
	uuids    []string
	readings map[string]gpu.Readings
	failures map[string]error
}

func (m management) DriverVersion() (string, error) { return m.driver, nil }
func (m management) Devices() ([]string, error)     { return m.uuids, nil }
func (m management) Close() error                   { return nil }

func (m management) Readings(uuid string) (gpu.Readings, error) {
	return m.readings[uuid], m.failures[uuid]
}

type blas string

func (b blas) Version() string { return string(b) }
func (blas) NewMultiplier(gpu.Stream) (gpu.Multiplier, error) {
	return nil, errors.New("not requested")
}

// with is a way to a driver that works, and without is one that does not.
func with(d driver) gpu.Binding {
	d.current = new(gpu.Context)
	name, _, _ := strings.Cut(d.binding, " ")
	return gpu.Binding{Name: name, Open: func() (gpu.Driver, error) { return d, nil }}
}

func without(name, reason, remedy string) gpu.Binding {
	return gpu.Binding{Name: name, Open: func() (gpu.Driver, error) {
		return nil, &gpu.UnavailableError{Binding: name, Reason: reason, Remedy: remedy}
	}}
}

func managed(m management) func() (gpu.Management, error) {
	return func() (gpu.Management, error) { return m, nil }
}

func noNVML() (gpu.Management, error) {
	return nil, &gpu.UnavailableError{Reason: "NVML is not available here: libnvidia-ml.so.1 was not found", Remedy: "give the container the capability utility"}
}

func blas12() (gpu.BLAS, error) { return blas("cuBLAS 12.6.4"), nil }

func noBLAS() (gpu.BLAS, error) {
	return nil, &gpu.UnavailableError{Reason: "cuBLAS is not in this image", Remedy: "take an image that has it, such as nvidia/cuda:12.6.3-runtime-ubuntu24.04"}
}

const uuid0, uuid1 = "GPU-7a1f3b52-9c0e-4d11-8a6b-2f5c8e9d0a10", "GPU-7a1f3b52-9c0e-4d11-8a6b-2f5c8e9d0a11"

func h200(uuid string) device {
	return device{name: "NVIDIA H200", uuid: uuid, capability: 90, total: 150_110_011_392, free: 149_500_000_000}
}

// calm is what NVML tells of a healthy H200 with nothing to do.
func calm(uuid string) gpu.Readings {
	return gpu.Readings{
		Name: "NVIDIA H200", UUID: uuid, PCIBus: "00000000:17:00.0", MemoryTotal: new(int64(150_754_820_096)), MemoryUsed: new(int64(600_000_000)),
		GraphicsMHz: new(345), MaxGraphicsMHz: new(1980), MemoryMHz: new(3201), MaxMemoryMHz: new(3201), PowerWatts: new(76.4), PowerLimitWatts: new(700.0),
		TemperatureC: new(34), UtilizationPercent: new(0), ECC: new(true), ECCUncorrected: new(int64(0)), MIG: new(false),
		PCIeGeneration: new(5), MaxPCIeGeneration: new(5), PCIeWidth: new(16), MaxPCIeWidth: new(16), Throttling: []gpu.Throttle{gpu.Idle},
	}
}

// changed is a calm device after a change.
func changed(uuid string, change func(*gpu.Readings)) gpu.Readings {
	r := calm(uuid)
	change(&r)
	return r
}

// files are an empty file each, but for the version of the kernel module.
func files(names ...string) fstest.MapFS {
	all := fstest.MapFS{}
	for _, name := range names {
		all[name] = &fstest.MapFile{}
	}
	return all
}

const moduleFile = "proc/driver/nvidia/version"

// machineWith is a machine that runs the driver, with these files beside it.
func machineWith(names ...string) fstest.MapFS {
	all := files(names...)
	all[moduleFile] = &fstest.MapFile{Data: []byte("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.124.06  Release Build  (x)\nGCC version: gcc 11.4.0\n")}
	return all
}

// given is a container that was given n GPUs, with their libraries.
func given(n int) fstest.MapFS {
	names := []string{"dev/nvidiactl", "dev/nvidia-uvm", "dev/null", "usr/lib/x86_64-linux-gnu/libcuda.so.1", "usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1"}
	for i := range n {
		names = append(names, "dev/nvidia"+string(rune('0'+i)))
	}
	return machineWith(names...)
}
