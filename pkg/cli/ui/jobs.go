package ui

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"

	"github.com/batchctl/batchctl/pkg/ui/joblist"
	"time"
)

// firstRows is how many rows of the list are in the page itself.
const firstRows = 100

// jobsPage lists jobs. Scripts ask for further rows; without a script, links lead to them.
func (s *server) jobsPage(r *http.Request) (page, error) {
	p := page{Template: "jobs", Title: "Jobs", Section: "jobs", Topics: []string{"jobs"}}
	q, err := s.queryOf(r)
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
	window := s.shownWindow(q, s.o.jobs.Window(q))
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
func (s *server) queryOf(r *http.Request) (joblist.Query, error) {
	q, err := joblist.ParseQuery(r.URL.Query())
	if err != nil {
		return q, badRequest{err}
	}
	q.Now = time.Now().UnixMilli()
	for i, id := range q.Open {
		if key, ok := s.groups.Load(id); ok {
			q.Open[i] = key.(string)
		}
	}
	return q, nil
}

// groupID returns what a page calls a group. The key of a group can be the value of a tag, which may be a credential.
func (s *server) groupID(key string) string {
	sum := sha256.Sum256([]byte(key))
	id := hex.EncodeToString(sum[:8])
	s.groups.Store(id, key)
	return id
}

// jobRows answers with a window of the list.
func (s *server) jobRows(r *http.Request) (any, error) {
	q, err := s.queryOf(r)
	if err != nil {
		return nil, err
	}
	if err := s.awaitJobs(r); err != nil {
		return nil, err
	}
	return struct {
		joblist.Window
		// Reading reports that the list is not complete yet.
		Reading bool `json:"reading,omitempty"`
	}{s.shownWindow(q, s.o.jobs.Window(q)), !s.hasJobs()}, nil
}

// shownWindow returns a window with texts that can be shown.
func (s *server) shownWindow(q joblist.Query, w joblist.Window) joblist.Window {
	tag, _ := strings.CutPrefix(q.GroupBy, "tag:")
	for i, row := range w.Rows {
		if row.Job != nil {
			j := *row.Job
			j.Name, j.Reason, j.Queue, j.Definition = shown(j.Name), shown(j.Reason), shown(j.Queue), shown(j.Definition)
			j.Workflow, j.Tags = "", nil // the rows do not show them
			w.Rows[i].Job = &j
		}
		if row.Group != nil {
			g := *row.Group
			g.Label = valueOf(tag, g.Label)
			if q.GroupBy != "workflow" {
				g.Key = s.groupID(g.Key)
			}
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
	timer := time.NewTimer(firstPaint)
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
