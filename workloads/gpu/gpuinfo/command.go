package gpuinfo

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"io"

	"github.com/batchctl/batchctl/workloads/gpu"
	"github.com/batchctl/batchctl/workloads/measure"
)

// Doc is the workload in one line.
const Doc = "show the GPUs that this job can use, and any problems with them"

const usage = `Usage: batchctl-workloads gpu-info [flags]

Print the driver, the libraries and every GPU that this job sees, with their present
state. Report what is missing or wrong, and what to do about it.

Examples:
  batchctl-workloads gpu-info
  batchctl-workloads gpu-info --format json

Flags:
`

const exits = `
Environment: BATCHCTL_CUBLAS and BATCHCTL_NVML name libraries to use instead.

Exit codes: 0 a GPU can be used, 1 failed, 2 usage, 3 no GPU can be used.
`

// config is the parsed command line.
type config struct {
	format  measure.Format
	binding string
}

// flags returns the flag set that fills the configuration, with the defaults set.
func (c *config) flags() *flag.FlagSet {
	flags := measure.NewFlags("gpu-info")
	c.format = measure.Text
	measure.OneOf(flags, &c.format, "format", "`FORMAT` output, json is one object", measure.Formats()...)
	flags.StringVar(&c.binding, "binding", "", "`NAME` binding to the CUDA driver (default: the first that works)")
	return flags
}

// Run runs the workload. It always prints its report. The error is a measure.UsageError, or a
// measure.NoDeviceError if no GPU can be used.
func Run(ctx context.Context, platform gpu.Platform, args []string, stdout, _ io.Writer) error {
	return run(ctx, platform, machine(), args, stdout)
}

// run is Run on a machine whose files and environment are from the source.
func run(ctx context.Context, platform gpu.Platform, from source, args []string, stdout io.Writer) error {
	var c config
	flags := c.flags()
	if err := measure.Parse(flags, args); errors.Is(err, flag.ErrHelp) {
		return measure.WriteHelp(stdout, usage, flags, exits)
	} else if err != nil {
		return err
	}
	if err := measure.CheckBinding(platform, c.binding); err != nil {
		return err
	}
	r, err := c.gather(ctx, platform, from)
	if err != nil {
		return err
	}
	if err := c.print(stdout, r); err != nil {
		return err
	}
	return r.err()
}

// gather collects the report, and returns early when the context is done: a driver with a broken
// device may never answer.
func (c *config) gather(ctx context.Context, platform gpu.Platform, from source) (*Report, error) {
	done := make(chan *Report, 1)
	go func() { done <- gather(platform, c.binding, from) }()
	select {
	case r := <-done:
		return r, nil
	case <-ctx.Done():
		return nil, measure.Stopped(ctx)
	}
}

func (c *config) print(w io.Writer, r *Report) error {
	if c.format == measure.JSON {
		return json.NewEncoder(w).Encode(r)
	}
	return r.text(w)
}

// err is nil if a GPU can be used, and otherwise names the first problem and its remedy in one line.
func (r *Report) err() error {
	if r.Usable > 0 {
		return nil
	}
	reason := "no GPU can be used"
	if len(r.Problems) > 0 {
		reason += ": " + r.Problems[0].Text
		if remedy := r.Problems[0].Remedy; remedy != "" {
			reason += "; " + remedy
		}
	}
	return &measure.NoDeviceError{Reason: reason}
}
