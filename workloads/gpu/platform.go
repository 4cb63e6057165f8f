package gpu

// Platform is how a program reaches GPUs. The zero Platform has no way: that is what
// batchctl itself has, because a program that can load the driver is not static.
type Platform struct {
	// Bindings are the ways to the driver, in the order in which they are tried.
	Bindings []Binding
	// BLAS opens cuBLAS. It is nil where the program has no way to it.
	BLAS func() (BLAS, error)
	// Management opens NVML. It is nil where the program has no way to it.
	Management func() (Management, error)
}

// Binding is one way to the driver.
type Binding struct {
	Name string
	// Open initialises the driver. The error is an *UnavailableError, or an *Error.
	Open func() (Driver, error)
}

// Precision is how a matrix product is computed.
type Precision string

// The precisions. TF32 takes and gives float32 and rounds the operands to 11 bits of
// significand on their way into the tensor cores; BFloat16 takes and gives bfloat16.
// Both sum in float32.
const (
	Float32  Precision = "float32"
	Float64  Precision = "float64"
	TF32     Precision = "tf32"
	BFloat16 Precision = "bfloat16"
)

// Bytes is the size of an element in the device's memory.
func (p Precision) Bytes() int64 {
	switch p {
	case Float64:
		return 8
	case BFloat16:
		return 2
	}
	return 4
}

// BLAS is cuBLAS.
type BLAS interface {
	// Version is the library's, such as "cuBLAS 12.6.4".
	Version() string
	// NewMultiplier makes a handle on the current context whose work goes to the stream.
	NewMultiplier(s Stream) (Multiplier, error)
}

// Multiplier computes matrix products on one stream of one card.
type Multiplier interface {
	// Multiply puts C = A B on the stream. C is m x n, A is m x k, B is k x n, all
	// row-major without padding.
	Multiply(p Precision, c, a, b Pointer, m, n, k int) error
	Close() error
}

// Management is NVML, by which nvidia-smi knows what it shows. Devices are UUIDs as
// DeviceUUID gives them.
type Management interface {
	// DriverVersion is the driver's own, such as "570.124.06".
	DriverVersion() (string, error)
	// Devices lists the GPUs that NVML sees, in the order of their PCI addresses.
	// CUDA_VISIBLE_DEVICES hides none of them.
	Devices() ([]string, error)
	// Readings is what NVML knows of a device. What a device does not tell is left out.
	// So is what could not be read: the error then names it, beside the other readings.
	Readings(uuid string) (Readings, error)
	Close() error
}

// Readings is the state of a device at one moment. A pointer is nil, and a text empty,
// where the device does not tell.
type Readings struct {
	Name string `json:"name,omitempty"`
	UUID string `json:"uuid,omitempty"`
	// PCIBus is the address, such as 00000000:17:00.0.
	PCIBus string `json:"pciBus,omitempty"`
	// MemoryTotal and MemoryUsed are in bytes; what the driver keeps for itself is used.
	MemoryTotal *int64 `json:"memoryTotalBytes,omitempty"`
	MemoryUsed  *int64 `json:"memoryUsedBytes,omitempty"`
	// The clocks of the multiprocessors and of the memory: now, and the highest.
	GraphicsMHz    *int `json:"graphicsMHz,omitempty"`
	MemoryMHz      *int `json:"memoryMHz,omitempty"`
	MaxGraphicsMHz *int `json:"maxGraphicsMHz,omitempty"`
	MaxMemoryMHz   *int `json:"maxMemoryMHz,omitempty"`
	// PowerLimitWatts is the limit in force, which may be below the device's own.
	PowerWatts      *float64 `json:"powerWatts,omitempty"`
	PowerLimitWatts *float64 `json:"powerLimitWatts,omitempty"`
	TemperatureC    *int     `json:"temperatureC,omitempty"`
	// UtilizationPercent is the share of the last moments in which a kernel ran.
	UtilizationPercent *int `json:"utilizationPercent,omitempty"`
	// ECC says whether the memory's errors are corrected; ECCUncorrected counts those that
	// could not be, since the driver was loaded.
	ECC            *bool  `json:"ecc,omitempty"`
	ECCUncorrected *int64 `json:"eccUncorrected,omitempty"`
	// MIG is whether the GPU is divided into instances. An instance has its own memory; its other
	// readings are those of the whole GPU.
	MIG *bool `json:"mig,omitempty"`
	// The PCIe link: its generation and its lanes, now and at most.
	PCIeGeneration    *int `json:"pcieGeneration,omitempty"`
	PCIeWidth         *int `json:"pcieWidth,omitempty"`
	MaxPCIeGeneration *int `json:"maxPcieGeneration,omitempty"`
	MaxPCIeWidth      *int `json:"maxPcieWidth,omitempty"`
	// Throttling is the reasons why clocks are reduced now.
	Throttling []Throttle `json:"throttling,omitempty"`
}

// Throttle is a reason why a device's clocks are below their maximum.
type Throttle string

// The reasons that NVML reports.
const (
	Idle              Throttle = "idle"
	ApplicationClocks Throttle = "application clocks are set"
	PowerCap          Throttle = "power cap"
	HardwareSlowdown  Throttle = "hardware slowdown"
	SyncBoost         Throttle = "sync boost group"
	SoftwareThermal   Throttle = "thermal slowdown (software)"
	HardwareThermal   Throttle = "thermal slowdown (hardware)"
	PowerBrake        Throttle = "power brake (hardware)"
	DisplayClocks     Throttle = "display clocks are set"
)
