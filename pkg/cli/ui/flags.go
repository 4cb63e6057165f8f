package ui

import (
	"context"

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
	return cmdline.Command(cli.Command{
		Name:      "ui",
		Usage:     "show queues, jobs, arrays and workflows in a browser",
		UsageText: "batchctl ui [FLAGS]\n   batchctl ui --export DIRECTORY [FLAGS] [JOB ...]",
		Description: cmdline.Help("Serves pages on 127.0.0.1 until you press Ctrl-C, and opens them in the browser. Only a browser with the key in the printed address can read them. The pages change nothing unless you pass --allow-changes. They then ask before each "+
			"change and show the equivalent command.\n\n"+
			"--export writes static pages of jobs, or of a submission, that open without a server. Without a JOB, it exports the last submission.",
			"batchctl ui\nbatchctl ui --target prod --no-open\nbatchctl ui --export report calibration"),
	}, options{hasFlag: hasFlag}, func(ctx context.Context, o options) error {
		switch {
		case o.Port < 0 || o.Port > 65535:
			return exit.Usage("--port %d is not a port", o.Port).
				Try("choose one between 1024 and 65535, or omit --port")
		case o.Export != "":
			return export(ctx, con, run, o)
		case o.Submission != "" || len(o.Args) > 0:
			return exit.Usage("ui accepts jobs only with --export").Try("run batchctl ui, and search in its pages")
		}
		return serve(ctx, con, run, o)
	}, "output")
}

// options are the flags and arguments of ui.
type options struct {
	jobs.Options
	NoOpen       bool   `flag:"no-open" usage:"print the address, but do not open a browser"`
	Port         int    `flag:"port" usage:"listen on this <PORT> of 127.0.0.1 (default: any free port)"`
	AllowChanges bool   `flag:"allow-changes" usage:"let the pages submit, stop, retry and replay jobs"`
	Export       string `flag:"export" usage:"write pages to this <DIRECTORY> and exit"`

	hasFlag func(command, flag string) bool
	instead source.Instead // of the commands, in tests
}
