package once

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/plan"
	"github.com/batchctl/batchctl/pkg/rpc"
)

const (
	// submitGrace is how long a SubmitJob may continue after ctx ended: if it were interrupted, the
	// id of the job could be lost.
	submitGrace = 10 * time.Second
	// submitTries limits the tries of a SubmitJob that was certainly not accepted. The pauses
	// between them add up to about a minute at most.
	submitTries = 8
	firstPause  = 500 * time.Millisecond
	longPause   = 20 * time.Second
	// atOnce is how many independent jobs are submitted concurrently: 48 calls a second at up to
	// 2/3 s each.
	atOnce = 32
)

// Submitted is a job that the service accepted. With an empty ID it is a job definition that was
// registered without a job, or with Skipped a job that is not needed.
type Submitted struct {
	Name, ID, Queue string
	// Definition is the ARN with revision that the job runs.
	Definition string
	// ArraySize is 0 for a job that is not an array.
	ArraySize int
	// Skipped is why a job was not and will not be submitted: its condition did not hold, or a job
	// before it FAILED. It is "" for all others.
	Skipped string
	// Again is the id of the failed job of the same submission that this one runs again. Healed
	// means that the job FAILED, and that the jobs that run it again SUCCEEDED.
	Again  string
	Healed bool
	// At is the name of the target that a rung moved the job to; "" for the target of the submission.
	At string
}

// OpenError reports that a submission is unfinished, and why. Resume continues it.
type OpenError struct {
	// Run is the submission's id in the ledger.
	Run string
	// Jobs is the number of jobs in the submission, and Accepted those with an id. Unknown jobs
	// may have been accepted. Waiting jobs wait for others, and Skipped ones are not needed.
	Jobs, Accepted, Unknown, Waiting, Skipped int
	Err                                       error
}

// Error counts the jobs by state and has the cause.
func (e *OpenError) Error() string {
	why := e.Err.Error()
	if errors.Is(e.Err, context.Canceled) {
		why = "interrupted"
	}
	text := fmt.Sprintf("%s; accepted %d of %d jobs", why, e.Accepted, e.Jobs)
	if e.Unknown > 0 {
		text += fmt.Sprintf(", %d may have been accepted", e.Unknown)
	}
	if e.Waiting > 0 {
		text += fmt.Sprintf(", %d wait for others to end", e.Waiting)
	}
	if e.Skipped > 0 {
		text += fmt.Sprintf(", %d are not needed", e.Skipped)
	}
	return text
}

// Unwrap returns the cause.
func (e *OpenError) Unwrap() error { return e.Err }

// Submit registers the definitions and submits the plan's jobs, each once. The ledger records every
// intent before the first call. If an answer is missing, Submit searches for the job, and it stops
// duplicates. It then waits about a minute for the last check for duplicates (LeaveCheck). It also
// waits for the jobs that have to end before others can be submitted (plan.Job.When). Together with
// an error it returns the jobs already accepted, so that a partial submission is never hidden. The
// error of a SubmitJob is a *RefusedError, an *UnreachableError or an *AmbiguousError. It is inside
// an *OpenError when Resume can continue, or inside a *StoppedError with StopOnFailure. When all
// jobs were accepted the error may be a *DueError or a *TwiceError.
func (c *Client) Submit(ctx context.Context, p *plan.Plan) ([]Submitted, error) {
	jobs, _, err := c.submit(ctx, p, true)
	return jobs, err
}

// SubmitNow is Submit without waiting. It leaves jobs that cannot be submitted before others have
// ended to Resume, and returns them as a Waiting; nil if there are none. It needs a ledger if a
// plan has such jobs.
func (c *Client) SubmitNow(ctx context.Context, p *plan.Plan) ([]Submitted, *Waiting, error) {
	return c.submit(ctx, p, false)
}

// submit creates the intents, writes them to the ledger and sends the jobs.
func (c *Client) submit(ctx context.Context, p *plan.Plan, wait bool) ([]Submitted, *Waiting, error) {
	r, err := c.newRun(ctx, p)
	if err != nil {
		return nil, nil, err
	}
	if !wait && c.Ledger == nil && (r.holds() || slices.ContainsFunc(r.tasks, (*plannedJob).laddered)) {
		return nil, nil, errors.New("submit: some jobs have to wait until others have ended, and resuming them needs a ledger")
	}
	if err := r.open(c.Ledger); err != nil {
		return nil, nil, err
	}
	return c.carryOut(ctx, r, wait)
}

// carryOut submits the jobs of the run that have no outcome yet. It closes the run, or leaves it
// open.
func (c *Client) carryOut(ctx context.Context, r *run, wait bool) ([]Submitted, *Waiting, error) {
	known := c.newEnds()
	var err error
	if !r.stopping {
		err = c.carryOutAll(ctx, r, known, wait)
	}
	if r.stopping || c.StopOnFailure && isRejection(err) {
		err = c.stopRun(ctx, r, err)
		if !r.stopping { // otherwise duplicates of the stopped jobs would keep running
			err = errors.Join(err, c.endDuplicates(ctx, r))
		}
	}
	if err != nil {
		err = errors.Join(err, c.leaveReplays(r))
	}
	if r.attached {
		r.giveUp()
	}
	r.markHealed(known)
	jobs, unsettled, n := r.results(), !r.settled(), r.tally()
	if !unsettled {
		c.dropResources(ctx, r)
	}
	waiting := r.waiting(known)
	if closeErr := r.close(c.Ledger); closeErr != nil {
		err = errors.Join(err, fmt.Errorf("write the ledger: %w", closeErr))
	}
	if !c.LeaveCheck || err != nil || n.unchecked == 0 { // otherwise CheckDuplicates reports them
		err = errors.Join(err, r.twiceError())
	}
	if _, due := errors.AsType[*DueError](err); err != nil && unsettled && r.log != nil && !due {
		err = &OpenError{Run: r.name, Jobs: len(r.tasks), Accepted: n.accepted, Unknown: n.unknown, Waiting: n.waiting, Skipped: n.skipped, Err: err}
	}
	return jobs, waiting, err
}

// carryOutAll submits in rounds: first the jobs that can be sent now, then those that waited for
// them in the client. After each round it checks for duplicates.
func (c *Client) carryOutAll(ctx context.Context, r *run, known *ends, wait bool) error {
	var s shared
	if !r.resumed { // in a resumed run some jobs may have been accepted
		if err := c.stageAll(ctx, r, &s.staged); err != nil {
			return err
		}
	}
	for {
		err := r.each(ctx, c.atOnce(), func(t *plannedJob) error { return c.carryOutTask(ctx, r, t, &s) }, (*plannedJob).needs)
		if err == nil {
			err = c.endDuplicates(ctx, r)
		}
		more := false
		if err == nil && (r.holds() || r.follows()) {
			more, err = c.awaitDue(ctx, r, known, wait)
		}
		if err == nil && !more && !c.LeaveCheck {
			err = c.lastCheck(ctx, r)
		}
		if err != nil || !more {
			return err
		}
	}
}

// shared has everything that several jobs of a run use, each created once.
type shared struct {
	definitions       definitions
	staged, resources onceEach
}

// atOnce returns the number of jobs that are submitted concurrently.
func (c *Client) atOnce() int { return cmp.Or(c.AtOnce, atOnce) }

// carryOutTask sends the requests of one job. It first searches for a job that another process may
// have sent.
func (c *Client) carryOutTask(ctx context.Context, r *run, t *plannedJob, s *shared) error {
	if t.done || t.dropped || t.skipped != "" || t.held() {
		return nil
	}
	err := c.sendTask(ctx, r, t, s)
	if t.done {
		c.report(t.result)
	}
	return err
}

// sendTask sends one job with everything that it needs before: definition, staged texts and
// resource.
func (c *Client) sendTask(ctx context.Context, r *run, t *plannedJob, s *shared) error {
	c, err := c.clientOf(ctx, r, t)
	if err != nil {
		return err
	}
	if t.sent && t.submit != nil {
		if found, err := c.recover(ctx, r, t); found || err != nil {
			return err
		}
	}
	var definition registered
	if t.definer >= 0 {
		d, err := s.definitions.of(ctx, c, t.at, r.tasks[t.definer].register)
		if err != nil {
			return err
		}
		definition.arn, definition.fresh = d.arn, d.fresh
	}
	if t.submit == nil {
		return r.accepted(t, Submitted{Name: t.name, Definition: definition.arn})
	}
	in, err := r.resolved(t, definition.arn)
	if err != nil {
		return err
	}
	if err := c.stage(ctx, r, t, &s.staged); err != nil {
		return err
	}
	fresh, err := c.makeResource(ctx, r, t, &s.resources)
	if err != nil {
		return err
	}
	id, err := c.submitOnlyOnce(ctx, r, t, in, definition.fresh || fresh)
	if err != nil {
		return err
	}
	return r.accepted(t, t.submitted(id, aws.ToString(in.JobDefinition)))
}

// report calls Accepted for a job.
func (c *Client) report(s Submitted) {
	if c.Accepted != nil {
		c.Accepted(s)
	}
}

// submitted returns the task's job with its id.
func (t *plannedJob) submitted(id, definition string) Submitted {
	s := Submitted{Name: t.name, ID: id, Queue: aws.ToString(t.submit.JobQueue), Definition: definition, ArraySize: arraySize(t.submit), At: t.at}
	if t.again != nil {
		s.Again = t.again.result.ID
	}
	return s
}

// resolved returns a copy of the task's SubmitJob request with the definition and the ids of its
// dependencies.
func (r *run) resolved(t *plannedJob, arn string) (*awsbatch.SubmitJobInput, error) {
	in := *t.submit
	if arn != "" {
		in.JobDefinition = &arn
	}
	for _, e := range t.after {
		if on := r.tasks[e.Job]; on.result.ID == "" && t.when == "" {
			return nil, fmt.Errorf("submit job %s: it depends on %s, which has no id", t.name, on.name)
		}
	}
	in.DependsOn = append(slices.Clone(in.DependsOn), t.dependsOn(func(e edge) *string {
		if on := r.tasks[e.Job]; !on.laddered() {
			return &on.result.ID
		}
		return nil // it has ended
	})...)
	return &in, nil
}

// submitOnlyOnce sends a job until it is accepted or rejected. If an answer is missing, it searches
// for the job until the listing has settled, and sends it again under the same name only if it is
// not there.
func (c *Client) submitOnlyOnce(ctx context.Context, r *run, t *plannedJob, in *awsbatch.SubmitJobInput, fresh bool) (string, error) {
	again := t.sent // possibly by another process
	for try := 1; ; try++ {
		id, err := c.submitJob(ctx, t, in, fresh)
		var ambiguous *client.AmbiguousError
		switch {
		case err == nil:
			if t.hidden {
				t.hidden, t.unclear, t.checked = false, r.taken, false
				err = r.note(t, line{What: lineUnclear, Reason: "another process may also have sent it"})
			}
			t.sent = true
			return id, err
		case !errors.As(err, &ambiguous):
			t.sent = !t.unclear.IsZero() // an earlier try may still appear
			return "", errors.Join(err, r.note(t, line{What: lineRefused, Reason: client.Cause(err)}))
		}
		t.sent, t.unclear, t.checked = true, time.Now(), false
		if err := r.note(t, line{What: lineUnclear, Reason: client.Cause(ambiguous.Err)}); err != nil {
			return "", errors.Join(ambiguous, err)
		}
		c.progress("job %s: no clear answer (%s); checking whether it was accepted", t.name, client.Cause(ambiguous.Err))
		found, err := c.search(ctx, t, time.Now())
		if err != nil {
			return "", errors.Join(ambiguous, err)
		}
		if len(found) > 0 {
			c.progress("job %s: accepted as %s", t.name, batch.ShortID(found[0].id))
			if try == 1 && len(found) == 1 && !again && c.mayLeaveDuplicates() {
				// Only one request was sent, and nothing in between can have repeated it.
				t.unclear = time.Time{}
				return found[0].id, r.note(t, line{What: lineChecked})
			}
			return found[0].id, nil
		}
		if try == unclearTries {
			return "", ambiguous
		}
		c.progress("job %s: not accepted; submitting it again", t.name)
	}
}

// submitJob sends one SubmitJob. It repeats the request only when it was certainly not accepted: it
// was throttled, something created for it a moment ago is not visible yet, or the local clock is
// wrong, which the SDK corrects from the next call on.
func (c *Client) submitJob(ctx context.Context, t *plannedJob, in *awsbatch.SubmitJobInput, fresh bool) (string, error) {
	for try := 1; ; try++ {
		id, err := c.submitOnce(ctx, t, in)
		again := err != nil && (client.Throttled(err) || fresh && notVisible(err) || wrongClock(err))
		if !again || try == submitTries {
			return id, err
		}
		if waitErr := rpc.Sleep(ctx, fullJitter(try)); waitErr != nil {
			return "", errors.Join(err, waitErr)
		}
	}
}

// submitOnce sends one request with the SDK's retries off. SubmitJob has no idempotency token, so a
// retry after a lost answer creates a second job. The invocation id is the submission's, which the
// local engine uses as a token.
func (c *Client) submitOnce(ctx context.Context, t *plannedJob, in *awsbatch.SubmitJobInput) (string, error) {
	action := client.ActionSubmit + t.name
	if err := c.Rate.Wait(ctx); err != nil {
		return "", &client.UnreachableError{Action: action, Err: err}
	}
	ctx, cancel := withGrace(ctx, submitGrace)
	defer cancel()
	var line tapped
	out, err := c.API.SubmitJob(ctx, in, func(o *awsbatch.Options) {
		o.Retryer = aws.NopRetryer{}
		o.APIOptions = append(slices.Clip(o.APIOptions), client.WithoutRateLimit, smithyhttp.SetHeaderValue(invocationHeader, t.submission))
		line.next = o.HTTPClient
		o.HTTPClient = &line
	})
	if client.Throttled(err) {
		c.Rate.Throttled()
	}
	if err == nil && aws.ToString(out.JobId) == "" {
		err = errors.New("the answer has no job id")
	}
	switch {
	case err == nil:
		return *out.JobId, nil
	case !line.used || client.Unsent(err):
		return "", &client.UnreachableError{Action: action, Err: err}
	case client.Refused(err):
		return "", &client.RefusedError{Action: action, Err: err}
	}
	return "", &client.AmbiguousError{Job: t.name, Queue: aws.ToString(in.JobQueue), Err: err}
}

// invocationHeader is the SDKs' header; all retries of a call have the same value.
const invocationHeader = "Amz-Sdk-Invocation-Id"

// withGrace returns a context that ends a grace period after ctx.
func withGrace(ctx context.Context, grace time.Duration) (context.Context, context.CancelFunc) {
	graced, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		if rpc.Sleep(graced, grace) == nil {
			cancel()
		}
	})
	return graced, func() { stop(); cancel() }
}

// tapped records whether a request was passed to the network at all.
type tapped struct {
	next awsbatch.HTTPClient
	used bool
}

// Do passes a request on.
func (t *tapped) Do(r *http.Request) (*http.Response, error) {
	t.used = true
	return t.next.Do(r)
}

// notVisible reports the rejection of a revision or consumable resource that was created a moment
// ago and has not reached every part of the service.
func notVisible(err error) bool {
	return notFound(err, "definition") || notFound(err, "consumable")
}

// resourceNotFound reports that no consumable resource has the name.
func resourceNotFound(err error) bool { return notFound(err, "") }

// wrongClock reports a rejection after which the SDK would sign again, by the service's clock.
func wrongClock(err error) bool {
	again, ok := errors.AsType[interface {
		error
		RetryableError() bool
	}](err)
	return ok && again.RetryableError() && client.Refused(err)
}

// notFound reports the rejection of a missing object of a kind.
func notFound(err error, kind string) bool {
	if err == nil || !client.Refused(err) {
		return false
	}
	text := strings.ToLower(client.Cause(err))
	return strings.Contains(text, kind) &&
		(strings.Contains(text, "not found") || strings.Contains(text, "not exist") || strings.Contains(text, "notfound"))
}

// fullJitter returns a random pause between zero and a limit that doubles with each try.
func fullJitter(try int) time.Duration {
	return rand.N(min(firstPause<<min(try-1, 10), longPause))
}
