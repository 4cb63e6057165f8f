package client

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
	"github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/batchctl/batchctl/pkg/plan"
)

const (
	// submitTimeout bounds one SubmitJob: an answer that has not come by then
	// will not come.
	submitTimeout = time.Minute
	// submitGrace is how long a SubmitJob on its way may go on after ctx ended:
	// breaking it off would leave a job whose id nobody knows.
	submitGrace = 10 * time.Second
	// submitTries bounds the tries of a SubmitJob that was certainly not
	// accepted; the pauses between them add up to about a minute at most.
	submitTries = 8
	firstPause  = 500 * time.Millisecond
	longPause   = 20 * time.Second
	// atOnce is how many jobs that do not depend on each other are on their way
	// together: 48 calls a second at up to 2/3 s each.
	atOnce = 32
)

// Submitted is one job that the service accepted, or with an empty ID a job
// definition that was registered alone.
type Submitted struct {
	Name, ID, Queue string
	// Definition is the ARN with revision that the job runs.
	Definition string
	// ArraySize is 0 for a job that is no array.
	ArraySize int
}

// OpenError says that a run is not through, and why. Resume goes on with it.
type OpenError struct {
	// Run is its name in the ledger.
	Run string
	// Jobs is how many jobs the run has, Accepted how many of them have an id.
	// Unknown is how many may have been accepted, without an answer that says so.
	Jobs, Accepted, Unknown int
	Err                     error
}

func (e *OpenError) Error() string {
	why := e.Err.Error()
	if errors.Is(e.Err, context.Canceled) {
		why = "interrupted"
	}
	text := fmt.Sprintf("%s; %d of %d jobs were accepted", why, e.Accepted, e.Jobs)
	if e.Unknown > 0 {
		text += fmt.Sprintf(", of %d it is not known", e.Unknown)
	}
	return text
}

func (e *OpenError) Unwrap() error { return e.Err }

// Submit registers what is to be registered and submits the plan's jobs, each
// once: the ledger knows what is intended before the first call, an answer that
// is missing is looked up, and what was doubled all the same is ended. Together
// with an error it returns the jobs already accepted, so that a partial
// submission is never hidden. The error of a SubmitJob is a *RefusedError, an
// *UnreachableError or an *AmbiguousError, inside an *OpenError when Resume can go on.
func (c *Client) Submit(ctx context.Context, p *plan.Plan) ([]Submitted, error) {
	r, err := c.newRun(p)
	if err != nil {
		return nil, err
	}
	if err := r.open(c.Ledger); err != nil {
		return nil, err
	}
	return c.carryOut(ctx, r)
}

// carryOut submits what of the run has no outcome yet, looks for twins and closes
// the run, or leaves it open.
func (c *Client) carryOut(ctx context.Context, r *run) ([]Submitted, error) {
	var known definitions
	err := r.each(ctx, c.atOnce(), func(t *task) error { return c.carryOutTask(ctx, r, t, &known) }, (*task).needs)
	if err == nil {
		err = c.endAllTwins(ctx, r)
	}
	if r.attached {
		r.giveUp()
	}
	jobs, unsettled := r.results(), !r.settled()
	unknown, _, _ := r.unsettled()
	if closeErr := r.close(c.Ledger); closeErr != nil {
		err = errors.Join(err, fmt.Errorf("write the ledger: %w", closeErr))
	}
	if err != nil && unsettled && r.log != nil {
		err = &OpenError{Run: r.name, Jobs: len(r.tasks), Accepted: len(jobs), Unknown: unknown, Err: err}
	}
	return jobs, err
}

func (c *Client) atOnce() int { return cmp.Or(c.AtOnce, atOnce) }

// carryOutTask sends the requests of one job. What another process may have sent
// is looked for first.
func (c *Client) carryOutTask(ctx context.Context, r *run, t *task, known *definitions) error {
	if t.done || t.dropped {
		return nil
	}
	if t.sent && t.submit != nil {
		if found, err := c.recover(ctx, r, t); found || err != nil {
			return err
		}
	}
	var definition registered
	if t.definer >= 0 {
		d, err := known.of(ctx, c, r.tasks[t.definer].register)
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
	id, err := c.submitOnlyOnce(ctx, r, t, in, definition.fresh)
	if err != nil {
		return err
	}
	return r.accepted(t, t.submitted(id, aws.ToString(in.JobDefinition)))
}

// submitted is the task's job under its id.
func (t *task) submitted(id, definition string) Submitted {
	s := Submitted{Name: t.name, ID: id, Queue: aws.ToString(t.submit.JobQueue), Definition: definition}
	if t.submit.ArrayProperties != nil {
		s.ArraySize = int(aws.ToInt32(t.submit.ArrayProperties.Size))
	}
	return s
}

// resolved is the task's SubmitJob request with the definition and the
// dependencies by id; the intent itself stays as it is.
func (r *run) resolved(t *task, arn string) (*batch.SubmitJobInput, error) {
	in := *t.submit
	if arn != "" {
		in.JobDefinition = &arn
	}
	in.DependsOn = slices.Clone(in.DependsOn)
	for _, e := range t.after {
		on := r.tasks[e.Job]
		if on.result.ID == "" {
			return nil, fmt.Errorf("submit job %s: it depends on %s, which has no id", t.name, on.name)
		}
		in.DependsOn = append(in.DependsOn, types.JobDependency{JobId: &on.result.ID, Type: types.ArrayJobDependency(e.Type)})
	}
	return &in, nil
}

// submitOnlyOnce sends a job until it is accepted or refused. After an answer that
// is missing the job is looked for until the listing has settled, and sent again
// under the same name only when it is not there.
func (c *Client) submitOnlyOnce(ctx context.Context, r *run, t *task, in *batch.SubmitJobInput, fresh bool) (string, error) {
	for try := 1; ; try++ {
		id, err := c.submitJob(ctx, t, in, fresh)
		var ambiguous *AmbiguousError
		switch {
		case err == nil:
			t.sent = true
			return id, nil
		case !errors.As(err, &ambiguous):
			t.sent = !t.unclear.IsZero() // an earlier try of it may still turn up
			return "", errors.Join(err, r.note(t, line{What: lineRefused, Reason: cause(err)}))
		}
		t.sent, t.unclear, t.checked = true, time.Now(), false
		if err := r.note(t, line{What: lineUnclear, Reason: cause(err)}); err != nil {
			return "", errors.Join(ambiguous, err)
		}
		c.tell("job %s: no clear answer (%s); looking whether it was accepted", t.name, cause(err))
		found, err := c.lookUp(ctx, t, time.Now())
		if err != nil {
			return "", errors.Join(ambiguous, err)
		}
		if len(found) > 0 {
			c.tell("job %s: it was accepted as %s", t.name, ShortID(found[0].id))
			return found[0].id, nil
		}
		if try == unclearTries {
			return "", ambiguous
		}
		c.tell("job %s: it was not accepted; submitting it again", t.name)
	}
}

// submitJob sends one SubmitJob. It is sent again only when it was certainly not
// accepted: it was throttled, or its fresh definition is not visible yet.
func (c *Client) submitJob(ctx context.Context, t *task, in *batch.SubmitJobInput, fresh bool) (string, error) {
	for try := 1; ; try++ {
		id, err := c.submitOnce(ctx, t, in)
		again := err != nil && (throttled(err) || fresh && definitionNotFound(err))
		if !again || try == submitTries {
			return id, err
		}
		if waitErr := sleep(ctx, fullJitter(try)); waitErr != nil {
			return "", errors.Join(err, waitErr)
		}
	}
}

// submitOnce makes one attempt with the SDK's retries off: SubmitJob has no
// idempotency token, so a retry after a lost answer makes a second job. The
// invocation id is the submission's, which the local engine takes for a token.
func (c *Client) submitOnce(ctx context.Context, t *task, in *batch.SubmitJobInput) (string, error) {
	action := "submit job " + t.name
	if err := c.rate.wait(ctx); err != nil {
		return "", &UnreachableError{action, err}
	}
	ctx, cancel := withGrace(ctx, submitTimeout, submitGrace)
	defer cancel()
	var line tapped
	out, err := c.batch.SubmitJob(ctx, in, func(o *batch.Options) {
		o.Retryer = aws.NopRetryer{}
		o.APIOptions = append(slices.Clip(o.APIOptions), withoutRateLimit, smithyhttp.SetHeaderValue(invocationHeader, t.submission))
		line.next = o.HTTPClient
		o.HTTPClient = &line
	})
	if throttled(err) {
		c.rate.throttled()
	}
	if err == nil && aws.ToString(out.JobId) == "" {
		err = errors.New("the answer has no job id")
	}
	switch {
	case err == nil:
		return *out.JobId, nil
	case !line.used || unsent(err):
		return "", &UnreachableError{action, err}
	case refused(err):
		return "", &RefusedError{action, err}
	}
	return "", &AmbiguousError{Job: t.name, Queue: aws.ToString(in.JobQueue), Err: err}
}

// invocationHeader is the SDKs' own; each retry of a call has the same.
const invocationHeader = "Amz-Sdk-Invocation-Id"

// withGrace returns a context that ends after the timeout, or grace after ctx.
func withGrace(ctx context.Context, timeout, grace time.Duration) (context.Context, context.CancelFunc) {
	graced, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
	stop := context.AfterFunc(ctx, func() {
		if sleep(graced, grace) == nil {
			cancel()
		}
	})
	return graced, func() { stop(); cancel() }
}

// tapped notes whether a request was handed to the network at all.
type tapped struct {
	next batch.HTTPClient
	used bool
}

func (t *tapped) Do(r *http.Request) (*http.Response, error) {
	t.used = true
	return t.next.Do(r)
}

// definitionNotFound reports the refusal of a revision that was registered a
// moment ago and has not reached every part of the service.
func definitionNotFound(err error) bool {
	text := strings.ToLower(cause(err))
	return refused(err) && strings.Contains(text, "definition") &&
		(strings.Contains(text, "not found") || strings.Contains(text, "not exist"))
}

// fullJitter is a pause anywhere between nothing and a bound that doubles.
func fullJitter(try int) time.Duration {
	return rand.N(min(firstPause<<min(try-1, 10), longPause))
}
