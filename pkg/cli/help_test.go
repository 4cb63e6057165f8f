package cli

import (
	"fmt"
	"io"
	"maps"
	"strings"
	"testing"

	"github.com/mattn/go-runewidth"
	"github.com/urfave/cli/v2"

	"github.com/batchctl/batchctl/pkg/cli/cmdline"
	"github.com/batchctl/batchctl/pkg/cli/term"
)

// TestHelpFits checks that the help of every command fits the columns, except
// commands to copy, and repeats no default.
func TestHelpFits(t *testing.T) {
	for _, columns := range []string{"", "60", "80", "120"} {
		t.Setenv("COLUMNS", columns)
		var out strings.Builder
		con := &term.Console{Streams: term.Streams{Out: &out, Err: &out}}
		app := app(con)
		most := cmdline.HelpColumns(&out)
		var walk func(string, *cli.Command)
		walk = func(path string, c *cli.Command) {
			out.Reset()
			if err := cmdline.ShowHelp(&out, app, path, c); err != nil {
				t.Fatal(err)
			}
			if !strings.HasSuffix(out.String(), "\n\nFlags of every command: batchctl help flags\n") || strings.Contains(out.String(), "--state-dir") {
				t.Errorf("%s: the common flags are not at the end, once:\n%s", path, &out)
			}
			for line := range strings.Lines(out.String()) {
				line = strings.TrimRight(line, "\n")
				if runewidth.StringWidth(line) > most && !strings.HasPrefix(line, "      ") && len(strings.Fields(line)) > 1 {
					t.Errorf("%s at %d columns: %s", path, most, line)
				}
			}
			for _, flag := range cmdline.FlagRows(c.Flags) {
				if strings.Count(flag[1], "(default:") > 1 || strings.Contains(flag[1], "(default: false)") || strings.HasSuffix(flag[0], " value") {
					t.Errorf("%s: %q", path, flag)
				}
			}
			for _, sub := range c.Subcommands {
				walk(path+" "+sub.Name, sub)
			}
		}
		for _, c := range app.Commands {
			walk("batchctl "+c.Name, c)
		}
	}
}

// TestExitCodesOfEachCommand checks that each command has a row in the table of
// exit codes and shows it, that each row has a command, and that each code has a
// meaning.
func TestExitCodesOfEachCommand(t *testing.T) {
	app := app((&term.Console{Streams: term.Streams{Out: io.Discard, Err: io.Discard}}))
	table := cmdline.ExitTable()
	left := maps.Clone(table)
	delete(left, "") // batchctl's own
	var walk func(path string, c *cli.Command)
	walk = func(path string, c *cli.Command) {
		codes, listed := table[path]
		delete(left, path)
		var page strings.Builder
		if err := cmdline.ShowHelp(&page, app, "batchctl "+path, c); err != nil {
			t.Fatal(err)
		}
		switch does := len(c.Flags) > 0 || len(c.Subcommands) == 0; {
		case does != listed:
			t.Errorf("%s: does something itself: %v, has a row in exitTable: %v", path, does, listed)
		case listed != strings.Contains(page.String(), "Exit codes:"):
			t.Errorf("%s: help does not show its exit codes:\n%s", path, &page)
		}
		for _, code := range codes {
			if !strings.Contains(page.String(), fmt.Sprintf("%d %s", code, meaningOf(code))) {
				t.Errorf("%s: help does not show exit code %d", path, code)
			}
		}
		for _, sub := range c.Subcommands {
			walk(path+" "+sub.Name, sub)
		}
	}
	for _, c := range app.Commands {
		walk(c.Name, c)
	}
	for path := range left {
		t.Errorf("exitTable has a row for %q, and there is no such command", path)
	}
}

func meaningOf(code int) string {
	for _, m := range cmdline.ExitMeanings {
		if m.Code == code {
			return m.Text
		}
	}
	return "without a meaning"
}
