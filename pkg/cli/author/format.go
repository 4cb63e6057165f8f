package author

import (
	"context"
	"fmt"

	"github.com/batchctl/batchctl/pkg/check"
	"github.com/batchctl/batchctl/pkg/cli/cmdline"
	"github.com/batchctl/batchctl/pkg/cli/input"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/urfave/cli/v2"
)

// FmtCommand is batchctl fmt.
func FmtCommand(con *term.Console) *cli.Command {
	return cmdline.Command(cli.Command{
		Name:      "fmt",
		Usage:     "format job files",
		UsageText: "batchctl fmt [FLAGS] [FILE|DIRECTORY|PATTERN|- ...]",
		Description: cmdline.Help("Without flags, the result goes to stdout. Values and their order do not change. --check and --diff read this directory if you name no file.",
			"batchctl fmt job.json\nbatchctl fmt --write jobs/\nbatchctl fmt --check jobs/    # exit code 1 and the names, for CI"),
	}, formatOptions{}, func(_ context.Context, o formatOptions) error { return format(con, o) })
}

// formatOptions are the flags and arguments of fmt.
type formatOptions struct {
	// Args are also directories and patterns; "-" is standard input.
	cmdline.Given
	Write   bool `flag:"write,w" usage:"rewrite files that are not formatted"`
	Check   bool `flag:"check" usage:"list files that are not formatted; exit with status 1 if there are any"`
	Diff    bool `flag:"diff" usage:"show what --write would change"`
	Verbose bool `flag:"verbose" usage:"list the skipped .json files of a directory"`
}

// format is batchctl fmt. With --check it exits with exit.Problem if a file is
// not formatted.
func format(con *term.Console, o formatOptions) error {
	var err error
	command := "fmt"
	if o.Write {
		command = "fmt --write"
	}
	if o.Args, err = pathsOrHere(con, command, o.Args, !o.Check && !o.Diff); err != nil {
		return err
	}
	files, failed := check.Find(o.Args, nil, check.JobFiles)
	// The first unreadable argument ends the command before a file changes.
	for _, err := range failed {
		return err
	}
	code := exit.OK
	var skipped check.Skipped
	for _, d := range files {
		changed, err := formatFile(con, o, d, &skipped)
		if err != nil {
			return err
		}
		if changed && o.Check {
			code = exit.Problem
		}
	}
	reportSkipped(con, skipped, o.Verbose)
	return exit.Silent(code)
}

// formatFile formats one file and prints, compares or writes it, as the options
// say. It adds files of a directory that are not batchctl documents to skipped.
func formatFile(con *term.Console, o formatOptions, d check.Document,
	skipped *check.Skipped) (changed bool, err error) {
	src, err := input.Read(con, d.Path)
	if err != nil {
		return false, err
	}
	if !d.Named {
		if r := document.Recognize(src); r != document.Ours {
			skipped.Add(d.Path, r)
			return false, nil
		}
	}
	if document.IsYAML(src) {
		return false, exit.Fail(exit.NotDone, "%s is YAML; fmt formats only JSON", diag.Printable(src.Name)).
			Try("check it as a template: batchctl validate %s", diag.Printable(src.Name))
	}
	root, problems := jsontree.Parse(src)
	if problems.HasErrors() {
		return false, input.Refuse(con, problems, "the file is unchanged")
	}
	text := jsontree.Format(root, jsontree.Width)
	changed = text != src.Text
	switch {
	case o.Check && changed:
		_, err = fmt.Fprintln(con.Out, diag.Printable(src.Name))
	case o.Check:
	case o.Diff:
		err = con.Diff(src, text, "--write")
	case o.Write && src.Name == "-":
		err = exit.Usage("--write cannot write to standard input").Try("omit --write; the result goes to stdout")
	case o.Write && changed:
		err = rewrite(con, src, text)
	case o.Write:
	default:
		err = PrintDocument(con, text)
	}
	return changed, err
}

// PrintDocument prints a document on stdout, without masking secrets. On a
// terminal it escapes control characters.
func PrintDocument(con *term.Console, text string) error {
	if term.IsTerminal(con.Out) {
		text = string(diag.PrintableJSON([]byte(text)))
	}
	return con.PrintUnmasked(text)
}
