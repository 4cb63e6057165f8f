//go:build linux && (amd64 || arm64)

package libcuda

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/batchctl/batchctl/workloads/gpu"
	"github.com/batchctl/batchctl/workloads/gpu/drivertest"
	"github.com/batchctl/batchctl/workloads/gpu/fakecuda"
)

// fake makes Open load the fake driver, which reads its settings when it is initialised. They
// reach it because purego, as cgo, hands the environment to C.
func fake(t *testing.T, settings ...string) {
	t.Helper()
	t.Setenv(Variable, filepath.Join(fakecuda.Build(t), "libcuda.so.1"))
	for _, setting := range settings {
		name, value, _ := strings.Cut(setting, "=")
		t.Setenv(name, value)
	}
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

// TestFrees runs TestDriver again where the driver tells what is left of a context that
// is let go of: everything has to be destroyed by the call for it.
func TestFrees(t *testing.T) {
	fake(t, "FAKECUDA_LEAKS=1")
	cmd := exec.Command(os.Args[0], "-test.run=^TestDriver$")
	var told strings.Builder
	cmd.Stderr = &told
	if err := cmd.Run(); err != nil || told.Len() > 0 {
		t.Errorf("%v: %s", err, told.String())
	}
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
		{Variable + "=libm.so.6", "the NVIDIA driver's library has no cuDriverGetVersion"},
	} {
		t.Run(test.setting, func(t *testing.T) {
			fake(t, test.setting)
			_, err := Open()
			missing, ok := errors.AsType[*gpu.UnavailableError](err)
			if !ok || missing.Binding != "libcuda" || !strings.HasPrefix(missing.Reason, test.want) || missing.Remedy == "" {
				t.Errorf("got %#v, want %s", err, test.want)
			}
		})
	}
}

// TestOldLibrary loads one that lacks most functions but says its version.
func TestOldLibrary(t *testing.T) {
	fake(t)
	folder := t.TempDir()
	source, library := filepath.Join(folder, "old.cpp"), filepath.Join(folder, "libcuda.so.1")
	if err := os.WriteFile(source, []byte(`extern "C" int cuDriverGetVersion(int *version) { *version = 8000; return 0; }`), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("g++", "-shared", "-fPIC", source, "-o", library).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Setenv(Variable, library)
	_, err := Open()
	if missing, ok := errors.AsType[*gpu.UnavailableError](err); !ok || !strings.HasPrefix(missing.Reason, "the NVIDIA driver supports CUDA 8.0,") {
		t.Errorf("got %v", err)
	}
}

func TestInitFault(t *testing.T) {
	fake(t, "FAKECUDA_FAIL=cuInit:2:1")
	_, err := Open()
	if fault, ok := errors.AsType[*gpu.Error](err); !ok || *fault != (gpu.Error{Call: "cuInit", Code: gpu.CodeOutOfMemory}) {
		t.Errorf("got %v", err)
	}
}

// onCard runs f on the first card of the fake.
func onCard(t *testing.T, f func(c *gpu.Card) error) (err, closed error) {
	t.Helper()
	d, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	cards, err := gpu.OpenAll(d, 1)
	if err != nil {
		t.Fatal(err)
	}
	return cards.Each(func(_ int, c *gpu.Card) error { return f(c) }), cards.Close()
}

func TestTooFew(t *testing.T) {
	fake(t, "FAKECUDA_DEVICES=2")
	d, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	_, err = gpu.OpenAll(d, 4)
	if missing, ok := errors.AsType[*gpu.UnavailableError](err); !ok || !strings.HasPrefix(missing.Reason, "4 GPUs are requested, and 2 are visible") {
		t.Errorf("got %v", err)
	}
}

func TestOutOfMemory(t *testing.T) {
	fake(t, "FAKECUDA_MEM_MB=64")
	err, closed := onCard(t, func(c *gpu.Card) error {
		m, err := c.Alloc(40 << 20)
		if err != nil {
			return err
		}
		_, err = c.Alloc(40 << 20)
		return errors.Join(err, m.Free())
	})
	if err == nil || !strings.Contains(err.Error(), "allocate 40 MiB of GPU 0 (Fake GPU), which has 24 MiB of 64 MiB free: cuMemAlloc: CUDA error 2 (OUT_OF_MEMORY)") {
		t.Errorf("got %v", err)
	}
	if closed != nil {
		t.Error(closed)
	}
}

// TestLost lets a kernel fail as a wild store does, which shows when the queue is waited for.
func TestLost(t *testing.T) {
	fake(t, "FAKECUDA_FAIL=cuStreamSynchronize:700:1")
	d, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	c, err := gpu.Open(d, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"wait for the queue: cuStreamSynchronize: CUDA error 700 (ILLEGAL_ADDRESS)", "the GPU is no longer usable: cuStreamSynchronize: CUDA error 700 (ILLEGAL_ADDRESS)"} {
		err := c.Do(func() error {
			q, err := c.NewQueue()
			return errors.Join(err, q.Synchronize())
		})
		if err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

func TestCompilerLog(t *testing.T) {
	fake(t)
	err, closed := onCard(t, func(c *gpu.Card) error {
		_, err := c.Load("no PTX at all")
		return err
	})
	if fault, ok := errors.AsType[*gpu.Error](err); !ok || fault.Call != "cuModuleLoadDataEx" || fault.Detail == "" {
		t.Errorf("got %v, want the compiler's log", err)
	}
	if closed != nil {
		t.Error(closed)
	}
}
