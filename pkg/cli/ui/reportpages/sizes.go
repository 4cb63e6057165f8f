package reportpages

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/batchctl/batchctl/pkg/advise"
	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/cli/diagnose"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/cli/ui/page"
	"github.com/batchctl/batchctl/pkg/cli/ui/show"
	"github.com/batchctl/batchctl/pkg/cli/ui/source"
	"github.com/batchctl/batchctl/pkg/exit"
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
func (s *Reports) sizesReport(r *http.Request) (page.Page, error) {
	p := page.Page{Template: "sizes", Title: "Right-sizing", Section: "reports"}
	v := sizesView{Since: cmp.Or(r.FormValue("since"), "30d"), Spans: adviceSpans}
	if !slices.Contains(adviceSpans, v.Since) {
		return p, page.BadRequest(fmt.Errorf("since %s: choose one of %s", v.Since, strings.Join(adviceSpans, ", ")))
	}
	v.Command = s.Commands.Line("advise", "--since", v.Since)
	o := diagnose.AdviseOptions{Since: v.Since}
	o.Given, o.Target = s.About("advise").Given, s.Options.Target
	list, err := source.Ask(r.Context(), s.Commands, 10*time.Second, source.Question[[]diagnose.JobAdvice]{
		Words: []string{"advise", "--since", v.Since},
		Run: func(ctx context.Context, con *term.Console) ([]diagnose.JobAdvice, error) {
			return diagnose.Advise(ctx, con, o)
		}})
	if failed, ok := errors.AsType[*exit.Failure](err); ok && strings.HasPrefix(failed.Message, "no attempt") {
		v.None, v.Hint, err = show.Text(failed.Message), show.Text(failed.Hint), nil
	}
	if err != nil {
		return p, err
	}
	if len(list) > mostDefinitions {
		v.More, list = len(list)-mostDefinitions, list[:mostDefinitions]
	}
	for i, a := range list {
		v.List = append(v.List, adviceViewOf(a.Advice, i))
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
		{"GPU busy", fmt.Sprint(a.Requested.GPUs), a.GPUUtilization,
			func(share float64) string { return fmt.Sprintf("%.0f %%", 100*share) }},
	} {
		if u := row.use; u != nil {
			v.Rows = append(v.Rows, adviceRow{row.name, row.requested, row.text(u.P50), row.text(u.P95),
				row.text(u.Max)})
		}
	}
	if a.Proposal != nil {
		v.Savings, v.Patch = a.SavingTexts(), a.Proposal.Members()
	}
	return v
}
