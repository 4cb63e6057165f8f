package top

import (
	"github.com/urfave/cli/v2"

	"github.com/batchctl/batchctl/pkg/cli/cmdline"
	"github.com/batchctl/batchctl/pkg/cli/jobs"
	"github.com/batchctl/batchctl/pkg/cli/term"
)

// TopCommand is batchctl top.
func TopCommand(con *term.Console) *cli.Command {
	return &cli.Command{
		Name:      "top",
		Usage:     "watch queues and jobs live",
		UsageText: "batchctl top [FLAGS] [QUEUE or JOB ...]",
		Description: cmdline.Help("On a terminal the view refreshes every two seconds; ? shows the keys, q quits. Elsewhere, or with --iterations or --output json, "+
			"it prints snapshots. A snapshot needs six calls for each queue and shows at most 1,000 jobs.\n\nA JOB, or the name of a workflow, limits the "+
			"view to these jobs and their queues.",
			"batchctl top\nbatchctl top gpu --target prod --interval 5s\nbatchctl top --iterations 10 --interval 1m > queues.txt"),
		Flags: jobs.Flags(append(cmdline.OutputFlags(cmdline.JSON[*topSnapshot]()),
			&cli.StringFlag{Name: "interval", Value: "2s",
				Usage: "refresh every `TIME`, such as 500ms, 5 (seconds) or 1m"},
			&cli.IntFlag{Name: "iterations", Value: 1, Usage: "print `N` snapshots; 0 prints until interrupted"},
		)...),
		Action: func(c *cli.Context) error {
			of, err := jobs.OptionsOf(c)
			if err != nil {
				return err
			}
			return top(c.Context, con, options{Options: of, interval: c.String("interval"),
				iterations: c.Int("iterations"), printed: c.IsSet("iterations")})
		},
	}
}

// options are the flags of top. Args are queues and handles.
type options struct {
	jobs.Options
	interval   string // as written
	iterations int    // snapshots to print; 0 prints until interrupted
	printed    bool   // --iterations is given: print snapshots even on a terminal
}
