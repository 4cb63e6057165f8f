//go:build cuda && cgo && linux

package cu

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"github.com/batchctl/batchctl/workloads/gpu"
	"github.com/batchctl/batchctl/workloads/gpu/drivertest"
	"github.com/batchctl/batchctl/workloads/gpu/fakecuda"
	"github.com/batchctl/batchctl/workloads/gpu/libcuda"
)

// fake makes Open load the fake driver, which reads its settings when it is initialised.
func fake(t *testing.T, settings ...string) {
	t.Helper()
	t.Setenv(Variable, filepath.Join(fakecuda.Build(t), "libcuda.so.1"))
	for _, setting := range settings {
		name, value, _ := strings.Cut(setting, "=")
		t.Setenv(name, value)
	}
}

// open opens the driver that has been chosen.
func open(t *testing.T) gpu.Driver {
	t.Helper()
	d, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestHost is for a machine with a GPU. It comes first, because a program that has loaded
// one libcuda.so.1 finds it under that name from then on.
func TestHost(t *testing.T) {
	d, err := Open()
	if missing, ok := errors.AsType[*gpu.UnavailableError](err); ok {
		t.Skip(missing)
	}
	drivertest.Run(t, func() (gpu.Driver, error) { return d, err })
}

func TestDriver(t *testing.T) {
	fake(t, "FAKECUDA_DEVICES=8")
	drivertest.Run(t, Open)
}

// TestLateDriver leaves the work on a queue until something waits for it, and is a GPU of
// the oldest kind.
func TestLateDriver(t *testing.T) {
	fake(t, "FAKECUDA_LATE=1", "FAKECUDA_CC=70")
	drivertest.Run(t, Open)
}

func TestUnavailable(t *testing.T) {
	for _, test := range []struct{ setting, want string }{
		{"FAKECUDA_DEVICES=0", "the NVIDIA driver sees no GPU"},
		{"FAKECUDA_FAIL=cuInit:34:1", "libcuda.so.1 is the CUDA toolkit's stub"},
		{"FAKECUDA_FAIL=cuInit:100:1", "the NVIDIA driver sees no GPU"},
		{"FAKECUDA_FAIL=cuInit:802:1", "the GPUs are not ready"},
		{"FAKECUDA_FAIL=cuInit:803:1", "libcuda and the NVIDIA driver's kernel module have different versions"},
		{"FAKECUDA_DRIVER=9020", "the NVIDIA driver supports CUDA 9.2, and this program needs 10.0 or later"},
		{Variable + "=/nowhere/libcuda.so.1", "no NVIDIA driver found: /nowhere/libcuda.so.1 was not found"},
		{Variable + "=/proc/version", "the NVIDIA driver's library cannot be loaded: /proc/version: "},
		{Variable + "=libm.so.6", "the NVIDIA driver's library has no cuInit"},
	} {
		t.Run(test.setting, func(t *testing.T) {
			fake(t, test.setting)
			_, err := Open()
			missing, ok := errors.AsType[*gpu.UnavailableError](err)
			if !ok || missing.Binding != binding || !strings.HasPrefix(missing.Reason, test.want) || missing.Remedy == "" {
				t.Errorf("got %#v, want %s", err, test.want)
			}
		})
	}
}

func TestInitFault(t *testing.T) {
	fake(t, "FAKECUDA_FAIL=cuInit:2:1")
	_, err := Open()
	if fault, ok := errors.AsType[*gpu.Error](err); !ok || *fault != (gpu.Error{Call: "cuInit", Code: gpu.CodeOutOfMemory}) {
		t.Errorf("got %v", err)
	}
}

// library makes Open load a driver of that source.
func library(t *testing.T, source string) {
	t.Helper()
	folder := t.TempDir()
	file, library := filepath.Join(folder, "driver.c"), filepath.Join(folder, "libcuda.so.1")
	if err := os.WriteFile(file, []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("gcc", "-shared", "-fPIC", file, "-o", library).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Setenv(Variable, library)
}

// TestOldLibrary loads one that lacks most functions but says its version.
func TestOldLibrary(t *testing.T) {
	library(t, `int cuDriverGetVersion(int *version) { *version = 8000; return 0; }`)
	_, err := Open()
	if missing, ok := errors.AsType[*gpu.UnavailableError](err); !ok || !strings.HasPrefix(missing.Reason, "the NVIDIA driver supports CUDA 8.0,") {
		t.Errorf("got %v", err)
	}
}

// TestMissingFunction calls what a driver has not: one by cu, one by ourselves.
func TestMissingFunction(t *testing.T) {
	library(t, `
		int cuInit(unsigned flags) { return flags; }
		int cuDriverGetVersion(int *version) { *version = 12000; return 0; }`)
	d := open(t)
	_, memory := d.Alloc(1)
	_, host := d.AllocHost(1)
	for call, err := range map[string]error{"cuMemAlloc": memory, "cuMemHostAlloc": host} {
		if want := call + ": CUDA error 302 (SHARED_OBJECT_SYMBOL_NOT_FOUND): the driver does not have this function; install a newer driver"; err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// TestNonBlockingStreams has a driver that makes no streams that wait for the default one.
func TestNonBlockingStreams(t *testing.T) {
	library(t, `
		int cuInit(unsigned flags) { return flags; }
		int cuDriverGetVersion(int *version) { *version = 12000; return 0; }
		int cuStreamCreate(long *stream, unsigned flags) { *stream = 8; return flags == 1 ? 0 : 1; }`)
	if s, err := open(t).NewStream(); err != nil || s != 8 {
		t.Errorf("got %d: %v", s, err)
	}
}

// TestEveryCall has the driver fail at one function after the other. The error names it,
// which also shows that of its versions the right one was called.
func TestEveryCall(t *testing.T) {
	for _, symbol := range []string{
		"cuDeviceGetCount", "cuDeviceGet", "cuDeviceGetName", "cuDeviceGetUuid_v2", "cuDeviceGetAttribute", "cuDeviceTotalMem_v2",
		"cuDevicePrimaryCtxRetain", "cuDevicePrimaryCtxRelease_v2", "cuCtxSetCurrent",
		"cuMemGetInfo_v2", "cuMemAlloc_v2", "cuMemFree_v2", "cuMemHostAlloc", "cuMemFreeHost",
		"cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2", "cuMemcpyDtoDAsync_v2", "cuMemcpy2DAsync_v2", "cuMemsetD8Async",
		"cuModuleLoadDataEx", "cuModuleUnload", "cuModuleGetFunction", "cuModuleGetGlobal_v2", "cuFuncSetAttribute", "cuLaunchKernel",
		"cuStreamCreate", "cuStreamDestroy_v2", "cuStreamSynchronize", "cuStreamWaitEvent",
		"cuEventCreate", "cuEventDestroy_v2", "cuEventRecord", "cuEventElapsedTime",
	} {
		t.Run(symbol, func(t *testing.T) {
			fake(t, "FAKECUDA_FAIL="+symbol+":999:1")
			fault, ok := errors.AsType[*gpu.Error](callAll(open(t)))
			if !ok || fault.Call != strings.TrimSuffix(symbol, "_v2") || fault.Code != 999 {
				t.Errorf("got %v", fault)
			}
		})
	}
	fake(t)
	if err := callAll(open(t)); err != nil {
		t.Errorf("without a fault: %v", err)
	}
}

// callAll calls all functions of the driver, until one fails.
func callAll(d gpu.Driver) (err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer func() {
		d.SetCurrent(0)
		d.ReleasePrimaryContext(0)
	}()
	defer func() {
		if fault := recover(); fault != nil {
			err = fault.(error)
		}
	}()
	ptx := get(os.ReadFile("../drivertest/probe_sm70.ptx"))
	get(d.DeviceCount())
	get(d.DeviceName(0))
	get(d.DeviceUUID(0))
	get(d.DeviceAttribute(0, gpu.MultiprocessorCount))
	get(d.DeviceMemory(0))
	get(d.RetainPrimaryContext(0))
	must(d.SetCurrent(get(d.RetainPrimaryContext(0))))
	_, _, err = d.MemoryInfo()
	must(err)
	device, host := get(d.Alloc(64)), get(d.AllocHost(64))
	m := get(d.LoadModule(string(ptx)))
	table, _, err := d.Global(m, "probe_table")
	must(err)
	f := get(d.Function(m, "probe_steps"))
	must(d.AllowShared(f, 1024))
	s, start, end := get(d.NewStream()), get(d.NewEvent()), get(d.NewEvent())
	must(d.Record(start, s))
	must(d.Fill(device, 1, 64, s))
	add, times := uint64(3), uint64(1)
	must(d.Launch(f, gpu.Dim{1, 1, 1}, gpu.Dim{16, 1, 1}, 0, s, []unsafe.Pointer{unsafe.Pointer(&device), unsafe.Pointer(&add), unsafe.Pointer(&times)}))
	must(d.CopyIn(table, host, 64, s))
	must(d.CopyOver(table, device, 64, s))
	must(d.CopyOut(host, device, 64, s))
	must(d.CopyIn2D(device, host, 16, 8, 4, s))
	must(d.CopyOut2D(host, device, 16, 8, 4, s))
	must(d.Record(end, s))
	must(d.WaitEvent(s, end))
	must(d.Synchronize(s))
	get(d.Elapsed(start, end))
	must(d.DestroyEvent(start))
	must(d.DestroyEvent(end))
	must(d.DestroyStream(s))
	must(d.UnloadModule(m))
	must(d.FreeHost(host))
	must(d.Free(device))
	return d.ReleasePrimaryContext(0)
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func get[T any](value T, err error) T {
	must(err)
	return value
}

func TestCompilerLog(t *testing.T) {
	fake(t)
	c := get(gpu.Open(open(t), 0))
	err := c.Do(func() error {
		_, err := c.Load("no PTX at all")
		return err
	})
	if fault, ok := errors.AsType[*gpu.Error](err); !ok || fault.Call != "cuModuleLoadDataEx" || fault.Detail == "" {
		t.Errorf("got %v, want the compiler's log", err)
	}
	must(c.Close())
}

// TestBothBindings has them in one program at the same time, on one device: what one puts
// into its memory the other reads.
func TestBothBindings(t *testing.T) {
	fake(t)
	ours, theirs := get(gpu.Open(open(t), 0)), get(gpu.Open(get(libcuda.Open()), 0))
	want := []byte("0123456789abcdef")
	got := make([]byte, len(want))
	var m *gpu.Memory
	must(ours.Do(func() (err error) {
		m = get(ours.Alloc(int64(len(want))))
		q := get(ours.NewQueue())
		host := get(ours.AllocHost(int64(len(want))))
		copy(host.Data, want)
		return errors.Join(q.CopyIn(m.Pointer, host.Data), q.Synchronize(), q.Close(), host.Free())
	}))
	must(theirs.Do(func() error {
		q := get(theirs.NewQueue())
		host := get(theirs.AllocHost(int64(len(want))))
		err := errors.Join(q.CopyOut(host.Data, m.Pointer), q.Synchronize())
		copy(got, host.Data)
		return errors.Join(err, q.Close(), host.Free())
	}))
	if !bytes.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	must(errors.Join(ours.Do(m.Free), theirs.Close(), ours.Close()))
}

// TestVersion holds the name of the binding and the module together.
func TestVersion(t *testing.T) {
	out, err := exec.Command("go", "list", "-m", "gorgonia.org/cu").Output()
	if got := strings.TrimSpace(string(out)); err != nil || got != binding {
		t.Errorf("the module is %s, the binding %s: %v", got, binding, err)
	}
}
