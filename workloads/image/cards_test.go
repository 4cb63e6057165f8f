package image_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/batchctl/batchctl/pkg/testtool"
	"github.com/batchctl/batchctl/workloads"
	"github.com/batchctl/batchctl/workloads/gpu"
	"github.com/batchctl/batchctl/workloads/gpu/fakecuda"
	"github.com/batchctl/batchctl/workloads/gpu/libcuda"
	"github.com/batchctl/batchctl/workloads/measure"
)

// asProgram makes the test binary run the workload: the driver, a C library, reads its environment
// when the process starts.
const asProgram = "BATCHCTL_TEST_IMAGE"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) == "" {
		testtool.Main(m)
	}
	platform := gpu.Platform{Bindings: []gpu.Binding{{Name: "libcuda", Open: libcuda.Open}}}
	os.Exit(workloads.Main(context.Background(), platform, append([]string{"image"}, os.Args[1:]...), os.Stdout, os.Stderr))
}

// output is the result of one process of the workload.
type output struct {
	stdout, stderr string
	code           int
}

// fake runs the workload on cards that the environment describes.
func fake(t *testing.T, environment string, args ...string) output {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), asProgram+"=1", libcuda.Variable+"="+filepath.Join(fakecuda.Build(t), "libcuda.so.1"), "FAKECUDA_LEAKS=1")
	cmd.Env = append(cmd.Env, strings.Fields(environment)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		t.Fatal(err)
	}
	return output{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

// rows returns the result lines of a run, which must have succeeded.
func (o output) rows(t *testing.T) []measure.Result {
	t.Helper()
	if o.code != 0 || strings.Contains(o.stderr, "not given back") {
		t.Fatalf("exit code %d: %s", o.code, o.stderr)
	}
	var all []measure.Result
	for line := range strings.Lines(o.stdout) {
		var r measure.Result
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		all = append(all, r)
	}
	return all
}

// sums are the checksums by operation, size, batch and type.
func sums(rows []measure.Result) map[string]string {
	all := map[string]string{}
	for _, r := range rows {
		all[fmt.Sprintf("%s %s %d", r.Operation, r.Size, r.Batch)] = r.Checksum
	}
	return all
}

// TestCardsGiveTheSamePixels checks that any number of cards gives the CPU's pixels, whenever the
// driver does its work. The Gaussian is an exception: its arithmetic differs.
func TestCardsGiveTheSamePixels(t *testing.T) {
	args := []string{"--sizes", "1,34,131", "--batch", "1,3,9", "--scale", "0.7", "--sigma", "1.5", "--format", "json", "--repeats", "2"}
	want := sums(fake(t, "", args...).rows(t))
	for _, environment := range []string{"FAKECUDA_DEVICES=1", "FAKECUDA_DEVICES=4 FAKECUDA_LATE=1", "FAKECUDA_DEVICES=8", "FAKECUDA_LATE=1 FAKECUDA_MEM_MB=2"} {
		t.Run(environment, func(t *testing.T) {
			t.Parallel()
			rows := fake(t, environment, append(args, "--device", "cuda")...).rows(t)
			if len(rows) != len(want) {
				t.Fatalf("%d rows, %d on the CPU", len(rows), len(want))
			}
			gaussians := map[string]bool{}
			for key, sum := range sums(rows) {
				if strings.HasPrefix(key, "gaussian-blur") {
					gaussians[key] = true
				} else if sum != want[key] {
					t.Errorf("%s: checksum %s, %s on the CPU", key, sum, want[key])
				}
			}
			if len(gaussians) != 9 {
				t.Errorf("blurred %v", gaussians)
			}
		})
	}
}

// TestCardRows checks that a row reports the parts of its time, its cards and its limits.
func TestCardRows(t *testing.T) {
	args := []string{"--device", "cuda", "--sizes", "200", "--batch", "2,9", "--operations", "sobel,gaussian-blur", "--format", "json", "--repeats", "3"}
	for _, count := range []int{1, 4} {
		for _, r := range fake(t, fmt.Sprintf("FAKECUDA_DEVICES=%d", count), args...).rows(t) {
			all := r.Batch >= count // cards have work
			name := fmt.Sprintf("%s of %d on %d cards", r.Operation, r.Batch, count)
			if r.Kernel != "cuda" || r.Device.Kind != measure.CUDA || len(r.Device.UUIDs) != count || r.Device.Threads != 0 {
				t.Errorf("%s: %+v", name, r.Device)
			}
			if !r.CopiesIncluded || r.KernelSeconds <= 0 || r.CopyInSeconds <= 0 || r.CopyOutSeconds <= 0 || r.KernelSeconds >= r.Median {
				t.Errorf("%s: kernel %v, copies %v and %v of %v", name, r.KernelSeconds, r.CopyInSeconds, r.CopyOutSeconds, r.Median)
			}
			if want := min(count, r.Batch); count > 1 && len(r.Cards) != want {
				t.Errorf("%s: %d shares", name, len(r.Cards))
			}
			for i, c := range r.Cards {
				if c.UUID != r.Device.UUIDs[i] || c.Seconds <= 0 || c.Kernel <= 0 || c.CopyIn <= 0 || c.CopyOut <= 0 {
					t.Errorf("%s: %+v", name, c)
				}
			}
			if (r.Efficiency > 0) != (all && count > 1) {
				t.Errorf("%s: efficiency %v", name, r.Efficiency)
			}
			bytes := r.Batch * 200 * 200 * 4
			if r.Operation == "gaussian-blur" {
				bytes = r.Batch * 200 * 200 * 6
			}
			names := []string{}
			for _, c := range r.Ceilings {
				names = append(names, c.Name)
				if c.Rate <= 0 || c.Share <= 0 || (c.Unit != "GB/s") != (c.Name == "FMA peak") {
					t.Errorf("%s: %+v", name, c)
				}
			}
			want := map[bool][]string{true: {"copy bandwidth", "PCIe copy"}, false: {}}[bytes >= 1<<20]
			if r.Operation == "gaussian-blur" && len(want) > 0 {
				want = append(want, "FMA peak")
			}
			if !slices.Equal(names, want) {
				t.Errorf("%s: ceilings %v", name, names)
			}
		}
	}
}

// TestCardsWriteTheSameFiles checks that the written images are those of the CPU, for one file and
// for many.
func TestCardsWriteTheSameFiles(t *testing.T) {
	in := t.TempDir()
	fake(t, "", "--sizes", "40,61", "--batch", "2", "--operations", "brightness", "--output", in)
	for _, name := range []string{"generated-40x40-1.brightness.png", "generated-61x61-2.brightness.png"} {
		if err := os.Remove(filepath.Join(in, name)); err != nil {
			t.Fatal(err)
		}
	}
	args := []string{"--input", in, "--operations", "sobel,resize-half,resize-bilinear,resize-lanczos,brightness,normalise", "--width", "33", "--format", "json", "--output"}
	cpu, cuda := t.TempDir(), t.TempDir()
	want := sums(fake(t, "", append(args, cpu)...).rows(t))
	got := fake(t, "FAKECUDA_DEVICES=2", append(args, cuda, "--device", "cuda")...).rows(t)
	for key, sum := range sums(got) {
		if sum != want[key] {
			t.Errorf("%s: %s, %s on the CPU", key, sum, want[key])
		}
	}
	for _, r := range got {
		if r.Batch != 6 || len(r.Device.UUIDs) != 1 || r.KernelSeconds <= 0 {
			t.Errorf("got %+v", r)
		}
	}
	entries, err := os.ReadDir(cpu)
	if err != nil || len(entries) != 36 {
		t.Fatalf("%d files, %v", len(entries), err)
	}
	for _, e := range entries {
		one, err1 := os.ReadFile(filepath.Join(cpu, e.Name()))
		two, err2 := os.ReadFile(filepath.Join(cuda, e.Name()))
		if err1 != nil || err2 != nil || !bytes.Equal(one, two) {
			t.Errorf("%s differs: %v, %v", e.Name(), err1, err2)
		}
	}
}

// TestCardFaults checks that after any fault no time is printed, and the message names the fault.
func TestCardFaults(t *testing.T) {
	for _, test := range []struct {
		environment, args string
		code              int
		want              string
	}{
		{"FAKECUDA_DEVICES=0", "", 3, "--device cuda: "},
		{"FAKECUDA_DEVICES=2", "--gpus 3", 3, "3 GPUs are requested"},
		{"FAKECUDA_INIT=803", "", 3, "different versions"},
		{"FAKECUDA_FAIL=cuMemAlloc_v2:2:1", "", 1, "CUDA error 2 (OUT_OF_MEMORY)"},
		{"FAKECUDA_FAIL=cuMemAlloc_v2:2:2 FAKECUDA_DEVICES=4", "", 1, "CUDA error 2 (OUT_OF_MEMORY)"},
		{"FAKECUDA_FAIL=cuMemHostAlloc:2:2", "", 1, "CUDA error 2 (OUT_OF_MEMORY)"},
		{"FAKECUDA_FAIL=cuModuleLoadDataEx:222:1", "", 3, "CUDA error 222 (UNSUPPORTED_PTX_VERSION); use a machine with a newer driver or GPU"},
		{"FAKECUDA_FAIL=cuStreamCreate:2:3", "", 1, "CUDA error 2 (OUT_OF_MEMORY)"},
		{"FAKECUDA_FAIL=cuLaunchKernel:700:1", "", 1, "CUDA error 700 (ILLEGAL_ADDRESS)"},
		{"FAKECUDA_FAIL=cuStreamSynchronize:700:5 FAKECUDA_DEVICES=2", "", 1, "CUDA error 700 (ILLEGAL_ADDRESS)"},
		{"FAKECUDA_FAIL=cuMemcpyDtoHAsync_v2:719:2", "", 1, "CUDA error 719 (LAUNCH_FAILED)"},
		{"FAKECUDA_MEM_MB=4", "--sizes 1000", 1, "choose images of at most about 782x782, or run with --device cpu"},
		{"FAKECUDA_MEM_MB=64", "--sizes 3000 --scale 0.03 --operations resize-lanczos", 2, "reduce to no less than 1/21"},
	} {
		t.Run(test.environment, func(t *testing.T) {
			t.Parallel()
			args := append([]string{"--device", "cuda", "--operations", "gaussian-blur", "--sizes", "50", "--batch", "2"}, strings.Fields(test.args)...)
			got := fake(t, test.environment, args...)
			if got.code != test.code || !strings.Contains(got.stderr, test.want) || strings.Contains(got.stdout, "seconds") {
				t.Errorf("exit code %d, want %d with %q:\n%s%s", got.code, test.code, test.want, got.stdout, got.stderr)
			}
		})
	}
}
