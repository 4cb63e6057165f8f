package cli

import (
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"github.com/batchctl/batchctl/pkg/cli/cmdline"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/testtool/golden"
)

// TestCommandsPage compares docs/commands.md with the help of the commands.
func TestCommandsPage(t *testing.T) {
	app := app(&term.Console{Streams: term.Streams{Out: io.Discard, Err: io.Discard}})
	var b strings.Builder
	b.WriteString("# Commands\n\n<!-- Generated from the help texts by go test ./pkg/cli -run TestCommandsPage -update. Change those, not this page. -->\n\n" +
		"For all commands:\n\n" +
		"- A JOB is a job's name, short id, ARN or submission id. `name:7` is child 7 of an array. A workflow's name, its file, or the id of a submission stands for all its jobs.\n" +
		"- The target is `--target`, else `BATCHCTL_TARGET`, else the platform file's `defaultTarget`, else `local`.\n" +
		"- Data goes to stdout, everything else to stderr. Commands that print data accept `--output json`.\n" +
		"- [Exit codes](exit-codes.md) have their own page.\n")
	headline := ""
	for _, c := range app.Commands {
		if c.Category != headline {
			headline = c.Category
			fmt.Fprintf(&b, "\n## %s\n\n| command | |\n| --- | --- |\n", headline)
			for _, c := range app.Commands {
				if c.Category == headline {
					fmt.Fprintf(&b, "| [%s](#%[1]s) | %s |\n", c.Name, cell(c.Usage))
				}
			}
		}
		commandEntry(&b, "batchctl "+c.Name, c)
	}
	golden.File(t, "../../docs/commands.md", b.String())
}

func commandEntry(b *strings.Builder, path string, c *cli.Command) {
	_, name, _ := strings.Cut(path, " ")
	fmt.Fprintf(b, "\n### %s\n\n%s.\n", name, strings.ToUpper(c.Usage[:1])+c.Usage[1:])
	if c.UsageText != "" {
		fmt.Fprintf(b, "\n```text\n%s\n```\n", strings.ReplaceAll(c.UsageText, "\n   ", "\n"))
	}
	if prose, examples := cmdline.Paragraphs(c.Description); prose != "" || examples != "" {
		if prose != "" {
			fmt.Fprintf(b, "\n%s\n", strings.NewReplacer("<", "&lt;", "*", `\*`).Replace(prose))
		}
		if examples != "" {
			fmt.Fprintf(b, "\n```sh\n%s\n```\n", examples)
		}
	}
	if rows := cmdline.FlagRows(c.Flags); len(rows) > 0 {
		b.WriteString("\n| flag | |\n| --- | --- |\n")
		for _, r := range rows {
			fmt.Fprintf(b, "| `%s` | %s |\n", strings.ReplaceAll(r[0], "|", `\|`), cell(r[1]))
		}
	}
	for _, sub := range c.Subcommands {
		commandEntry(b, path+" "+sub.Name, sub)
	}
}

// cell is a text for a column of a table.
func cell(text string) string { return strings.NewReplacer("|", `\|`, "<", "&lt;").Replace(text) }

// TestOverviewFits checks that batchctl --help fits a screen of 80 x 50, with one
// line per command.
func TestOverviewFits(t *testing.T) {
	t.Setenv("COLUMNS", "80")
	var out strings.Builder
	app := app(&term.Console{Streams: term.Streams{Out: &out, Err: &out}})
	if err := cmdline.ShowHelp(&out, app, app.Name, nil); err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(out.String(), "\n"); lines > 50 {
		t.Errorf("batchctl --help has %d lines", lines)
	}
	for _, c := range app.Commands {
		if n := len(c.Usage); n > 60 || c.Category == "" {
			t.Errorf("%s: %d characters, group %q: %s", c.Name, n, c.Category, c.Usage)
		}
	}
}

// TestHelpSentences checks that no sentence of a help text has more than 30
// words.
func TestHelpSentences(t *testing.T) {
	app := app(&term.Console{Streams: term.Streams{Out: io.Discard, Err: io.Discard}})
	check := func(where, text string) {
		for _, sentence := range sentenceEnd.Split(text, -1) {
			if n := len(strings.Fields(sentence)); n > 24 {
				t.Errorf("%s: %d words: %s", where, n, sentence)
			}
		}
	}
	var walk func(path string, c *cli.Command)
	walk = func(path string, c *cli.Command) {
		what, _ := cmdline.Paragraphs(c.Description)
		check(path, what)
		for _, r := range cmdline.FlagRows(c.Flags) {
			check(path+" "+r[0], r[1])
		}
		for _, sub := range c.Subcommands {
			walk(path+" "+sub.Name, sub)
		}
	}
	for _, c := range app.Commands {
		walk(c.Name, c)
	}
}

// sentenceEnd ends a sentence, or what can be read as one: a list is read item by item.
var sentenceEnd = regexp.MustCompile(`[.:;?]\s|\n\n`)
