// Package cli is the commands; the only package that prints and the only one
// that knows the others.
package cli

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/exit"
)

// Main runs the command line args (with the program's name) and returns the
// exit code. It ends early when ctx does.
func Main(ctx context.Context, args []string, s term.Streams) int {
	s.Err = term.MaskedWriter{Writer: s.Err}
	return main(ctx, (&term.Console{Streams: s}), args)
}

func main(ctx context.Context, con *term.Console, args []string) int {
	app := app(con)
	help := &helpWriter{Writer: con.Out}
	app.Writer = help
	args, err := arrange(app, args)
	if asked, ok := errors.AsType[*helpRequest](err); ok {
		err = showHelp(con.Out, app, asked.path, asked.command)
	} else if err == nil {
		err = cmp.Or(app.RunContext(ctx, args), help.err)
	}
	if ctx.Err() != nil && (err == nil || errors.Is(err, context.Canceled)) {
		err = exit.Fail(exit.Interrupted, "interrupted")
	}
	if err == nil {
		return exit.OK
	}
	f := failureOf(err)
	con.Explain(f)
	return f.Code
}

func app(con *term.Console) *cli.App {
	onUsage := func(c *cli.Context, err error, _ bool) error { return badValue(c, err) }
	app := &cli.App{
		Name:      "batchctl",
		Usage:     "check, plan, submit and run AWS Batch jobs from one short file",
		UsageText: "batchctl COMMAND [FLAGS] [FILES or JOBS]",
		Description: "A job file runs on this machine and on AWS Batch alike:\n\n" +
			"   batchctl run jobs/matrix-cpu.json\n   batchctl submit jobs/matrix-cpu.json --target prod --wait\n",
		ErrWriter:            con.Err,
		HideHelpCommand:      true,
		HideVersion:          false,
		Version:              version().Version,
		EnableBashCompletion: true,
		// A parameter such as sizes=500,1000 is one value.
		DisableSliceFlagSeparator: true,
		OnUsageError:              onUsage,
		// The exit code is main's business; urfave/cli would call os.Exit.
		ExitErrHandler: func(*cli.Context, error) {},
		Commands: []*cli.Command{
			validateCommand(con), planCommand(con), costCommand(con), graphCommand(con), submitCommand(con), resumeCommand(con), retryCommand(con), runCommand(con), gcCommand(con),
			statusCommand(con), listCommand(con), logsCommand(con), waitCommand(con), resultsCommand(con), replayCommand(con), stopCommand(con), explainCommand(con), verifyCommand(con), doctorCommand(con),
			queuesCommand(con), quickstartCommand(con), infraCommand(con), topCommand(con), ecsCommand(con), serveCommand(con), envCommand(con), workloadCommand(con), benchCommand(con), childCommand(con), stageCommand(con), schemaCommand(con), initCommand(con), convertCommand(con), fmtCommand(con), lspCommand(con),
			versionCommand(con), completionCommand(con),
		},
		Action: func(c *cli.Context) error { return showHelp(con.Out, c.App, c.App.Name, nil) },
	}
	for _, c := range app.Commands {
		if slices.Contains([]string{"status", "logs", "wait", "results", "retry", "replay", "stop", "explain"}, c.Name) {
			completeJobs(con, c)
		}
		c.OnUsageError = onUsage
		c.HideHelpCommand = true
		for _, sub := range c.Subcommands {
			sub.OnUsageError = onUsage
			sub.HideHelpCommand = true
		}
	}
	return app
}
