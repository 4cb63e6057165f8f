package cmdline

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/mattn/go-runewidth"
	"github.com/urfave/cli/v2"

	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/exit"
)

const (
	// helpWidth is the width of help in a pipe, and helpLeast the smallest width,
	// in columns.
	helpWidth = 80
	helpLeast = 40
)

// ShowHelp prints the help of a command, or of batchctl if c is nil. path is the
// command with the program's name. urfave/cli's own printer does not wrap lines,
// repeats defaults and prints a default for each switch; its settings are global.
func ShowHelp(w io.Writer, app *cli.App, path string, c *cli.Command) error {
	h := &helpPage{width: HelpColumns(w)}
	if c == nil {
		if path == flagsPath {
			h.sharedFlags(app)
		} else {
			h.overview(app)
		}
		_, err := io.WriteString(w, h.text.String())
		return err
	}
	h.section("NAME", path+" - "+c.Usage)
	h.section("USAGE", "")
	for line := range strings.Lines(cmp.Or(c.UsageText, path+" [FLAGS]")) {
		h.wrapped("   ", "      ", line)
	}
	h.section("DESCRIPTION", "")
	h.prose(strings.TrimRight(c.Description, "\n"))
	if _, listed := ExitTable()[commandPath(path)]; listed {
		h.prose("\nExit codes:\n   " + strings.ReplaceAll(exitText(path, h.width-6), "\n", "\n   "))
	}
	if len(c.Subcommands) > 0 {
		h.section("COMMANDS", "")
		var rows [][2]string
		for _, sub := range c.Subcommands {
			if !sub.Hidden {
				rows = append(rows, [2]string{sub.Name, sub.Usage})
			}
		}
		h.rows(rows)
	}
	if rows := OwnFlagRows(c.Flags); len(rows) > 0 {
		h.section("OPTIONS", "")
		h.rows(rows)
	}
	h.text.WriteString("\nFlags of every command: batchctl help flags\n")
	_, err := io.WriteString(w, h.text.String())
	return err
}

// HelpColumns returns the width of help in columns: $COLUMNS, or else the
// terminal's, or else helpWidth.
func HelpColumns(w io.Writer) int {
	if hw, ok := w.(*HelpWriter); ok {
		w = hw.Writer
	}
	columns, err := strconv.Atoi(os.Getenv("COLUMNS"))
	if err != nil || columns <= 0 {
		columns = cmp.Or(term.Width(w), helpWidth)
	}
	return max(columns, helpLeast)
}

// FlagRows returns a row of names and text for each visible flag. It adds the
// default, unless the text contains it.
func FlagRows(flags []cli.Flag) (rows [][2]string) {
	for _, f := range flags {
		doc, ok := f.(cli.DocGenerationFlag)
		if v, hides := f.(cli.VisibleFlag); !ok || hides && !v.IsVisible() {
			continue
		}
		usage, value := doc.GetUsage(), ""
		if before, rest, found := strings.Cut(usage, "`"); found {
			if name, after, closed := strings.Cut(rest, "`"); closed {
				usage, value = before+name+after, name
			}
		}
		var names []string
		for _, name := range f.Names() {
			dashes := "--"
			if len(name) == 1 {
				dashes = "-"
			}
			names = append(names, dashes+name)
		}
		name := strings.Join(names, ", ")
		if !isSwitch(f) {
			name += " " + cmp.Or(value,
				strings.ToUpper(cmp.Or(map[string]string{"output": "FORMAT", "o": "FORMAT"}[f.Names()[0]], "VALUE")))
		}
		if text := flagDefault(f, doc); text != "" && !isSwitch(f) && !strings.Contains(usage, "(default:") {
			usage += " (default: " + text + ")"
		}
		rows = append(rows, [2]string{name, usage})
	}
	return rows
}

// flagDefault returns the default of a flag, or "" if it is the zero value of its
// type.
func flagDefault(f cli.Flag, doc cli.DocGenerationFlag) string {
	text := doc.GetDefaultText()
	if text == "" {
		text = doc.GetValue()
	}
	if slices.Contains([]string{"", "0", "0s", "[]", `""`, "false"}, text) {
		return ""
	}
	return strings.Trim(text, `"`)
}

// helpPage builds the help as text.
type helpPage struct {
	width int
	text  strings.Builder
}

// isBrief reports whether batchctl's own help only names a command, because shells, editors and containers call it.
func isBrief(c *cli.Command) bool {
	return slices.Contains([]string{"lsp", "schema", "completion", "version", "child", "measure", "stage"}, c.Name)
}

// overview writes batchctl's own help: the commands in their groups. It fits a
// screen of 50 lines.
func (h *helpPage) overview(app *cli.App) {
	h.wrapped("", "   ", app.Name+" - "+app.Usage)
	h.wrapped("", "   ", "Usage: "+app.UsageText)
	var rows [][2]string
	headline := ""
	var brief []string
	for _, c := range app.Commands {
		if isBrief(c) {
			brief = append(brief, c.Name)
			continue
		}
		if c.Category != headline {
			headline = c.Category
			rows = append(rows, [2]string{"", headline})
		}
		rows = append(rows, [2]string{c.Name, c.Usage})
	}
	h.rows(rows)
	h.wrapped("   ", "   ", "for editors, shells and containers: "+strings.Join(brief, " "))
	h.wrapped("", "", app.Name+" COMMAND --help shows the flags, examples and exit codes of a command.")
}

// section writes a headline and the text below it.
func (h *helpPage) section(head, text string) {
	if h.text.Len() > 0 {
		h.text.WriteString("\n")
	}
	h.text.WriteString(head + ":\n")
	if text != "" {
		h.wrapped("   ", "   ", text)
	}
}

// prose writes paragraphs, wrapped to the width. Indented lines such as examples
// are not wrapped, so that they can be copied.
func (h *helpPage) prose(text string) {
	const broken = 60 // a line of this length was wrapped in the source
	paragraph := ""
	flush := func() {
		if paragraph != "" {
			h.wrapped("   ", "   ", paragraph)
		}
		paragraph = ""
	}
	previous := 0
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		switch {
		case line == "" || strings.HasPrefix(line, " "):
			flush()
			h.text.WriteString(strings.TrimRight("   "+line, " ") + "\n")
		case previous < broken:
			flush()
			paragraph = line
		default:
			paragraph = strings.TrimSpace(paragraph + " " + line)
		}
		previous = len(line)
	}
	flush()
}

// rows writes names and texts in two columns. The text of a long name begins on
// the next line.
func (h *helpPage) rows(rows [][2]string) {
	// most is the widest name that has its text on the same line, in columns.
	const most = 28
	column := 0
	for _, r := range rows {
		if n := runewidth.StringWidth(r[0]); n <= min(most, h.width/3) {
			column = max(column, n)
		}
	}
	indent := strings.Repeat(" ", 3+column+2)
	for _, r := range rows {
		if r[0] == "" { // a headline
			h.wrapped("", "", r[1])
			continue
		}
		if n := runewidth.StringWidth(r[0]); n <= column {
			h.wrapped("   "+r[0]+strings.Repeat(" ", column-n+2), indent, r[1])
			continue
		}
		h.text.WriteString("   " + r[0] + "\n")
		h.wrapped(indent, indent, r[1])
	}
}

// wrapped writes a text in lines of the page's width. It does not break words.
// first and next begin the first line and the lines after it.
func (h *helpPage) wrapped(first, next, text string) {
	line, empty := first, true
	for _, word := range strings.Fields(text) {
		if !empty && runewidth.StringWidth(line)+1+runewidth.StringWidth(word) > h.width {
			h.text.WriteString(line + "\n")
			line, empty = next, true
		}
		if !empty {
			line += " "
		}
		line, empty = line+word, false
	}
	h.text.WriteString(strings.TrimRight(line, " ") + "\n")
}

// ExitMeanings are the exit codes with their meanings, in the order of the help.
var ExitMeanings = []struct {
	Code int
	Text string
}{
	{exit.OK, "done"}, {exit.Problem, "the files have problems, or the job FAILED"}, {exit.BadUsage, "wrong usage"},
	{exit.NotDone, "not done or not checked"},
	{exit.Change, "something would change, or differs"}, {exit.Unplaceable, "the job does not fit on any machine"},
	{exit.Unknown, "submitted, but an answer is missing"},
	{exit.TimedOut, "timeout"}, {exit.Interrupted, "interrupted"},
}

// ExitTable returns the exit codes of each command, without those that every
// command has (0, 2, 3 and 130).
func ExitTable() map[string][]int {
	table := map[string][]int{
		"submit":  {exit.Problem, exit.Change, exit.Unknown},
		"wait":    {exit.Problem, exit.TimedOut},
		"explain": {exit.Problem, exit.TimedOut},
	}
	for _, group := range []struct {
		codes    []int
		commands []string
	}{
		{nil, []string{"history"}},
		{[]int{exit.Problem}, []string{"advise"}},
		{[]int{exit.Change}, []string{"diff"}},
		{nil, []string{"lsp", "schema", "version", "completion", "env", "serve", "gc", "list", "queues", "export",
			"top", "workload list"}},
		{[]int{exit.Problem, exit.Unplaceable, exit.Unknown}, []string{"run", "bench", "bench deploy"}},
		{[]int{exit.Problem, exit.Unknown}, []string{"retry", "resume", "ecs run"}},
		{[]int{exit.Problem, exit.Change}, []string{"plan", "infra diff", "apply"}},
		{[]int{exit.Problem}, []string{"validate", "cost", "graph", "status", "logs", "results", "replay", "forecast",
			"stop", "verify", "doctor", "workload run",
			"bench compare", "ui", "child", "measure", "stage", "init", "convert", "fmt", "quickstart", "bench destroy",
			"infra deploy", "infra status", "infra destroy",
			"infra outputs", "ecs status", "ecs wait", "ecs logs", "ecs stop"}},
	} {
		for _, command := range group.commands {
			table[command] = group.codes
		}
	}
	return table
}

// commandPath removes the program's name from "batchctl infra diff".
func commandPath(path string) string {
	_, command, _ := strings.Cut(path, " ")
	return command
}

// exitText lists the exit codes of a command, wrapped between two of them.
func exitText(path string, columns int) string {
	codes := append([]int{exit.OK, exit.BadUsage, exit.NotDone, exit.Interrupted}, ExitTable()[commandPath(path)]...)
	var lines []string
	line := ""
	for _, m := range ExitMeanings {
		if !slices.Contains(codes, m.Code) {
			continue
		}
		item := fmt.Sprintf("%d %s", m.Code, m.Text)
		if line != "" && runewidth.StringWidth(line)+3+runewidth.StringWidth(item) > columns {
			lines, line = append(lines, line), ""
		}
		if line != "" {
			line += "   "
		}
		line += item
	}
	return strings.Join(append(lines, line), "\n")
}

// Help builds the description of a command; ShowHelp adds the exit codes.
func Help(what, examples string) string {
	return what + "\n\nExamples:\n   " + term.Indent(examples)
}

// Paragraphs returns the two parts of a description from Help. The examples have
// no indentation.
func Paragraphs(description string) (what, examples string) {
	what, examples, _ = strings.Cut(description, "\n\nExamples:\n   ")
	return what, strings.ReplaceAll(strings.TrimRight(examples, "\n"), "\n   ", "\n")
}

// HelpWriter is the writer for urfave/cli's help and version. It keeps the first
// error, which urfave/cli does not return.
type HelpWriter struct {
	io.Writer
	Err error
}

// Write writes a text and keeps the first error.
func (w *HelpWriter) Write(text []byte) (int, error) {
	n, err := w.Writer.Write(text)
	w.Err = cmp.Or(w.Err, err)
	return n, err
}
