package drivertest

import (
	"errors"
	"regexp"
	"runtime"
	"slices"
	"testing"

	"github.com/batchctl/batchctl/workloads/gpu"
)

// Run opens the driver and tests every call on the first device, and work on 1, 4 and 8 devices at
// the same time if there are as many. The test fails if the driver cannot be opened.
func Run(t *testing.T, open func() (gpu.Driver, error)) {
	d, err := open()
	if err != nil {
		t.Fatal(err)
	}
	t.Run("Version", func(t *testing.T) { testVersion(t, d) })
	t.Run("Devices", func(t *testing.T) { testDevices(t, d) })
	t.Run("NoSuchDevice", func(t *testing.T) { testNoSuchDevice(t, d) })
	t.Run("NoContext", func(t *testing.T) { testNoContext(t, d) })
	for _, test := range []struct {
		name string
		f    func(*testing.T, *gpu.Card)
	}{
		{"Memory", testMemory}, {"OutOfMemory", testOutOfMemory}, {"PinnedMemory", testPinnedMemory},
		{"Copies", testCopies}, {"Copies2D", testCopies2D}, {"Fill", testFill},
		{"BadPTX", testBadPTX}, {"NotFound", testNotFound}, {"Constant", testConstant},
		{"Arguments", testArguments}, {"Indices", testIndices}, {"SharedMemory", testSharedMemory},
		{"BadLaunch", testBadLaunch},
		{"Streams", testStreams}, {"Elapsed", testElapsed},
	} {
		t.Run(test.name, func(t *testing.T) { onCard(t, d, test.f) })
	}
	// The sizes of common GPU instances.
	for _, n := range []int{1, 4, 8} {
		testTogether(t, d, n)
	}
}

// onCard runs f within Do of the first card.
func onCard(t *testing.T, d gpu.Driver, f func(*testing.T, *gpu.Card)) {
	c, err := gpu.Open(d, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		// After a failed test, an error of Close is only a consequence.
		if err := c.Close(); err != nil && !t.Failed() {
			t.Error(err)
		}
	}()
	if err := c.Do(func() error { f(t, c); return nil }); err != nil {
		t.Error(err)
	}
}

// must ends the test at an error.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// get returns a function that returns the value, or ends the test if there was an error. The two
// calls let it take both results of another call.
func get[T any](value T, err error) func(t *testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		must(t, err)
		return value
	}
}

// wantCode checks that a call failed with one of the codes.
func wantCode(t *testing.T, what string, err error, codes ...int) {
	t.Helper()
	fault, ok := errors.AsType[*gpu.Error](err)
	if !ok || !slices.Contains(codes, fault.Code) || fault.Call == "" {
		t.Errorf("%s: got %v, want an error with one of the codes %v", what, err, codes)
	}
}

// testVersion checks the name of the binding and the driver's version.
func testVersion(t *testing.T, d gpu.Driver) {
	if d.Binding() == "" {
		t.Error("the binding has no name")
	}
	if version := get(d.Version())(t); version < gpu.OldestCUDA || version%10 != 0 {
		t.Errorf("the driver's version is %d", version)
	}
}

// uuids and pcis match the UUID and the PCI address of a device, as nvidia-smi prints them.
var (
	uuids = regexp.MustCompile(`^GPU-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)
	pcis  = regexp.MustCompile(`^[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}$`)
)

// testDevices checks the description of every device: each has plausible values and its own UUID.
func testDevices(t *testing.T, d gpu.Driver) {
	count := get(d.DeviceCount())(t)
	all := get(gpu.Devices(d))(t)
	if count < 1 || len(all) != count {
		t.Fatalf("there are %d devices, and %d of them are described", count, len(all))
	}
	seen := map[string]bool{} // UUIDs
	for i, info := range all {
		if info.Ordinal != i || info.Name == "" || !uuids.MatchString(info.UUID) || seen[info.UUID] ||
			!pcis.MatchString(info.PCI) {
			t.Errorf("device %d is %+v", i, info)
		}
		seen[info.UUID] = true
		if info.Capability < 30 || info.Capability > 200 || info.Multiprocessors < 1 || info.Memory < 1<<20 ||
			info.SharedBytes < 48<<10 {
			t.Errorf("device %d is %+v", i, info)
		}
	}
}

// testNoSuchDevice checks the error for ordinals without a device, and for an unknown attribute.
func testNoSuchDevice(t *testing.T, d gpu.Driver) {
	const invalidDevice = 101
	count := get(d.DeviceCount())(t)
	// CUDA_ERROR_INVALID_DEVICE, whichever call is first to use the ordinal.
	for _, ordinal := range []int{-1, count} {
		_, err := d.DeviceName(ordinal)
		wantCode(t, "name", err, invalidDevice)
		_, err = d.RetainPrimaryContext(ordinal)
		wantCode(t, "retain", err, invalidDevice)
		_, err = gpu.Open(d, ordinal)
		wantCode(t, "open", err, invalidDevice)
	}
	_, err := d.DeviceAttribute(0, 100000)
	wantCode(t, "unknown attribute", err, gpu.CodeInvalidValue)
}

// testNoContext checks the error of a call on a thread without a context, while another thread has one.
func testNoContext(t *testing.T, d gpu.Driver) {
	c := get(gpu.Open(d, 0))(t)
	done := make(chan error, 2)
	go func() {
		runtime.LockOSThread() // the thread ends with the goroutine, and its context with it
		done <- d.SetCurrent(0)
		_, err := d.Alloc(256)
		done <- err
	}()
	must(t, <-done)
	wantCode(t, "allocate", <-done, gpu.CodeInvalidContext)
	must(t, c.Close())
}
