package queuepages

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/cli/top"
	"github.com/batchctl/batchctl/pkg/cli/ui/page"
	"github.com/batchctl/batchctl/pkg/cli/ui/show"
	"github.com/batchctl/batchctl/pkg/cli/ui/source"
	"github.com/batchctl/batchctl/pkg/jobqueue"
	"github.com/batchctl/batchctl/pkg/ui/chart"
)

// queueView is a queue as the pages show it.
type queueView struct {
	top.Queue
	Waiting, Runnable, Starting, Running int
	// AtLeast reports that the counts are lower bounds.
	IsBound bool
	InUse   float64
	Known   bool // InUse is known
	// Spark is a small chart of the unfinished jobs.
	Spark  string
	Shares []shareView
	// ID is a unique text for the page's elements.
	ID string
}

// shareView is the use of a fair share.
type shareView struct {
	Name  string
	InUse float64
	// Part is the share of the largest one in per cent.
	Part int
}

// Queues show the queues and their past.
type Queues struct{ *source.Source }

// Routes are the addresses of the group.
func (s *Queues) Routes() page.Routes {
	return page.Routes{
		Pages: map[string]func(*http.Request) (page.Page, error){
			"/queues":        s.queuesPage,
			"/queues/{name}": s.queuePage,
		},
	}
}

// viewOf returns how a queue is shown.
func (s *Queues) viewOf(q top.Queue, at int) queueView {
	v := queueView{Queue: q, Waiting: q.Jobs["SUBMITTED"] + q.Jobs["PENDING"], Runnable: q.Jobs["RUNNABLE"],
		Starting: q.Jobs["STARTING"], Running: q.Jobs["RUNNING"],
		IsBound: len(q.AtLeast) > 0, ID: fmt.Sprintf("queue-%d", at)}
	v.InUse, v.Known = source.InUse(q)
	var depths []float64
	highest := 1.0
	for _, p := range s.Observer.Past(q.Name) {
		n := 0
		for _, jobs := range p.Jobs {
			n += jobs
		}
		depths, highest = append(depths, p.Value(float64(n))), max(highest, float64(n))
	}
	v.Spark = chart.Spark{ID: v.ID + "-spark", Title: "Unfinished jobs of " + show.Text(q.Name) + " over time",
		Values: depths, Max: highest, Width: 300, Height: 36}.SVG()
	shares := source.Shares(q)
	most := 0.0
	for _, n := range shares {
		most = max(most, n)
	}
	for _, name := range slices.SortedFunc(maps.Keys(shares),
		func(a, b string) int { return cmp.Or(cmp.Compare(shares[b], shares[a]), cmp.Compare(a, b)) }) {
		part := 0
		if most > 0 {
			part = int(100 * shares[name] / most)
		}
		v.Shares = append(v.Shares, shareView{name, shares[name], part})
	}
	return v
}

// queuesPage shows all queues.
func (s *Queues) queuesPage(r *http.Request) (page.Page, error) {
	p := page.Page{Template: "queues", Title: "Queues", Section: "queues", Topics: []string{"queues"}}
	snapshot, err := s.Observer.Latest(r.Context())
	if err != nil {
		return p, err
	}
	var views []queueView
	for i, q := range snapshot.Queues {
		views = append(views, s.viewOf(q, i))
	}
	p.Body = struct {
		Queues   []queueView
		Machines []string
		Note     string
		Began    int64
	}{views, snapshot.MachinesInUse(), snapshot.Note, s.Observer.Began.UnixMilli()}
	return p, nil
}

// queuePage shows one queue with its past.
func (s *Queues) queuePage(r *http.Request) (page.Page, error) {
	name := r.PathValue("name")
	p := page.Page{Template: "queue", Title: "Queue " + show.Text(name), Section: "queues", Topics: []string{"queues"}}
	snapshot, err := s.Observer.Latest(r.Context())
	if err != nil {
		return p, err
	}
	at := slices.IndexFunc(snapshot.Queues, func(q top.Queue) bool { return q.Name == name })
	if at < 0 {
		return p, fmt.Errorf("no queue %s at this target: %w", name, page.ErrNotFound)
	}
	view := s.viewOf(snapshot.Queues[at], at)
	past := s.Observer.Past(name)
	p.Body = struct {
		queueView
		Depth, Use string
		Machines   []string
		Began      int64
		// Forecast reports that the user asked for a forecast, and Job is the file whose start is forecast.
		Forecast bool
		Job      string
	}{view, depthChart(past), useChart(past, view), jobqueue.MachinesInUse(view.EnvironmentStates),
		s.Observer.Began.UnixMilli(), r.FormValue("forecast") != "", r.FormValue("job")}
	return p, nil
}

// depthChart draws the number of unfinished jobs over time.
func depthChart(past []source.Sample) string {
	a := chart.Area{ID: "depth", Title: "Unfinished jobs over time", Unit: "jobs", Height: 260}
	statuses := []types.JobStatus{types.JobStatusRunning, types.JobStatusStarting, types.JobStatusRunnable,
		types.JobStatusPending, types.JobStatusSubmitted}
	for _, status := range statuses {
		a.Series = append(a.Series, chart.Series{Name: string(status), Class: page.ClassOf(string(status))})
	}
	for _, p := range past {
		a.Times = append(a.Times, p.At)
		for i, status := range statuses {
			a.Series[i].Values = append(a.Series[i].Values, p.Value(float64(p.Jobs[status])))
		}
	}
	return page.Area(a)
}

// useChart draws the capacity in use over time: by share if the queue has shares.
func useChart(past []source.Sample, v queueView) string {
	a := chart.Area{ID: "use", Title: "Capacity in use over time", Unit: "vCPUs", Height: 220, Limit: float64(v.MaxvCpus),
		LimitName: "maxvCpus"}
	total := map[string]float64{}
	for _, p := range past {
		a.Times = append(a.Times, p.At)
		for name, n := range p.Shares {
			total[name] += n
		}
	}
	if len(total) == 0 {
		values := make([]float64, len(past))
		for i, p := range past {
			values[i] = p.Value(p.InUse)
		}
		a.Series = []chart.Series{{Name: "in use", Class: "share-0", Values: values}}
		return page.Area(a)
	}
	names := slices.SortedFunc(maps.Keys(total),
		func(x, y string) int { return cmp.Or(cmp.Compare(total[y], total[x]), cmp.Compare(x, y)) })
	rest := []string(nil)
	if len(names) > page.MostShares {
		names, rest = names[:page.MostShares], names[page.MostShares:]
	}
	for i, name := range names {
		values := make([]float64, len(past))
		for at, p := range past {
			values[at] = p.Value(p.Shares[name])
		}
		a.Series = append(a.Series, chart.Series{Name: show.Text(name), Class: fmt.Sprintf("share-%d", i),
			Values: values})
	}
	if len(rest) > 0 {
		values := make([]float64, len(past))
		for at, p := range past {
			n := 0.0
			for _, name := range rest {
				n += p.Shares[name]
			}
			values[at] = p.Value(n)
		}
		a.Series = append(a.Series, chart.Series{Name: fmt.Sprintf("%d other shares", len(rest)), Class: "share-rest",
			Values: values})
	}
	return page.Area(a)
}
