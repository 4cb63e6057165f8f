package reportpages

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/batchctl/batchctl/pkg/advise"
	"github.com/batchctl/batchctl/pkg/cli/diagnose"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/cli/ui/page"
	"github.com/batchctl/batchctl/pkg/cli/ui/show"
	"github.com/batchctl/batchctl/pkg/cli/ui/source"
	"github.com/batchctl/batchctl/pkg/compare"
	"github.com/batchctl/batchctl/pkg/text"
	"github.com/batchctl/batchctl/pkg/ui/joblist"
)

// compareView is what the page of the comparison shows.
type compareView struct {
	Good, Bad string
	// Choices are the newest jobs.
	Choices []joblist.Job
	List    []comparisonView
	More    int // jobs that are not shown
	Command string
}

// comparisonView is the comparison of two jobs.
type comparisonView struct {
	compare.Comparison
	// ID is a unique text for the page's elements.
	ID      string
	Sides   []sideView
	Figures []measurementView
	More    int // differences that are not shown
}

// sideView is how one run ended.
type sideView struct {
	compare.Side
	Name, Role string
}

// measurementView is a measurement of both runs as text.
type measurementView struct{ Name, Good, Bad string }

// comparePage compares two runs, as diff does.
func (s *Reports) comparePage(r *http.Request) (page.Page, error) {
	p := page.Page{Template: "compare", Title: "Comparison", Section: "reports"}
	v := compareView{Good: strings.TrimSpace(r.FormValue("good")), Bad: strings.TrimSpace(r.FormValue("bad"))}
	if err := s.AwaitJobs(r); err != nil {
		return p, err
	}
	for _, row := range s.Observer.Jobs.Window(joblist.Query{Count: mostChoices, Now: time.Now().UnixMilli()}).Rows {
		if row.Job != nil {
			v.Choices = append(v.Choices, *row.Job)
		}
	}
	if v.Good != "" && v.Bad != "" {
		v.Command = s.Commands.Line("diff", v.Good, v.Bad)
		list, err := source.Ask(r.Context(), s.Commands, 10*time.Second, source.Question[[]compare.Comparison]{
			Words: []string{"diff", v.Good, v.Bad},
			Run: func(ctx context.Context, con *term.Console) ([]compare.Comparison, error) {
				return diagnose.Diff(ctx, con, s.About("diff", v.Good, v.Bad))
			}})
		if err != nil {
			return p, err
		}
		if len(list) > mostCompared {
			v.More, list = len(list)-mostCompared, list[:mostCompared]
		}
		for i, c := range list {
			v.List = append(v.List, comparisonViewOf(c, i))
		}
	}
	p.Body = v
	return p, nil
}

// comparisonViewOf returns how a comparison is shown.
func comparisonViewOf(c compare.Comparison, at int) comparisonView {
	v := comparisonView{Comparison: c, ID: fmt.Sprintf("comparison-%d", at),
		Sides: []sideView{{c.Good, show.Text(c.Good.Name), "good"}, {c.Bad, show.Text(c.Bad.Name), "bad"}}}
	if len(c.Changes) > mostChanges {
		v.More, v.Changes = len(c.Changes)-mostChanges, c.Changes[:mostChanges]
	}
	v.Changes = slices.Clone(v.Changes) // other requests share them
	for i := range v.Changes {
		v.Changes[i].Old, v.Changes[i].New = clipped(v.Changes[i].Old), clipped(v.Changes[i].New)
	}
	for _, f := range c.Figures {
		v.Figures = append(v.Figures, measurementView{f.Name, figureText(f.Unit, f.Good), figureText(f.Unit, f.Bad)})
	}
	return v
}

// clipped shortens a long value.
func clipped(value string) string {
	runes := []rune(value)
	if len(runes) <= mostValue {
		return value
	}
	return string(runes[:mostValue]) + "…"
}

// figureText is a measurement with its unit.
func figureText(unit string, v *float64) string {
	switch {
	case v == nil:
		return "unmeasured"
	case unit == "bytes":
		return text.Size(*v)
	}
	return strings.TrimSpace(advise.CPUsText(*v) + " " + unit)
}
