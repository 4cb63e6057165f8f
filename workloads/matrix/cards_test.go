//go:build linux && (amd64 || arm64)

package matrix_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/batchctl/batchctl/pkg/testtool"
	"github.com/batchctl/batchctl/workloads"
	"github.com/batchctl/batchctl/workloads/gpu"
	"github.com/batchctl/batchctl/workloads/gpu/cublas"
	"github.com/batchctl/batchctl/workloads/gpu/fakecuda"
	"github.com/batchctl/batchctl/workloads/gpu/libcuda"
	"github.com/batchctl/batchctl/workloads/measure"
)

// asProgram turns the test binary into the program: the fake driver reads the environment
// that a process starts with. Its value names what is broken on purpose.
const asProgram = "BATCHCTL_MATRIX_TEST_PROGRAM"

func TestMain(m *testing.M) {
	broken, program := os.LookupEnv(asProgram)
	if !program {
		testtool.Main(m)
	}
	ctx, stop := context.WithCancelCause(context.Background())
	platform := gpu.Platform{BLAS: cublas.Open, Bindings: []gpu.Binding{{Name: "libcuda", Open: func() (gpu.Driver, error) {
		d, err := libcuda.Open()
		if err != nil {
			return nil, err
		}
		return &brokenDriver{Driver: d, broken: broken, stop: stop}, nil
	}}}}
	os.Exit(workloads.Main(ctx, platform, os.Args[1:], os.Stdout, os.Stderr))
}

// brokenDriver does something wrong, which the program has to find, or unusual.
type brokenDriver struct {
	gpu.Driver
	broken string
	stop   context.CancelCauseFunc
	copies atomic.Int32
}

func (d *brokenDriver) CopyIn(dst gpu.Pointer, src unsafe.Pointer, size int64, s gpu.Stream) error {
	return d.copyIn(s, func(s gpu.Stream) error { return d.Driver.CopyIn(dst, src, size, s) })
}

func (d *brokenDriver) CopyIn2D(dst gpu.Pointer, src unsafe.Pointer, pitch, width, rows int64, s gpu.Stream) error {
	return d.copyIn(s, func(s gpu.Stream) error { return d.Driver.CopyIn2D(dst, src, pitch, width, rows, s) })
}

func (d *brokenDriver) copyIn(s gpu.Stream, copy func(s gpu.Stream) error) error {
	third := d.copies.Add(1) == 3
	if third && d.broken == "copy left out" {
		return nil
	}
	if d.broken == "eager" {
		return d.copyNow(copy)
	}
	if third && d.broken == "stopped" {
		d.stop(errors.New("terminated signal received"))
	}
	return copy(s)
}

// copyNow copies as early as a card may: nothing on the card itself holds a copy in.
func (d *brokenDriver) copyNow(copy func(s gpu.Stream) error) error {
	s, err := d.NewStream()
	if err != nil {
		return err
	}
	return errors.Join(copy(s), d.Synchronize(s), d.DestroyStream(s))
}

// CopyOut can spoil an element of C on its way: the upper bytes of it are then those of a
// number of another size.
func (d *brokenDriver) CopyOut(dst unsafe.Pointer, src gpu.Pointer, size int64, s gpu.Stream) error {
	return errors.Join(d.spoilElement(src, size, s), d.Driver.CopyOut(dst, src, size, s))
}

// CopyOut2D can do the same: on the card the rows have no gap.
func (d *brokenDriver) CopyOut2D(dst unsafe.Pointer, src gpu.Pointer, pitch, width, rows int64, s gpu.Stream) error {
	return errors.Join(d.spoilElement(src, width*rows, s), d.Driver.CopyOut2D(dst, src, pitch, width, rows, s))
}

func (d *brokenDriver) spoilElement(src gpu.Pointer, size int64, s gpu.Stream) error {
	if d.broken != "wrong element" {
		return nil
	}
	return d.Fill(src+gpu.Pointer(size/2&^7+4), 0x46, 4, s)
}

func (d *brokenDriver) WaitEvent(s gpu.Stream, e gpu.Event) error {
	if d.broken == "no waiting" {
		return nil
	}
	return d.Driver.WaitEvent(s, e)
}

// outcome is the result of one process of the program.
type outcome struct {
	stdout, stderr string
	code           int
}

// onFake runs the program with the fake driver.
func onFake(t *testing.T, environment []string, args string) outcome {
	t.Helper()
	folder := fakecuda.Build(t)
	cmd := exec.Command(os.Args[0], append([]string{"matrix", "--device", "cuda"}, strings.Fields(args)...)...)
	cmd.Env = append(os.Environ(), asProgram+"=", libcuda.Variable+"="+filepath.Join(folder, "libcuda.so.1"),
		// 8.6 has no tensor cores for float64, which take long here
		"BATCHCTL_CUBLAS="+filepath.Join(folder, "libcublas.so.12"), "FAKECUDA_LEAKS=1", "FAKECUDA_CC=86")
	cmd.Env = append(cmd.Env, environment...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		t.Fatal(err)
	}
	return outcome{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

// rows runs the program and reads its rows; it must print nothing else.
func rows(t *testing.T, environment []string, args string) []measure.Result {
	t.Helper()
	out := onFake(t, environment, args+" --format json")
	if out.code != workloads.ExitOK || out.stderr != "" {
		t.Fatalf("%s %s: code %d\n%s%s", strings.Join(environment, " "), args, out.code, out.stdout, out.stderr)
	}
	var all []measure.Result
	for line := range strings.Lines(out.stdout) {
		var r measure.Result
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	return all
}

const everyType = " --type float32,float64,tf32,bfloat16"

// TestCards checks every type, by both kernels, on 1 to 8 cards. Their memory fits the matrices or
// forces blocks and panels, and queued work begins at once or late.
func TestCards(t *testing.T) {
	for _, test := range []struct {
		environment, args string
		cards             int
	}{
		{"FAKECUDA_CC=90", "--sizes 33 --kernel builtin" + everyType, 1},
		{"FAKECUDA_LATE=1", "--sizes 1,140 --kernel builtin --type float32,bfloat16", 1},
		{"FAKECUDA_LATE=1", "--sizes 300 --kernel cublas" + everyType, 1},
		{"FAKECUDA_LATE=1 FAKECUDA_DEVICES=4", "--sizes 130 --kernel builtin --type float32", 4},
		{"FAKECUDA_LATE=1 FAKECUDA_DEVICES=4", "--sizes 130 --kernel cublas --type bfloat16", 4},
		{"FAKECUDA_LATE=1 FAKECUDA_DEVICES=8", "--sizes 3 --kernel cublas --type float32 --gpus 0", 8},
		{"FAKECUDA_LATE=1 FAKECUDA_DEVICES=8", "--sizes 70 --kernel builtin --type float64 --gpus 2 --repeats 3", 2},
		{"FAKECUDA_LATE=1", "--sizes 420,700 --kernel cublas --type float32,float64", 1},
		{"FAKECUDA_LATE=1 FAKECUDA_DEVICES=2", "--sizes 700 --kernel cublas --gpus 2 --type bfloat16,float64", 2},
		{"FAKECUDA_LATE=1 FAKECUDA_MEM_MB=3", "--sizes 450 --kernel cublas --type bfloat16,float64", 1},
		{"FAKECUDA_LATE=1 FAKECUDA_MEM_MB=3", "--sizes 450 --kernel builtin --type float64", 1},
	} {
		for _, r := range rows(t, strings.Fields(test.environment), "--repeats 1 --warmup 0 "+test.args) {
			t.Run(strings.Join([]string{test.environment, r.Kernel, r.Type, r.Size}, " "), func(t *testing.T) {
				checkRow(t, r, test.cards, strings.Contains(test.args, "cublas"))
			})
		}
	}
}

func checkRow(t *testing.T, r measure.Result, cards int, library bool) {
	if !r.Verified || len(r.Seconds) != r.Repeats || r.Device.Kind != measure.CUDA || len(r.Device.UUIDs) != cards || r.Device.Threads != 0 || !r.CopiesIncluded {
		t.Errorf("%+v", r)
	}
	if library != (r.Kernel == "cuBLAS 12.6.4") || r.Kernel == "" {
		t.Errorf("kernel %s", r.Kernel)
	}
	if parts := []float64{r.KernelSeconds, r.CopyInSeconds, r.CopyOutSeconds}; slices.Min(parts) < 0 || slices.Max(parts) > 1.01*slices.Max(r.Seconds) {
		t.Errorf("parts %v of %v", parts, r.Seconds)
	}
	peak := map[bool]string{true: "tensor peak", false: "FMA peak"}[r.Type == "tf32" || r.Type == "bfloat16" || strings.HasPrefix(r.Kernel, "gemm_f64_mma") || strings.HasPrefix(r.Kernel, "gemm_f64_hopper")]
	if r.KernelSeconds > 0 && (len(r.Ceilings) != 1 || r.Ceilings[0].Name != peak || !(r.Ceilings[0].Rate > 0)) {
		t.Errorf("ceilings %v", r.Ceilings)
	}
	if cards == 1 {
		if r.Cards != nil || r.Efficiency != 0 {
			t.Errorf("one card has the shares %v and the efficiency %v", r.Cards, r.Efficiency)
		}
		return
	}
	if len(r.Cards) != cards || !(r.Efficiency > 0) {
		t.Errorf("%d cards: %v, efficiency %v", cards, r.Cards, r.Efficiency)
	}
	for i, share := range r.Cards {
		if share.UUID != r.Device.UUIDs[i] || share.Seconds < 0 {
			t.Errorf("card %d: %+v", i, share)
		}
	}
}

// TestCopiesWithoutDelay checks that a copy in overwrites only data that is no longer needed, even
// if all products before it are delayed.
func TestCopiesWithoutDelay(t *testing.T) {
	for _, size := range []string{"300", "420", "450"} { // strips of A, strips of B, and panels
		rows(t, []string{asProgram + "=eager", "FAKECUDA_LATE=1", "FAKECUDA_MEM_MB=3"}, "--repeats 1 --type float64 --kernel builtin --sizes "+size)
	}
}

// TestCutsChangeNothing checks that neither the cut of a product nor the number of cards changes a
// bit of it.
func TestCutsChangeNothing(t *testing.T) {
	sums := map[string]string{}
	for _, environment := range []string{"FAKECUDA_DEVICES=1", "FAKECUDA_DEVICES=3", "FAKECUDA_MEM_MB=3", "FAKECUDA_DEVICES=2 FAKECUDA_MEM_MB=3 FAKECUDA_LATE=1"} {
		for _, r := range rows(t, strings.Fields(environment), "--sizes 420 --type float64 --repeats 1 --warmup 0 --kernel builtin --gpus 0") {
			if before, found := sums[r.Type]; found && before != r.Checksum {
				t.Errorf("%s, %s: %s, before %s", environment, r.Type, r.Checksum, before)
			}
			sums[r.Type] = r.Checksum
		}
	}
}

// TestCopies checks that each strip, panel and block is copied once, those of columns row by row, and
// that pinned memory is that of the matrices, or that of the slots if the matrices cannot be pinned.
func TestCopies(t *testing.T) {
	type counts struct{ in, out, rows, pinned int }
	count := func(environment, args string) counts {
		o := onFake(t, append(strings.Fields(environment), "FAKECUDA_TRACE=1"), args+" --type float64 --repeats 1 --warmup 0 --kernel builtin")
		if o.code != workloads.ExitOK {
			t.Fatalf("%s %s: code %d\n%s", environment, args, o.code, o.stderr)
		}
		calls := func(name string) int {
			return len(regexp.MustCompile(`(?m)^.*\b`+name+`\b.*$`).FindAllString(o.stderr, -1))
		}
		return counts{calls("cuMemcpyHtoDAsync_v2"), calls("cuMemcpyDtoHAsync_v2"), calls("cuMemcpy2DAsync_v2"), calls("cuMemHostAlloc")}
	}
	for _, test := range []struct {
		environment, args string
		want              counts
	}{
		{"", "--sizes 200", counts{2, 1, 0, 3}},                                        // B, A and C
		{"FAKECUDA_FAIL=cuMemHostAlloc:2:1", "--sizes 200", counts{2, 1, 0, 1 + 2}},    // a slot's two
		{"FAKECUDA_FAIL=cuMemHostAlloc:2:3", "--sizes 200", counts{2, 1, 0, 3 + 2}},    // two given back
		{"FAKECUDA_DEVICES=2", "--sizes 200 --gpus 2", counts{4 + 2, 2 + 1, 0, 3 + 3}}, // and one card alone
		{"", "--sizes 400", counts{1, 0, 3 + 3, 3}},                                    // A, and B in three strips
		{"FAKECUDA_MEM_MB=2", "--sizes 300", counts{3 * 3, 0, 3 + 3*3, 3}},             // three panels of three blocks
	} {
		if got := count(test.environment, test.args); got != test.want {
			t.Errorf("%s %s: got %+v, want %+v", test.environment, test.args, got, test.want)
		}
	}
}

// TestCardFailures checks that a failure is reported with its cause, exits with the right status,
// and prints no time.
func TestCardFailures(t *testing.T) {
	for _, test := range []struct {
		environment, args string
		code              int
		want              string
	}{
		{"FAKECUDA_DEVICES=0", "--sizes 10", workloads.ExitNoDevice, "--device cuda: libcuda: the NVIDIA driver sees no GPU"},
		{"FAKECUDA_INIT=34", "--sizes 10", workloads.ExitNoDevice, "is the CUDA toolkit's stub"},
		{"FAKECUDA_DEVICES=2", "--sizes 10 --gpus 4", workloads.ExitNoDevice, "4 GPUs are requested, and 2 are visible"},
		{"", "--sizes 10 --binding none", workloads.ExitUsage, "unknown binding none (allowed: libcuda)"},
		{"FAKECUDA_FAIL=cuMemAlloc_v2:2:2", "--sizes 300", workloads.ExitFailed, "multiply 300x300 float64: GPU 0 (Fake GPU): memory for A: allocate "},
		{"FAKECUDA_FAIL=cuMemAlloc_v2:2:4", "--sizes 400", workloads.ExitFailed, "multiply 400x400 float64: GPU 0 (Fake GPU): memory for B: allocate "},
		{"FAKECUDA_FAIL=cuMemAlloc_v2:2:7", "--sizes 400", workloads.ExitFailed, "multiply 400x400 float64: GPU 0 (Fake GPU): memory for C: allocate "},
		{"FAKECUDA_FAIL=cuStreamCreate:2:4", "--sizes 300", workloads.ExitFailed, "multiply 300x300 float64: GPU 0 (Fake GPU): create a queue: "},
		{"FAKECUDA_FAIL=cuEventCreate:2:4", "--sizes 300", workloads.ExitFailed, "multiply 300x300 float64: GPU 0 (Fake GPU): create a mark: "},
		{"FAKECUDA_FAIL=cuMemcpyHtoDAsync_v2:700:1 FAKECUDA_LEAKS=0", "--sizes 300", workloads.ExitFailed, "copy A: copy to the card: cuMemcpyHtoDAsync: CUDA error 700 (ILLEGAL_ADDRESS)"},
		{"FAKECUDA_FAIL=cuMemcpy2DAsync_v2:700:1 FAKECUDA_LEAKS=0", "--sizes 400", workloads.ExitFailed, "copy B: copy rows to the card: cuMemcpy2DAsync: CUDA error 700 (ILLEGAL_ADDRESS)"},
		{"FAKECUDA_FAIL=cuMemcpy2DAsync_v2:719:5 FAKECUDA_LEAKS=0", "--sizes 400", workloads.ExitFailed, "copy C: copy rows from the card: cuMemcpy2DAsync: CUDA error 719 (LAUNCH_FAILED)"},
		// Not all of the matrices fit 2 MiB.
		{"FAKECUDA_MEM_MB=2 FAKECUDA_FAIL=cuMemAlloc_v2:2:2", "--sizes 300", workloads.ExitFailed, "multiply 300x300 float64: GPU 0 (Fake GPU): memory for B: allocate "},
		{"FAKECUDA_MEM_MB=2 FAKECUDA_FAIL=cuMemcpy2DAsync_v2:700:1 FAKECUDA_LEAKS=0", "--sizes 300", workloads.ExitFailed, "copy B: copy rows to the card: cuMemcpy2DAsync: CUDA error 700 (ILLEGAL_ADDRESS)"},
		{"FAKECUDA_MEM_MB=2 FAKECUDA_FAIL=cuMemcpyHtoDAsync_v2:700:1 FAKECUDA_LEAKS=0", "--sizes 300", workloads.ExitFailed, "copy A: copy to the card: cuMemcpyHtoDAsync: CUDA error 700 (ILLEGAL_ADDRESS)"},
		{"FAKECUDA_MEM_MB=2 FAKECUDA_FAIL=cuMemcpy2DAsync_v2:719:2 FAKECUDA_LEAKS=0", "--sizes 300", workloads.ExitFailed, "copy C: copy rows from the card: cuMemcpy2DAsync: CUDA error 719 (LAUNCH_FAILED)"},
		{"FAKECUDA_DEVICES=4 FAKECUDA_FAIL=cuLaunchKernel:700:30 FAKECUDA_LEAKS=0", "--sizes 300 --kernel builtin", workloads.ExitFailed, "CUDA error 700 (ILLEGAL_ADDRESS)"},
		{"FAKECUDA_FAIL=cuModuleLoadDataEx:222:1", "--sizes 300", workloads.ExitNoDevice, "CUDA error 222 (UNSUPPORTED_PTX_VERSION)"},
		{"FAKECUDA_MEM_MB=1", "--sizes 3000", workloads.ExitFailed, "GPU 0 (Fake GPU) has 922 KiB available; choose --sizes of at most "},
		{"FAKECUDA_CC=75", "--sizes 30 --type float32,tf32 --kernel builtin", workloads.ExitNoDevice, "--device cuda: GPU 0 (Fake GPU) has no tensor cores for tf32"},
		{"FAKECUDA_CC=75", "--sizes 30 --type bfloat16 --kernel cublas", workloads.ExitNoDevice, "--device cuda: GPU 0 (Fake GPU) has no tensor cores for bfloat16"},
		{"BATCHCTL_CUBLAS=/none/libcublas.so", "--sizes 30 --kernel cublas", workloads.ExitNoDevice, "--kernel cublas: BATCHCTL_CUBLAS is not a library"},
	} {
		out := onFake(t, strings.Fields(test.environment), test.args+" --warmup 1 --repeats 2")
		if out.code != test.code || !strings.Contains(out.stderr, test.want) || strings.Contains(out.stdout, "seconds") {
			t.Errorf("%s %s: code %d, want %d and %q\n%s%s", test.environment, test.args, out.code, test.code, test.want, out.stdout, out.stderr)
		}
		if !strings.HasPrefix(out.stderr, "batchctl-workloads: matrix: ") || strings.Count(out.stderr, "batchctl-workloads:") != 1 || strings.Contains(out.stderr, "fakecuda:") {
			t.Errorf("%s %s: want one message, and nothing left\n%s", test.environment, test.args, out.stderr)
		}
	}
}

// TestWrongProductOfCards checks that no time is printed for a wrong product, whatever its cause,
// nor for a stopped one.
func TestWrongProductOfCards(t *testing.T) {
	for _, test := range []struct{ broken, args, want string }{
		{"wrong element", "--sizes 100 --type float32", "verify: element ("},
		{"wrong element", "--sizes 100 --type bfloat16", "verify: element ("},
		{"wrong element", "--sizes 320 --type tf32", "verify: row "},
		{"wrong element", "--sizes 320 --type float64", "verify: row "},
		{"wrong element", "--sizes 420 --type float64", "verify: row "},
		{"copy left out", "--sizes 300 --type float32", "verify: element ("},
		{"stopped", "--sizes 300 --type float32", "multiply 300x300 float32: stopped before it finished: terminated signal received"},
		{"no waiting", "--sizes 300 --type float64", "read the time between two marks: cuEventElapsedTime: CUDA error 600 (NOT_READY)"},
	} {
		out := onFake(t, []string{asProgram + "=" + test.broken, "FAKECUDA_LATE=1", "FAKECUDA_DEVICES=2", "FAKECUDA_LEAKS=0"}, test.args+" --kernel builtin --gpus 2")
		if out.code != workloads.ExitFailed || !strings.Contains(out.stderr, test.want) || strings.Contains(out.stdout, "seconds") {
			t.Errorf("%s, %s: code %d\n%s%s", test.broken, test.args, out.code, out.stdout, out.stderr)
		}
	}
}

// TestKernelOfCards checks that missing cuBLAS is reported once if no kernel was chosen, and is no
// failure.
func TestKernelOfCards(t *testing.T) {
	const none = "BATCHCTL_CUBLAS=/none/libcublas.so"
	out := onFake(t, []string{none}, "--sizes 20,30 --repeats 1")
	if want := "batchctl-workloads: matrix: using the built-in kernels: BATCHCTL_CUBLAS is not a library"; out.code != workloads.ExitOK || strings.Count(out.stderr, "\n") != 1 ||
		!strings.HasPrefix(out.stderr, want) || !strings.Contains(out.stdout, ", kernel builtin, ") {
		t.Errorf("code %d\n%s%s", out.code, out.stdout, out.stderr)
	}
	out = onFake(t, []string{none}, "--sizes 20 --repeats 1 --kernel builtin")
	if out.code != workloads.ExitOK || out.stderr != "" {
		t.Errorf("code %d\n%s%s", out.code, out.stdout, out.stderr)
	}
	out = onFake(t, nil, "--sizes 20 --repeats 1")
	if out.code != workloads.ExitOK || out.stderr != "" || !strings.Contains(out.stdout, ", kernel cuBLAS 12.6.4, ") {
		t.Errorf("code %d\n%s%s", out.code, out.stdout, out.stderr)
	}
}

// TestFirstCallOfCards checks that the first call includes the setup: the kernels are compiled
// before the first row.
func TestFirstCallOfCards(t *testing.T) {
	all := rows(t, nil, "--sizes 20,20 --repeats 1 --warmup 0")
	if first := all[0]; !(first.FirstCall > first.Seconds[0]) {
		t.Errorf("the first row's first call took %v, its run %v", first.FirstCall, first.Seconds[0])
	}
	if next := all[1]; next.FirstCall != next.Seconds[0] {
		t.Errorf("the second row's first call took %v, its run %v", next.FirstCall, next.Seconds[0])
	}
}
