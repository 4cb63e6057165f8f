package ui

import (
	"net/http"

	"github.com/batchctl/batchctl/pkg/ui/joblist"
)

// firstRows is how many rows of the list are in the page itself.
const firstRows = 100

// jobsPage lists jobs. Scripts ask for further rows; without a script, links lead to them.
func (s *server) jobsPage(r *http.Request) (page, error) {
	p := page{Template: "jobs", Title: "Jobs", Section: "jobs", Topics: []string{"jobs"}}
	q, err := queryOf(r)
	if err != nil {
		return p, err
	}
	if err := s.awaitJobs(r); err != nil {
		return p, err
	}
	if q.Count == 0 {
		q.Count = firstRows
	}
	snapshot, err := s.o.latest(r.Context())
	if err != nil {
		return p, err
	}
	var queues []string
	for _, q := range snapshot.Queues {
		queues = append(queues, q.Name)
	}
	window := shownWindow(s.o.jobs.Window(q))
	p.Body = struct {
		Query    joblist.Query
		Window   joblist.Window
		Queues   []string
		Tags     []string
		Statuses []string
		Reading  bool
		Next     int
	}{q, window, queues, s.o.jobs.TagNames(), statusOrder(), !s.hasJobs(), q.From + len(window.Rows)}
	return p, nil
}

// statusOrder returns the statuses in the order of a job's life.
func statusOrder() []string {
	return []string{"SUBMITTED", "PENDING", "RUNNABLE", "STARTING", "RUNNING", "SUCCEEDED", "FAILED"}
}

// queryOf reads what the request asks for of the list.
func queryOf(r *http.Request) (joblist.Query, error) {
	q, err := joblist.ParseQuery(r.URL.Query())
	if err != nil {
		return q, badRequest{err}
	}
	q.Now = now().UnixMilli()
	return q, nil
}

// jobRows answers with a window of the list.
func (s *server) jobRows(r *http.Request) (any, error) {
	q, err := queryOf(r)
	if err != nil {
		return nil, err
	}
	if err := s.awaitJobs(r); err != nil {
		return nil, err
	}
	return shownWindow(s.o.jobs.Window(q)), nil
}

// shownWindow returns a window with texts that can be shown.
func shownWindow(w joblist.Window) joblist.Window {
	for i, row := range w.Rows {
		if row.Job != nil {
			j := *row.Job
			j.Name, j.Reason, j.Queue, j.Definition, j.Workflow = shown(j.Name), shown(j.Reason), shown(j.Queue), shown(j.Definition), shown(j.Workflow)
			j.Tags = nil
			w.Rows[i].Job = &j
		}
		if row.Group != nil {
			g := *row.Group
			g.Label = shown(g.Label)
			w.Rows[i].Group = &g
		}
	}
	return w
}

// hasJobs reports whether the list has been read.
func (s *server) hasJobs() bool {
	select {
	case <-s.o.jobsRead:
		return true
	default:
		return false
	}
}

// awaitJobs begins to read the list, and waits a moment for it: a short list is in the first page.
func (s *server) awaitJobs(r *http.Request) error {
	s.o.startReading()
	timer := newTimer(firstPaint)
	defer timer.Stop()
	select {
	case <-s.o.jobsRead:
	case <-timer.C:
	case <-r.Context().Done():
	}
	if s.hasJobs() {
		return nil
	}
	s.o.mu.Lock()
	defer s.o.mu.Unlock()
	return s.o.jobsErr
}
