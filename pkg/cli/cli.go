// Package cli is the commands; the only package that prints and the only one
// that knows the others.
package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"github.com/batchctl/batchctl/pkg/diag"
)

// Streams are what a program talks through. Data goes to Out, the story to Err.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// Main runs the command line args (with the program's name) and returns the
// exit code. It ends early when ctx does.
func Main(ctx context.Context, args []string, s Streams) int {
	s.Err = maskedWriter{s.Err}
	return main(ctx, (&program{Streams: s}), args)
}

// program is one run of the command line.
type program struct {
	Streams
	// sources are the files whose credentials the story must not repeat.
	sources []*diag.Source
	// rawLog is --raw: what jobs wrote is printed unchanged.
	rawLog bool
}

func main(ctx context.Context, con *program, args []string) int {
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
		err = fail(ExitInterrupted, "interrupted")
	}
	if err == nil {
		return ExitOK
	}
	f := asFailure(err)
	con.explain(f)
	return f.code
}

// explain says what went wrong and what to do next, if that has not been said.
func (con *program) explain(f *failure) {
	if f.message != "" {
		fmt.Fprintf(con.Err, "batchctl: %s\n", diag.Printable(con.redacted(f.message)))
	}
	if f.hint != "" {
		fmt.Fprintf(con.Err, "  %s\n", diag.Printable(con.redacted(f.hint)))
	}
}

// helpWriter is where urfave/cli writes help and version. It keeps the first error, which
// urfave/cli does not tell.
type helpWriter struct {
	io.Writer
	err error
}

func (w *helpWriter) Write(text []byte) (int, error) {
	n, err := w.Writer.Write(text)
	w.err = cmp.Or(w.err, err)
	return n, err
}

func app(con *program) *cli.App {
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

// help builds the description in a command's --help; showHelp adds its exit codes.
func help(what, examples string) string {
	return what + "\n\nExamples:\n   " + indent(examples)
}

// indent moves every line but the first under the first.
func indent(s string) string {
	body, end := strings.TrimSuffix(s, "\n"), ""
	if body != s {
		end = "\n"
	}
	return strings.ReplaceAll(body, "\n", "\n   ") + end
}

// isTerminal reports whether w is a terminal that can take live output.
func isTerminal(w any) bool {
	if m, ok := w.(maskedWriter); ok {
		w = m.Writer
	}
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb"
}

// color reports whether w takes colour: a terminal, and NO_COLOR not set.
func color(w io.Writer) bool { return isTerminal(w) && os.Getenv("NO_COLOR") == "" }

// width returns the columns of the terminal behind w, and 0 for a pipe.
func width(w io.Writer) int {
	if f, ok := w.(*os.File); ok {
		if columns, _, err := term.GetSize(int(f.Fd())); err == nil {
			return columns
		}
	}
	return 0
}
