package ui

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/batchctl/batchctl/pkg/advise"
	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/compare"
	"github.com/batchctl/batchctl/pkg/ui/joblist"
)

const (
	// mostDefinitions is how many definitions the page of right-sizing shows.
	mostDefinitions = 100
	// mostCompared and mostChanges are how many jobs of two submissions the comparison shows, and differences of each.
	mostCompared = 20
	mostChanges  = 200
	// mostChoices is how many jobs the fields of the comparison offer.
	mostChoices = 50
	// mostValue is the longest value of a difference, in characters.
	mostValue = 2000
)

// sizesView is what the page of right-sizing shows.
type sizesView struct {
	Since string
	Spans []string
	List  []adviceView
	More  int // definitions that are not shown
	// None is why there is no advice, and Hint how to get some.
	None, Hint string
	Command    string
}

// adviceView is the advice for one definition.
type adviceView struct {
	advise.Advice
	// ID is a unique text for the page's elements.
	ID        string
	QueueName string
	Rows      []adviceRow
	Savings   []string
	Patch     string
}

// adviceRow is one figure: what was requested and used.
type adviceRow struct{ Name, Requested, P50, P95, Max string }

// adviceSpans are the choices for how old the attempts may be.
var adviceSpans = []string{"7d", "30d", "90d"}

// sizesReport shows what advise prints, by definition.
func (s *server) sizesReport(r *http.Request) (page, error) {
	p := page{Template: "sizes", Title: "Right-sizing", Section: "reports"}
	v := sizesView{Since: cmp.Or(r.FormValue("since"), "30d"), Spans: adviceSpans}
	if !slices.Contains(adviceSpans, v.Since) {
		return p, badRequest{fmt.Errorf("since %s: choose one of %s", v.Since, strings.Join(adviceSpans, ", "))}
	}
	v.Command = s.c.line("advise", "--since", v.Since)
	list, err := askJSON[[]advise.Advice](r.Context(), s.c, 10*time.Second, "advise", "--since", v.Since, "--output", "json")
	if failed, ok := errors.AsType[*commandError](err); ok && strings.HasPrefix(failed.Message, "no attempt") {
		v.None, v.Hint, err = shown(failed.Message), shown(failed.Hint), nil
	}
	if err != nil {
		return p, err
	}
	if len(list) > mostDefinitions {
		v.More, list = len(list)-mostDefinitions, list[:mostDefinitions]
	}
	for i, a := range list {
		v.List = append(v.List, adviceViewOf(a, i))
	}
	p.Body = v
	return p, nil
}

// adviceViewOf returns how an advice is shown.
func adviceViewOf(a advise.Advice, at int) adviceView {
	v := adviceView{Advice: a, ID: fmt.Sprintf("advice-%d", at), QueueName: batch.Name(a.Queue)}
	for _, row := range []struct {
		name, requested string
		use             *advise.Use
		text            func(float64) string
	}{
		{"memory", advise.RequestText(a.Requested.MemoryMiB), a.Memory, advise.SizeText},
		{"busy CPUs", advise.CPUsText(a.Requested.VCPUs), a.CPUs, advise.CPUsText},
		{"GPU memory", "–", a.GPUMemory, advise.SizeText},
		{"GPU busy", fmt.Sprint(a.Requested.GPUs), a.GPUUtilization, func(share float64) string { return fmt.Sprintf("%.0f %%", 100*share) }},
	} {
		if u := row.use; u != nil {
			v.Rows = append(v.Rows, adviceRow{row.name, row.requested, row.text(u.P50), row.text(u.P95), row.text(u.Max)})
		}
	}
	if a.Proposal != nil {
		v.Savings, v.Patch = a.SavingTexts(), a.Proposal.Members()
	}
	return v
}

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
	Figures []figureView
	More    int // differences that are not shown
}

// sideView is how one run ended.
type sideView struct {
	compare.Side
	Name, Role string
}

// figureView is a measurement of both runs as text.
type figureView struct{ Name, Good, Bad string }

// comparePage compares two runs, as diff does.
func (s *server) comparePage(r *http.Request) (page, error) {
	p := page{Template: "compare", Title: "Comparison", Section: "reports"}
	v := compareView{Good: strings.TrimSpace(r.FormValue("good")), Bad: strings.TrimSpace(r.FormValue("bad"))}
	for _, handle := range []string{v.Good, v.Bad} {
		if strings.HasPrefix(handle, "-") {
			return p, badRequest{fmt.Errorf("%s is not a job", handle)}
		}
	}
	if err := s.awaitJobs(r); err != nil {
		return p, err
	}
	for _, row := range s.o.jobs.Window(joblist.Query{Count: mostChoices, Now: time.Now().UnixMilli()}).Rows {
		if row.Job != nil {
			v.Choices = append(v.Choices, *row.Job)
		}
	}
	if v.Good != "" && v.Bad != "" {
		v.Command = s.c.line("diff", v.Good, v.Bad)
		list, err := askDiffer[[]compare.Comparison](r.Context(), s.c, 10*time.Second, "diff", v.Good, v.Bad, "--output", "json")
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
	v := comparisonView{Comparison: c, ID: fmt.Sprintf("comparison-%d", at), Sides: []sideView{{c.Good, shown(c.Good.Name), "good"}, {c.Bad, shown(c.Bad.Name), "bad"}}}
	if len(c.Changes) > mostChanges {
		v.More, v.Changes = len(c.Changes)-mostChanges, c.Changes[:mostChanges]
	}
	for i := range v.Changes {
		v.Changes[i].Old, v.Changes[i].New = clipped(v.Changes[i].Old), clipped(v.Changes[i].New)
	}
	for _, f := range c.Figures {
		v.Figures = append(v.Figures, figureView{f.Name, figureText(f.Unit, f.Good), figureText(f.Unit, f.Bad)})
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
		return advise.SizeText(*v / advise.MiB)
	}
	return strings.TrimSpace(advise.CPUsText(*v) + " " + unit)
}
