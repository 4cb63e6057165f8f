// Package cli contains batchctl's commands. Only it and its subpackages print and read the
// command line; the other packages return values.
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
	"github.com/batchctl/batchctl/pkg/cli/forecast"
	"github.com/batchctl/batchctl/pkg/cli/history"
	"github.com/batchctl/batchctl/pkg/cli/injob"
	"github.com/batchctl/batchctl/pkg/cli/input"
	"github.com/batchctl/batchctl/pkg/cli/jobs"
	"github.com/batchctl/batchctl/pkg/cli/preview"
	"github.com/batchctl/batchctl/pkg/cli/quickstart"
	"github.com/batchctl/batchctl/pkg/cli/results"
	"github.com/batchctl/batchctl/pkg/cli/submit"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/cli/top"
	"github.com/batchctl/batchctl/pkg/cli/ui"
	"github.com/batchctl/batchctl/pkg/exit"
)

// Main runs a command line, which begins with the program's name, and returns the exit
// status. It ends early when ctx does. It masks credentials in what it writes to s.Err.
func Main(ctx context.Context, args []string, s term.Streams) int {
	s.Err = term.MaskedWriter{Writer: s.Err}
	return main(ctx, (&term.Console{Streams: s}), args)
}

// main runs a command line and explains its error. Every error gets its exit
// status here.
func main(ctx context.Context, con *term.Console, args []string) int {
	app := app(con)
	// urfave/cli ignores errors of writing help, such as a full disk.
	help := &cmdline.HelpWriter{Writer: con.Out}
	app.Writer = help
	// Arrange also finds requests for help, which urfave/cli would print
	// differently.
	args, err := cmdline.Arrange(app, args)
	if asked, ok := errors.AsType[*cmdline.HelpRequest](err); ok {
		err = cmdline.ShowHelp(con.Out, app, asked.Path, asked.Command)
	} else if err == nil {
		err = cmp.Or(app.RunContext(ctx, args), help.Err)
	}
	// A command that was interrupted without an error of its own did not finish
	// either.
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

// group sets the headline of commands in batchctl's help.
func group(headline string, commands ...*cli.Command) []*cli.Command {
	for _, c := range commands {
		c.Category = headline
	}
	return commands
}

// app returns all commands, in the groups and order of batchctl's help.
func app(con *term.Console) *cli.App {
	onUsage := func(c *cli.Context, err error, _ bool) error { return cmdline.BadValue(c, err) }
	app := &cli.App{
		Name:                 "batchctl",
		Usage:                "check, plan, submit and run AWS Batch jobs",
		UsageText:            "batchctl COMMAND [FLAGS] [FILE or JOB ...]",
		ErrWriter:            con.Err,
		HideHelpCommand:      true,
		HideVersion:          false,
		Version:              cmdline.Version().Version,
		EnableBashCompletion: true,
		// A parameter such as sizes=500,1000 is one value.
		DisableSliceFlagSeparator: true,
		OnUsageError:              onUsage,
		// urfave/cli would call os.Exit; main returns the exit status.
		ExitErrHandler: func(*cli.Context, error) {},
		Commands: slices.Concat(
			group("Write jobs", author.InitCommand(con), author.ValidateCommand(con), author.FmtCommand(con), author.ConvertCommand(con), preview.GraphCommand(con)),
			group("Submit", preview.PlanCommand(con), preview.CostCommand(con), submit.SubmitCommand(con), submit.RunCommand(con), submit.ResumeCommand(con), submit.RetryCommand(con)),
			group("Watch", jobs.StatusCommand(con), jobs.ListCommand(con), jobs.LogsCommand(con), jobs.WaitCommand(con), top.TopCommand(con), ui.UICommand(con, Main), results.ResultsCommand(con), jobs.StopCommand(con)),
			group("Diagnose", jobs.ExplainCommand(con), history.DiffCommand(con), history.HistoryCommand(con), history.AdviseCommand(con), preview.VerifyCommand(con), results.ReplayCommand(con), cloud.DoctorCommand(con)),
			group("Platform", jobs.QueuesCommand(con), forecast.ForecastCommand(con), cloud.ApplyCommand(con), cloud.ExportCommand(con), cloud.InfraCommand(con), submit.GCCommand(con), cloud.ECSCommand(con), benchmark.BenchCommand(con), quickstart.QuickstartCommand(con)),
			group("Local engine, editors and CI", cloud.ServeCommand(con), cloud.EnvCommand(con), workloadCommand(con), author.LSPCommand(con), schemaCommand(con), completionCommand(con), versionCommand(con)),
			group("Inside containers", injob.ChildCommand(con), injob.MeasureCommand(con), injob.StageCommand(con)),
		),
		Action: func(c *cli.Context) error { return cmdline.ShowHelp(con.Out, c.App, c.App.Name, nil) },
	}
	for _, c := range app.Commands {
		if slices.Contains(jobCommands, c.Name) {
			completeHandles(con, c)
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
