package quickstart

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/batchctl/batchctl/pkg/cli/author"
	"github.com/batchctl/batchctl/pkg/cli/cmdline"
	"github.com/batchctl/batchctl/pkg/cli/input"
	"github.com/batchctl/batchctl/pkg/cli/jobs"
	"github.com/batchctl/batchctl/pkg/cli/platform"
	"github.com/batchctl/batchctl/pkg/cli/preview"
	"github.com/batchctl/batchctl/pkg/cli/results"
	"github.com/batchctl/batchctl/pkg/cli/submit"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/target"
	"github.com/urfave/cli/v2"
)

// Command is batchctl quickstart.
func Command(con *term.Console) *cli.Command {
	return cmdline.Command(cli.Command{
		Name:      "quickstart",
		Usage:     "a tour of 30 seconds: check, run, explain, sweep",
		UsageText: "batchctl quickstart [FLAGS] [DIRECTORY]",
		Description: cmdline.Help("Writes job files to a new directory, runs batchctl's commands on them, and shows each command with its output: a mistake and its fix, "+
			"a job, a failure and its cause, a sweep and its results. The jobs run on this machine; nothing is sent to AWS. The default DIRECTORY is "+directory+
			". On a terminal, it asks before it writes.",
			"batchctl quickstart\nbatchctl quickstart /tmp/tour --yes"),
	}, options{}, func(ctx context.Context, o options) error { return tour(ctx, con, o) })
}

// options are the flags and the argument of quickstart.
type options struct {
	cmdline.Given
	Yes bool `flag:"yes,y" usage:"do not ask"`
}

// directory is the default directory of the tour.
const directory = "batchctl-tour"

// files are the files of the tour. Its own platform file keeps those of other directories away from its jobs.
//
//go:embed tour/*.json
var files embed.FS

// step is a command of the tour.
type step struct {
	say  string // the topic that begins; "" within a topic
	line string // the command, without the program's name
	code int    // its exit status
	run  func(context.Context, *term.Console) error
}

// steps are the steps of the tour, in its directory. at selects the local target.
func steps(at target.Options) []step {
	line := func(command string) string {
		if at.Name != "" {
			command += " --target " + at.Name
		}
		return command
	}
	given := func(command, arg string) cmdline.Given { return cmdline.Given{Command: command, Args: []string{arg}} }
	text := cmdline.Output{Format: "text"}
	validate := func(fix bool) func(context.Context, *term.Console) error {
		return func(ctx context.Context, con *term.Console) error {
			return author.ValidateFiles(ctx, con, author.ValidateOptions{
				Options: input.Options{Given: given("validate", "hello.json")}, Output: author.Output{Format: "text"}, Fix: fix})
		}
	}
	run := func(file string) func(context.Context, *term.Console) error {
		return func(ctx context.Context, con *term.Console) error {
			return submit.Run(ctx, con, submit.RunOptions{Output: text,
				Options: preview.Options{Options: input.Options{Given: given("run", file)}}})
		}
	}
	explain := func(ctx context.Context, con *term.Console) error {
		return jobs.PrintExplanation(ctx, con, jobs.ExplainOptions{
			Options: jobs.Options{Given: given("explain", "tour-fails"), Target: at, Output: text}})
	}
	print := func(heatmap string) func(context.Context, *term.Console) error {
		return func(ctx context.Context, con *term.Console) error {
			return results.Print(ctx, con, results.PrintOptions{HeatmapOptions: results.HeatmapOptions{Heatmap: heatmap},
				Options: results.Options{
					Options: jobs.Options{Given: given("results", "tour-sweep"), Target: at, Output: text}}})
		}
	}
	return []step{
		{"1 of 4: check a job file. This one has a mistake, which --fix corrects.", "validate hello.json", exit.Problem,
			validate(false)},
		{"", "validate hello.json --fix", exit.OK, validate(true)},
		{"2 of 4: run the job on this machine.", "run hello.json", exit.OK, run("hello.json")},
		{"3 of 4: a job fails. explain names the cause.", "run fails.json", exit.Problem, run("fails.json")},
		{"", line("explain tour-fails"), exit.OK, explain},
		{"4 of 4: run a sweep, a child for each of 12 combinations. results collects what they print.",
			"run sweep.json", exit.OK, run("sweep.json")},
		{"", line("results tour-sweep"), exit.OK, print("")},
		{"", line("results tour-sweep --heatmap loss.svg"), exit.OK, print("loss.svg")},
	}
}

// destination returns the directory of the tour.
func (o options) destination() (string, error) {
	if err := o.Most(1); err != nil {
		return "", err
	}
	switch {
	case len(o.Args) == 0:
		return directory, nil
	case o.Args[0] == "destroy":
		return "", exit.Usage("quickstart is a tour and leaves nothing to destroy").
			Try("delete what the benchmark created: batchctl bench destroy")
	}
	return o.Args[0], nil
}

// tour is batchctl quickstart. It writes the files and runs the steps. A step with another exit status than
// expected ends the tour with that status.
func tour(ctx context.Context, con *term.Console, o options) error {
	dir, err := o.destination()
	if err != nil {
		return err
	}
	shown := diag.Printable(dir)
	fmt.Fprintf(con.Err, "This tour writes job files to the new directory %s and runs them on this machine, in a few seconds.\nNothing is sent to AWS.\n", shown)
	if !o.Yes && term.IsTerminal(con.In) {
		if agreed, err := platform.Confirm(ctx, con, false, "start?"); err != nil || !agreed {
			return errors.Join(err, exit.Fail(exit.NotDone, "not confirmed; nothing was written"))
		}
	}
	if err := write(dir); err != nil {
		return err
	}
	if err := os.Chdir(dir); err != nil {
		return exit.Fail(exit.NotDone, "change to %s: %v", dir, exit.Cause(err))
	}
	fmt.Fprintf(con.Err, "\n$ cd %s\n", term.Quoted(dir))
	var at target.Options
	if elsewhere := os.Getenv("BATCHCTL_TARGET"); elsewhere != "" && elsewhere != target.Local {
		at.Name = target.Local
	}
	for _, s := range steps(at) {
		if s.say != "" {
			fmt.Fprintf(con.Err, "\n%s\n", s.say)
		}
		fmt.Fprintf(con.Err, "$ batchctl %s\n", s.line)
		own := &term.Console{Streams: con.Streams}
		code := input.Status(ctx, own, s.run(ctx, own))
		if ctx.Err() != nil {
			return exit.Silent(exit.Interrupted)
		}
		if code != s.code {
			return exit.Fail(code, "the tour ended: batchctl %s exited with status %d instead of %d", s.line, code,
				s.code).Try("its files stay in %s; see batchctl doctor", shown)
		}
		if code != exit.OK {
			fmt.Fprintf(con.Err, "(exit status %d)\n", code)
		}
	}
	fmt.Fprintf(con.Err, `
The files stay in %[1]s. Next:
  see the heat map of the losses: open %[2]s in a browser
  write a job file for your own program: batchctl init job.json
  see what submit would send: batchctl plan %[3]s
  read on: https://github.com/batchctl/batchctl/blob/main/docs/getting-started.md
`, diag.Printable(term.Quoted(dir)), diag.Printable(term.Quoted(filepath.Join(dir, "loss.svg"))), diag.Printable(term.Quoted(filepath.ToSlash(filepath.Join(dir, "sweep.json")))))
	return nil
}

// write creates the directory with the files of the tour. It overwrites nothing.
func write(dir string) error {
	err := os.Mkdir(dir, 0o755)
	if errors.Is(err, fs.ErrExist) {
		return exit.Fail(exit.NotDone, "%s already exists; nothing was changed", dir).
			Try("name another directory: batchctl quickstart DIRECTORY")
	}
	if err != nil {
		return exit.Fail(exit.NotDone, "create %s: %v", dir, exit.Cause(err)).
			Try("name another directory: batchctl quickstart DIRECTORY")
	}
	from, err := fs.Sub(files, "tour")
	if err != nil {
		return err
	}
	if err := os.CopyFS(dir, from); err != nil {
		// Otherwise the next quickstart would find the directory and refuse.
		err = errors.Join(exit.Cause(err), os.RemoveAll(dir))
		return exit.Fail(exit.NotDone, "write the files of %s: %v", dir, err)
	}
	return nil
}
