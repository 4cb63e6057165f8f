package once

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/rpc"
)

// AWS Batch starts a job when its dependencies have succeeded, and fails it when one has failed. A
// job with another condition waits in the client: the client sends it, without dependencies, when
// the jobs before it have ended. Jobs after it wait in the client only until it has an id. Then
// Batch handles the dependency.

// ladderedID reports whether the job of an id has rungs.
func (r *run) ladderedID(id string) bool {
	return slices.ContainsFunc(r.tasks, func(t *plannedJob) bool { return t.result.ID == id && t.laddered() })
}

// Step is a job of a plan that waits in the client.
type Step struct {
	Name string
	// When is the plan's document.WhenAlways or document.WhenFailure, or "" for a job after one of
	// those.
	When string
	// For are the jobs that have not ended, or have no id yet.
	For []Submitted
}

// Waiting lists the jobs of a run that are not submitted yet, because other jobs have to end first.
// Resume waits for those and then submits the rest.
type Waiting struct {
	// Run is the run's name in the ledger.
	Run   string
	Steps []Step
	// Followed are the accepted jobs that the client follows until they end: it executes their rungs
	// or sends a message.
	Followed []Submitted
}

// String lists the jobs that wait, and the jobs that they wait for.
func (w *Waiting) String() string {
	if len(w.Steps) == 1 {
		return "1 step runs when its dependencies have ended"
	}
	return fmt.Sprintf("%d steps run when their dependencies have ended", len(w.Steps))
}

// EndForgottenError reports a job that runs only if another failed, where the outcome of that other
// job is forgotten.
type EndForgottenError struct{ Job, On, ID string }

// Error names the job and its dependency.
func (e *EndForgottenError) Error() string {
	return fmt.Sprintf("job %s runs only if one of its dependencies failed, and the outcome of %s (%s) is forgotten: give up the rest of the run, and submit the job on its own if you need it",
		e.Job, e.On, batch.ShortID(e.ID))
}

// markDeferred marks the jobs that wait in the client.
func (r *run) markDeferred() {
	for _, t := range r.tasks {
		t.deferred = t.when != "" || slices.ContainsFunc(t.after, func(e edge) bool { return r.tasks[e.Job].deferred || r.tasks[e.Job].laddered() })
	}
}

// held reports whether a job has to wait before it is sent.
func (t *plannedJob) held() bool {
	return t.deferred && t.due.IsZero() && t.skipped == "" && !t.done && !t.dropped
}

// holds reports whether a job of the run waits in the client.
func (r *run) holds() bool { return slices.ContainsFunc(r.tasks, (*plannedJob).held) }

// ends holds the outcomes, by id, of jobs that others wait for. A job that both the service and the
// ledger have forgotten has StatusExpired.
type ends struct {
	client *Client
	status map[string]types.JobStatus
	asked  map[string]time.Time // when each job was first queried
	// elsewhere are the clients of the jobs that have moved to another target.
	elsewhere map[string]*Client
	// waiting are the jobs that have not ended, and over those that have, as last seen. over has no
	// job that the service has forgotten.
	waiting, over map[string]*types.JobDetail
}

// newEnds returns an empty record of outcomes.
func (c *Client) newEnds() *ends {
	return &ends{c, map[string]types.JobStatus{}, map[string]time.Time{}, map[string]*Client{}, map[string]*types.JobDetail{}, map[string]*types.JobDetail{}}
}

// query queries the jobs and reports whether any has ended since the last call.
func (e *ends) query(ctx context.Context, ids []string) (news bool, err error) {
	for _, id := range ids {
		if e.asked[id].IsZero() {
			e.asked[id] = time.Now()
		}
	}
	clients := map[*Client][]string{}
	for _, id := range ids {
		c := cmp.Or(e.elsewhere[id], e.client)
		clients[c] = append(clients[c], id)
	}
	for c, ids := range clients {
		more, err := e.queryAt(ctx, c, ids)
		news = news || more
		if err != nil {
			return false, err
		}
	}
	return news, nil
}

// queryAt queries jobs of one target.
func (e *ends) queryAt(ctx context.Context, c *Client, ids []string) (news bool, err error) {
	jobs, err := c.Recall(ctx, ids...)
	if missing, ok := errors.AsType[*client.MissingError](err); ok {
		err = e.missing(missing.IDs)
	}
	if err != nil {
		return false, err
	}
	var ended []types.JobDetail
	for _, job := range jobs {
		id := aws.ToString(job.JobId)
		if !batch.HasEnded(job.Status) && job.Status != StatusExpired {
			e.waiting[id] = &job.JobDetail
			continue
		}
		delete(e.waiting, id)
		if !job.Forgotten {
			e.over[id] = &job.JobDetail
		}
		e.status[id], news = job.Status, true
		if !job.Forgotten {
			ended = append(ended, job.JobDetail)
		}
	}
	return news, c.Keep(ended...)
}

// missing returns an error for ids that have been missing for longer than DescribeJobs lags behind
// SubmitJob.
func (e *ends) missing(ids []string) error {
	ids = slices.DeleteFunc(ids, func(id string) bool { return time.Since(e.asked[id]) < client.JustNow })
	if len(ids) == 0 {
		return nil
	}
	return &client.MissingError{IDs: ids}
}

// nextStep is the decision about a job that waits in the client.
type nextStep struct {
	due     bool
	skipped string // why the job is not needed
	// waits are the jobs that it still waits for.
	waits []Submitted
}

// nextStepOf decides about a job, given the known outcomes of the jobs that it waits for.
func (r *run) nextStepOf(t *plannedJob, known *ends) (f nextStep, err error) {
	var over []Submitted // jobs that have ended, or will never start
	for _, e := range t.after {
		on := r.tasks[e.Job]
		switch id := on.result.ID; {
		case on.skipped != "" && t.when == "":
			return nextStep{skipped: on.name + " was not needed"}, nil
		case on.skipped != "":
		case id == "" || (t.when != "" || on.laddered()) && r.outcome(on, known) == "":
			f.waits = append(f.waits, Submitted{Name: on.name, ID: id})
		case t.when == "" && on.laddered() && r.outcome(on, known) != types.JobStatusSucceeded:
			return nextStep{skipped: on.name + " FAILED"}, nil
		default:
			over = append(over, on.result)
		}
	}
	if t.when == "" {
		f.due = len(f.waits) == 0
		return f, nil
	}
	for _, e := range t.earlier {
		s := Submitted{Name: e.Name, ID: e.ID}
		if known.status[e.ID] == "" {
			f.waits = append(f.waits, s)
		} else {
			over = append(over, s)
		}
	}
	if len(f.waits) > 0 {
		return f, nil
	}
	return r.judge(t, over, known)
}

// judge decides about a job when all jobs before it have ended.
func (r *run) judge(t *plannedJob, over []Submitted, known *ends) (nextStep, error) {
	status := func(s Submitted) types.JobStatus {
		if at := slices.IndexFunc(r.tasks, func(t *plannedJob) bool { return t.done && t.result.ID == s.ID }); at >= 0 {
			return r.outcome(r.tasks[at], known)
		}
		return known.status[s.ID]
	}
	failed := func(s Submitted) bool { return status(s) == types.JobStatusFailed }
	expired := slices.IndexFunc(over, func(s Submitted) bool { return status(s) == StatusExpired })
	switch {
	case t.when == document.WhenAlways, slices.ContainsFunc(over, failed):
		return nextStep{due: true}, nil
	case expired >= 0:
		return nextStep{}, &EndForgottenError{t.name, over[expired].Name, over[expired].ID}
	}
	var names []string
	for _, s := range over {
		names = append(names, s.Name)
	}
	if len(names) == 0 {
		return nextStep{skipped: "no job before it ran"}, nil
	}
	return nextStep{skipped: "no failure of " + strings.Join(names, ", ")}, nil
}

// decide marks jobs as due or skipped, from the known outcomes. It reports whether it marked any,
// and which ids to query before it can mark more.
func (c *Client) decide(ctx context.Context, r *run, known *ends) (moved bool, ids []string, err error) {
	var due []*plannedJob
	var undecided error
	moved, ids, err = c.follow(ctx, r, known)
	if err != nil {
		return moved, nil, err
	}
	for _, t := range r.tasks {
		if !t.held() {
			continue
		}
		f, err := r.nextStepOf(t, known)
		switch {
		case err != nil:
			undecided = err
		case f.due:
			due = append(due, t)
		case f.skipped != "":
			if err := r.skip(t, f.skipped); err != nil {
				return moved, nil, err
			}
			c.report(t.result)
			moved = true
		default:
			for _, s := range f.waits {
				if s.ID != "" && known.status[s.ID] == "" && (t.when != "" || r.ladderedID(s.ID)) {
					ids = append(ids, s.ID)
				}
			}
		}
	}
	if moved = moved || len(due) > 0; !moved && len(ids) == 0 {
		return false, nil, undecided
	}
	return moved, client.Distinct(ids), r.begin(due)
}

// skip records that a job is not needed.
func (r *run) skip(t *plannedJob, why string) error {
	t.skip(why)
	return r.note(t, line{What: lineSkipped, Reason: why})
}

// skip marks a job as not needed, with the time.
func (t *plannedJob) skip(why string) {
	t.skipped = why
	t.result = Submitted{Name: t.name, Skipped: why}
	if t.submit != nil {
		t.result.Queue, t.result.ArraySize = aws.ToString(t.submit.JobQueue), arraySize(t.submit)
	}
}

// begin records that jobs are about to be sent. The record is on disk when begin returns, so a job
// without it was certainly not sent.
func (r *run) begin(due []*plannedJob) error {
	if len(due) == 0 {
		return nil
	}
	var lines []line
	for _, t := range due {
		t.due = time.Now()
		lines = append(lines, line{Time: stamp(), What: lineDue, Name: t.name, Submission: t.submission})
	}
	if r.log == nil {
		return nil
	}
	return errors.Join(r.log.write(lines...), r.log.sync())
}

// awaitDue returns when a job that waits in the client is due or no longer needed, or false when
// none will be. Without wait it checks once.
func (c *Client) awaitDue(ctx context.Context, r *run, known *ends, wait bool) (more bool, err error) {
	pace := client.Pace{Client: c.Client, Served: !r.resumed}
	for checked := false; ; checked = true {
		moved, ids, err := c.decide(ctx, r, known)
		if moved || err != nil || len(ids) == 0 || checked && !wait {
			return moved, err
		}
		news, err := known.query(ctx, ids)
		pause, err := pace.Next(err)
		if err == nil && !news && wait {
			err = rpc.Sleep(ctx, pause)
		}
		if err == nil && c.lastCheckIsDue(r) {
			err = c.endDuplicates(ctx, r)
		}
		if err != nil {
			return false, err
		}
	}
}

// lastCheckIsDue reports whether the last check for duplicates can be done while the client waits for
// other jobs.
func (c *Client) lastCheckIsDue(r *run) bool {
	due := r.dueAt((*plannedJob).doubtful)
	return !due.IsZero() && !time.Now().Before(due)
}

// waiting returns the jobs of the run that wait in the client; nil for none.
func (r *run) waiting(known *ends) *Waiting {
	w := &Waiting{Run: r.name}
	for _, t := range r.tasks {
		if t.followed() {
			w.Followed = append(w.Followed, t.result)
		}
		if !t.held() {
			continue
		}
		f, _ := r.nextStepOf(t, known) // decide has already reported an error
		w.Steps = append(w.Steps, Step{t.name, t.when, f.waits})
	}
	if len(w.Steps)+len(w.Followed) == 0 {
		return nil
	}
	return w
}
