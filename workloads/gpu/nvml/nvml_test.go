//go:build linux && (amd64 || arm64)

package nvml

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/batchctl/batchctl/workloads/gpu"
	"github.com/batchctl/batchctl/workloads/gpu/fakecuda"
	"github.com/batchctl/batchctl/workloads/gpu/libcuda"
)

// open loads a library in C in NVML's place, of two devices.
func open(t *testing.T) (m gpu.Management, folder string) {
	t.Helper()
	folder = fakecuda.Build(t)
	t.Setenv("FAKECUDA_DEVICES", "2")
	t.Setenv("BATCHCTL_NVML", filepath.Join(folder, "libnvidia-ml.so.1"))
	m, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m, folder
}

func TestDevices(t *testing.T) {
	m, folder := open(t)
	if version, err := m.DriverVersion(); err != nil || version != "580.65.06" {
		t.Errorf("the driver's version is %q, %v", version, err)
	}
	uuids, err := m.Devices()
	if err != nil || len(uuids) != 2 || !slices.Equal(uuids, cudaUUIDs(t, folder)) {
		t.Errorf("the devices are %q, %v", uuids, err)
	}
	if _, err := m.Readings("GPU-none"); err == nil || !strings.Contains(err.Error(), "NVML error 6 (Not Found)") {
		t.Errorf("a device that is not there: %v", err)
	}
}

// TestReadings asks for all there is. No two values are the same.
func TestReadings(t *testing.T) {
	m, _ := open(t)
	t.Setenv("FAKENVML_ECC_ERRORS", "3")
	t.Setenv("FAKENVML_THROTTLE", "68")
	uuids, err := m.Devices()
	if err != nil {
		t.Fatal(err)
	}
	got, err := m.Readings(uuids[1])
	if err != nil {
		t.Fatal(err)
	}
	want := gpu.Readings{
		Name: "Fake GPU", UUID: uuids[1], PCIBus: "00000000:27:00.0", MemoryTotal: new(int64(1 << 30)), MemoryUsed: new(int64(1 << 28)),
		GraphicsMHz: new(900), MaxGraphicsMHz: new(1000), MemoryMHz: new(1400), MaxMemoryMHz: new(1500),
		PowerWatts: new(123.4), PowerLimitWatts: new(250.0), TemperatureC: new(41), UtilizationPercent: new(7),
		ECC: new(true), ECCUncorrected: new(int64(3)), MIG: new(false), PCIeGeneration: new(4), MaxPCIeGeneration: new(5), PCIeWidth: new(8), MaxPCIeWidth: new(16),
		Throttling: []gpu.Throttle{gpu.PowerCap, gpu.HardwareThermal},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestInstanceInLibrary checks that an instance is found: its UUID in the driver differs from NVML's.
func TestInstanceInLibrary(t *testing.T) {
	t.Setenv("FAKENVML_MIG", "1")
	m, folder := open(t)
	uuid := cudaUUIDs(t, folder)[0]
	got, err := m.Readings(uuid)
	if err != nil {
		t.Fatal(err)
	}
	if !*got.MIG || *got.MemoryTotal != 1<<30/7 || got.Name != "Fake GPU" || got.UUID != uuid {
		t.Errorf("got %+v", got)
	}
}

func TestInjected(t *testing.T) {
	t.Setenv("FAKENVML_FAIL", "nvmlDeviceGetPowerUsage:3,nvmlDeviceGetTemperature:15")
	m, folder := open(t)
	got, err := m.Readings(cudaUUIDs(t, folder)[0])
	if err == nil || err.Error() != "read the temperature: GPU is lost" || got.PowerWatts != nil || got.TemperatureC != nil || got.PowerLimitWatts == nil {
		t.Errorf("got %+v, %v", got, err)
	}
	t.Setenv("FAKENVML_FAIL", "nvmlInit_v2:18")
	_, err = Open()
	if failed, ok := errors.AsType[*Error](err); !ok || failed.Code != 18 || err.Error() != "nvmlInit: NVML error 18 (Driver/library version mismatch)" {
		t.Errorf("got %v", err)
	}
	t.Setenv("FAKENVML_FAIL", "")
}

// cudaUUIDs are those by which the driver knows its devices.
func cudaUUIDs(t *testing.T, folder string) []string {
	t.Helper()
	t.Setenv(libcuda.Variable, filepath.Join(folder, "libcuda.so.1"))
	driver, err := libcuda.Open()
	if err != nil {
		t.Fatal(err)
	}
	all, err := gpu.Devices(driver)
	if err != nil {
		t.Fatal(err)
	}
	var uuids []string
	for _, info := range all {
		uuids = append(uuids, info.UUID)
	}
	return uuids
}

func TestOpenErrors(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "libnvidia-ml.so.1")
	for _, test := range []struct{ path, want string }{
		{missing, "BATCHCTL_NVML is not a library: " + missing},
		{"libm.so.6", "has no function nvmlInit_v2"},
	} {
		t.Setenv("BATCHCTL_NVML", test.path)
		_, err := Open()
		if _, ok := errors.AsType[*gpu.UnavailableError](err); !ok || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v", test.path, err)
		}
	}
}

func TestNotHere(t *testing.T) {
	t.Setenv("BATCHCTL_NVML", "")
	_, err := Open()
	if err == nil {
		t.Skip("this machine has NVML")
	}
	if _, ok := errors.AsType[*gpu.UnavailableError](err); !ok || !strings.Contains(err.Error(), "libnvidia-ml.so.1 was not found; give the container the utility capability") {
		t.Errorf("got %v", err)
	}
}
