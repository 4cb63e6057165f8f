package image

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/workloads/gpu"
	"github.com/batchctl/batchctl/workloads/measure"
)

// Doc is the workload in one line.
const Doc = "filter and resize images: time, MPixel/s, verified output"

const usage = `Usage: batchctl-workloads image [flags]

Run image operations on generated test images, or on PNG and JPEG files, check
every output, and print the times.

Examples:
  batchctl-workloads image --sizes 2048,4096 --batch 1,2,4
  batchctl-workloads image --operations gaussian-blur --sigma 5 --format json
  batchctl-workloads image --input photos --output thumbs --operations resize-bilinear --width 320
  batchctl-workloads image --device cuda --sizes 4096 --batch 4,64

Operations:
`

const notes = `
With --device cuda a time includes the copies to the GPUs and back, from and to pinned
memory; the time of the kernels alone is printed too. The GPUs share the images of a
batch, and each copies one image while it computes another. The first call of the first
row includes loading the kernels, which the driver compiles for the GPU.

Pixels beyond the border are the nearest ones inside. Each operation reads the
original image. A file gives one result named after the operation, such as
cat.sobel.png, or cat.normalise.npy for float32s; with --input each operation runs once unless --repeats is given.
Pixels are read in stored order, and results have no EXIF data. If a photo is upright only by its
EXIF orientation, its results are rotated: rotate the file first (jpegtran, mogrify -auto-orient).

Exit codes: 0 done, 1 failed or wrong result, 2 usage, 3 no such device.
`

// config is the parsed command line.
type config struct {
	sizes, batches []int
	operations     []string
	input, output  string
	runner         runner
}

// flags returns the flag set that fills the configuration, with the defaults set.
func (c *config) flags() *flag.FlagSet {
	flags := measure.NewFlags("image")
	*c = config{sizes: []int{2048, 4096}, batches: []int{1, 2, 4}, operations: operationNames()}
	measure.Ints(flags, &c.sizes, "sizes", "`LIST` square sizes of generated images", 1, 65535)
	measure.Ints(flags, &c.batches, "batch", "`LIST` generated images per run", 1, 10000)
	measure.ListOf(flags, &c.operations, "operations", "`LIST` operations", operationNames()...)
	flags.StringVar(&c.input, "input", "", "`PATH` folder or file to read instead of generated images")
	flags.StringVar(&c.output, "output", "", "`FOLDER` folder for the results; without it, none are written")
	c.runner.params.register(flags)
	c.runner.options.Register(flags, append(kernelNames(), cardKernel))
	return flags
}

// register adds the flags of the operations' parameters and sets the defaults.
func (p *Params) register(flags *flag.FlagSet) {
	*p = Params{Sigma: 2, Scale: 0.75, Factor: 1.2, Offset: 10, Mean: 0.5, Deviation: 0.25}
	measure.Float(flags, &p.Sigma, "sigma", "`N` standard deviation of gaussian-blur in pixels", 0.1, maxSigma)
	measure.Float(flags, &p.Scale, "scale", "`N` output size over input size of resize-bilinear and resize-lanczos",
		0.001, 64)
	measure.Int(flags, &p.Width, "width",
		"`N` output width of resize-bilinear and resize-lanczos; 0 follows the height", 0, 65535)
	measure.Int(flags, &p.Height, "height",
		"`N` output height of resize-bilinear and resize-lanczos; 0 follows the width", 0, 65535)
	measure.Float(flags, &p.Factor, "factor", "`N` factor of each sample in brightness", 0, 1000)
	measure.Float(flags, &p.Offset, "offset", "`N` added to each sample in brightness", -1000, 1000)
	measure.Float(flags, &p.Mean, "mean", "`N` subtracted from each sample/255 in normalise", -1000, 1000)
	measure.Float(flags, &p.Deviation, "deviation", "`N` divisor of each sample in normalise", 0.001, 1000)
}

func operationNames() []string {
	var all []string
	for _, op := range Operations() {
		all = append(all, op.Name)
	}
	return all
}

// kernelNames lists the CPU kernels of any operation, the best first.
func kernelNames() []string {
	var all []string
	for _, op := range Operations() {
		for _, k := range op.all() {
			if !slices.Contains(all, k.Name) {
				all = append(all, k.Name)
			}
		}
	}
	return all
}

// complete checks flags against each other after all are parsed, and sets the defaults that
// depend on other flags.
func (c *config) complete(flags *flag.FlagSet) error {
	if measure.IsSet(flags, "scale") && (c.runner.params.Width > 0 || c.runner.params.Height > 0) {
		return measure.Usagef("--scale excludes --width and --height; omit one of them")
	}
	if err := c.completeDevice(flags); err != nil {
		return err
	}
	if c.input == "" {
		return nil
	}
	for _, name := range []string{"sizes", "batch"} {
		if measure.IsSet(flags, name) {
			return measure.Usagef("--%s applies to generated images, but --input reads files; omit one of them", name)
		}
	}
	if !measure.IsSet(flags, "repeats") {
		c.runner.options.Repeats = 1
	}
	if !measure.IsSet(flags, "warmup") {
		c.runner.options.Warmup = 0
	}
	return nil
}

// completeDevice chooses the kernel for the device. It leaves out the operations that the kernel
// lacks; if --operations named one, it is an error.
func (c *config) completeDevice(flags *flag.FlagSet) error {
	o := &c.runner.options
	if o.Device == measure.CUDA {
		if !measure.IsSet(flags, "kernel") {
			o.Kernel = cardKernel
		}
		if o.Kernel != cardKernel {
			return measure.Usagef("--kernel %s computes on the CPU; with --device cuda, omit it or use %s", o.Kernel,
				cardKernel)
		}
		if c.input == "" {
			return nil
		}
		if o.GPUs > 1 {
			return measure.Usagef("--gpus %d: files are computed one at a time, on one GPU; omit --gpus, or submit an array with a child for each GPU", o.GPUs)
		}
		o.GPUs = 1
		return nil
	}
	if o.Kernel == cardKernel {
		return measure.Usagef("--kernel %s computes on GPUs; add --device cuda, or choose one for the CPU: %s",
			cardKernel, strings.Join(kernelNames(), ", "))
	}
	for _, name := range []string{"gpus", "binding"} {
		if measure.IsSet(flags, name) {
			return measure.Usagef("--%s applies to GPUs; add --device cuda, or omit it", name)
		}
	}
	var able []string
	for _, op := range c.selected() {
		if _, ok := op.find(o.Kernel); ok {
			able = append(able, op.Name)
		} else if measure.IsSet(flags, "operations") {
			return measure.Usagef("--kernel %s has no %s; omit that operation, or choose another kernel: %s", o.Kernel,
				op.Name, strings.Join(kernelNames(), ", "))
		}
	}
	c.operations = able
	return nil
}

// Run runs the workload with its command-line arguments. The error is a measure.UsageError,
// a measure.NoDeviceError, or a failure of the work.
func Run(ctx context.Context, platform gpu.Platform, args []string, stdout, stderr io.Writer) error {
	var c config
	flags := c.flags()
	err := measure.Parse(flags, args)
	if errors.Is(err, flag.ErrHelp) {
		return help(stdout, flags)
	}
	if err == nil {
		err = c.complete(flags)
	}
	if err != nil {
		return err
	}
	device, err := c.open(platform)
	if err != nil {
		return err
	}
	work := c.generated
	if c.input != "" {
		work = c.files
	}
	start := func() (*reporter, error) { return newReporter(&c, device, stdout) }
	err = work(ctx, start, stderr)
	return cmp.Or(err, c.runner.engine.close())
}

// open creates the engine for the device of the flags.
func (c *config) open(platform gpu.Platform) (measure.Device, error) {
	o := c.runner.options
	if o.Device == measure.CPU {
		c.runner.engine = processor{threads: o.Threads, warmup: o.Warmup}
		return measure.Processor(o.Threads), nil
	}
	all, device, err := measure.OpenCards(platform, o)
	if err != nil {
		return measure.Device{}, err
	}
	c.runner.engine, err = newCards(all)
	return device, err
}

// newRow returns an empty row for the operation, with the kernel of the flags.
func (c *config) newRow(op Operation) *row {
	if c.runner.options.Device == measure.CUDA {
		return &row{op: op, kernel: Kernel{Name: cardKernel}}
	}
	kernel, _ := op.find(c.runner.options.Kernel)
	return &row{op: op, kernel: kernel}
}

// selected returns the operations of the flags, in their order.
func (c *config) selected() []Operation {
	all := Operations()
	var chosen []Operation
	for _, name := range c.operations {
		chosen = append(chosen, all[slices.IndexFunc(all, func(op Operation) bool { return op.Name == name })])
	}
	return chosen
}

// reporter prints rows, and adds the device and the parameters that all of them share.
type reporter struct {
	printer *measure.Printer
	device  measure.Device
	params  Params
}

func newReporter(c *config, device measure.Device, stdout io.Writer) (*reporter, error) {
	printer, err := measure.NewPrinter(stdout, c.runner.options.Format, device, c.runner.options.Kernel)
	return &reporter{printer, device, c.runner.params}, err
}

func (r *reporter) print(w *row) error {
	result := w.result(r.params)
	result.Device, result.Versions = r.device, measure.BuildVersions()
	return r.printer.Print(result)
}

// help prints the usage text, the operations and the flags.
func help(w io.Writer, flags *flag.FlagSet) error {
	fmt.Fprint(w, usage)
	for _, op := range Operations() {
		fmt.Fprintf(w, "  %-16s %s\n", op.Name, op.Doc)
	}
	return measure.WriteHelp(w, "\nFlags:\n", flags, notes)
}
