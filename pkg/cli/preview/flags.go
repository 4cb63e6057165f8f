package preview

import (
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/cli/cmdline"
	"github.com/batchctl/batchctl/pkg/cli/input"
	"github.com/batchctl/batchctl/pkg/cli/jobs"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/cost"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/plan"
	"github.com/batchctl/batchctl/pkg/verify"
)

// CostCommand is batchctl cost.
func CostCommand(con *term.Console) *cli.Command {
	return &cli.Command{
		Name:      "cost",
		Usage:     "estimate what jobs will cost, or show what they did cost",
		UsageText: "batchctl cost [FLAGS] FILE ...\n   batchctl cost [FLAGS] JOB ...\n   batchctl cost [FLAGS] --since TIME [FILE or JOB ...]",
		Description: cmdline.Help("For job files, the lower bound is one attempt with the median duration of earlier runs, on the job's share of the cheapest instance. The upper bound "+
			"is every attempt for its whole timeout, alone on the smallest instance that fits.\n\nFor jobs, the cost covers every attempt, and the report shows which attempts were wasted. With --since, a FILE stands for the jobs that were "+
			"submitted with it. Jobs without a figure are listed, but not in the sums. The output lists what is not "+
			"included. Spot prices vary.",
			"batchctl cost job.json --target prod\nbatchctl cost pipeline.json --by workflow --max-cost 20\n"+
				"batchctl cost calibration.json --since 1d --by workflow"),
		Flags: append(append(append(append(input.Flags(), PlanFlags()...), cmdline.TargetFlags()...),
			cmdline.OutputFlags(cmdline.JSON[estimateDocument](), cmdline.JSON[spentDocument]())...),
			PricesFlag(), MaxCostFlag(), cmdline.SubmissionFlag(),
			&cli.StringFlag{Name: "by", Value: string(cost.ByJob),
				Usage: "group by job, array, workflow or tag:`NAME`"},
			&cli.BoolFlag{Name: "offline", Usage: "do not query the target"},
			&cli.StringSliceFlag{Name: "jobs", Usage: "the actual cost of this `JOB`; may be repeated"},
			&cli.StringFlag{Name: "since",
				Usage: "the actual cost of the jobs of these names, workflows or files created since this `TIME`, such as 7d; a trailing * is a wildcard"}),
		Action: with(func(c *cli.Context, o Options) error {
			return printCosts(c.Context, con, costOptions{Options: o, by: cost.By(c.String("by")),
				jobs: c.StringSlice("jobs"), submission: c.String("submission"), since: c.String("since")})
		}),
	}
}

// PricesFlag is --prices, a file of prices that replaces the platform file's.
func PricesFlag() cli.Flag {
	return &cli.StringFlag{Name: "prices",
		Usage: "a `FILE` of newer prices, or of other Regions, on demand and on Spot, with the columns " +
			catalog.PricesHead + " (default: the platform file's prices)"}
}

// MaxCostFlag is --max-cost, which WithinCost applies.
func MaxCostFlag() cli.Flag {
	return &cli.StringFlag{Name: "max-cost",
		Usage: "refuse jobs that may cost more than this `AMOUNT` in US dollars, or have no upper bound; see batchctl cost"}
}

// GraphCommand is batchctl graph.
func GraphCommand(con *term.Console) *cli.Command {
	return &cli.Command{
		Name:      "graph",
		Usage:     "draw the jobs of a file and their dependencies",
		UsageText: "batchctl graph [FLAGS] [FILE or JOB ...]",
		Description: cmdline.Help("For a FILE, draws the jobs as they would be submitted, with split arrays and inserted steps, and does not query the target. For the name of a job or "+
			"workflow, or with --submission, draws the submitted jobs with their status.",
			"batchctl graph pipeline.json\nbatchctl graph pipeline.json --output svg --out pipeline.svg\n"+
				"batchctl graph calibration\n"+
				"batchctl graph calibration --critical-path --out calibration.svg"),
		Flags: append(append(append(input.Flags(), PlanFlags()...), cmdline.TargetFlags()...), cmdline.SubmissionFlag(),
			cmdline.OutputFlag("text, dot or svg (default: the extension of --out, else text)"),
			&cli.StringFlag{Name: "out", Usage: "write to this `FILE` instead of stdout"},
			&cli.BoolFlag{Name: "critical-path",
				Usage: "mark the submitted jobs that decided when the submission ended"},
			&cli.StringFlag{Name: "link",
				Usage: "link each submitted job to this `ADDRESS` in SVG and DOT; {id} stands for the job's id"}),
		Action: with(func(c *cli.Context, o Options) error {
			g := graphOptions{Options: o, submission: c.String("submission"), out: c.String("out"),
				link: c.String("link"), critical: c.Bool("critical-path")}
			if g.out != "" && !c.IsSet("output") && !c.IsSet("o") {
				g.Format = ""
			}
			return drawGraph(c.Context, con, g)
		}),
	}
}

// PlanCommand is batchctl plan.
func PlanCommand(con *term.Console) *cli.Command {
	return &cli.Command{
		Name:      "plan",
		Usage:     "show what a submission would do; change nothing",
		UsageText: "batchctl plan [FLAGS] FILE ...",
		Description: cmdline.Help("Validates the file. Then it reads the registered definitions, queues and compute environments from the target, for at most 5 seconds. With --offline, "+
			"it asks no target: without --target, placement and price follow the platform file. The plan lists everything that it could not check.\n\nThe exit code is 0 if every job definition "+
			"is already registered, and with --offline. It is 4 if a definition would be registered or could not be checked. It is 1 if the "+
			"target would reject the jobs or leave them waiting indefinitely.\n\nWith --json, stdout contains the requests for `aws batch ... "+
			"--cli-input-json`. --operation prints one of them and queries nothing.\n\nWith --output markdown, stdout is a comment for a pull "+
			"request: verdict, placement, price and problems of each file. Files that are not batchctl documents are skipped.",
			"batchctl plan job.json\nbatchctl plan job.json --target prod --out job.plan\nbatchctl submit job.json --target prod --check job.plan\n"+
				"batchctl plan job.json --operation SubmitJob > submit.json\naws batch submit-job --cli-input-json file://submit.json\n"+
				"batchctl plan jobs/*.json --offline --output markdown > comment.md"),
		Flags: append(append(append(input.Flags(), PlanFlags()...), cmdline.TargetFlags()...),
			cmdline.OutputFlag("text, json or markdown"),
			cmdline.JSONFlag(cmdline.JSON[plan.Document](), cmdline.JSONWith[map[string]any]("operation")),
			&cli.BoolFlag{Name: "offline", Usage: "do not query the target"},
			&cli.BoolFlag{Name: "verbose", Usage: "also show how each price is calculated"},
			&cli.BoolFlag{Name: "when",
				Usage: "forecast when the jobs start, from the queue's jobs and earlier durations"},
			PricesFlag(), MaxCostFlag(),
			&cli.StringFlag{Name: "out", Usage: "also write the plan to this `FILE`, for submit --check"},
			&cli.StringFlag{Name: "operation",
				Usage: "print only the request of this `OPERATION`: RegisterJobDefinition or SubmitJob"}),
		Action: with(func(c *cli.Context, o Options) error {
			return PlanFiles(c.Context, con, o, Print{Out: c.String("out"), Operation: c.String("operation"),
				When: c.Bool("when")})
		}),
	}
}

// PlanFlags are the flags that change a plan, beside those of input.Flags.
func PlanFlags() []cli.Flag {
	return append(input.VariationFlags(),
		&cli.StringFlag{Name: "queue", Usage: "the `QUEUE` for jobs that do not name one: alias, name or ARN"})
}

// VerifyCommand is batchctl verify.
func VerifyCommand(con *term.Console) *cli.Command {
	return &cli.Command{
		Name:      "verify",
		Usage:     "check that everything a job needs exists at the target",
		UsageText: "batchctl verify [FLAGS] FILE ...",
		Description: cmdline.Help("Validates and plans the file. Then it checks: "+strings.Join(checkNames(), ", ")+
			".\n\n"+
			"Checks that your credentials do not allow are reported as \"not checked\"; with --strict, the exit code is then 3.",
			"batchctl verify job.json --target prod\nbatchctl verify jobs/*.json --target prod --strict --output json"),
		Flags: append(append(append(append(input.Flags(), PlanFlags()...), cmdline.TargetFlags()...),
			cmdline.OutputFlags(cmdline.JSON[[]verify.Result]())...),
			&cli.BoolFlag{Name: "strict", Usage: "exit with status 3 if something could not be checked"}),
		Action: with(func(c *cli.Context, o Options) error { return verifyFiles(c.Context, con, o, c.Bool("strict")) }),
	}
}

// Options are the flags that plan, cost, graph, verify and submit share.
type Options struct {
	input.Options
	// Format is text or json, or another one that the command has; "" for the command's choice.
	Format string
	// Queue is the queue of jobs that name none: alias, name or ARN.
	Queue string
	// Times is how often each job is submitted; 0 is once.
	Times int
	// Prices is the path of a file of prices; "" for the platform file's, else the built-in ones.
	Prices string
	// MaxCost is the most that the jobs may cost, as written, in US dollars; "" sets no bound.
	MaxCost string
	// Offline makes the command send no request to the target.
	Offline bool
	// Verbose makes plan show how it calculates prices.
	Verbose bool
}

// OptionsOf reads input.Flags, PlanFlags and the flags that limit or repeat a
// plan. Flags that a command does not have are zero.
func OptionsOf(c *cli.Context) (Options, error) {
	format, err := cmdline.OutputFormat(c)
	if err != nil {
		return Options{}, err
	}
	if c.IsSet("count") && c.Int("count") < 1 {
		return Options{}, exit.Usage("--count must be at least 1, not %d", c.Int("count"))
	}
	return Options{Options: input.OptionsOf(c), Format: format, Queue: c.String("queue"), Times: c.Int("count"),
		Prices:  c.String("prices"),
		MaxCost: c.String("max-cost"), Offline: c.Bool("offline"), Verbose: c.Bool("verbose")}, nil
}

// with reads the options of a command and runs it.
func with(run func(*cli.Context, Options) error) cli.ActionFunc {
	return func(c *cli.Context) error {
		o, err := OptionsOf(c)
		if err != nil {
			return err
		}
		return run(c, o)
	}
}

// ofJobs converts the options of a command whose arguments are jobs.
func (o Options) ofJobs(submission string) jobs.Options {
	return jobs.Options{Given: cmdline.Given{Command: o.Command, Args: o.Paths}, Submission: submission,
		Output: cmdline.Output{Format: o.Format}, Target: o.Target}
}
