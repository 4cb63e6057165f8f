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
	"github.com/batchctl/batchctl/pkg/cli/cmdline"
	"github.com/batchctl/batchctl/pkg/cli/diagnose"
	"github.com/batchctl/batchctl/pkg/cli/engine"
	"github.com/batchctl/batchctl/pkg/cli/forecast"
	"github.com/batchctl/batchctl/pkg/cli/injob"
	"github.com/batchctl/batchctl/pkg/cli/input"
	"github.com/batchctl/batchctl/pkg/cli/jobs"
	"github.com/batchctl/batchctl/pkg/cli/platform"
	"github.com/batchctl/batchctl/pkg/cli/preview"
	"github.com/batchctl/batchctl/pkg/cli/quickstart"
	"github.com/batchctl/batchctl/pkg/cli/results"
	"github.com/batchctl/batchctl/pkg/cli/submit"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/cli/testbed"
	"github.com/batchctl/batchctl/pkg/cli/top"
	"github.com/batchctl/batchctl/pkg/cli/ui"
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
	app := app(con, args...)
	// urfave/cli ignores errors of writing help, such as a full disk.
	help := &cmdline.HelpWriter{Writer: con.Out}
	app.Writer = help
	// Arrange also finds requests for help, which urfave/cli would print
	// differently.
	args, err := cmdline.Arrange(app, args, func(path, flag string) string { return instead(con, path, flag) })
	if asked, ok := errors.AsType[*cmdline.HelpRequest](err); ok {
		err = cmdline.ShowHelp(con.Out, app, asked.Path, asked.Command)
	} else if err == nil {
		err = cmp.Or(app.RunContext(ctx, args), help.Err)
	}
	return input.Status(ctx, con, err)
}

// instead returns the command that has a flag which the command at a path lacks, if a user may well expect it there:
// validate checks files, and verify asks the target; run is for this machine; quickstart was the benchmark once.
func instead(con *term.Console, path, flag string) string {
	other, name := (*cli.Command)(nil), ""
	switch path {
	case "batchctl validate":
		other, name = preview.VerifyCommand(con), "verify"
	case "batchctl run":
		other, name = submit.SubmitCommand(con), "submit"
	case "batchctl quickstart":
		other, name = testbed.DeployCommand(con), "bench deploy"
	default:
		return ""
	}
	if !slices.ContainsFunc(other.Flags, func(f cli.Flag) bool { return slices.Contains(f.Names(), flag) }) {
		return ""
	}
	return "batchctl " + name
}

// command is a command by its name. Building one takes long enough that a start which runs another one does not.
type command struct {
	name  string
	build func(*term.Console) *cli.Command
}

// section is a group of commands under a headline of batchctl's help.
type section struct {
	headline string
	commands []command
}

// sections returns all commands, in the groups and order of batchctl's help.
func sections() []section {
	return []section{
		{"Start", []command{
			{"init", author.InitCommand},
			{"validate", author.ValidateCommand},
			{"run", submit.RunCommand},
			{"explain", jobs.ExplainCommand},
			{"submit", submit.SubmitCommand},
			{"quickstart", quickstart.Command},
		}},
		{"Write and check", []command{
			{"fmt", author.FmtCommand},
			{"convert", author.ConvertCommand},
			{"graph", preview.GraphCommand},
			{"plan", preview.PlanCommand},
			{"cost", preview.CostCommand},
			{"verify", preview.VerifyCommand},
		}},
		{"Follow", []command{
			{"status", jobs.StatusCommand},
			{"list", jobs.ListCommand},
			{"logs", jobs.LogsCommand},
			{"wait", jobs.WaitCommand},
			{"top", top.TopCommand},
			{"ui", ui.UICommand},
			{"results", results.ResultsCommand},
			{"stop", jobs.StopCommand},
			{"retry", submit.RetryCommand},
			{"resume", submit.ResumeCommand},
		}},
		{"Diagnose", []command{
			{"diff", diagnose.DiffCommand},
			{"history", diagnose.HistoryCommand},
			{"advise", diagnose.AdviseCommand},
			{"doctor", diagnose.DoctorCommand},
		}},
		{"Platform", []command{
			{"queues", jobs.QueuesCommand},
			{"forecast", forecast.ForecastCommand},
			{"apply", platform.ApplyCommand},
			{"export", platform.ExportCommand},
			{"infra", platform.InfraCommand},
			{"serve", engine.ServeCommand},
		}},
		{"More", []command{
			{"replay", submit.ReplayCommand},
			{"bench", func(con *term.Console) *cli.Command {
				return benchmark.BenchCommand(con,
					testbed.Commands(con)...)
			}},
			{"gc", platform.GCCommand},
			{"ecs", platform.ECSCommand},
			{"env", engine.EnvCommand},
			{"workload", workloadCommand},
			{"lsp", lspCommand},
			{"schema", schemaCommand},
			{"completion", completionCommand},
			{"version", versionCommand},
			{"child", injob.ChildCommand},
			{"measure", injob.MeasureCommand},
			{"stage", injob.StageCommand},
		}},
	}
}

// isCommand reports whether there is a command of that name.
func isCommand(name string) bool {
	return slices.ContainsFunc(sections(), func(s section) bool {
		return slices.ContainsFunc(s.commands, func(c command) bool { return c.name == name })
	})
}

// commandsFor builds the command that a command line names first, or all of them if it names none.
func commandsFor(con *term.Console, args []string) (all []*cli.Command) {
	only := ""
	if len(args) > 1 && isCommand(args[1]) {
		only = args[1]
	}
	for _, s := range sections() {
		for _, c := range s.commands {
			if only == "" || c.name == only {
				built := c.build(con)
				built.Category = s.headline
				all = append(all, built)
			}
		}
	}
	return all
}

// app returns the program for a command line: with the command that it names, or with all of them.
func app(con *term.Console, args ...string) *cli.App {
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
		Commands:       commandsFor(con, args),
		Action:         func(c *cli.Context) error { return cmdline.ShowHelp(con.Out, c.App, c.App.Name, nil) },
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
