package matrix

import (
	"context"
	"errors"
	"flag"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/workloads/blas"
	"github.com/batchctl/batchctl/workloads/gpu"
	"github.com/batchctl/batchctl/workloads/measure"
)

// Doc is the workload in one line.
const Doc = "multiply square matrices: time, GFLOP/s, verified result"

const usage = `Usage: batchctl-workloads matrix [flags]

Multiply square random matrices, check every product, and print its time.

Kernels of the CPU: avx512, avx2, neon and portable are batchctl's own, and the
best that this machine can run is the default; gonum is gonum's own routine.
Kernels of GPUs: cublas, the default if it is found, and builtin.

With --device cuda a time includes the copies to the GPUs and back, which overlap
with the arithmetic; its parts are printed too. Matrices that do not fit the
GPUs' memory are computed in blocks.

The peak is measured in the same run, before and after each repeat. The rate of
the CPU's repeats is compared with it; on GPUs, the rate of the kernels alone.

Examples:
  batchctl-workloads matrix --sizes 1000,2000,5000
  batchctl-workloads matrix --sizes 4000 --type float32,float64 --repeats 5 --format json
  batchctl-workloads matrix --sizes 2000 --threads 1 --kernel gonum
  batchctl-workloads matrix --sizes 10000 --device cuda --type float32,tf32,bfloat16

Flags:
`

const exits = `
A product counts only if it is verified: every element up to 256x256, above that
sampled rows and Freivalds' check. With float32 and float64
|error| <= 2 u K max|A| max|B|; tf32 and bfloat16 may lose 0.1 % and 1 % of the
product's norm as well, and bfloat16 takes operands that are rounded before.

Environment: BATCHCTL_BLAS_ISA=avx2, neon or portable limits the CPU's default
kernel; CUDA_VISIBLE_DEVICES chooses GPUs.

Exit codes: 0 done, 1 failed or wrong result, 2 usage, 3 no such device.
`

// config is the parsed command line.
type config struct {
	sizes   []int
	types   []gpu.Precision
	options measure.Options
}

// tensorOnly are the precisions that only tensor cores have.
var tensorOnly = []gpu.Precision{gpu.TF32, gpu.BFloat16}

func (c *config) flags() *flag.FlagSet {
	flags := measure.NewFlags("matrix")
	c.sizes, c.types = []int{1000, 2000}, []gpu.Precision{gpu.Float64}
	measure.Ints(flags, &c.sizes, "sizes", "`LIST` square sizes", 1, 1_000_000)
	measure.ListOf(flags, &c.types, "type", "`LIST` element types, the last two with --device cuda", gpu.Float32,
		gpu.Float64, gpu.TF32, gpu.BFloat16)
	c.options.Register(flags, append(kernelNames(), cardKernels...))
	return flags
}

func kernelNames() []string {
	var names []string
	for _, k := range Kernels() {
		names = append(names, k.Name)
	}
	return names
}

// check rejects flags that do not apply to the device.
func (c *config) check(flags *flag.FlagSet) error {
	if c.options.Device == measure.CUDA {
		if !measure.IsSet(flags, "kernel") {
			c.options.Kernel = "" // cuBLAS if it is found
		} else if !slices.Contains(cardKernels, c.options.Kernel) {
			return otherDevice("kernel", c.options.Kernel, measure.CUDA, cardKernels)
		}
		return nil
	}
	for _, name := range []string{"gpus", "binding"} {
		if measure.IsSet(flags, name) {
			return measure.Usagef("--%s applies to --device cuda; add --device cuda, or omit it", name)
		}
	}
	for _, kind := range c.types {
		if slices.Contains(tensorOnly, kind) {
			return otherDevice("type", kind, measure.CPU, []gpu.Precision{gpu.Float32, gpu.Float64})
		}
	}
	if slices.Contains(cardKernels, c.options.Kernel) {
		return otherDevice("kernel", c.options.Kernel, measure.CPU, kernelNames())
	}
	if err := blas.LimitError(); err != nil {
		return measure.Usagef("%s", err)
	}
	return nil
}

// otherDevice is the error for a flag's value that belongs to the other device.
func otherDevice[T ~string](flag string, value T, kind measure.DeviceKind, allowed []T) error {
	other := measure.CUDA
	if kind == measure.CUDA {
		other = measure.CPU
	}
	return measure.Usagef("--%s %s works only with --device %s (with --device %s use: %s)", flag, value, other, kind,
		joined(allowed))
}

func joined[T ~string](values []T) string {
	all := make([]string, len(values))
	for i, v := range values {
		all[i] = string(v)
	}
	return strings.Join(all, ", ")
}

func (c *config) products() []product {
	var all []product
	for _, kind := range c.types {
		for _, size := range c.sizes {
			all = append(all, product{kind, size})
		}
	}
	return all
}

// Run runs the workload with its command-line arguments. The error is a measure.UsageError,
// a measure.NoDeviceError, or a failure of the work.
func Run(ctx context.Context, platform gpu.Platform, args []string, stdout, stderr io.Writer) error {
	var c config
	flags := c.flags()
	if err := measure.Parse(flags, args); errors.Is(err, flag.ErrHelp) {
		return measure.WriteHelp(stdout, usage, flags, exits)
	} else if err != nil {
		return err
	}
	if err := c.check(flags); err != nil {
		return err
	}
	if c.options.Device == measure.CUDA {
		return c.runOnCards(ctx, platform, stdout, stderr)
	}
	return c.runOnProcessor(ctx, stdout)
}

// runOnProcessor measures all rows on the CPU, after the memory check.
func (c *config) runOnProcessor(ctx context.Context, stdout io.Writer) error {
	kernels := Kernels()
	kernel := kernels[slices.IndexFunc(kernels, func(k Kernel) bool { return k.Name == c.options.Kernel })]
	bytes := func(p product) int64 { return processorBytes(p, kernel.ISA, c.options.Threads) }
	if err := checkMemory(c.products(), measure.AvailableMemory(), bytes); err != nil {
		return err
	}
	return c.runAll(ctx, stdout, measure.Processor(c.options.Threads), kernel.Title,
		func(p product) (measure.Result, error) {
			return c.runProcessor(ctx, p, kernel)
		})
}

// runOnCards measures all rows on the GPUs, after the checks of precision and memory.
func (c *config) runOnCards(ctx context.Context, platform gpu.Platform, stdout, stderr io.Writer) (err error) {
	s, err := openStations(platform, c.options, stderr)
	if err != nil {
		return err
	}
	defer closeAfter(ctx, s.close, &err)
	memory := measure.AvailableMemory()
	if err := c.checkCards(s, memory); err != nil {
		return err
	}
	return c.runAll(ctx, stdout, s.device, s.title(), func(p product) (measure.Result, error) {
		return c.runCards(ctx, s, p, memory)
	})
}

// checkCards rejects, before any work, precisions that the cards lack, and sizes that do not fit
// the memory of the cards or of the host.
func (c *config) checkCards(s *stations, memory measure.Memory) error {
	for _, kind := range c.types {
		if err := s.supports(kind); err != nil {
			return err
		}
	}
	budgets, err := s.budgets()
	if err != nil {
		return err
	}
	for _, p := range c.products() {
		if _, err := plansFor(p, budgets); err != nil {
			return err
		}
	}
	return checkMemory(c.products(), memory, func(p product) int64 {
		plans, err := plansFor(p, budgets)
		if err != nil {
			return math.MaxInt64
		}
		return cardsBytes(p, plans, memory)
	})
}

// runAll measures and prints one row after the other, and stops at the first error.
func (c *config) runAll(ctx context.Context, stdout io.Writer, device measure.Device, kernel string,
	row func(product) (measure.Result, error)) error {
	printer, err := measure.NewPrinter(stdout, c.options.Format, device, kernel)
	if err != nil {
		return err
	}
	for _, p := range c.products() {
		if err := measure.Stopped(ctx); err != nil {
			return err
		}
		r, err := row(p)
		if err != nil {
			return err
		}
		r.Device = device
		if err := printer.Print(r); err != nil {
			return err
		}
	}
	return printer.Total()
}
