package ui

import (
	"github.com/urfave/cli/v2"

	"github.com/batchctl/batchctl/pkg/cli/cmdline"
	"github.com/batchctl/batchctl/pkg/cli/jobs"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/cli/ui/source"
	"github.com/batchctl/batchctl/pkg/exit"
)

// UICommand is batchctl ui. run runs the commands whose output the pages show, and hasFlag reports whether a command
// has a flag, by their names.
func UICommand(con *term.Console, run source.Run, hasFlag func(command, flag string) bool) *cli.Command {
	return &cli.Command{
		Name:      "ui",
		Usage:     "show queues, jobs, arrays and workflows in a browser",
		UsageText: "batchctl ui [FLAGS]\n   batchctl ui --export DIRECTORY [FLAGS] [JOB ...]",
		Description: cmdline.Help("Serves pages on 127.0.0.1 until you press Ctrl-C, and opens them in the browser. Only a browser with the key in the printed address can read them. The pages change nothing unless you pass --allow-changes. They then ask before each "+
			"change and show the equivalent command.\n\n"+
			"--export writes static pages of jobs, or of a submission, that open without a server. Without a JOB, it exports the last submission.",
			"batchctl ui\nbatchctl ui --target prod --no-open\nbatchctl ui --export report calibration"),
		Flags: jobs.Flags(cmdline.SubmissionFlag(),
			&cli.BoolFlag{Name: "no-open", Usage: "print the address, but do not open a browser"},
			&cli.IntFlag{Name: "port", Usage: "listen on this `PORT` of 127.0.0.1 (default: any free port)"},
			&cli.BoolFlag{Name: "allow-changes", Usage: "let the pages submit, stop, retry and replay jobs"},
			&cli.StringFlag{Name: "export", Usage: "write pages to this `DIRECTORY` and exit"},
		),
		Action: func(c *cli.Context) error {
			of, err := jobs.OptionsOf(c)
			if err != nil {
				return err
			}
			o := options{Options: of, noOpen: c.Bool("no-open"), port: c.Int("port"),
				allowChanges: c.Bool("allow-changes"), export: c.String("export"), hasFlag: hasFlag}
			switch {
			case o.port < 0 || o.port > 65535:
				return exit.Usage("--port %d is not a port", o.port).
					Try("choose one between 1024 and 65535, or omit --port")
			case o.export != "":
				return export(c.Context, con, run, o)
			case o.Submission != "" || len(o.Args) > 0:
				return exit.Usage("ui accepts jobs only with --export").Try("run batchctl ui, and search in its pages")
			}
			return serve(c.Context, con, run, o)
		},
	}
}

// options are the flags and arguments of ui.
type options struct {
	jobs.Options
	noOpen, allowChanges bool
	port                 int    // 0 is any
	export               string // a directory
	hasFlag              func(command, flag string) bool
	instead              source.Instead // of the commands, in tests
}
