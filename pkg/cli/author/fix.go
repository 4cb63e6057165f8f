package author

import (
	"fmt"

	"github.com/batchctl/batchctl/pkg/check"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/text"
)

// fixFiles applies the automatic fixes to every document. With dry it only shows
// them.
func fixFiles(con *term.Console, k *check.Checker, documents []check.Document, dry bool) error {
	for _, d := range documents {
		src, err := k.Read(d)
		if err != nil {
			continue // the check that follows reports it
		}
		switch {
		case !d.Named && document.Recognize(src) != document.Ours:
			continue
		case document.IsYAML(src):
			fmt.Fprintf(con.Err, "%s: unchanged: --fix edits only JSON\n", diag.Printable(src.Name))
			continue
		}
		fixed, err := k.Fix(d, src)
		if err != nil {
			return err
		}
		if err := writeFixed(con, src, fixed, dry); err != nil {
			return err
		}
	}
	return nil
}

// reportUnfixed names the problems that have a fix which --fix did not apply, and removes that promise from them.
func reportUnfixed(con *term.Console, left diag.List) {
	for i, d := range left {
		if !d.Fixable() || document.IsYAML(d.Source) {
			continue
		}
		fmt.Fprintf(con.Err, "%s: not fixed: the edit could change another value\n", d.Error())
		fix := *d.Fix
		fix.Class = diag.Choice
		left[i].Fix = &fix
	}
}

// writeFixed shows a change, or writes it and lists its edits.
func writeFixed(con *term.Console, src *diag.Source, fixed check.Fixed, dry bool) error {
	switch {
	case dry:
		return con.Diff(src, fixed.Text, "--fix")
	case src.Name == "-":
		return exit.Usage("--fix cannot write to standard input").
			Try("show what it would change: batchctl validate - --diff")
	case len(fixed.Edits) == 0:
		return nil
	}
	// Nothing is printed before the file has changed.
	if err := rewrite(con, src, fixed.Text); err != nil {
		return err
	}
	for _, edit := range fixed.Edits {
		line, column := src.Position(edit.Offset)
		fmt.Fprintf(con.Err, "%s:%d:%d: fixed %s\n", diag.Printable(src.Name), line, column,
			diag.Printable(edit.Message))
	}
	fmt.Fprintf(con.Err, "%s: fixed %s\n", diag.Printable(src.Name), text.Count(len(fixed.Edits), "problem"))
	return nil
}
