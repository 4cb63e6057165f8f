package client

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
)

// defaultReason stands in statusReason when the user gives none.
const defaultReason = "stopped with batchctl"

// Stopped says what Stop did.
type Stopped struct {
	// Job is the job as it was last seen.
	Job types.JobDetail
	// Before is the status in which Stop found it.
	Before types.JobStatus
	// Call is the operation that was used: CancelJob, TerminateJob, or "" when
	// the job had ended before and was left alone.
	Call string
}

// Stop ends a job and waits until it has ended, or ctx has. CancelJob is for
// jobs that wait in SUBMITTED, PENDING or RUNNABLE; it answers 200 and does
// nothing on one that has started, so everything else, and a job that starts
// meanwhile, is sent TerminateJob. With an error the Stopped tells how far it
// came.
func (c *Client) Stop(ctx context.Context, id, reason string) (Stopped, error) {
	if reason == "" {
		reason = defaultReason
	}
	var s Stopped
	pace := pace{most: c.PollAtMost}
	for {
		err := c.stopTurn(ctx, &s, id, reason)
		if err == nil && Ended(s.Job.Status) {
			return s, nil
		}
		var pause time.Duration
		if pause, err = pace.next(err); err == nil {
			err = sleep(ctx, pause)
		}
		if err != nil {
			return s, s.unfinished(id, err)
		}
	}
}

// stopTurn looks at the job and makes the call that is due.
func (c *Client) stopTurn(ctx context.Context, s *Stopped, id, reason string) error {
	jobs, err := c.Describe(ctx, id)
	if err != nil {
		return err
	}
	s.Job = jobs[0]
	if s.Before == "" {
		s.Before = s.Job.Status
	}
	call := stopCall(s.Job)
	if call == "" || call == s.Call || s.Call == "TerminateJob" {
		return nil
	}
	if call == "CancelJob" {
		_, err = c.batch.CancelJob(ctx, &batch.CancelJobInput{JobId: &id, Reason: &reason})
	} else {
		_, err = c.batch.TerminateJob(ctx, &batch.TerminateJobInput{JobId: &id, Reason: &reason})
	}
	if err != nil {
		return failure(call+" "+ShortID(id), err)
	}
	s.Call = call
	return nil
}

// stopCall is the operation that ends a job in this state.
func stopCall(job types.JobDetail) string {
	switch job.Status {
	case types.JobStatusSucceeded, types.JobStatusFailed:
		return ""
	case types.JobStatusSubmitted, types.JobStatusPending, types.JobStatusRunnable:
		if !isArrayParent(job) {
			return "CancelJob"
		}
	}
	return "TerminateJob"
}

func (s Stopped) unfinished(id string, err error) error {
	late := errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
	if !late || s.Call == "" {
		return err
	}
	return fmt.Errorf("job %s (%s) was sent %s, and was still %s when the wait ended: %w",
		aws.ToString(s.Job.JobName), ShortID(id), s.Call, s.Job.Status, err)
}
