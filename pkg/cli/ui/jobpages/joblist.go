package jobpages

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
	"time"

	"github.com/batchctl/batchctl/pkg/cli/ui/page"
	"github.com/batchctl/batchctl/pkg/cli/ui/show"
	"github.com/batchctl/batchctl/pkg/cli/ui/source"
	"github.com/batchctl/batchctl/pkg/syncmap"
	"github.com/batchctl/batchctl/pkg/ui/joblist"
)

// firstRows is how many rows of the list are in the page itself.
const firstRows = 100

// JobList shows the list of jobs.
type JobList struct {
	*source.Source
	// groups are the keys of the groups that the list showed, by id.
	groups syncmap.Map[string, string]
}

// Routes are the addresses of the group.
func (s *JobList) Routes() page.Routes {
	return page.Routes{
		Pages: map[string]func(*http.Request) (page.Page, error){
			"/jobs": s.jobsPage,
		},
		Data: map[string]func(*http.Request) (any, error){
			"GET /jobs/rows": s.jobRows,
		},
	}
}

// jobsPage lists jobs. Scripts ask for further rows; without a script, links lead to them.
func (s *JobList) jobsPage(r *http.Request) (page.Page, error) {
	p := page.Page{Template: "jobs", Title: "Jobs", Section: "jobs", Topics: []string{"jobs"}}
	q, err := s.queryOf(r)
	if err != nil {
		return p, err
	}
	if err := s.AwaitJobs(r); err != nil {
		return p, err
	}
	if q.Count == 0 {
		q.Count = firstRows
	}
	snapshot, err := s.Observer.Latest(r.Context())
	if err != nil {
		return p, err
	}
	var queues []string
	for _, q := range snapshot.Queues {
		queues = append(queues, q.Name)
	}
	window := s.shownWindow(q, s.Observer.Jobs.Window(q))
	p.Body = struct {
		Query    joblist.Query
		Window   joblist.Window
		Queues   []string
		Tags     []string
		Statuses []string
		Reading  bool
		Next     int
	}{q, window, queues, s.Observer.Jobs.TagNames(), statusOrder(), !s.HasJobs(), q.From + len(window.Rows)}
	return p, nil
}

// statusOrder returns the statuses in the order of a job's life.
func statusOrder() []string {
	return []string{"SUBMITTED", "PENDING", "RUNNABLE", "STARTING", "RUNNING", "SUCCEEDED", "FAILED"}
}

// queryOf reads what the request asks for of the list.
func (s *JobList) queryOf(r *http.Request) (joblist.Query, error) {
	q, err := joblist.ParseQuery(r.URL.Query())
	if err != nil {
		return q, page.BadRequest(err)
	}
	q.Now = time.Now().UnixMilli()
	for i, id := range q.Open {
		if key, ok := s.groups.Load(id); ok {
			q.Open[i] = key
		}
	}
	return q, nil
}

// groupID returns what a page calls a group. The key of a group can be the value of a tag, which may be a credential.
func (s *JobList) groupID(key string) string {
	sum := sha256.Sum256([]byte(key))
	id := hex.EncodeToString(sum[:8])
	s.groups.Store(id, key)
	return id
}

// jobRows answers with a window of the list.
func (s *JobList) jobRows(r *http.Request) (any, error) {
	q, err := s.queryOf(r)
	if err != nil {
		return nil, err
	}
	if err := s.AwaitJobs(r); err != nil {
		return nil, err
	}
	return struct {
		joblist.Window
		// Reading reports that the list is not complete yet.
		Reading bool `json:"reading,omitempty"`
	}{s.shownWindow(q, s.Observer.Jobs.Window(q)), !s.HasJobs()}, nil
}

// shownWindow returns a window with texts that can be shown.
func (s *JobList) shownWindow(q joblist.Query, w joblist.Window) joblist.Window {
	tag, _ := strings.CutPrefix(q.GroupBy, "tag:")
	for i, row := range w.Rows {
		if row.Job != nil {
			j := *row.Job
			j.Name, j.Reason, j.Queue, j.Definition = show.Text(j.Name), show.Text(j.Reason), show.Text(j.Queue),
				show.Text(j.Definition)
			j.Workflow, j.Tags = "", nil // the rows do not show them
			w.Rows[i].Job = &j
		}
		if row.Group != nil {
			g := *row.Group
			g.Label = show.Value(tag, g.Label)
			if q.GroupBy != "workflow" {
				g.Key = s.groupID(g.Key)
			}
			w.Rows[i].Group = &g
		}
	}
	return w
}
