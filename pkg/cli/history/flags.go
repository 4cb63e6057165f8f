package history

import (
	"github.com/urfave/cli/v2"

	"github.com/batchctl/batchctl/pkg/cli/cmdline"
	"github.com/batchctl/batchctl/pkg/cli/input"
	"github.com/batchctl/batchctl/pkg/cli/jobs"
	"github.com/batchctl/batchctl/pkg/cli/preview"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/compare"
	"github.com/batchctl/batchctl/pkg/exit"
)

// HistoryCommand is batchctl history.
func HistoryCommand(con *term.Console) *cli.Command {
	return &cli.Command{
		Name:      "history",
		Usage:     "list recorded attempts and the resources they used",
		UsageText: "batchctl history [FLAGS] [JOB ...]",
		Description: cmdline.Help("Lists the newest attempts first, from the history in the state directory. It sends no request, and includes jobs that AWS Batch has forgotten.\n\nA JOB is that of status, or a definition. history shows used and requested memory and CPUs; only jobs with \"measure\": true have used figures. COST is the on-demand price of the attempt's share "+
			"of the smallest instance in its queue, if the platform file describes the queue.",
			"batchctl history\nbatchctl history resnet-train --since 30d\n"+
				"batchctl history --limit 0 --output csv > attempts.csv"),
		Flags: jobs.Flags(
			cmdline.OutputFlag("text, json or csv"),
			cmdline.JSONFlag(cmdline.JSON[[]attemptRow]()),
			&cli.StringFlag{Name: "since", Usage: "only attempts since this `TIME`: a date, or an age such as 30d"},
			&cli.StringSliceFlag{Name: "queue", Usage: "only this `QUEUE`; may be repeated"},
			&cli.StringFlag{Name: "definition",
				Usage: "only this `DEFINITION`: name or name:revision; a trailing * is a wildcard"},
			&cli.StringFlag{Name: "name", Usage: "only jobs of this `NAME`; a trailing * is a wildcard"},
			&cli.StringSliceFlag{Name: "status",
				Usage: "only attempts with this `STATUS`, SUCCEEDED or FAILED; may be repeated"},
			&cli.IntFlag{Name: "limit", Value: 50, Usage: "list at most `N` attempts; 0 lists all"},
			preview.PricesFlag(),
		),
		Action: func(c *cli.Context) error {
			o, err := jobs.OptionsOf(c)
			if err != nil {
				return err
			}
			return list(con, listOptions{Options: o, since: c.String("since"), queues: c.StringSlice("queue"),
				definition: c.String("definition"),
				name:       c.String("name"), statuses: c.StringSlice("status"), limit: c.Int("limit"),
				prices: c.String("prices")})
		},
	}
}

// AdviseCommand is batchctl advise.
func AdviseCommand(con *term.Console) *cli.Command {
	return &cli.Command{
		Name:      "advise",
		Usage:     "propose job sizes from measured use",
		UsageText: "batchctl advise [FLAGS] [FILE or JOB ...]",
		Description: cmdline.Help("Compares the requested resources of each job definition with the used ones. The proposed memory covers 99 % of runs with 99 % confidence, and is a "+
			"size that the queue's instances offer. With fewer than 30 measured runs, advise proposes only more memory for jobs that ran out of it.\n\nA JOB is that of status, or a definition. For a FILE, advise also prints the change to the file, and --fix "+
			"makes it. Only jobs with \"measure\": true are measured.",
			"batchctl advise\nbatchctl advise job.json\nbatchctl advise job.json --fix\n"+
				"batchctl advise sweep.json --queue gpu --json"),
		Flags: append(append(append(input.Flags(), cmdline.TargetFlags()...),
			cmdline.OutputFlags(cmdline.JSON[[]jobAdvice]())...),
			&cli.StringFlag{Name: "since", Usage: "only attempts since this `TIME`: a date, or an age such as 30d"},
			&cli.BoolFlag{Name: "fix", Usage: "write the proposed sizes to the files"},
			&cli.StringFlag{Name: "queue", Usage: "prices and machines of this `QUEUE`, for all jobs"},
			&cli.BoolFlag{Name: "offline", Usage: "do not query the target"},
			preview.PricesFlag()),
		Action: func(c *cli.Context) error {
			o, err := preview.OptionsOf(c)
			if err != nil {
				return err
			}
			return adviseJobs(c.Context, con, adviseOptions{PlanOptions: o, since: c.String("since"), fix: c.Bool("fix")})
		},
	}
}

// DiffCommand is batchctl diff.
func DiffCommand(con *term.Console) *cli.Command {
	return &cli.Command{
		Name:      "diff",
		Usage:     "compare a run that worked with one that did not",
		UsageText: "batchctl diff [FLAGS] GOOD BAD",
		Description: cmdline.Help("Compares the descriptions of the jobs, where they ran, and what they used. The most likely cause of the failure comes first. Credentials are masked.\n\nGOOD and BAD are jobs, children of arrays (sweep:7), or submissions, whose jobs are "+
			"compared by name. Of a job that ran again, it is the newest run; an id means exactly that job. The exit code is 0 if nothing differs, and 4 if something does.",
			"batchctl diff 3f2a91c0 9b1e77d2\nbatchctl diff sweep:3 sweep:7"),
		Flags: jobs.Flags(cmdline.OutputFlags(cmdline.JSON[[]compare.Comparison]())...),
		Action: func(c *cli.Context) error {
			o, err := jobs.OptionsOf(c)
			if err != nil {
				return err
			}
			if len(o.Args) != 2 {
				return exit.Usage("diff needs two jobs").
					Try("name the one that worked, then the one that did not: batchctl diff GOOD BAD")
			}
			return diffRuns(c.Context, con, o)
		},
	}
}
