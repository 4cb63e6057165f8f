package once

import (
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
)

// Batch starts a job when its dependencies have succeeded, and fails it when one has
// failed. A job that is to run then, or in any case, waits in the client: it is sent,
// without dependencies, when they have ended. What comes after such a job waits in the
// client until that has an id, and is then a dependency of Batch again.

// Step is a job of a plan that waits in the client.
type Step struct {
	Name string
	// When is the plan's document.WhenAlways or document.WhenFailure, or "" for a job that
	// comes after such a one.
	When string
	// For are the jobs that have not ended, or have no ID yet.
	For []Submitted
}

// Waiting says which jobs of a run are not submitted yet, because others have to end
// before them. Resume waits for those and goes on.
type Waiting struct {
	// Run is its name in the ledger.
	Run   string
	Steps []Step
}

func (w *Waiting) String() string {
	if len(w.Steps) == 1 {
		return "1 step runs when its dependencies have ended"
	}
	return fmt.Sprintf("%d steps run when their dependencies have ended", len(w.Steps))
}

// EndForgottenError is a job that runs only if another failed, of which nobody knows
// any more how it ended.
type EndForgottenError struct{ Job, On, ID string }

func (e *EndForgottenError) Error() string {
	return fmt.Sprintf("job %s runs only if one of its dependencies failed, and how %s (%s) ended is forgotten: submit it by itself if it is needed, and give up the rest of the run",
		e.Job, e.On, batch.ShortID(e.ID))
}

// markDeferred finds the jobs that wait in the client.
func (r *run) markDeferred() {
	for _, t := range r.tasks {
		t.deferred = t.when != "" || slices.ContainsFunc(t.after, func(e edge) bool { return r.tasks[e.Job].deferred })
	}
}

// held reports whether a job is not to be sent yet.
func (t *task) held() bool {
	return t.deferred && t.due.IsZero() && t.skipped == "" && !t.done && !t.dropped
}

func (r *run) holds() bool { return slices.ContainsFunc(r.tasks, (*task).held) }

// ends is how jobs that others wait for have ended, by id. A job that both the service
// and the ledger have forgotten has StatusExpired.
type ends struct {
	client *Client
	status map[string]types.JobStatus
	asked  map[string]time.Time // when a job was looked for first
}

func (c *Client) newEnds() *ends {
	return &ends{c, map[string]types.JobStatus{}, map[string]time.Time{}}
}

// look asks for jobs and says whether one has ended that had not.
func (e *ends) look(ctx context.Context, ids []string) (news bool, err error) {
	for _, id := range ids {
		if e.asked[id].IsZero() {
			e.asked[id] = time.Now()
		}
	}
	jobs, err := e.client.Recall(ctx, ids...)
	if missing, ok := errors.AsType[*client.MissingError](err); ok {
		err = e.gone(missing.IDs)
	}
	if err != nil {
		return false, err
	}
	var ended []types.JobDetail
	for _, job := range jobs {
		if !batch.HasEnded(job.Status) && job.Status != StatusExpired {
			continue
		}
		e.status[aws.ToString(job.JobId)], news = job.Status, true
		if !job.Forgotten {
			ended = append(ended, job.JobDetail)
		}
	}
	return news, e.client.Keep(ended...)
}

// gone is the error for ids that are missing for longer than DescribeJobs lags behind
// SubmitJob.
func (e *ends) gone(ids []string) error {
	ids = slices.DeleteFunc(ids, func(id string) bool { return time.Since(e.asked[id]) < client.JustNow })
	if len(ids) == 0 {
		return nil
	}
	return &client.MissingError{IDs: ids}
}

// fate is what becomes of a job that waits in the client.
type fate struct {
	due     bool
	skipped string      // why it is not needed
	waits   []Submitted // for which jobs it waits
}

// fateOf holds a job against what is known of those that it waits for.
func (r *run) fateOf(t *task, known *ends) (f fate, err error) {
	var over []Submitted // have ended, or will never begin
	for _, e := range t.after {
		on := r.tasks[e.Job]
		switch id := on.result.ID; {
		case on.skipped != "" && t.when == "":
			return fate{skipped: on.name + " was not needed"}, nil
		case on.skipped != "":
		case id == "" || t.when != "" && known.status[id] == "":
			f.waits = append(f.waits, Submitted{Name: on.name, ID: id})
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
	return known.judge(t, over)
}

// judge decides about a job when all before it have ended.
func (e *ends) judge(t *task, over []Submitted) (fate, error) {
	failed := func(s Submitted) bool { return e.status[s.ID] == types.JobStatusFailed }
	expired := slices.IndexFunc(over, func(s Submitted) bool { return e.status[s.ID] == StatusExpired })
	switch {
	case t.when == document.WhenAlways, slices.ContainsFunc(over, failed):
		return fate{due: true}, nil
	case expired >= 0:
		return fate{}, &EndForgottenError{t.name, over[expired].Name, over[expired].ID}
	}
	var names []string
	for _, s := range over {
		names = append(names, s.Name)
	}
	if len(names) == 0 {
		return fate{skipped: "no job before it ran"}, nil
	}
	return fate{skipped: "no failure of " + strings.Join(names, ", ")}, nil
}

// decide takes in what is known: jobs become due or are skipped. It says whether any
// did, and which ids have to be looked at before more can.
func (c *Client) decide(r *run, known *ends) (moved bool, ids []string, err error) {
	var due []*task
	var undecided error
	for _, t := range r.tasks {
		if !t.held() {
			continue
		}
		f, err := r.fateOf(t, known)
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
		case t.when != "":
			for _, s := range f.waits {
				if s.ID != "" {
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

// skip takes in that a job is not needed.
func (r *run) skip(t *task, why string) error {
	t.skip(why)
	return r.note(t, line{What: lineSkipped, Reason: why})
}

func (t *task) skip(why string) {
	t.skipped = why
	t.result = Submitted{Name: t.name, Skipped: why}
	if t.submit != nil {
		t.result.Queue, t.result.ArraySize = aws.ToString(t.submit.JobQueue), arraySize(t.submit)
	}
}

// begin takes in that jobs are about to be sent: that is on the disk when it returns,
// so that a job without it was certainly not.
func (r *run) begin(due []*task) error {
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

// awaitDue returns when a job that waits in the client is due or not needed any more,
// or with false when none will be. Without wait it looks once.
func (c *Client) awaitDue(ctx context.Context, r *run, known *ends, wait bool) (more bool, err error) {
	pace := client.Pace{Client: c.Client, Served: !r.resumed}
	for looked := false; ; looked = true {
		moved, ids, err := c.decide(r, known)
		if moved || err != nil || len(ids) == 0 || looked && !wait {
			return moved, err
		}
		news, err := known.look(ctx, ids)
		pause, err := pace.Next(err)
		if err == nil && !news && wait {
			err = client.Sleep(ctx, pause)
		}
		if err == nil && c.lookIsDue(r) {
			err = c.endTwins(ctx, r)
		}
		if err != nil {
			return false, err
		}
	}
}

// lookIsDue reports whether the last look for twins can be made while others are
// waited for.
func (c *Client) lookIsDue(r *run) bool {
	due := r.dueAt((*task).doubtful)
	return !due.IsZero() && !time.Now().Before(due)
}

// waiting are the jobs of the run that wait in the client; nil for none.
func (r *run) waiting(known *ends) *Waiting {
	w := &Waiting{Run: r.name}
	for _, t := range r.tasks {
		if !t.held() {
			continue
		}
		f, _ := r.fateOf(t, known) // an error was said before
		w.Steps = append(w.Steps, Step{t.name, t.when, f.waits})
	}
	if len(w.Steps) == 0 {
		return nil
	}
	return w
}
