package benchmark

import (
	"time"

	"github.com/urfave/cli/v2"

	"github.com/batchctl/batchctl/pkg/bench"
	"github.com/batchctl/batchctl/pkg/cli/cmdline"
	"github.com/batchctl/batchctl/pkg/cli/input"
	"github.com/batchctl/batchctl/pkg/cli/preview"
	"github.com/batchctl/batchctl/pkg/cli/term"
)

// BenchCommand is batchctl bench, with more commands after its own.
func BenchCommand(con *term.Console, more ...*cli.Command) *cli.Command {
	return &cli.Command{
		Name:      "bench",
		Usage:     "compare CPU and GPU: speed-up, cost, break-even size",
		UsageText: "batchctl bench [FLAGS] [CPU_FILE GPU_FILE]\n   batchctl bench compare [FLAGS] OLD NEW\n   batchctl bench deploy [FLAGS]\n   batchctl bench destroy [FLAGS]",
		Description: cmdline.Help("Without files, it runs the reference jobs of a workload. Your own jobs must print the same result lines, or have a rate or a time in \"metrics\". Both jobs "+
			"are submitted to their queues and followed together, until every median is within 5 % or --runs is reached; the local engine runs "+
			"them one after the other.\n\nOnly verified results, and metrics, have a time. The report says what could not be measured, and why.",
			"batchctl bench --target local\nbatchctl bench --workload image --parameters sizes=2048 --target prod --out report\n"+
				"batchctl bench my-cpu.json my-gpu.json --runs 5 --limit 2h\nbatchctl bench compare old.json report/benchmark.json"),
		Flags: append(append(append(append(append(input.Flags(), preview.PlanFlags()...), cmdline.TargetFlags()...),
			cmdline.ExecutorFlags()...), MeasureFlags(3, 0)...),
			&cli.StringFlag{Name: "workload", Value: "matrix", Usage: "`matrix|image|all`: the reference jobs"}),
		Subcommands: append([]*cli.Command{benchCompareCommand(con)}, more...),
		Action: func(c *cli.Context) error {
			o, err := OptionsOf(c)
			if err != nil {
				return err
			}
			return benchJobs(c.Context, con, benchOptions{Options: o, workload: c.String("workload"),
				chosen: c.IsSet("workload")})
		},
	}
}

// MeasureFlags are the flags of measuring and reporting. start is the default of
// --start-limit.
func MeasureFlags(runs int, start time.Duration) []cli.Flag {
	return []cli.Flag{
		&cli.IntFlag{Name: "runs", Value: runs, Usage: "submit each job at most `N` times"},
		&cli.Float64Flag{Name: "tight", Value: 5, Usage: "stop when every median is within `PERCENT`"},
		&cli.DurationFlag{Name: "limit", Usage: "start no further run after this `DURATION`"},
		&cli.DurationFlag{Name: "start-limit", Value: start,
			Usage: "give up on a job that has not started after this `DURATION`, and explain why; 0 waits indefinitely"},
		&cli.BoolFlag{Name: "published", Usage: "compare with the table published with AWS Batch's GPU demonstration"},
		&cli.StringFlag{Name: "out", Value: "benchmark", Usage: "the `DIRECTORY` of the report"},
		preview.PricesFlag(),
	}
}

// benchCompareCommand is batchctl bench compare.
func benchCompareCommand(con *term.Console) *cli.Command {
	return &cli.Command{
		Name:      "compare",
		Usage:     "compare two measurements row by row, with a significance test",
		UsageText: "batchctl bench compare [FLAGS] OLD NEW",
		Description: cmdline.Help("OLD and NEW are the benchmark.json of a report, or logs with result lines. A row counts as faster or slower only if a rank test "+
			"confirms it, which needs at least 4 repeats. With --fail-on-regression the exit code is 1 if a row became slower by more than "+
			"--threshold. It is 3 if a row could not be compared.",
			"batchctl bench compare old/benchmark.json new/benchmark.json\nbatchctl bench compare --side GPU old.json new.json --fail-on-regression"),
		Flags: []cli.Flag{
			cmdline.OutputFlag("text, json or markdown"),
			cmdline.JSONFlag(cmdline.JSON[*bench.Diffs]()),
			&cli.StringFlag{Name: "side", Value: "CPU", Usage: "`CPU|GPU`: the side of a report"},
			&cli.Float64Flag{Name: "threshold", Value: 5, Usage: "report a regression above this `PERCENT`"},
			&cli.BoolFlag{Name: "fail-on-regression",
				Usage: "exit with status 1 for a regression, 3 if rows could not be compared (for CI)"}},
		Action: func(c *cli.Context) error {
			format, err := cmdline.OutputFormat(c)
			if err != nil {
				return err
			}
			return compare(con, compareOptions{format: format, paths: c.Args().
				Slice(), side: c.String("side"), threshold: c.Float64("threshold"),
				failOnRegression: c.Bool("fail-on-regression")})
		},
	}
}

// Options say what is measured, and how. bench and bench deploy share them.
type Options struct {
	// Options.Paths are the CPU's and the GPU's job file. Without them, the reference jobs of
	// Workloads are measured.
	preview.Options
	Workloads []string
	// Platform is the path of the platform file; "" for the one that the flags or the working
	// directory select.
	Platform string
	IsLocal  func(*input.Input) bool
	// ParametersOf returns NAME=VALUE parameters for a workload. SettingsOf returns PATH=VALUE
	// settings for a side ("CPU", "GPU") and a workload. Those of the command line come later.
	ParametersOf func(workload string) []string
	SettingsOf   func(side, workload string) []string
	// Runs is the most submissions of each job. Tight is the wanted confidence interval of each
	// median, as a fraction of it. No run begins after Limit. A job that has not started after
	// StartLimit is given up; 0 waits indefinitely.
	Runs              int
	Tight             float64
	Limit, StartLimit time.Duration
	// Dir is the directory of the report. Published adds the published table to it.
	Dir       string
	Published bool
	// Keeps lets jobs continue when the benchmark is interrupted.
	Keeps bool
	// Submitting is called before a part's jobs are submitted, and Submitted after they were
	// accepted, unless they are nil.
	Submitting, Submitted func(*BenchPart) error
}

// OptionsOf reads MeasureFlags and the flags of preview.OptionsOf.
func OptionsOf(c *cli.Context) (Options, error) {
	o, err := preview.OptionsOf(c)
	return Options{Options: o, Runs: c.Int("runs"), Tight: c.Float64("tight") / 100, Limit: c.Duration("limit"),
		StartLimit: c.Duration("start-limit"),
		Dir:        c.String("out"), Published: c.Bool("published")}, err
}

// benchOptions are the flags of bench.
type benchOptions struct {
	Options
	workload string
	chosen   bool // --workload is on the command line
}

// compareOptions are the flags and arguments of bench compare.
type compareOptions struct {
	format           string
	paths            []string // old, new
	side             string   // of a report
	threshold        float64  // in percent
	failOnRegression bool
}
