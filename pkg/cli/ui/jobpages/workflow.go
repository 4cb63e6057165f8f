package jobpages

import (
	"cmp"
	"context"
	"io"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/cli/jobs"
	"github.com/batchctl/batchctl/pkg/cli/preview"
	"github.com/batchctl/batchctl/pkg/cli/session"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/cli/ui/page"
	"github.com/batchctl/batchctl/pkg/cli/ui/show"
	"github.com/batchctl/batchctl/pkg/cli/ui/source"
	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/ui/chart"
)

// WorkflowView is what the page of a submission shows.
type WorkflowView struct {
	ID, Name string
	// Graph is the picture of the jobs and their dependencies; "" if GraphProblem tells why there is none.
	Graph, GraphProblem string
	// Timeline is a chart of when each job waited and ran.
	Timeline string
	Jobs     []workflowJob
	Counts   map[string]int
	HasEnded bool
}

// workflowJob is a job of a submission.
type workflowJob struct {
	ID, Name, Status, Reason  string
	Created, Started, Stopped *int64
	Size                      int
}

// Workflows show a submission.
type Workflows struct{ *source.Source }

// Routes are the addresses of the group.
func (s *Workflows) Routes() page.Routes {
	return page.Routes{
		Pages: map[string]func(*http.Request) (page.Page, error){
			"/workflows/{id}": s.workflowPage,
		},
	}
}

// workflowPage shows a submission: its graph, its timeline and its jobs.
func (s *Workflows) workflowPage(r *http.Request) (page.Page, error) {
	id := r.PathValue("id")
	p := page.Page{Template: "workflow", Title: "Workflow", Section: "jobs", Topics: []string{"workflow:" + id}}
	v, err := s.View(r.Context(), id, nil, page.JobAddress)
	if err != nil {
		return p, err
	}
	p.Title, p.Body = v.Name, v
	return p, nil
}

// View reads a submission, or the jobs with these ids if id is "". address returns the address of a job's page.
func (s *Workflows) View(ctx context.Context, id string, ids []string,
	address func(id string) string) (WorkflowView, error) {
	q := s.Status(ids...)
	if id != "" {
		q, ids = s.StatusOf(id), nil
	}
	found, err := source.Ask(ctx, s.Commands, s.Age(), q)
	if err != nil {
		return WorkflowView{}, err
	}
	v := WorkflowView{ID: id, Name: cmp.Or(id, "Jobs"), Counts: map[string]int{}, HasEnded: true}
	line := chart.Timeline{ID: "gantt", Title: "When the jobs waited and ran"}
	ends := map[string]int64{} // of the jobs that ended
	for _, d := range found {
		ends[aws.ToString(d.JobId)] = aws.ToInt64(d.StoppedAt)
	}
	for _, d := range found {
		if name := d.Tags[client.WorkflowTag]; name != "" {
			v.Name = show.Text(name)
		}
		j := workflowJobOf(d)
		if d.Added.Healed {
			j.Reason = show.Join(", ", "healed by a newer job", j.Reason)
		} else {
			v.Counts[j.Status]++
		}
		v.Jobs = append(v.Jobs, j)
		v.HasEnded = v.HasEnded && batch.HasEnded(d.Status)
		ready := aws.ToInt64(d.CreatedAt)
		for _, on := range d.DependsOn {
			ready = max(ready, ends[aws.ToString(on.JobId)])
		}
		line.Lanes = append(line.Lanes, laneOf(j, page.TimeOf(ready)))
	}
	for _, lane := range line.Lanes {
		for _, span := range lane.Spans {
			if line.From.IsZero() || span.From.Before(line.From) {
				line.From = span.From
			}
			if span.To.After(line.To) {
				line.To = span.To
			}
		}
	}
	if !line.From.IsZero() {
		v.Timeline = page.Timeline(line)
	}
	con := &term.Console{Streams: term.Streams{Out: io.Discard, Err: io.Discard}}
	o := s.Options
	o.Command, o.Args, o.Submission = "graph", ids, id
	g, err := preview.SubmissionGraph(ctx, con, o, address, true)
	if err == nil {
		v.Graph, err = g.SVGFragment()
	}
	if err != nil {
		v.GraphProblem = show.Text(err.Error())
	}
	return v, nil
}

// workflowJobOf returns how a job is shown.
func workflowJobOf(d jobs.Row) workflowJob {
	return workflowJob{ID: aws.ToString(d.JobId), Name: show.Text(aws.ToString(d.JobName)), Status: string(d.Status),
		Created: d.CreatedAt, Started: d.StartedAt, Stopped: d.StoppedAt, Size: batch.ArraySize(d.JobDetail),
		Reason: show.Text(show.Join(", ", aws.ToString(d.StatusReason), session.RollUp(d.JobDetail)))}
}

// laneOf returns when a job waited for other jobs, waited in its queue, and ran. ready is when the known jobs had ended
// that it depends on.
func laneOf(j workflowJob, ready time.Time) chart.Lane {
	lane := chart.Lane{Name: j.Name}
	created, started, stopped := page.TimeOf(aws.ToInt64(j.Created)), page.TimeOf(aws.ToInt64(j.Started)),
		page.TimeOf(aws.ToInt64(j.Stopped))
	if created.IsZero() {
		return lane
	}
	end := stopped
	if end.IsZero() {
		end = time.Now()
	}
	if ready.After(end) {
		ready = end
	}
	add := func(from, to time.Time, class, label string) {
		if to.After(from) {
			lane.Spans = append(lane.Spans, chart.Span{From: from, To: to, Class: class, Label: label,
				Title: j.Name + ": " + label})
		}
	}
	const waited, queued = "waits for jobs", "in the queue"
	add(created, ready, "s-pending", waited)
	switch {
	case !started.IsZero():
		add(ready, started, "s-runnable", queued)
		add(started, end, page.ClassOf(j.Status), j.Status)
	case j.Size > 0: // an array has no start of its own
		add(ready, end, page.ClassOf(j.Status), j.Status)
	default: // it never started
		add(ready, end, "s-runnable", queued)
	}
	return lane
}
