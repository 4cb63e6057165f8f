package once

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
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
	"github.com/batchctl/batchctl/pkg/ladder"
	"github.com/batchctl/batchctl/pkg/notify"
	"github.com/batchctl/batchctl/pkg/rpc"
)

// follower waits for jobs of a run: for those that it follows, and for those that others wait for.
type follower struct {
	client  *Client
	run     *run
	targets *targets
	known   *ends
	checks  duplicateChecks
}

// follow advances the followed jobs: it decides what follows the failed ones, and cancels those
// without capacity. It reports whether new jobs are to be sent, and which ids to query.
func (f follower) follow(ctx context.Context) (moved bool, ids []string, err error) {
	for _, t := range slices.Clone(f.run.tasks) {
		if !t.followed() {
			continue
		}
		c, err := f.targets.clientOf(ctx, t)
		if err != nil {
			return moved, nil, err
		}
		at := climber{c, f.run, f.targets}
		id := t.result.ID
		if t.at != "" {
			f.known.elsewhere[id] = c
		}
		switch status := f.known.status[id]; {
		case status == "" && t.end != types.JobStatusSucceeded:
			ids = append(ids, id)
			if err := at.giveUpWaiting(ctx, t, f.known.waiting[id]); err != nil {
				return moved, nil, err
			}
		case !t.laddered() || t.decided():
		case status == types.JobStatusSucceeded:
			t.end = status
		default:
			if err := at.climb(ctx, t, f.known.over[id]); err != nil {
				return moved, nil, err
			}
			moved = true
		}
	}
	if !moved {
		err = sendNotices(ctx, f.client, f.run, f.known)
	}
	return moved, ids, err
}

// decide marks jobs as due or skipped, from the known outcomes. It reports whether it marked any,
// and which ids to query before it can mark more.
func (f follower) decide(ctx context.Context) (moved bool, ids []string, err error) {
	var due []*plannedJob
	var undecided error
	moved, ids, err = f.follow(ctx)
	if err != nil {
		return moved, nil, err
	}
	for _, t := range f.run.tasks {
		if !t.held() {
			continue
		}
		next, err := nextStepOf(f.run, t, f.known)
		switch {
		case err != nil:
			undecided = err
		case next.due:
			due = append(due, t)
		case next.skipped != "":
			if err := f.run.skip(t, next.skipped); err != nil {
				return moved, nil, err
			}
			f.client.report(t.result)
			moved = true
		default:
			for _, s := range next.waits {
				if s.ID != "" && f.known.status[s.ID] == "" && (t.when != "" || ladderedID(f.run, s.ID)) {
					ids = append(ids, s.ID)
				}
			}
		}
	}
	if moved = moved || len(due) > 0; !moved && len(ids) == 0 {
		return false, nil, undecided
	}
	return moved, client.Distinct(ids), f.run.recordDue(due)
}

// awaitDue returns when a job that waits in the client is due or no longer needed, or false when
// none will be. Without wait it checks once.
func (f follower) awaitDue(ctx context.Context, wait bool) (more bool, err error) {
	pace := client.Pace{Polling: f.client.Polling, Served: !f.run.resumed()}
	for checked := false; ; checked = true {
		moved, ids, err := f.decide(ctx)
		if moved || err != nil || len(ids) == 0 || checked && !wait {
			return moved, err
		}
		news, err := f.known.query(ctx, ids)
		pause, err := pace.Next(err)
		if err == nil && !news && wait {
			err = rpc.Sleep(ctx, pause)
		}
		if err == nil && f.checks.lastCheckIsDue() {
			err = f.checks.endDuplicates(ctx)
		}
		if err != nil {
			return false, err
		}
	}
}

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
func newEnds(c *Client) *ends {
	return &ends{c, map[string]types.JobStatus{}, map[string]time.Time{}, map[string]*Client{},
		map[string]*types.JobDetail{}, map[string]*types.JobDetail{}}
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

// outcome returns how a job ended, including the jobs that run it again: SUCCEEDED if every failed
// part has succeeded in the end. It is "" until that is known.
func (e *ends) outcome(t *plannedJob) types.JobStatus {
	if !t.climbed() {
		status := cmp.Or(e.status[t.result.ID], t.end)
		if t.laddered() && status != types.JobStatusSucceeded {
			return "" // not decided yet
		}
		return status
	}
	failed := t.why != ""
	for _, s := range t.steps {
		switch {
		case s.phase == jobDropped:
			failed = true
		case !s.isAccepted():
			return ""
		default:
			switch e.outcome(s) {
			case "":
				return ""
			case types.JobStatusSucceeded:
			default:
				failed = true
			}
		}
	}
	if failed || len(t.steps) == 0 {
		return types.JobStatusFailed
	}
	return types.JobStatusSucceeded
}

// markHealed marks the failed jobs of which every part has succeeded in the end.
func (e *ends) markHealed(tasks []*plannedJob) {
	for _, t := range tasks {
		t.result.Healed = t.climbed() && e.outcome(t) == types.JobStatusSucceeded
	}
}

// AWS Batch starts a job when its dependencies have succeeded, and fails it when one has failed. A
// job with another condition waits in the client: the client sends it, without dependencies, when
// the jobs before it have ended. Jobs after it wait in the client only until it has an id. Then
// Batch handles the dependency.

// EndForgottenError reports a job that runs only if another failed, where the outcome of that other
// job is forgotten.
type EndForgottenError struct{ Job, On, ID string }

// Error names the job and its dependency.
func (e *EndForgottenError) Error() string {
	return fmt.Sprintf("job %s runs only if one of its dependencies failed, and the target has deleted the outcome of %s (%s): drop the rest of the run, and submit the job on its own if you need it",
		e.Job, e.On, batch.ShortID(e.ID))
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
		return "1 step runs when its dependencies have finished"
	}
	return fmt.Sprintf("%d steps run when their dependencies have finished", len(w.Steps))
}

// nextStep is the decision about a job that waits in the client.
type nextStep struct {
	due     bool
	skipped string // why the job is not needed
	// waits are the jobs that it still waits for.
	waits []Submitted
}

// nextStepOf decides about a job, given the known outcomes of the jobs that it waits for.
func nextStepOf(r *run, t *plannedJob, known *ends) (f nextStep, err error) {
	var over []Submitted // jobs that have ended, or will never start
	for _, e := range t.after {
		on := r.tasks[e.Job]
		switch id := on.result.ID; {
		case on.phase == jobSkipped && t.when == "":
			return nextStep{skipped: on.name + " was not needed"}, nil
		case on.phase == jobSkipped:
		case id == "" || (t.when != "" || on.laddered()) && known.outcome(on) == "":
			f.waits = append(f.waits, Submitted{Name: on.name, ID: id})
		case t.when == "" && on.laddered() && known.outcome(on) != types.JobStatusSucceeded:
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
	return judge(r, t, over, known)
}

// judge decides about a job when all jobs before it have ended.
func judge(r *run, t *plannedJob, over []Submitted, known *ends) (nextStep, error) {
	status := func(s Submitted) types.JobStatus {
		isIt := func(t *plannedJob) bool { return t.isAccepted() && t.result.ID == s.ID }
		if at := slices.IndexFunc(r.tasks, isIt); at >= 0 {
			return known.outcome(r.tasks[at])
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

// ladderedID reports whether the job of an id has rungs.
func ladderedID(r *run, id string) bool {
	return slices.ContainsFunc(r.tasks, func(t *plannedJob) bool { return t.result.ID == id && t.laddered() })
}

// waitingOf returns the jobs of the run that wait in the client; nil for none.
func waitingOf(r *run, known *ends) *Waiting {
	w := &Waiting{Run: r.name}
	for _, t := range r.tasks {
		if t.followed() {
			w.Followed = append(w.Followed, t.result)
		}
		if !t.held() {
			continue
		}
		f, _ := nextStepOf(r, t, known) // decide has already reported an error
		w.Steps = append(w.Steps, Step{t.name, t.when, f.waits})
	}
	if len(w.Steps)+len(w.Followed) == 0 {
		return nil
	}
	return w
}

// A message is sent when the last job of the run with its receiver has ended, and the jobs that run
// it again. The log has a line after it was sent. A client that is killed in between sends the
// message again with the same id, so it is sent at least once, and never twice knowingly.

// sendNotices sends the messages of a run that are due.
func sendNotices(ctx context.Context, c *Client, r *run, known *ends) error {
	for _, receiver := range receivers(r) {
		e, due := notice(r, receiver, known)
		if !due {
			continue
		}
		failed := errors.New("this command does not send messages")
		if c.Notify != nil {
			failed = c.Notify(ctx, receiver, e)
		}
		if err := ctx.Err(); failed != nil && err != nil {
			return context.Cause(ctx) // a later process sends it
		}
		l := line{Time: stamp(), What: lineNotified, Notify: []string{receiver}}
		if failed != nil {
			l.Reason = failed.Error()
			c.progress("warning: %v", failed)
		}
		if r.log != nil {
			if err := errors.Join(r.log.write(l), r.log.sync()); err != nil {
				return err
			}
		}
		r.markNotified(receiver)
	}
	return nil
}

// receivers returns the receivers of messages that the run has yet to send.
func receivers(r *run) (all []string) {
	for _, t := range r.tasks {
		for _, receiver := range t.notify {
			if !t.left && !slices.Contains(t.notified, receiver) && !slices.Contains(all, receiver) {
				all = append(all, receiver)
			}
		}
	}
	return all
}

// notice returns the message for a receiver, if all of its jobs have ended. A run in which none was
// submitted has no message.
func notice(r *run, receiver string, known *ends) (e notify.Event, due bool) {
	sum := sha256.Sum256([]byte(r.name + "\x00" + receiver))
	e = notify.Event{Type: notify.Type, Version: notify.Version, ID: r.name + "-" + hex.EncodeToString(sum[:8]),
		Time:   stamp(),
		Target: r.target, Submission: r.name, Name: r.title, Status: string(types.JobStatusSucceeded)}
	for _, t := range r.tasks {
		switch {
		case !slices.Contains(t.notify, receiver) || t.phase == jobSkipped || t.phase == jobDropped || t.submit == nil:
			continue
		case !t.isAccepted() || known.outcome(t) == "":
			return e, false
		}
		e.Name = cmp.Or(e.Name, t.name)
		if t.again == nil && known.outcome(t) != types.JobStatusSucceeded {
			e.Status = string(types.JobStatusFailed)
		}
		e.Jobs = append(e.Jobs, t.noticed(known))
	}
	return e, len(e.Jobs) > 0
}

// noticed returns the job of a message.
func (t *plannedJob) noticed(known *ends) notify.Job {
	id := t.result.ID
	j := notify.Job{Name: t.name, ID: id, Queue: t.result.Queue, Status: string(cmp.Or(known.status[id], t.end)),
		ArraySize: t.result.ArraySize, Target: t.target}
	if d := known.over[id]; d != nil {
		ending := batch.EndingOf(d)
		j.Reason, j.ExitCode = aws.ToString(d.StatusReason), ending.Exit
		j.StartedAt, j.StoppedAt = aws.ToInt64(d.StartedAt), aws.ToInt64(d.StoppedAt)
	}
	if j.Status == string(types.JobStatusFailed) && stateMachineClimbs(t.submit) {
		j.Ladder = ladder.ByStateMachine
	}
	if t.again != nil {
		j.Again, j.Cause = t.again.result.ID, string(t.step.Cause)
	}
	return j
}
