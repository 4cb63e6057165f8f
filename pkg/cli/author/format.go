package author

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/batchctl/batchctl/pkg/check"
	"github.com/batchctl/batchctl/pkg/cli/cmdline"
	"github.com/batchctl/batchctl/pkg/cli/input"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// FmtCommand is batchctl fmt.
func FmtCommand(con *term.Console) *cli.Command {
	return &cli.Command{
		Name:      "fmt",
		Usage:     "lay job files out in one way: short objects on a line, two blanks a level",
		UsageText: "batchctl fmt [FLAGS] FILE|DIRECTORY|PATTERN|- ...",
		Description: cmdline.Help("Without flags the result goes to stdout. Values and their order stay as they are.",
			"batchctl fmt job.json\nbatchctl fmt --write jobs/\nbatchctl fmt --check jobs/    # exit code 1 and the names, for CI"),
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "write", Aliases: []string{"w"}, Usage: "rewrite the files that are laid out otherwise"},
			&cli.BoolFlag{Name: "check", Usage: "only name the files that are laid out otherwise"},
			&cli.BoolFlag{Name: "diff", Usage: "show what --write would change"},
			&cli.BoolFlag{Name: "verbose", Usage: "list the skipped .json files of a directory"},
		},
		Action: func(c *cli.Context) error { return format(con, c) },
	}
}

func format(con *term.Console, c *cli.Context) error {
	if !c.Args().Present() {
		return exit.Usage("fmt needs a file").Try("for example: batchctl fmt --write job.json")
	}
	files, failed := check.Find(c.Args().Slice(), nil, check.JobFiles)
	for _, err := range failed {
		return err
	}
	code := exit.OK
	var skipped check.Skipped
	for _, d := range files {
		changed, err := formatFile(con, c, d, &skipped)
		if err != nil {
			return err
		}
		if changed && c.Bool("check") {
			code = exit.Problem
		}
	}
	reportSkipped(con, skipped, c.Bool("verbose"))
	return exit.Silent(code)
}

// formatFile formats one file and does with it what the flags say, or adds it to skipped.
func formatFile(con *term.Console, c *cli.Context, d check.Document, skipped *check.Skipped) (changed bool, err error) {
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
		return false, exit.Fail(exit.NotDone, "%s is YAML, and fmt lays out JSON", diag.Printable(src.Name)).Try("batchctl validate %s checks a template", diag.Printable(src.Name))
	}
	root, problems := jsontree.Parse(src)
	if problems.HasErrors() {
		return false, input.Refuse(con, problems, "the file is as it was")
	}
	text := jsontree.Format(root, jsontree.Width)
	changed = text != src.Text
	switch {
	case c.Bool("check") && changed:
		_, err = fmt.Fprintln(con.Out, diag.Printable(src.Name))
	case c.Bool("check"):
	case c.Bool("diff"):
		err = con.Diff(src, text, "--write")
	case c.Bool("write") && src.Name == "-":
		err = exit.Usage("--write cannot write to standard input").Try("leave it out, and the result goes to stdout")
	case c.Bool("write") && changed:
		err = rewrite(con, src, text)
	case c.Bool("write"):
	default:
		err = PrintDocument(con, text)
	}
	return changed, err
}

// PrintDocument prints a document on stdout: as it is, or so that it is harmless to
// a terminal.
func PrintDocument(con *term.Console, text string) error {
	if term.IsTerminal(con.Out) {
		text = string(diag.PrintableJSON([]byte(text)))
	}
	return con.PrintUnmasked(text)
}
