package bench

import (
	_ "embed" // for plot.css
	"slices"

	"github.com/batchctl/batchctl/pkg/report"
)

//go:embed plot.css
var plotStyle string

// HTML is the report as a page of HTML. It opens with the decision in one sentence and the charts of the speed-up, or
// of the times where the sides have no row in common.
func (r *Report) HTML() ([]byte, error) {
	p := r.page()
	charts := []report.Section{r.speedUps(), r.timesBySize(), r.stacked()}
	opening := 0
	if len(charts[0].Figures) == 0 {
		opening = 1
	}
	at := slices.IndexFunc(p.Sections, func(s report.Section) bool { return s.Heading == "Costs" })
	if at < 0 {
		at = len(p.Sections)
	}
	p.Sections = slices.Insert(p.Sections, at, slices.Delete(slices.Clone(charts), opening, opening+1)...)
	p.Sections = slices.Insert(p.Sections, 0, charts[opening])
	if r.Decision != nil && len(r.Decision.Sentences) > 0 {
		p.Lead = r.Decision.Sentences[0]
		decision := slices.IndexFunc(p.Sections, func(s report.Section) bool { return s.Heading == "Decision" })
		p.Sections[decision].Sentences = r.Decision.Sentences[1:]
	}
	p.Drop()
	p.Style = plotStyle
	return p.HTML()
}
