package cli

import (
	"fmt"
	"slices"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/lint"
	"github.com/batchctl/batchctl/pkg/spec"
)

// mendRounds bounds how often a file is fixed and checked again: fixes that
// overlap wait for the next round, and one may uncover another.
const mendRounds = 100

// mend applies the fixes of every file, or with dry only shows them.
func (p *program) mend(k *checker, files []found, dry bool) error {
	for _, f := range files {
		src, err := p.read(f.path)
		if err != nil {
			continue // the check that follows reports it
		}
		if spec.IsYAML(src) || !f.asked && spec.Recognize(src) != spec.Ours {
			continue // edits are of JSON text
		}
		fixed, err := k.mended(src)
		if err != nil {
			return err
		}
		if err := p.keep(src, fixed, dry); err != nil {
			return err
		}
	}
	return nil
}

// keep shows the change, or writes it and lists its edits. Standard input is answered
// on standard output.
func (p *program) keep(src *diag.Source, fixed mending, dry bool) error {
	switch {
	case dry:
		return p.printDiff(src, fixed.text, "--fix")
	case src.Name == "-":
		return usage("--fix cannot write to standard input").try("see what it would change: batchctl validate - --diff")
	case len(fixed.edits) == 0:
		return nil
	}
	if err := p.rewrite(src, fixed.text); err != nil {
		return err
	}
	for _, edit := range fixed.edits {
		line, column := src.Position(edit.at)
		fmt.Fprintf(p.Err, "%s:%d:%d: fixed %s\n", diag.Printable(src.Name), line, column, diag.Printable(edit.what))
	}
	fmt.Fprintf(p.Err, "%s: fixed %s\n", diag.Printable(src.Name), plural(len(fixed.edits), "problem"))
	if fixed.syntaxOnly {
		fmt.Fprintf(p.Err, "%s: fixed only the syntax; run --fix again for other problems\n", diag.Printable(src.Name))
	}
	return nil
}

// mending is a text after its fixes.
type mending struct {
	text  string
	edits []madeEdit
	// syntaxOnly says that the text had a slip of syntax, and problems with other fixes
	// once that was fixed.
	syntaxOnly bool
}

// madeEdit is one fix: the place in the file before the first edit, and what it did.
type madeEdit struct {
	at   int
	what string
}

// mended returns the text with all automatic fixes applied, round after round. A text
// that is not JSON gets fixes of its syntax alone: what else it means is a guess until
// its author has seen the result.
func (k *checker) mended(src *diag.Source) (mending, error) {
	out := mending{text: src.Text}
	var before [][]diag.Edit // of each round
	broken := false
	for round := range mendRounds {
		problems, err := k.problemsOf(src)
		if err != nil {
			return out, err
		}
		if round == 0 {
			broken = slices.ContainsFunc(problems, func(d diag.Diagnostic) bool { return d.Rule == jsontree.RuleSyntax })
		}
		text, made := jsontree.Mend(src, problems)
		if len(made) == 0 {
			break
		}
		if broken && made[0].Rule != jsontree.RuleSyntax {
			out.syntaxOnly = true
			break
		}
		_, edits := diag.Made(src, made)
		for _, d := range made {
			at := d.Fix.Edits[0].Span.Start
			for _, earlier := range slices.Backward(before) {
				at = diag.Origin(at, earlier)
			}
			d = d.Masked()
			out.edits = append(out.edits, madeEdit{at, fmt.Sprintf("%s: %s [%s]", d.Message, d.Fix.Message, d.Rule)})
		}
		before = append(before, edits)
		out.text = text
		src = diag.NewSource(src.Name, text)
	}
	return out, nil
}

// problemsOf checks one text by itself.
func (k *checker) problemsOf(src *diag.Source) (diag.List, error) {
	g, err := k.governor(src.Name)
	if err != nil {
		return nil, err
	}
	options, platform := k.options, g.platform
	options.Platform = platform
	if src.Name == g.path {
		options.Kind, options.Platform = spec.KindPlatform, nil
	}
	file, problems := spec.Load(src, options)
	if file == nil {
		return problems, nil
	}
	if file.Platform != nil {
		if platform != nil {
			file.Platform.Catalog = platform.Catalog
		}
		platform = file.Platform
	}
	return lint.Settle(append(problems, lint.Check([]*spec.File{file}, platform, k.rules)...)), nil
}
