package quickstart

import (
	"context"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/batchctl/batchctl/pkg/cli/benchmark"
	"github.com/batchctl/batchctl/pkg/cli/cloud"
	"github.com/batchctl/batchctl/pkg/cli/cmdline"
	"github.com/batchctl/batchctl/pkg/cli/jobs"
	"github.com/batchctl/batchctl/pkg/cli/preview"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/quickstart"
)

// QuickstartCommand is batchctl quickstart.
func QuickstartCommand(con *term.Console) *cli.Command {
	return &cli.Command{
		Name:      "quickstart",
		Usage:     "deploy, run the CPU/GPU benchmark, and clean up",
		UsageText: "batchctl quickstart [FLAGS]\n   batchctl quickstart destroy [FLAGS]",
		Description: cmdline.Help("Says what it makes and costs, asks, deploys the stacks, brings the images into ECR, runs the matrix and the image benchmark\n"+
			"on CPU and GPU, and writes cpu-benchmark.txt, gpu-benchmark.txt, benchmark-summary.txt and the other reports. Cut off at\n"+
			"any moment, the same command goes on. A job that fails or does not start ends the wait, with the reason. What it made stays\n"+
			"until batchctl quickstart destroy, or --destroy-after. --target local does the same on this machine and needs nothing.",
			"batchctl quickstart --target local\nbatchctl quickstart --target aws --max-cost 5\nbatchctl quickstart --target aws --yes --destroy-after --published\n"+
				"batchctl quickstart destroy"),
		Flags: jobs.Flags(slices.Concat(cmdline.ExecutorFlags(), benchmark.MeasureFlags(1, "quickstart", 30*time.Minute), quickstartFlags())...),
		Subcommands: []*cli.Command{{
			Name: "destroy", Usage: "remove all that the quick start made: jobs, stacks, images, job definitions, logs",
			UsageText: "batchctl quickstart destroy [FLAGS]",
			Description: cmdline.Help("Lists it, asks, removes it, and looks at the end whether anything is left. The reports stay in their directory.",
				"batchctl quickstart destroy\nbatchctl quickstart destroy --target prod --prefix trial --yes"),
			Flags: jobs.Flags(quickstartOut(), prefixFlag(), yesFlag()), Action: with(con, destroy),
		}},
		Action: with(con, run),
	}
}

func quickstartOut() cli.Flag {
	return &cli.StringFlag{Name: "out", Value: "quickstart", Usage: "the `DIRECTORY` of the quick start: its reports, platform file and memory"}
}

func prefixFlag() cli.Flag {
	return &cli.StringFlag{Name: "prefix", Value: "batchctl-quickstart", Usage: "names of all that is made begin with `PREFIX`"}
}

func yesFlag() cli.Flag {
	return &cli.BoolFlag{Name: "yes", Aliases: []string{"y"}, Usage: "do not ask"}
}

func quickstartFlags() []cli.Flag {
	return []cli.Flag{
		prefixFlag(), yesFlag(), preview.MaxCostFlag(),
		&cli.BoolFlag{Name: "destroy-after", Usage: "remove all of it at the end, also after a failure and after Ctrl-C"},
		&cli.StringSliceFlag{Name: "parameter", Usage: "`NAME=VALUE` of a template's parameter, such as GpuInstanceTypes=g5.xlarge; may be repeated"},
		&cli.StringFlag{Name: "sizes", Value: "1000,5000,8000,10000", Usage: "`SIZES` of the matrices (with --target local: " + quickstart.LocalSizes + ")"},
		&cli.StringFlag{Name: "image-sizes", Value: "2048,4096", Usage: "`SIZES` of the images"},
		&cli.StringFlag{Name: "batch", Value: "1,2", Usage: "`NUMBERS` of images at a time"},
		&cli.StringSliceFlag{Name: "parameters", Usage: "`NAME=VALUE` of the jobs, such as repeats=9; may be repeated"},
		&cli.StringSliceFlag{Name: "env", Usage: "print the environment for other AWS clients"},
		&cli.StringSliceFlag{Name: "set", Usage: "`PATH=VALUE` changes a member of all jobs, as in timeout=1h; may be repeated"},
		&cli.StringFlag{Name: "cpu-image", Usage: "the `IMAGE` of the CPU jobs: none is built for them"},
		&cli.StringFlag{Name: "gpu-image", Usage: "the `IMAGE` of the GPU jobs: none is built for them"},
		&cli.StringFlag{Name: "builder", Value: "container", Usage: "what builds and pushes images: `docker|podman|container` (container: docker if its daemon answers, else podman)"},
		&cli.StringFlag{Name: "workloads", Usage: "the `DIRECTORY` of batchctl-workloads for Linux on x86_64 (default: beside batchctl)"},
		&cli.StringFlag{Name: "gpu-base", Usage: "the `IMAGE` with a C library, or with CUDA too, that the GPU image is built on (default: the Dockerfile's)"},
		&cli.StringFlag{Name: "registry", Usage: "push to `HOST/PREFIX` in place of the stack's ECR repository, with your own login: a registry of the organisation, which the hosts must reach"},
	}
}

// options are those of quickstart and of quickstart destroy.
type options struct {
	benchmark.Options // its jobs, the target and the directory of the quick start
	prefix            string
	yes, destroyAfter bool
	stackParameters   []string // NAME=VALUE
	// sizes are those of the matrices, imageSizes and batchSizes those of the images.
	sizes, imageSizes, batchSizes string
	cpuImage, gpuImage            string // the user's own; "" for those that are built
	builder, registry, gpuBase    string
	programs                      string // a directory; "" for that of batchctl
	// given are the flags on the command line.
	given func(flag string) bool
	// confirm asks a question, unless yes has answered it.
	confirm func(question string) (bool, error)
}

// with runs a command with its options.
func with(con *term.Console, run func(context.Context, *term.Console, options) error) cli.ActionFunc {
	return func(c *cli.Context) error {
		o, err := optionsOf(con, c)
		if err != nil {
			return err
		}
		return run(c.Context, con, o)
	}
}

func optionsOf(con *term.Console, c *cli.Context) (options, error) {
	o, err := benchmark.OptionsOf(c)
	return options{Options: o, prefix: c.String("prefix"), yes: c.Bool("yes"), destroyAfter: c.Bool("destroy-after"),
		stackParameters: c.StringSlice("parameter"), sizes: c.String("sizes"), imageSizes: c.String("image-sizes"),
		batchSizes: c.String("batch"), cpuImage: c.String("cpu-image"), gpuImage: c.String("gpu-image"), builder: c.String("builder"),
		registry: c.String("registry"), gpuBase: c.String("gpu-base"), programs: c.String("workloads"), given: c.IsSet,
		confirm: func(question string) (bool, error) { return cloud.Confirm(con, c, question) }}, err
}
