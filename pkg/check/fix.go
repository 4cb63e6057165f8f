package check

import (
	"fmt"
	"slices"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/lint"
)

// fixRounds bounds how often a text is fixed and checked again. Fixes that overlap wait
// for the next round, and a fix may reveal another problem.
const fixRounds = 100

// Fixed is a text after its fixes.
type Fixed struct {
	// Text is the whole text.
	Text string
	// Edits are the applied fixes, in their order.
	Edits []Edit
}

// Edit is one fix.
type Edit struct {
	// Offset is the location of the problem in the text before the first fix, in bytes.
	Offset int
	// Message describes the problem and the fix, without credentials.
	Message string
}

// Fix returns the text of a document with all automatic fixes applied, in several rounds
// until nothing changes. Fixes of its syntax come first, because the parser guesses the
// rest of a text that is not JSON. The error is that of the platform file.
func (c *Checker) Fix(d Document, src *diag.Source) (Fixed, error) {
	out := Fixed{Text: src.Text}
	var before [][]diag.Edit // of each round
	for range fixRounds {
		problems, err := c.problemsOf(d, src)
		if err != nil {
			return out, err
		}
		text, applied := jsontree.Repair(src, problems)
		if len(applied) == 0 {
			break
		}
		_, edits := diag.Applied(src, applied)
		for _, d := range applied {
			at := d.Span.Start
			for _, earlier := range slices.Backward(before) {
				at = diag.Origin(at, earlier)
			}
			d = d.Masked()
			out.Edits = append(out.Edits, Edit{at, fmt.Sprintf("%s: %s [%s]", d.Message, d.Fix.Message, d.Rule)})
		}
		before = append(before, edits)
		out.Text = text
		src = diag.NewSource(src.Name, text)
	}
	return out, nil
}

// problemsOf checks one text without others.
func (c *Checker) problemsOf(d Document, src *diag.Source) (diag.List, error) {
	p, err := c.PlatformOf(d)
	if err != nil {
		return nil, err
	}
	platform := p.Content
	options := c.optionsFor(d, platform)
	if p.is(d.Path) {
		options.Kind, options.Platform = document.KindPlatform, nil
	}
	file, problems := document.Load(src, options)
	if file == nil {
		return problems, nil
	}
	if file.Platform != nil {
		if platform != nil {
			file.Platform.Catalog = platform.Catalog
		}
		platform = file.Platform
	}
	problems = lint.Waive(file, platform, problems)
	return lint.Settle(append(problems, lint.Check([]*document.File{file}, platform, c.rules)...)), nil
}
