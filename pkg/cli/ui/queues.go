package ui

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/ui/chart"
)

// queueView is a queue as the pages show it.
type queueView struct {
	queue
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

// queuePages show the queues and their past.
type queuePages struct{ *core }

// routes are the addresses of the group.
func (s *queuePages) routes() routes {
	return routes{
		pages: map[string]func(*http.Request) (page, error){
			"/queues":        s.queuesPage,
			"/queues/{name}": s.queuePage,
		},
	}
}

// viewOf returns how a queue is shown.
func (s *queuePages) viewOf(q queue, at int) queueView {
	v := queueView{queue: q, Waiting: q.Jobs["SUBMITTED"] + q.Jobs["PENDING"], Runnable: q.Jobs["RUNNABLE"], Starting: q.Jobs["STARTING"], Running: q.Jobs["RUNNING"],
		IsBound: len(q.AtLeast) > 0, ID: fmt.Sprintf("queue-%d", at)}
	v.InUse, v.Known = q.inUse()
	var depths []float64
	highest := 1.0
	for _, p := range s.observer.past(q.Name) {
		n := 0
		for _, jobs := range p.jobs {
			n += jobs
		}
		depths, highest = append(depths, p.value(float64(n))), max(highest, float64(n))
	}
	v.Spark = chart.Spark{ID: v.ID + "-spark", Title: "Unfinished jobs of " + shown(q.Name) + " over time", Values: depths, Max: highest, Width: 300, Height: 36}.SVG()
	shares := q.shares()
	most := 0.0
	for _, n := range shares {
		most = max(most, n)
	}
	for _, name := range slices.SortedFunc(maps.Keys(shares), func(a, b string) int { return cmp.Or(cmp.Compare(shares[b], shares[a]), cmp.Compare(a, b)) }) {
		part := 0
		if most > 0 {
			part = int(100 * shares[name] / most)
		}
		v.Shares = append(v.Shares, shareView{name, shares[name], part})
	}
	return v
}

// queuesPage shows all queues.
func (s *queuePages) queuesPage(r *http.Request) (page, error) {
	p := page{Template: "queues", Title: "Queues", Section: "queues", Topics: []string{"queues"}}
	snapshot, err := s.observer.latest(r.Context())
	if err != nil {
		return p, err
	}
	var views []queueView
	for i, q := range snapshot.Queues {
		views = append(views, s.viewOf(q, i))
	}
	p.Body = struct {
		Queues []queueView
		Note   string
		Began  int64
	}{views, snapshot.Note, s.observer.began.UnixMilli()}
	return p, nil
}

// queuePage shows one queue with its past.
func (s *queuePages) queuePage(r *http.Request) (page, error) {
	name := r.PathValue("name")
	p := page{Template: "queue", Title: "Queue " + shown(name), Section: "queues", Topics: []string{"queues"}}
	snapshot, err := s.observer.latest(r.Context())
	if err != nil {
		return p, err
	}
	at := slices.IndexFunc(snapshot.Queues, func(q queue) bool { return q.Name == name })
	if at < 0 {
		return p, fmt.Errorf("no queue %s at this target: %w", name, errNotFound)
	}
	view := s.viewOf(snapshot.Queues[at], at)
	past := s.observer.past(name)
	p.Body = struct {
		queueView
		Depth, Use string
		Began      int64
		// Forecast reports that the user asked for a forecast, and Job is the file whose start is forecast.
		Forecast bool
		Job      string
	}{view, depthChart(past), useChart(past, view), s.observer.began.UnixMilli(), r.FormValue("forecast") != "", r.FormValue("job")}
	return p, nil
}

// depthChart draws the number of unfinished jobs over time.
func depthChart(past []sample) string {
	a := chart.Area{ID: "depth", Title: "Unfinished jobs over time", Unit: "jobs", Height: 260}
	statuses := []types.JobStatus{types.JobStatusRunning, types.JobStatusStarting, types.JobStatusRunnable, types.JobStatusPending, types.JobStatusSubmitted}
	for _, status := range statuses {
		a.Series = append(a.Series, chart.Series{Name: string(status), Class: classOf(string(status))})
	}
	for _, p := range past {
		a.Times = append(a.Times, p.at)
		for i, status := range statuses {
			a.Series[i].Values = append(a.Series[i].Values, p.value(float64(p.jobs[string(status)])))
		}
	}
	return area(a)
}

// useChart draws the capacity in use over time: by share if the queue has shares.
func useChart(past []sample, v queueView) string {
	a := chart.Area{ID: "use", Title: "Capacity in use over time", Unit: "vCPUs", Height: 220, Limit: v.MaxvCpus, LimitName: "maxvCpus"}
	total := map[string]float64{}
	for _, p := range past {
		a.Times = append(a.Times, p.at)
		for name, n := range p.shares {
			total[name] += n
		}
	}
	if len(total) == 0 {
		values := make([]float64, len(past))
		for i, p := range past {
			values[i] = p.value(p.inUse)
		}
		a.Series = []chart.Series{{Name: "in use", Class: "share-0", Values: values}}
		return area(a)
	}
	names := slices.SortedFunc(maps.Keys(total), func(x, y string) int { return cmp.Or(cmp.Compare(total[y], total[x]), cmp.Compare(x, y)) })
	rest := []string(nil)
	if len(names) > mostShares {
		names, rest = names[:mostShares], names[mostShares:]
	}
	for i, name := range names {
		values := make([]float64, len(past))
		for at, p := range past {
			values[at] = p.value(p.shares[name])
		}
		a.Series = append(a.Series, chart.Series{Name: shown(name), Class: fmt.Sprintf("share-%d", i), Values: values})
	}
	if len(rest) > 0 {
		values := make([]float64, len(past))
		for at, p := range past {
			n := 0.0
			for _, name := range rest {
				n += p.shares[name]
			}
			values[at] = p.value(n)
		}
		a.Series = append(a.Series, chart.Series{Name: fmt.Sprintf("%d other shares", len(rest)), Class: "share-rest", Values: values})
	}
	return area(a)
}
