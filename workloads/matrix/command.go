package matrix

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"

	"github.com/batchctl/batchctl/workloads/blas"
	"github.com/batchctl/batchctl/workloads/measure"
)

// Doc is the workload in one line.
const Doc = "multiply square matrices: time, GFLOP/s, verified result"

const usage = `Usage: batchctl-workloads matrix [flags]

Multiply square random matrices, check every product, and print its time.

Kernels: avx512, avx2 and portable are batchctl's own, the best that this machine
runs is the default; gonum is gonum's own routine. The peak is measured in the
same run, before and after each repeat.

Examples:
  batchctl-workloads matrix --sizes 1000,2000,5000
  batchctl-workloads matrix --sizes 4000 --type float32,float64 --repeats 5 --format json
  batchctl-workloads matrix --sizes 2000 --threads 1 --kernel gonum

Flags:
`

const exits = `
A product counts only if it is verified: every element up to 256x256, above that
sampled rows and Freivalds' check, |error| <= 2 u K max|A| max|B|.

Environment: BATCHCTL_BLAS_ISA=avx2 or portable holds the default back.

Exit codes: 0 done, 1 failed or wrong result, 2 usage, 3 no such device.
`

// config is the command line.
type config struct {
	sizes   []int
	types   []string
	options measure.Options
}

func (c *config) flags() *flag.FlagSet {
	flags := measure.NewFlags("matrix")
	c.sizes, c.types = []int{1000, 2000}, []string{"float64"}
	measure.Ints(flags, &c.sizes, "sizes", "`LIST` square sizes", 1, 1_000_000)
	measure.ListOf(flags, &c.types, "type", "`LIST` element types", "float32", "float64")
	var names []string
	for _, k := range Kernels() {
		names = append(names, k.Name)
	}
	c.options.Register(flags, names)
	return flags
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

// Run is the program. Errors are a measure.UsageError, a measure.NoDeviceError,
// or a failure of the work.
func Run(ctx context.Context, args []string, stdout, _ io.Writer) error {
	var c config
	flags := c.flags()
	if err := measure.Parse(flags, args); errors.Is(err, flag.ErrHelp) {
		return help(stdout, flags)
	} else if err != nil {
		return err
	}
	if err := blas.LimitError(); err != nil {
		return measure.Usagef("%s", err)
	}
	device, err := measure.Open(c.options.Device, c.options.Threads)
	if err != nil {
		return err
	}
	if err := checkMemory(c.products(), measure.AvailableMemory()); err != nil {
		return err
	}
	return c.runAll(ctx, device, stdout)
}

func (c *config) runAll(ctx context.Context, device measure.Device, stdout io.Writer) error {
	kernels := Kernels()
	kernel := kernels[slices.IndexFunc(kernels, func(k Kernel) bool { return k.Name == c.options.Kernel })]
	printer, err := measure.NewPrinter(stdout, c.options.Format, device, kernel.Title)
	if err != nil {
		return err
	}
	for _, p := range c.products() {
		r, err := c.run(ctx, p, kernel)
		if err != nil {
			return err
		}
		r.Device, r.Kernel, r.Versions = device, kernel.Title, measure.BuildVersions()
		if err := printer.Print(r); err != nil {
			return err
		}
	}
	return printer.Total()
}

func help(w io.Writer, flags *flag.FlagSet) error {
	fmt.Fprint(w, usage)
	measure.WriteFlags(w, flags)
	_, err := fmt.Fprint(w, exits)
	return err
}
