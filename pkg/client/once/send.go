package once

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/rpc"
)

const (
	// submitGrace is how long a SubmitJob may continue after ctx ended: if it were interrupted, the
	// id of the job could be lost.
	submitGrace = 10 * time.Second
	// submitTries limits the tries of a SubmitJob that was certainly not accepted. The pauses
	// between them add up to about a minute at most.
	submitTries = 8
	// unclearTries limits how often a job without any clear answer is sent.
	unclearTries = 5
)

// sender sends jobs of a run to one target, each once.
type sender struct {
	client *Client // of the target
	finder finder
	run    *run
}

// sender returns the sender of a run's jobs to the client's target.
func (c *Client) sender(r *run) sender { return sender{c, c.finder(), r} }

// submitOnlyOnce sends a job until it is accepted or rejected. If an answer is missing, it searches
// for the job until the listing has settled, and sends it again under the same name only if it is
// not there.
func (s sender) submitOnlyOnce(ctx context.Context, t *plannedJob, in *awsbatch.SubmitJobInput,
	fresh bool) (string, error) {
	again := t.sent // possibly by another process
	for try := 1; ; try++ {
		id, err := s.submitJob(ctx, t, in, fresh)
		var ambiguous *client.AmbiguousError
		switch {
		case err == nil:
			if t.hidden {
				t.hidden = false
				t.suspect(s.run.taken)
				err = s.run.note(t, line{What: lineUnclear, Reason: "another process may also have sent it"})
			}
			t.sent = true
			return id, err
		case !errors.As(err, &ambiguous):
			t.sent = !t.unclear.IsZero() // an earlier try may still appear
			return "", errors.Join(err, s.run.note(t, line{What: lineRefused, Reason: client.Cause(err)}))
		}
		t.sent = true
		t.suspect(time.Now())
		if err := s.run.note(t, line{What: lineUnclear, Reason: client.Cause(ambiguous.Err)}); err != nil {
			return "", errors.Join(ambiguous, err)
		}
		s.client.progress("job %s: no clear answer (%s); checking whether it was accepted", t.name,
			client.Cause(ambiguous.Err))
		found, err := s.finder.search(ctx, t, time.Now())
		if err != nil {
			return "", errors.Join(ambiguous, err)
		}
		if len(found) > 0 {
			s.client.progress("job %s: accepted as %s", t.name, batch.ShortID(found[0].id))
			if try == 1 && len(found) == 1 && !again && s.mayLeaveDuplicates() {
				// Only one request was sent, and nothing in between can have repeated it.
				t.suspect(time.Time{})
				return found[0].id, s.run.note(t, line{What: lineChecked})
			}
			return found[0].id, nil
		}
		if try == unclearTries {
			return "", ambiguous
		}
		s.client.progress("job %s: not accepted; submitting it again", t.name)
	}
}

// mayLeaveDuplicates reports whether a job that another process may have sent needs the late
// check. That process may have sent it twice, which a damaged log does not show, and the listing
// may lag further behind than batchctl searched. Where requests may be repeated, checkReplays
// covers this, because it detects whether the listing lags.
func (s sender) mayLeaveDuplicates() bool { return !s.client.TakesOnce && !s.client.Replayable }

// submitJob sends one SubmitJob. It repeats the request only when it was certainly not accepted: it
// was throttled, something created for it a moment ago is not visible yet, or the local clock is
// wrong, which the SDK corrects from the next call on.
func (s sender) submitJob(ctx context.Context, t *plannedJob, in *awsbatch.SubmitJobInput, fresh bool) (string, error) {
	for try := 1; ; try++ {
		id, err := s.submitOnce(ctx, t, in)
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
func (s sender) submitOnce(ctx context.Context, t *plannedJob, in *awsbatch.SubmitJobInput) (string, error) {
	action := client.ActionSubmit + t.name
	if err := s.client.Rate.Wait(ctx); err != nil {
		return "", &client.UnreachableError{Action: action, Err: err}
	}
	ctx, cancel := withGrace(ctx, submitGrace)
	defer cancel()
	var line tapped
	out, err := s.client.API.SubmitJob(ctx, in, func(o *awsbatch.Options) {
		o.Retryer = aws.NopRetryer{}
		o.APIOptions = append(slices.Clip(o.APIOptions), client.WithoutRateLimit,
			smithyhttp.SetHeaderValue(invocationHeader, t.submission))
		line.next = o.HTTPClient
		o.HTTPClient = &line
	})
	if client.Throttled(err) {
		s.client.Rate.Throttled()
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

// retention is how long AWS certainly keeps a job that has ended. AWS documents 7 days (user
// guide, job states), but sometimes keeps jobs for a shorter time.
const retention = 24 * time.Hour

// ForgottenError reports a job that is not at the service, which may have forgotten it.
type ForgottenError struct {
	Job  string
	When time.Time
}

// Error names the job and the time.
func (e *ForgottenError) Error() string {
	return fmt.Sprintf("job %s may have been accepted on %s, have ended, and been deleted by the service",
		e.Job, e.When.Local().Format(time.DateTime))
}

// recover searches for a job that another process may have sent. That process ended before this one
// locked the run, so the listing settles once for all its jobs.
func (s sender) recover(ctx context.Context, t *plannedJob) (bool, error) {
	began := time.Now()
	found, err := s.finder.search(ctx, t, s.run.taken)
	if err != nil {
		return false, err
	}
	if len(found) == 0 {
		if since := t.since; !since.IsZero() && !s.client.SubmitAgain && time.Since(since) > retention &&
			!s.client.TakesOnce {
			return false, &ForgottenError{t.name, since}
		}
		t.hidden = s.mayLeaveDuplicates() && began.Sub(s.run.taken) < lateCheck
		return false, nil
	}
	why := ""
	switch {
	case len(found) > 1:
		why = "the job exists twice"
	case s.mayLeaveDuplicates():
		why = "another process sent it"
	}
	if why != "" { // recorded before the id, so that a crash in between does not lose it
		if err := s.run.doubt(t, s.run.taken, why); err != nil {
			return true, err
		}
	}
	if err := s.run.accepted(t, t.submitted(found[0].id, found[0].definition)); err != nil {
		return true, err
	}
	t.last = s.run.taken
	s.client.progress("job %s: accepted as %s", t.name, batch.ShortID(found[0].id))
	return true, nil
}
