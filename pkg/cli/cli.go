// Package cli is the commands; the only package that prints and the only one
// that knows the others.
package cli

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/batchctl/batchctl/pkg/cli/author"
	"github.com/batchctl/batchctl/pkg/cli/benchmark"
	"github.com/batchctl/batchctl/pkg/cli/cloud"
	"github.com/batchctl/batchctl/pkg/cli/cmdline"
	"github.com/batchctl/batchctl/pkg/cli/injob"
	"github.com/batchctl/batchctl/pkg/cli/input"
	"github.com/batchctl/batchctl/pkg/cli/jobs"
	"github.com/batchctl/batchctl/pkg/cli/preview"
	"github.com/batchctl/batchctl/pkg/cli/quickstart"
	"github.com/batchctl/batchctl/pkg/cli/results"
	"github.com/batchctl/batchctl/pkg/cli/submit"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/cli/top"
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
	help := &cmdline.HelpWriter{Writer: con.Out}
	app.Writer = help
	args, err := cmdline.Arrange(app, args)
	if asked, ok := errors.AsType[*cmdline.HelpRequest](err); ok {
		err = cmdline.ShowHelp(con.Out, app, asked.Path, asked.Command)
	} else if err == nil {
		err = cmp.Or(app.RunContext(ctx, args), help.Err)
	}
	if ctx.Err() != nil && (err == nil || errors.Is(err, context.Canceled)) {
		err = exit.Fail(exit.Interrupted, "interrupted")
	}
	if err == nil {
		return exit.OK
	}
	f := input.FailureOf(err)
	con.Explain(f)
	return f.Code
}

func app(con *term.Console) *cli.App {
	onUsage := func(c *cli.Context, err error, _ bool) error { return cmdline.BadValue(c, err) }
	app := &cli.App{
		Name:      "batchctl",
		Usage:     "check, plan, submit and run AWS Batch jobs from one short file",
		UsageText: "batchctl COMMAND [FLAGS] [FILES or JOBS]",
		Description: "A job file runs on this machine and on AWS Batch alike:\n\n" +
			"   batchctl run jobs/matrix-cpu.json\n   batchctl submit jobs/matrix-cpu.json --target prod --wait\n",
		ErrWriter:            con.Err,
		HideHelpCommand:      true,
		HideVersion:          false,
		Version:              cmdline.Version().Version,
		EnableBashCompletion: true,
		// A parameter such as sizes=500,1000 is one value.
		DisableSliceFlagSeparator: true,
		OnUsageError:              onUsage,
		// The exit code is main's business; urfave/cli would call os.Exit.
		ExitErrHandler: func(*cli.Context, error) {},
		Commands: []*cli.Command{
			author.ValidateCommand(con), preview.PlanCommand(con), preview.CostCommand(con), preview.GraphCommand(con), submit.SubmitCommand(con), submit.ResumeCommand(con), submit.RetryCommand(con), submit.RunCommand(con), submit.GCCommand(con),
			jobs.StatusCommand(con), jobs.ListCommand(con), jobs.LogsCommand(con), jobs.WaitCommand(con), results.ResultsCommand(con), results.ReplayCommand(con), jobs.StopCommand(con), jobs.ExplainCommand(con), preview.VerifyCommand(con), cloud.DoctorCommand(con),
			jobs.QueuesCommand(con), quickstart.QuickstartCommand(con), cloud.InfraCommand(con), top.TopCommand(con), cloud.ECSCommand(con), cloud.ServeCommand(con), cloud.EnvCommand(con), workloadCommand(con), benchmark.BenchCommand(con), injob.ChildCommand(con), injob.StageCommand(con), schemaCommand(con), initCommand(con), author.ConvertCommand(con), author.FmtCommand(con), author.LSPCommand(con),
			versionCommand(con), completionCommand(con),
		},
		Action: func(c *cli.Context) error { return cmdline.ShowHelp(con.Out, c.App, c.App.Name, nil) },
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
