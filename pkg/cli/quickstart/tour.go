package quickstart

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/batchctl/batchctl/pkg/cli/cloud"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/cli/ui/source"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/target"
)

// directory is the default directory of the tour.
const directory = "batchctl-tour"

// files are the files of the tour. Its own platform file keeps those of other directories away from its jobs.
//
//go:embed tour/*.json
var files embed.FS

// step is a command of the tour.
type step struct {
	say  string // the topic that begins; "" within a topic
	line string // the command without the program's name
	code int    // its exit status
	// target is set if the command has --target.
	target bool
}

// steps are the steps of the tour, in its directory.
func steps() []step {
	return []step{
		{"1 of 4: check a job file. This one has a mistake, which --fix corrects.", "validate hello.json", exit.Problem,
			false},
		{"", "validate hello.json --fix", exit.OK, false},
		{"2 of 4: run the job on this machine.", "run hello.json", exit.OK, false},
		{"3 of 4: a job fails. explain names the cause.", "run fails.json", exit.Problem, false},
		{"", "explain tour-fails", exit.OK, true},
		{"4 of 4: run a sweep, a child for each of 12 combinations. results collects what they print.",
			"run sweep.json", exit.OK, false},
		{"", "results tour-sweep", exit.OK, true},
		{"", "results tour-sweep --heatmap loss.svg", exit.OK, true},
	}
}

// tour is batchctl quickstart. It writes the files and runs the steps. A step with another exit status than
// expected ends the tour with that status.
func tour(ctx context.Context, con *term.Console, run source.Run, dir string, yes bool) error {
	shown := diag.Printable(dir)
	fmt.Fprintf(con.Err, "This tour writes job files to the new directory %s and runs them on this machine, in a few seconds.\nNothing is sent to AWS.\n", shown)
	if !yes && term.IsTerminal(con.In) {
		if agreed, err := cloud.Confirm(ctx, con, false, "start?"); err != nil || !agreed {
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
	elsewhere := os.Getenv("BATCHCTL_TARGET")
	for _, s := range steps() {
		if s.say != "" {
			fmt.Fprintf(con.Err, "\n%s\n", s.say)
		}
		line := s.line
		if s.target && elsewhere != "" && elsewhere != target.Local {
			line += " --target " + target.Local
		}
		fmt.Fprintf(con.Err, "$ batchctl %s\n", line)
		code := run(ctx, append([]string{"batchctl"}, strings.Fields(line)...), con.Streams)
		if ctx.Err() != nil {
			return exit.Silent(exit.Interrupted)
		}
		if code != s.code {
			return exit.Fail(code, "the tour ended: batchctl %s exited with status %d instead of %d", line, code,
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
	entries, err := files.ReadDir("tour")
	if err != nil {
		return err
	}
	for _, e := range entries {
		text, err := files.ReadFile("tour/" + e.Name())
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, e.Name()), text, 0o644)
		}
		if err != nil {
			// Otherwise the next quickstart would find the directory and refuse.
			if left := os.RemoveAll(dir); left != nil {
				err = errors.Join(err, left)
			}
			return exit.Fail(exit.NotDone, "write %s: %v", filepath.Join(dir, e.Name()), exit.Cause(err))
		}
	}
	return nil
}
