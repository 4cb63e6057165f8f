package matrix

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"regexp"
	"strings"
	"testing"

	"github.com/batchctl/batchctl/workloads/blas"
	"github.com/batchctl/batchctl/workloads/gpu"
	"github.com/batchctl/batchctl/workloads/measure"
)

func run(t *testing.T, args string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	err := Run(t.Context(), gpu.Platform{}, strings.Fields(args), &out, io.Discard)
	return out.String(), err
}

func TestRunText(t *testing.T) {
	out, err := run(t, "--sizes 1,33,300 --type float64,float32 --repeats 2 --warmup 0")
	if err != nil {
		t.Fatal(err)
	}
	want := `^Device cpu \(.+\), \d+ threads, kernel ` + Kernels()[0].Name + `, go.+\n` + strings.Repeat(
		`Matrix multiplication (1x1|33x33|300x300): [0-9.]+ seconds \(float(32|64), [0-9.]+ GFLOP/s, \d+ % of the FMA peak \([0-9.]+ GFLOP/s\), median of 2, spread [0-9.]+ %, first call [0-9.]+ s, verified\)(?:: machine busy, not a measurement)?\n`, 6) +
		`Total: [0-9.]+ seconds(?: \(\d+ of \d+ rows\): machine busy, not a measurement)?\n$`
	if !regexp.MustCompile(want).MatchString(out) {
		t.Errorf("got\n%s", out)
	}
}

func TestRunJSON(t *testing.T) {
	out, err := run(t, "--sizes 20,30 --format json --repeats 4 --threads 1")
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(strings.NewReader(out))
	for _, size := range []int{20, 30} {
		var r measure.Result
		if !lines.Scan() {
			t.Fatal("a line is missing")
		}
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		if r.Width != size || !r.Verified || len(r.Seconds) != 4 || r.GFLOPS <= 0 || r.Device.Threads != 1 || r.Kernel != Kernels()[0].Name ||
			r.ISA != string(blas.Best()) || len(r.Ceilings) != 1 || !(r.Ceilings[0].Rate > 0) || math.Abs(r.Ceilings[0].Share-r.GFLOPS/r.Ceilings[0].Rate) > 1e-6 {
			t.Errorf("got %+v", r)
		}
	}
	if lines.Scan() {
		t.Errorf("unexpected line %s", lines.Text())
	}
}

// TestRunEachKernel checks that every kernel has its label and is verified.
func TestRunEachKernel(t *testing.T) {
	for _, k := range Kernels() {
		out, err := run(t, "--sizes 300 --type float32,float64 --repeats 1 --warmup 0 --threads 2 --kernel "+k.Name)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out, ", kernel "+k.Title+", ") || strings.Count(out, "verified") != 2 {
			t.Errorf("%s: got\n%s", k.Name, out)
		}
	}
}

func TestChecksumDependsOnSeedNotThreads(t *testing.T) {
	sum := func(args string) string {
		out, err := run(t, "--sizes 300 --format json --repeats 1 --warmup 0 "+args)
		if err != nil {
			t.Fatal(err)
		}
		var r measure.Result
		if err := json.Unmarshal([]byte(out), &r); err != nil {
			t.Fatal(err)
		}
		return r.Checksum
	}
	if one, two := sum("--threads 1"), sum("--threads 2"); one != two {
		t.Errorf("1 thread gives %s, 2 give %s", one, two)
	}
	if one, two := sum("--seed 1"), sum("--seed 2"); one == two {
		t.Errorf("two seeds give %s", one)
	}
}

func TestRunErrors(t *testing.T) {
	for _, test := range []struct{ args, want string }{
		{"--size 3", "did you mean --sizes?"},
		{"--type tf32", "--type tf32 works only with --device cuda (with --device cpu use: float32, float64)"},
		{"--type float32,bfloat16", "--type bfloat16 works only with --device cuda"},
		{"--type half", "unknown type half (allowed: bfloat16, float32, float64, tf32)"},
		{"--kernel cublas", "--kernel cublas works only with --device cuda (with --device cpu use: " + strings.Join(kernelNames(), ", ") + ")"},
		{"--kernel portable --device cuda", "--kernel portable works only with --device cpu (with --device cuda use: cublas, builtin)"},
		{"--gpus 2", "--gpus applies to --device cuda"},
		{"--binding libcuda", "--binding applies to --device cuda"},
	} {
		out, err := run(t, test.args)
		if _, usage := errors.AsType[*measure.UsageError](err); !usage || !strings.Contains(err.Error(), test.want) || out != "" {
			t.Errorf("%s: got %q, %v", test.args, out, err)
		}
	}
	var missing *measure.NoDeviceError
	out, err := run(t, "--device cuda --sizes 10")
	if !errors.As(err, &missing) || out != "" {
		t.Errorf("got %q, %v", out, err)
	}
}

func TestCheckMemory(t *testing.T) {
	memory := measure.Memory{Bytes: 24 << 30, Source: "the container"}
	matrices := func(p product) int64 { return 3 * int64(p.size) * int64(p.size) * p.kind.Bytes() }
	for _, test := range []struct {
		product product
		bytes   int64
		want    string
	}{
		{product{gpu.Float64, 10000}, 24 << 30, ""},
		{product{gpu.Float32, 40000}, 24 << 30, ""},
		{product{gpu.Float64, 40000}, 24 << 30, "40000x40000 float64 multiplication needs 35.8 GiB of memory, and the container has 24 GiB available; choose --sizes of at most 32700"},
		{product{gpu.Float64, 1_000_000}, 24 << 30, "needs 21.8 TiB"},
		{product{gpu.Float32, 1000}, 1, "give the job more memory"},
		{product{gpu.Float64, 40000}, 0, ""}, // unknown
	} {
		memory.Bytes = test.bytes
		err := checkMemory([]product{{gpu.Float32, 0}, test.product}, memory, matrices)
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v: got %v, want %q", test.product, err, test.want)
		}
	}
}

// TestProcessorBytes checks that a product's memory is its matrices and the goroutines' workspace,
// and that the advised size fits.
func TestProcessorBytes(t *testing.T) {
	bytes := func(p product) int64 { return processorBytes(p, blas.Best(), 2) }
	for _, p := range []product{{gpu.Float64, 2000}, {gpu.Float32, 2000}} {
		matrices := 3 * 2000 * 2000 * p.kind.Bytes()
		if more := float64(bytes(p))/float64(matrices) - 1; more <= 0 || more > 0.05 {
			t.Errorf("%v: %.2f %% more than its matrices", p, 100*more)
		}
		memory := measure.Memory{Bytes: matrices, Source: "the container"}
		if err := checkMemory([]product{p}, memory, bytes); err == nil || !strings.HasSuffix(err.Error(), "choose --sizes of at most 1900") {
			t.Errorf("%v: got %v", p, err)
		}
	}
}

// onProcessor is a row's engine with a kernel.
func onProcessor(size, threads int, kernel func(c, a, b Matrix[float64], threads int)) *processor[float64] {
	return &processor[float64]{size: size, options: measure.Options{Threads: threads, Seed: 1}, kernel: kernel, isa: blas.Best()}
}

// wrongKernel leaves one element as it was.
func wrongKernel(c, a, b Matrix[float64], threads int) {
	kept := c.Row(1)[1]
	gonumFloat64(c, a, b, threads)
	c.Row(1)[1] = kept
}

func TestWrongResultHasNoTime(t *testing.T) {
	o := measure.Options{Threads: 2, Repeats: 1, Seed: 1}
	r, err := multiplyAndTime(t.Context(), o, product{gpu.Float64, 50}, onProcessor(50, 2, wrongKernel))
	if err == nil || !strings.HasPrefix(err.Error(), "multiply 50x50 float64: verify: element (1, 1) is off by NaN") || r.Median != 0 {
		t.Errorf("got %+v, %v", r, err)
	}
}

// TestSignalInsideKernel checks that a signal ends the program although the kernel would continue.
func TestSignalInsideKernel(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	forever := make(chan struct{})
	t.Cleanup(func() { close(forever) })
	stuck := func(_, _, _ Matrix[float64], _ int) {
		cancel(errors.New("terminated signal received"))
		<-forever
	}
	_, err := multiplyAndTime(ctx, measure.Options{Threads: 1, Repeats: 1}, product{gpu.Float64, 10}, onProcessor(10, 1, stuck))
	if err == nil || !strings.Contains(err.Error(), "stopped before it finished: terminated signal received") {
		t.Errorf("got %v", err)
	}
}

func TestHelp(t *testing.T) {
	out, err := run(t, "--help")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Examples:", "--sizes LIST", "--device KIND", "Exit codes:", "cpu, cuda"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}
