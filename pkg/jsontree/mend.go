package jsontree

import (
	"math"
	"slices"

	"github.com/batchctl/batchctl/pkg/diag"
)

// Mend is diag.Apply for the fixes of a document: it returns the new text and how
// many fixes are in it. Two fixes can be right each by itself and wrong together,
// such as two that add the same member; the text is read again, and of fixes that
// would add a slip or give a name twice, the later ones are left for the next round.
func Mend(src *diag.Source, list diag.List) (text string, applied int) {
	var slips, others diag.List
	for _, d := range list {
		switch {
		case d.Fix == nil || d.Source != src:
		case d.Rule == ruleSyntax:
			slips = append(slips, d)
		default:
			others = append(others, d)
		}
	}
	_, found := Parse(src)
	before := remains(src, found)
	before.twice = math.MaxInt // a name behind a slip can come to light
	kept := keep(src, before, nil, slips)
	return diag.Apply(src, keep(src, remains(mended(src, kept)), kept, others))
}

// keep returns those of more that can be made together with the kept ones. Halves
// are tried before single ones: few fixes stand in each other's way.
func keep(src *diag.Source, before remaining, kept, more diag.List) diag.List {
	if len(more) == 0 {
		return kept
	}
	all := slices.Concat(kept, more)
	if left := remains(mended(src, all)); !before.less(left) && left.twice <= before.twice {
		return all
	}
	if len(more) == 1 {
		return kept
	}
	half := len(more) / 2
	return keep(src, before, keep(src, before, kept, more[:half]), more[half:])
}
