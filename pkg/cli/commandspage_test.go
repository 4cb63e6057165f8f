package cli

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"github.com/batchctl/batchctl/pkg/cli/cmdline"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/testtool/golden"
)

// TestCommandsPages compares docs/commands with the help of the commands: an index, and a page for each group.
func TestCommandsPages(t *testing.T) {
	const generated = "<!-- Generated from the help texts by TestCommandsPages -->\n"
	app := app(&term.Console{Streams: term.Streams{Out: io.Discard, Err: io.Discard}})
	var index strings.Builder
	index.WriteString("# Commands\n\n" + generated + "\n" +
		"- A JOB is a job's name, short id, ARN or submission id. `name:7` is child 7 of an array. A workflow's name, its file, or the id of a submission stands for all its jobs.\n" +
		"- The target is `--target`, else `BATCHCTL_TARGET`, else the platform file's `defaultTarget`, else `local`.\n" +
		"- Data goes to stdout, everything else to stderr. `--json` is the same as `--output json`.\n" +
		"- [Exit codes](../exit-codes.md) have their own page.\n")
	pages := map[string]*strings.Builder{}
	several, order := severalFlags(app)
	for _, c := range app.Commands {
		file := strings.ToLower(strings.ReplaceAll(c.Category, " ", "-")) + ".md"
		if pages[file] == nil {
			pages[file] = &strings.Builder{}
			fmt.Fprintf(pages[file], "# %s\n\n%s\n[Flags of every command](README.md#flags-of-every-command)\n", c.Category, generated)
			fmt.Fprintf(&index, "\n## [%s](%s)\n\n| command | |\n| --- | --- |\n", c.Category, file)
		}
		fmt.Fprintf(&index, "| %s | %s |\n", c.Name, cell(c.Usage))
		commandEntry(pages[file], "batchctl "+c.Name, c, several)
	}
	index.WriteString("\n## Flags of every command\n\nMany commands share these flags. The help of a command lists only its other flags.\n")
	for _, g := range cmdline.SharedFlags() {
		fmt.Fprintf(&index, "\n### %s\n", g.Title)
		if takes := g.Takes(app); takes != "" {
			fmt.Fprintf(&index, "\n%s.\n", takes)
		}
		flagList(&index, cmdline.FlagRows(g.Flags))
	}
	index.WriteString("\n## Shared\n\nThe flags of several commands. The page of each command names its own.\n")
	flagList(&index, order)
	pages["README.md"] = &index
	size := 0
	for file, page := range pages {
		golden.File(t, "../../docs/commands/"+file, page.String())
		size += page.Len()
	}
	if size > 60_000 {
		t.Errorf("the pages have %d bytes: move flags that several commands share to cmdline.SharedFlags", size)
	}
}

// severalFlags returns the rows of flags that more than one command has, without those of cmdline.SharedFlags.
func severalFlags(app *cli.App) (several map[[2]string]bool, order [][2]string) {
	seen := map[[2]string]int{}
	var walk func(c *cli.Command)
	walk = func(c *cli.Command) {
		for _, r := range cmdline.OwnFlagRows(c.Flags) {
			seen[r]++
		}
		for _, sub := range c.Subcommands {
			walk(sub)
		}
	}
	for _, c := range app.Commands {
		walk(c)
	}
	order = slices.SortedFunc(maps.Keys(seen), func(a, b [2]string) int {
		return cmp.Or(strings.Compare(a[0], b[0]), seen[b]-seen[a], strings.Compare(a[1], b[1]))
	})
	// Of a name with two meanings, only the more frequent one is shared.
	order = slices.CompactFunc(order, func(a, b [2]string) bool { return a[0] == b[0] })
	order = slices.DeleteFunc(order, func(r [2]string) bool { return seen[r] < 2 })
	several = map[[2]string]bool{}
	for _, r := range order {
		several[r] = true
	}
	return several, order
}

// flagList writes a list of flags, unless there are none.
func flagList(b *strings.Builder, rows [][2]string) {
	for i, r := range rows {
		if i == 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(b, "- `%s`: %s\n", r[0], strings.NewReplacer("<", "&lt;", "*", `\*`).Replace(r[1]))
	}
}

// commandEntry writes the entry of a command. It only names the flags of several commands.
func commandEntry(b *strings.Builder, path string, c *cli.Command, several map[[2]string]bool) {
	_, name, _ := strings.Cut(path, " ")
	usage := strings.ReplaceAll(c.UsageText, "\n   ", "\n")
	if strings.Contains(usage, "\n") {
		fmt.Fprintf(b, "\n## %s\n\n%s.\n\n```text\n%s\n```\n", name, strings.ToUpper(c.Usage[:1])+c.Usage[1:], usage)
	} else {
		fmt.Fprintf(b, "\n## %s\n\n`%s`: %s.\n", name, usage, cell(c.Usage))
	}
	if prose, examples := cmdline.Paragraphs(c.Description); prose != "" || examples != "" {
		if prose != "" {
			fmt.Fprintf(b, "\n%s\n", strings.NewReplacer("<", "&lt;", "*", `\*`).Replace(prose))
		}
		if examples != "" {
			fmt.Fprintf(b, "\n```sh\n%s\n```\n", examples)
		}
	}
	var own [][2]string
	var named []string
	for _, r := range cmdline.OwnFlagRows(c.Flags) {
		if several[r] {
			named = append(named, strings.FieldsFunc(r[0], func(r rune) bool { return r == ',' || r == ' ' })[0])
		} else {
			own = append(own, r)
		}
	}
	flagList(b, own)
	if len(named) > 0 {
		fmt.Fprintf(b, "\n[Shared](README.md#shared): `%s`\n", strings.Join(named, " "))
	}
	for _, sub := range c.Subcommands {
		commandEntry(b, path+" "+sub.Name, sub, several)
	}
}

// cell is a text for a column of a table.
func cell(text string) string { return strings.NewReplacer("|", `\|`, "<", "&lt;").Replace(text) }

// TestOverviewFits checks that batchctl --help fits a screen of 80 x 50, begins with the commands of a newcomer, and
// names each command once.
func TestOverviewFits(t *testing.T) {
	t.Setenv("COLUMNS", "80")
	var out strings.Builder
	app := app(&term.Console{Streams: term.Streams{Out: &out, Err: &out}})
	if err := cmdline.ShowHelp(&out, app, app.Name, nil); err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(out.String(), "\n"); lines > 49 {
		t.Errorf("batchctl --help has %d lines", lines)
	}
	var first []string
	for _, c := range app.Commands {
		if c.Category == "Start" {
			first = append(first, c.Name)
		}
		if n := len(regexp.MustCompile(`(?m)^   (.*: )?(\w+ )*`+c.Name+`( |$)`).FindAllString(out.String(), -1)); n != 1 {
			t.Errorf("batchctl --help names %s %d times", c.Name, n)
		}
		if n := len(c.Usage); n > 60 || c.Category == "" {
			t.Errorf("%s: %d characters, group %q: %s", c.Name, n, c.Category, c.Usage)
		}
	}
	if got := strings.Join(first, " "); got != "init validate run explain submit quickstart" {
		t.Errorf("the first commands are %s", got)
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
