//go:build linux && (amd64 || arm64)

package nvml

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/batchctl/batchctl/workloads/gpu"
)

const whole, slice handle = 1, 2

// library is an NVML in Go: one GPU, and an instance of MIG within it. What it is not
// given it does not have.
func library() functions {
	return functions{
		errorString: func(code int32) string {
			return map[int32]string{2: "Invalid Argument", 3: "Not Supported", 6: "Not Found", 15: "GPU is lost"}[code]
		},
		byUUID: func(uuid string, device *handle) int32 {
			*device = map[string]handle{"GPU-whole": whole, "MIG-slice": slice}[uuid]
			if *device == 0 {
				return notFound
			}
			return success
		},
		memory: func(device handle, info *memoryInfo) int32 {
			*info = memoryInfo{total: 1000 / uint64(device), used: 7}
			return success
		},
		parent: func(_ handle, device *handle) int32 { *device = whole; return success },
	}
}

func gives(value uint32) number {
	return func(device handle, to *uint32) int32 {
		if device != whole {
			return 2
		}
		*to = value
		return success
	}
}

// What the device does not support, or the library does not have, is left out.
func TestLeftOut(t *testing.T) {
	f := library()
	f.powerLimit, f.pcieWidth = gives(300_500), gives(16)
	f.power = func(handle, *uint32) int32 { return notSupported }
	got, err := (&management{f}).Readings("GPU-whole")
	if err != nil {
		t.Fatal(err)
	}
	want := gpu.Readings{UUID: "GPU-whole", MemoryTotal: new(int64(1000)), MemoryUsed: new(int64(7)), PowerLimitWatts: new(300.5), PCIeWidth: new(16)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// The numbers that say which of several values is meant.
func TestKinds(t *testing.T) {
	f := library()
	f.eccErrors = func(_ handle, kind, counter uint32, count *uint64) int32 {
		*count = uint64(10*kind + counter) // 1, 0: uncorrected, since the driver was loaded
		return success
	}
	f.clock = func(_ handle, kind uint32, value *uint32) int32 { *value = kind; return success }
	f.temperature = f.clock
	got, err := (&management{f}).Readings("GPU-whole")
	if err != nil || *got.ECCUncorrected != 10 || *got.GraphicsMHz != 0 || *got.MemoryMHz != 2 || *got.TemperatureC != 0 {
		t.Errorf("got %+v, %v", got, err)
	}
}

// One reading that fails does not take the others along.
func TestFailedReadings(t *testing.T) {
	f := library()
	f.powerLimit = gives(1000)
	f.power = func(handle, *uint32) int32 { return 15 }
	f.clock = func(_ handle, kind uint32, value *uint32) int32 {
		if kind == memoryClock {
			return 15
		}
		*value = 345
		return success
	}
	got, err := (&management{f}).Readings("GPU-whole")
	if want := "read the memory clock: GPU is lost\nread the power: GPU is lost"; err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
	if got.GraphicsMHz == nil || *got.GraphicsMHz != 345 || got.MemoryMHz != nil || got.PowerWatts != nil || got.PowerLimitWatts == nil {
		t.Errorf("got %+v", got)
	}
}

// The driver calls an instance of MIG as if it were a GPU. Its memory is its own, and
// what only the GPU knows is the GPU's.
func TestInstance(t *testing.T) {
	f := library()
	f.power = gives(76_000)
	f.mig = func(device handle, current, _ *uint32) int32 {
		*current = uint32(whole) // 1: on
		return success
	}
	for _, uuid := range []string{"GPU-slice", "MIG-slice"} {
		got, err := (&management{f}).Readings(uuid)
		if err != nil {
			t.Fatal(err)
		}
		if *got.MemoryTotal != 500 || *got.PowerWatts != 76 || !*got.MIG || got.UUID != uuid {
			t.Errorf("%s: got %+v", uuid, got)
		}
	}
	f.parent = nil
	if _, err := (&management{f}).Readings("GPU-slice"); err == nil || !strings.Contains(err.Error(), "too old") {
		t.Errorf("without a way to the GPU: got %v", err)
	}
}

func TestNotFound(t *testing.T) {
	_, err := (&management{library()}).Readings("GPU-other")
	if want := "find GPU-other: nvmlDeviceGetHandleByUUID: NVML error 6 (Not Found)"; err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
}

func TestThrottles(t *testing.T) {
	for _, test := range []struct {
		set  uint64
		want []gpu.Throttle
	}{
		{0, nil},
		{0x1, []gpu.Throttle{gpu.Idle}},
		{0x4, []gpu.Throttle{gpu.PowerCap}},
		{0x48, []gpu.Throttle{gpu.HardwareSlowdown, gpu.HardwareThermal}},
		{0x1b2, []gpu.Throttle{gpu.ApplicationClocks, gpu.SyncBoost, gpu.SoftwareThermal, gpu.PowerBrake, gpu.DisplayClocks}},
		{0x8000000000000200, []gpu.Throttle{"reason 0x200 of NVML", "reason 0x8000000000000000 of NVML"}},
	} {
		if diff := cmp.Diff(test.want, throttles(test.set)); diff != "" {
			t.Errorf("%#x:\n%s", test.set, diff)
		}
	}
}
