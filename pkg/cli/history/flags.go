package history

import (
	"github.com/urfave/cli/v2"

	"github.com/batchctl/batchctl/pkg/cli/cmdline"
	"github.com/batchctl/batchctl/pkg/cli/input"
	"github.com/batchctl/batchctl/pkg/cli/preview"
	"github.com/batchctl/batchctl/pkg/cli/term"
)

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
			cmdline.OutputFlags(cmdline.JSON[[]JobAdvice]())...),
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
			return adviseJobs(c.Context, con, AdviseOptions{PlanOptions: o, Since: c.String("since"), Fix: c.Bool("fix")})
		},
	}
}
