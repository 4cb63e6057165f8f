//go:build linux && (amd64 || arm64)

package nvml

import (
	"bytes"
	"fmt"

	"github.com/ebitengine/purego"
)

// handle is an nvmlDevice_t: a GPU or a MIG instance.
type handle uintptr

// Signatures that several functions of NVML share. All return an nvmlReturn_t.
type (
	plain   = func() int32
	number  = func(handle, *uint32) int32
	ofKind  = func(device handle, kind uint32, value *uint32) int32
	setting = func(device handle, current, pending *uint32) int32
	text    = func(device handle, text *byte, size uint32) int32
)

// functions are those of the library. Every NVML has the first group. A function of the second group
// is nil if the library is too old, or too new, to have it.
type functions struct {
	initialise, shutdown plain
	errorString          func(code int32) string
	driverVersion        func(text *byte, size uint32) int32
	count                func(*uint32) int32
	byIndex              func(uint32, *handle) int32
	byUUID               func(string, *handle) int32
	uuid                 text

	name                           text
	parent                         func(instance handle, whole *handle) int32
	pci                            func(handle, *pciInfo) int32
	memory                         func(handle, *memoryInfo) int32
	clock, maxClock, temperature   ofKind
	power, powerLimit              number
	utilization                    func(handle, *utilization) int32
	ecc, mig                       setting
	eccErrors                      func(device handle, kind, counter uint32, count *uint64) int32
	pcieGeneration, pcieWidth      number
	maxPCIeGeneration, maxPCIWidth number
	throttling                     func(handle, *uint64) int32
}

// The structs of nvml.h that the library fills in.
type (
	// pciInfo is nvmlPciInfo_t: the address as old drivers write it, five numbers, and the
	// address of today, such as 00000000:17:00.0.
	pciInfo struct {
		_  [16]byte
		_  [5]uint32
		id [32]byte
	}
	// memoryInfo is nvmlMemory_t, in bytes: all, free and used.
	memoryInfo struct{ total, _, used uint64 }
	// utilization is nvmlUtilization_t, in percent: of the multiprocessors and of the memory.
	utilization struct{ gpu, _ uint32 }
)

// Numbers of nvml.h.
const (
	success      = 0
	notSupported = 3
	notFound     = 6

	graphicsClock = 0 // nvmlClockType_t
	memoryClock   = 2
	gpuSensor     = 0 // nvmlTemperatureSensors_t
	uncorrected   = 1 // nvmlMemoryErrorType_t
	sinceLoad     = 0 // nvmlEccCounterType_t: volatile

	textSize = 96 // the longest that NVML fills in: NVML_DEVICE_UUID_V2_BUFFER_SIZE, NVML_DEVICE_NAME_V2_BUFFER_SIZE
)

// bindAll resolves the functions. The error names a missing function of the first group.
func bindAll(library uintptr) (functions, error) {
	var f functions
	for _, s := range []struct {
		name string
		bind func(address uintptr)
	}{
		{"nvmlInit_v2", into(&f.initialise)},
		{"nvmlShutdown", into(&f.shutdown)},
		{"nvmlErrorString", into(&f.errorString)},
		{"nvmlSystemGetDriverVersion", into(&f.driverVersion)},
		{"nvmlDeviceGetCount_v2", into(&f.count)},
		{"nvmlDeviceGetHandleByIndex_v2", into(&f.byIndex)},
		{"nvmlDeviceGetHandleByUUID", into(&f.byUUID)},
		{"nvmlDeviceGetUUID", into(&f.uuid)},
	} {
		address, err := purego.Dlsym(library, s.name)
		if err != nil {
			return f, unavailable(fmt.Sprintf("the library that was loaded as NVML has no function %s", s.name),
				"use the driver's libnvidia-ml.so.1")
		}
		s.bind(address)
	}
	for name, bind := range map[string]func(uintptr){
		"nvmlDeviceGetName":                            into(&f.name),
		"nvmlDeviceGetDeviceHandleFromMigDeviceHandle": into(&f.parent),
		"nvmlDeviceGetPciInfo_v3":                      into(&f.pci),
		"nvmlDeviceGetMemoryInfo":                      into(&f.memory),
		"nvmlDeviceGetClockInfo":                       into(&f.clock),
		"nvmlDeviceGetMaxClockInfo":                    into(&f.maxClock),
		"nvmlDeviceGetTemperature":                     into(&f.temperature),
		"nvmlDeviceGetPowerUsage":                      into(&f.power),
		"nvmlDeviceGetEnforcedPowerLimit":              into(&f.powerLimit),
		"nvmlDeviceGetUtilizationRates":                into(&f.utilization),
		"nvmlDeviceGetEccMode":                         into(&f.ecc),
		"nvmlDeviceGetMigMode":                         into(&f.mig),
		"nvmlDeviceGetTotalEccErrors":                  into(&f.eccErrors),
		"nvmlDeviceGetCurrPcieLinkGeneration":          into(&f.pcieGeneration),
		"nvmlDeviceGetCurrPcieLinkWidth":               into(&f.pcieWidth),
		"nvmlDeviceGetMaxPcieLinkGeneration":           into(&f.maxPCIeGeneration),
		"nvmlDeviceGetMaxPcieLinkWidth":                into(&f.maxPCIWidth),
		"nvmlDeviceGetCurrentClocksThrottleReasons":    into(&f.throttling),
	} {
		if address, err := purego.Dlsym(library, name); err == nil {
			bind(address)
		}
	}
	return f, nil
}

// into returns a function that sets *f to the C function at an address.
func into[F any](f *F) func(uintptr) {
	return func(address uintptr) { purego.RegisterFunc(f, address) }
}

// goText is the text up to the zero that ends it.
func goText(text []byte) string {
	before, _, _ := bytes.Cut(text, []byte{0})
	return string(before)
}
