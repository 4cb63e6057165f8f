package fakecuda

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/batchctl/batchctl/pkg/testtool"
)

// runner runs one case of a program of testdata.
type runner func(name string, environment ...string) (stdout, stderr string, err error)

// compileCases builds the C++ program testdata/NAME/check.cpp on the libraries.
func compileCases(t *testing.T, name, folder string, libraries ...string) runner {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "check")
	arguments := []string{"-std=c++17", "-Wall", "-Wextra", "-Werror", filepath.Join("testdata", name, "check.cpp"),
		"-o", binary, "-pthread", "-L" + folder, "-Wl,-rpath," + folder}
	for _, l := range libraries {
		arguments = append(arguments, "-l:"+l)
	}
	if out, err := exec.Command(compiler, arguments...).CombinedOutput(); err != nil {
		t.Fatal(testtool.BuildError("the cases", string(out), err))
	}
	return func(name string, environment ...string) (string, string, error) {
		var stdout, stderr bytes.Buffer
		cmd := exec.Command(binary, name, filepath.Join("testdata", "planted", "planted.ptx"))
		cmd.Env = append(slices.DeleteFunc(os.Environ(), isSetting), environment...)
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		err := cmd.Run()
		return stdout.String(), stderr.String(), err
	}
}

// isSetting tells what a person may have set to run other tests.
func isSetting(variable string) bool {
	return strings.HasPrefix(variable, "FAKECUDA_") || strings.HasPrefix(variable, "FAKENVML_")
}

// outcome is what a case has to print, and what has to be in its stderr.
type outcome struct {
	name        string
	environment []string
	stdout      []string
	stderr      string
}

func (run runner) all(t *testing.T, outcomes []outcome) {
	for _, o := range outcomes {
		t.Run(strings.Join(append([]string{o.name}, o.environment...), " "), func(t *testing.T) {
			stdout, stderr, err := run(o.name, o.environment...)
			if err != nil {
				t.Fatalf("%v\n%s%s", err, stdout, stderr)
			}
			if want := strings.Join(o.stdout, "\n"); strings.TrimSpace(stdout) != want {
				t.Errorf("got:\n%s\nwant:\n%s", stdout, want)
			}
			if !strings.Contains(stderr, o.stderr) || o.stderr == "" && stderr != "" {
				t.Errorf("stderr is %q, want %q", stderr, o.stderr)
			}
		})
	}
}

func TestDriver(t *testing.T) {
	planted, err := filepath.Abs(filepath.Join("testdata", "planted"))
	if err != nil {
		t.Fatal(err)
	}
	run := compileCases(t, "planted", build(t, nil, planted), "libcuda.so.1")
	t.Run("Kernels", func(t *testing.T) { testKernels(t, run) })
	t.Run("Calls", func(t *testing.T) { testCalls(t, run) })
	t.Run("Streams", func(t *testing.T) { testStreams(t, run) })
	t.Run("Devices", func(t *testing.T) { testDevices(t, run) })
	t.Run("Sanitized", func(t *testing.T) {
		testtool.Long(t)
		testSanitized(t, run, sanitizedEnvironment(t, build(t, sanitizers, planted)))
	})
}

func testKernels(t *testing.T, run runner) {
	run.all(t, []outcome{
		{name: "good", stdout: []string{"launch 0", "wrong 0"}},
		{name: "variable", stdout: []string{"size 16", "value 5", "value 6", "value 7", "value 8", "unknown 500"}},
		{name: "mixed", stdout: []string{"sum 54319.75"}},
		{name: "where", stdout: []string{"wrong 0"}},
		{name: "vector", stdout: []string{"value 3", "value 2", "value 1", "value 0", "value 7", "value 6", "value 5", "value 4"}},
		{name: "reverse", stdout: []string{"with barrier: right", "without: wrong"}},
		{name: "shift", stdout: []string{"with barrier: right", "without: wrong"}},
		{name: "unwritten", stdout: []string{"static NaN, dynamic NaN, memory NaN"}},
		{name: "no guard", stdout: []string{"launch 0", "next 700", "free 700"}, stderr: "no_guard: wrote beyond an allocation of 1000 bytes"},
		{name: "pointers", stdout: []string{"launch 0", "next 700"}, stderr: "times_scale: argument 1 points to"},
		{name: "some leave", stdout: []string{"launch 0", "next 719"}, stderr: "some threads of a block ended while others wait"},
		{
			name: "dynamic shared",
			stdout: []string{
				"reverse 1024", "row 256", "sum_dynamic 0", "sum 1000", "too much 1", "allow beyond the device 1", "allow 0", "much 0", "sum 25600", "written beyond 0", "next 719",
			},
			stderr: "wrote beyond its dynamic shared memory",
		},
		{
			name: "dynamic shared", environment: []string{"FAKECUDA_CC=70"},
			stdout: []string{
				"reverse 1024", "row 256", "sum_dynamic 0", "sum 1000", "too much 1", "allow beyond the device 1", "allow 1", "much 1", "sum 1000", "written beyond 0", "next 719",
			},
			stderr: "wrote beyond its dynamic shared memory",
		},
		{name: "limits", stdout: []string{
			"1025 threads 1", "2048 threads 1", "65 deep 1", "65536 blocks along y 1", "65536 blocks along z 1", "no blocks 1",
			"many blocks 0", "within the bounds 0", "beyond the bounds 1",
		}},
	})
}

func testCalls(t *testing.T, run runner) {
	run.all(t, []outcome{
		{name: "copies", stdout: []string{
			"whole 0", "too long in 1", "too long out 1", "too long over 1", "too long fill 1", "below 1", "sides swapped 1", "beyond pinned 1",
			"rows 0", "too many rows 1", "rows beyond the pitch 1", "rows out 0", "rows beyond pinned 1", "rows of an array 1", "after free 1",
		}},
		{name: "memory", stdout: []string{
			"free 1023 of 1024", "too much 2", "nothing 1", "alloc 0", "aligned 0", "alloc 0", "free 0", "free again 1", "free within 1",
			"free host 0", "free host again 1",
		}},
		{name: "memory", environment: []string{"FAKECUDA_MEM_MB=4"}, stdout: []string{
			"free 3 of 4", "too much 2", "nothing 1", "alloc 0", "aligned 0", "alloc 2", "free 0", "free again 1", "free within 1",
			"free host 0", "free host again 1",
		}},
		{name: "other thread", stdout: []string{"other thread 201", "this thread 0", "after release 201", "release again 201"}},
		{name: "handles", stdout: []string{
			"not recorded 400", "destroyed event 400", "destroyed stream 400", "unknown function 500", "unloaded 400", "unloaded twice 400",
		}},
		{name: "fail", environment: []string{"FAKECUDA_FAIL=cuMemAlloc_v2:2:3,cuCtxSynchronize:700:1"}, stdout: []string{
			"alloc 0", "alloc 0", "alloc 2", "alloc 0", "synchronize 700", "synchronize 700",
		}},
		{name: "good", environment: []string{"FAKECUDA_FAIL=cuLaunchKernel:1:1"}, stdout: []string{"launch 1", "wrong 1000"}},
		{name: "leaks", environment: []string{"FAKECUDA_LEAKS=1"}, stderr: "device 0: not given back: 1 allocations of 100 bytes in all, 0 of pinned memory, 1 streams, 0 events, 0 modules"},
		{name: "leaks"},
	})
}

func testStreams(t *testing.T, run runner) {
	late := []string{"FAKECUDA_LATE=1"}
	run.all(t, []outcome{
		{name: "async", stdout: []string{"before 1", "query 0", "after 1", "query 0"}},
		{name: "async", environment: late, stdout: []string{"before 0", "query 600", "after 2", "query 0"}},
		{name: "events", stdout: []string{"elapsed 0", "value 4", "elapsed 0", "time is plausible", "wait 0"}},
		{name: "events", environment: late, stdout: []string{"elapsed 600", "value 4", "elapsed 0", "time is plausible", "wait 0"}},
		{name: "unordered", stdout: []string{"value 3"}},
		{name: "unordered", environment: late, stdout: []string{"value 0"}},
		{name: "legacy", stdout: []string{"value 3"}},
		{name: "legacy", environment: late, stdout: []string{"value 3"}},
		{name: "good", environment: late, stdout: []string{"launch 0", "wrong 0"}},
	})
}

func testDevices(t *testing.T, run runner) {
	run.all(t, []outcome{
		{name: "init", stdout: []string{"before 3", "init 0", "version 0", "version 13000", "count 0", "count 1", "beyond 101"}},
		{name: "init", environment: []string{"FAKECUDA_DEVICES=8", "FAKECUDA_DRIVER=11040"}, stdout: []string{"before 3", "init 0", "version 0", "version 11040", "count 0", "count 8", "beyond 0"}},
		{name: "init", environment: []string{"FAKECUDA_DEVICES=0"}, stdout: []string{"before 3", "init 100", "version 0", "version 13000", "count 3", "count -1", "beyond 3"}},
		{name: "init", environment: []string{"FAKECUDA_INIT=803"}, stdout: []string{"before 3", "init 803", "version 0", "version 13000", "count 3", "count -1", "beyond 3"}},
		{name: "properties", environment: []string{"FAKECUDA_DEVICES=2", "FAKECUDA_CC=86"}, stdout: []string{
			"Fake GPU 0000:27:00.0 1024", "same uuid 0", "attribute 75: 0 8", "attribute 76: 0 6", "attribute 97: 0 101376", "attribute 33: 0 39", "attribute 0: 1 -1",
		}},
		{name: "images", environment: []string{"FAKECUDA_DRIVER=11000", "FAKECUDA_CC=80"}, stdout: []string{
			"good 0 ",
			"too new 222 fakecuda: PTX .version 7.1 is newer than 7.0, the last that this driver knows",
			"old enough 0 ",
			"other device 209 fakecuda: PTX .target sm_86 does not fit sm_80",
			"one device 209 fakecuda: PTX .target sm_70 does not fit sm_80",
			"no version 218 fakecuda: there is no .version",
			"unknown kernel 218 fakecuda: no_gourd is not compiled in: its room's kernels.h has to list it",
			"other parameters 218 fakecuda: no_guard has other parameters in the source: the PTX is out of date",
			"other variable 218 fakecuda: scale has another size in the source: the PTX is out of date",
			"no text 218 fakecuda: there are bytes that are no text: does the image end in a zero byte?",
		}},
	})
}

// What a kernel may do to memory that no redzone shows, the sanitizers end.
func testSanitized(t *testing.T, run runner, environment []string) {
	for name, want := range map[string]string{
		"good": "", "reverse": "", "dynamic shared": "heap-buffer-overflow",
		"no guard": "heap-buffer-overflow", "read beyond": "heap-buffer-overflow", "beyond shared": "index 64 out of bounds", "misaligned": "misaligned address",
	} {
		t.Run(name, func(t *testing.T) {
			stdout, stderr, err := run(name, environment...)
			if (err != nil) != (want != "") || !strings.Contains(stderr, want) {
				t.Errorf("got %v, want %q in:\n%s%s", err, want, stdout, stderr)
			}
		})
	}
}

// The kernels of this repository, and the two libraries beside the driver.
func TestLibraries(t *testing.T) {
	folder := Build(t)
	run := compileCases(t, "libraries", folder, "libcuda.so.1", "libcublas.so.12", "libnvidia-ml.so.1")
	run.all(t, []outcome{
		{name: "products", stdout: []string{
			"plain 0", "C 58 139 64 154", "transposed 0", "C 145 347.5 160 385", "float64 0", "C 58 139 64 154",
			"padded 0", "C 58 139 -1 -1 -1 -1 -1 -1 64 154 -1 -1 -1 -1 -1 -1",
		}},
		{name: "precisions", stdout: []string{"float32 0", "exact", "tf32 0", "rounded", "by mode 1", "bfloat16 0", "0x4090", "bfloat16 0", "0x4380"}},
		{name: "precisions", environment: []string{"FAKECUDA_CC=75"}, stdout: []string{
			"float32 0", "exact", "tf32 0", "exact", "by mode 1.00049", "bfloat16 15", "0", "bfloat16 15", "0",
		}},
		{name: "refused", stdout: []string{
			"stride 7", "negative 7", "type and compute 15", "too deep for A 13", "outside of C 13", "C of the host 13", "no handle 1", "no context 1", "no context 13",
		}},
		{name: "ordered", stdout: []string{"before 58", "after 58 139 64 154"}},
		{name: "ordered", environment: []string{"FAKECUDA_LATE=1"}, stdout: []string{"before nan", "after 58 139 64 154"}},
		{name: "version", stdout: []string{"agree 1", "fourth 7"}},
		{name: "cards", environment: []string{"FAKECUDA_DEVICES=2", "FAKENVML_FAIL=nvmlDeviceGetPowerUsage:3", "FAKENVML_MEMORY_MHZ=810"}, stdout: []string{
			"before 1", "driver 580.65.06", "count 2", "by uuid 0", "same 1", "short 7", "power 3", "clock 0", "clock 810",
			"unknown 6", "beyond 2", "Not Supported", "after 1",
		}},
		{name: "instances", environment: []string{"FAKENVML_MIG=1"}, stdout: []string{"as a card 6", "as an instance 0", "card 0", "a seventh 1"}},
	})
}

// A second call finds what the first has made.
func TestBuild(t *testing.T) {
	first := Build(t)
	before, err := os.Stat(filepath.Join(first, "libcuda.so.1"))
	if err != nil {
		t.Fatal(err)
	}
	second := Build(t)
	after, err := os.Stat(filepath.Join(second, "libcuda.so.1"))
	if err != nil {
		t.Fatal(err)
	}
	if first != second || !os.SameFile(before, after) {
		t.Errorf("made twice: %s and %s", first, second)
	}
}
