package testbed

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
	"github.com/batchctl/batchctl/pkg/testbed"
)

// Commands are bench deploy and bench destroy.
func Commands(con *term.Console) []*cli.Command {
	return []*cli.Command{DeployCommand(con), {
		Name: "destroy", Usage: "delete everything that bench deploy created",
		UsageText: "batchctl bench destroy [FLAGS]",
		Description: cmdline.Help("Lists everything that bench deploy created, asks, deletes it, and checks that nothing is left. The reports are kept.",
			"batchctl bench destroy\nbatchctl bench destroy --target prod --prefix trial --yes"),
		Flags: jobs.Flags(outFlag(), prefixFlag(), yesFlag()), Action: with(con, destroy),
	}}
}

// DeployCommand is batchctl bench deploy.
func DeployCommand(con *term.Console) *cli.Command {
	return &cli.Command{
		Name:      "deploy",
		Usage:     "deploy queues, benchmark CPU against GPU on them, and clean up",
		UsageText: "batchctl bench deploy [FLAGS]",
		Description: cmdline.Help("Shows what it will create and the maximum cost, and asks. Then it deploys the stacks, pushes the images to ECR, and runs the matrix and image "+
			"benchmarks on CPU and GPU.\n\nIf it is interrupted, run the same command again. If a job fails or does not start, it stops and prints the reason. Delete everything with batchctl "+
			"bench destroy, or pass --destroy-after. --target local runs the same benchmarks on this machine.",
			"batchctl bench deploy --target local\nbatchctl bench deploy --target aws --max-cost 5\nbatchctl bench deploy --target aws --yes --destroy-after --published\n"+
				"batchctl bench destroy"),
		Flags: jobs.Flags(slices.Concat(cmdline.ExecutorFlags(), benchmark.MeasureFlags(1, 30*time.Minute),
			deployFlags())...),
		Action: with(con, run),
	}
}

// outFlag is --out. destroy needs it to find the platform file and the
// memory.
func outFlag() cli.Flag {
	return &cli.StringFlag{Name: "out", Value: "benchmark",
		Usage: "the `DIRECTORY` for reports, platform file and state"}
}

// prefixFlag is --prefix.
func prefixFlag() cli.Flag {
	return &cli.StringFlag{Name: "prefix", Value: "batchctl-bench", Usage: "the `PREFIX` of all names"}
}

// yesFlag is --yes.
func yesFlag() cli.Flag {
	return &cli.BoolFlag{Name: "yes", Aliases: []string{"y"}, Usage: "do not ask"}
}

// deployFlags are the flags of bench deploy that bench does not have.
func deployFlags() []cli.Flag {
	return []cli.Flag{
		prefixFlag(), yesFlag(), preview.MaxCostFlag(),
		&cli.BoolFlag{Name: "destroy-after", Usage: "delete everything at the end, also after a failure or Ctrl-C"},
		&cli.StringSliceFlag{Name: "parameter",
			Usage: "set a template parameter, `NAME=VALUE`, such as GpuInstanceTypes=g5.xlarge; may be repeated"},
		&cli.StringFlag{Name: "sizes", Value: "1000,5000,8000,10000",
			Usage: "`SIZES` of the matrices (with --target local: " + testbed.LocalSizes + ")"},
		&cli.StringFlag{Name: "image-sizes", Value: "2048,4096", Usage: "`SIZES` of the images"},
		&cli.StringFlag{Name: "batch", Value: "1,2", Usage: "the batch sizes: `NUMBERS` of images processed at a time"},
		&cli.StringSliceFlag{Name: "parameters", Usage: "`NAME=VALUE` of the jobs, such as repeats=9; may be repeated"},
		&cli.StringSliceFlag{Name: "env", Usage: "set a variable of the jobs, `NAME=VALUE`; may be repeated"},
		&cli.StringSliceFlag{Name: "set",
			Usage: "change a member of all jobs, `PATH=VALUE`, such as timeout=1h; may be repeated"},
		&cli.StringFlag{Name: "cpu-image", Usage: "use this `IMAGE` for the CPU jobs instead of building one"},
		&cli.StringFlag{Name: "gpu-image", Usage: "use this `IMAGE` for the GPU jobs instead of building one"},
		&cli.StringFlag{Name: "builder", Value: "container",
			Usage: "the program that builds and pushes images: `docker|podman|container` (container: docker if its daemon answers, else podman)"},
		&cli.StringFlag{Name: "workloads",
			Usage: "the `DIRECTORY` of batchctl-workloads for Linux on x86_64 (default: beside batchctl)"},
		&cli.StringFlag{Name: "gpu-base",
			Usage: "the base `IMAGE` of the GPU image, with a C library or CUDA (default: the Dockerfile's)"},
		&cli.StringFlag{Name: "registry",
			Usage: "push to the registry `HOST/PREFIX` instead of ECR, with your own login; the hosts must reach it"},
	}
}

// options are the flags of bench deploy and bench destroy.
type options struct {
	benchmark.Options // for its jobs, target and directory
	prefix            string
	yes, destroyAfter bool
	stackParameters   []string // NAME=VALUE
	// sizes are the sizes of the matrices; imageSizes and batchSizes are for the images.
	sizes, imageSizes, batchSizes string
	cpuImage, gpuImage            string // your own images; "" for those that batchctl builds
	builder, registry, gpuBase    string
	programs                      string // a directory; "" for the one that contains batchctl
	// given reports whether a flag is on the command line.
	given func(flag string) bool
	// confirm asks a question, unless yes is set.
	confirm func(question string) (bool, error)
}

// with reads the options of a command and runs it.
func with(con *term.Console, run func(context.Context, *term.Console, options) error) cli.ActionFunc {
	return func(c *cli.Context) error {
		o, err := optionsOf(con, c)
		if err != nil {
			return err
		}
		return run(c.Context, con, o)
	}
}

// optionsOf reads the flags of bench deploy, which include those of bench.
func optionsOf(con *term.Console, c *cli.Context) (options, error) {
	o, err := benchmark.OptionsOf(c)
	return options{Options: o, prefix: c.String("prefix"), yes: c.Bool("yes"), destroyAfter: c.Bool("destroy-after"),
			stackParameters: c.StringSlice("parameter"), sizes: c.String("sizes"), imageSizes: c.String("image-sizes"),
			batchSizes: c.String("batch"), cpuImage: c.String("cpu-image"), gpuImage: c.String("gpu-image"),
			builder:  c.String("builder"),
			registry: c.String("registry"), gpuBase: c.String("gpu-base"), programs: c.String("workloads"),
			given: c.IsSet,
			confirm: func(question string) (bool, error) {
				return cloud.Confirm(c.Context, con, c.Bool("yes"),
					question)
			}},
		err
}
