package quickstart

import (
	"github.com/urfave/cli/v2"

	"github.com/batchctl/batchctl/pkg/cli/cmdline"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/cli/ui/source"
	"github.com/batchctl/batchctl/pkg/exit"
)

// Command is batchctl quickstart. run runs the commands of the tour.
func Command(con *term.Console, run source.Run) *cli.Command {
	return &cli.Command{
		Name:      "quickstart",
		Usage:     "a tour of 30 seconds: check, run, explain, sweep",
		UsageText: "batchctl quickstart [FLAGS] [DIRECTORY]",
		Description: cmdline.Help("Writes job files to a new directory, runs batchctl's commands on them, and shows each command with its output: a mistake and its fix, "+
			"a job, a failure and its cause, a sweep and its results. The jobs run on this machine; nothing is sent to AWS. The default DIRECTORY is "+directory+
			". On a terminal, it asks before it writes.",
			"batchctl quickstart\nbatchctl quickstart /tmp/tour --yes"),
		Flags: []cli.Flag{&cli.BoolFlag{Name: "yes", Aliases: []string{"y"}, Usage: "do not ask"}},
		Action: func(c *cli.Context) error {
			if err := cmdline.Most(c, 1); err != nil {
				return err
			}
			dir := directory
			switch {
			case c.Args().First() == "destroy":
				return exit.Usage("quickstart is a tour and leaves nothing to destroy").
					Try("delete what the benchmark created: batchctl bench destroy")
			case c.Args().Present():
				dir = c.Args().First()
			}
			return tour(c.Context, con, run, dir, c.Bool("yes"))
		},
	}
}
