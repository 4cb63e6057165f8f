package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
)

// defaultReason stands in statusReason when the user gives none.
const defaultReason = "stopped with batchctl"

// stopAgain is after how long a job that has not ended is sent its call again: longer
// than the 30 seconds between SIGTERM and SIGKILL. An answer of 200 promises little.
const stopAgain = 45 * time.Second

// Stopped says what Stop did.
type Stopped struct {
	// Job is the job as it was last seen.
	Job types.JobDetail
	// Before is the status in which Stop found it.
	Before types.JobStatus
	// Call is the operation that was used: CancelJob, TerminateJob, or "" when
	// the job had ended before and was left alone.
	Call string
	// Children counts an array's children that were terminated one by one, because
	// they went on after their parent had ended.
	Children int
	// Err is why the job could not be stopped, or not be seen to end.
	Err error
}

// Stop ends a job and waits until it has ended, or ctx has. See StopAll.
func (c *Client) Stop(ctx context.Context, id, reason string) (Stopped, error) {
	s := c.StopAll(ctx, []string{id}, reason)[0]
	return s, s.Err
}

// StopAll ends jobs and waits until DescribeJobs says that they have ended, or
// ctx has. CancelJob is for jobs that wait in SUBMITTED, PENDING or RUNNABLE; it
// answers 200 and does nothing on one that has started, so everything else, and a
// job that starts meanwhile, is sent TerminateJob. The last of the ids is sent its
// call first: what depends on a job should not start when that one ends. The
// answer has one Stopped for each id; what failed with one does not stop the others.
func (c *Client) StopAll(ctx context.Context, ids []string, reason string) []Stopped {
	if reason == "" {
		reason = defaultReason
	}
	stops := make([]*stopping, len(ids))
	for i, id := range ids {
		stops[i] = &stopping{client: c, id: id, reason: reason}
	}
	pace := Pace{Client: c}
	for pending := slices.Clone(stops); len(pending) > 0; {
		err := c.stopTurn(ctx, pending)
		pending = slices.DeleteFunc(pending, func(s *stopping) bool { return s.done })
		if len(pending) == 0 {
			break
		}
		pause, err := pace.Next(err)
		if err == nil {
			err = Sleep(ctx, pause)
		}
		if err != nil {
			for _, s := range pending {
				s.Err = s.unfinished(s.id, err)
			}
			break
		}
	}
	all := make([]Stopped, len(ids))
	for i, s := range stops {
		all[i] = s.Stopped
	}
	return all
}

// stopping is one job on its way to its end.
type stopping struct {
	Stopped
	client     *Client
	id, reason string
	// sent is when Call was answered.
	sent time.Time
	// terminated are the children that were sent TerminateJob by themselves.
	terminated map[string]bool
	done       bool
}

// stopTurn looks at the jobs and makes the calls that are due. An error of the
// service that concerns one job ends that job; another one comes back.
func (c *Client) stopTurn(ctx context.Context, pending []*stopping) error {
	ids := make([]string, len(pending))
	for i, s := range pending {
		ids[i] = s.id
	}
	jobs, err := c.ByID(ctx, Distinct(ids))
	if err != nil {
		return err
	}
	var turns sync.WaitGroup
	errs := make([]error, len(pending))
	free := make(chan struct{}, readAhead)
	for i, s := range slices.Backward(pending) {
		free <- struct{}{}
		turns.Go(func() {
			defer func() { <-free }()
			job, ok := jobs[s.id]
			errs[i] = s.turn(ctx, job, ok)
		})
	}
	turns.Wait()
	var trouble error
	for i, s := range pending {
		if err := errs[i]; Refused(err) && !Throttled(err) && !Expired(err) || isMissing(err) {
			s.Err, s.done = err, true
		} else if err != nil {
			trouble = err
		}
	}
	return trouble
}

func isMissing(err error) bool {
	_, missing := errors.AsType[*MissingError](err)
	return missing
}

// turn takes in how the job stands and makes the call that is due.
func (s *stopping) turn(ctx context.Context, job types.JobDetail, known bool) error {
	if !known {
		if s.client.submittedJustNow(s.id) {
			return nil
		}
		return &MissingError{[]string{s.id}}
	}
	s.Job = job
	if s.Before == "" {
		s.Before = job.Status
	}
	if batch.HasEnded(job.Status) {
		return s.children(ctx)
	}
	call := StopCall(job)
	if s.Call == "TerminateJob" {
		call = s.Call
	}
	if call == s.Call && time.Since(s.sent) < stopAgain {
		return nil
	}
	if err := s.client.stopOne(ctx, call, s.id, s.reason); err != nil {
		return err
	}
	s.Call, s.sent = call, time.Now()
	return nil
}

// children ends those of an array that go on after their parent: a summary that
// counts some may be an old one, so they are looked for.
func (s *stopping) children(ctx context.Context) error {
	if s.Call == "" || batch.ArraySize(s.Job) == 0 || live(s.Job) == 0 {
		s.done = true
		return nil
	}
	s.done = true
	for child, err := range s.client.List(ctx, Filter{ArrayOf: s.id, Statuses: NotEnded}) {
		if err != nil {
			s.done = false
			return err
		}
		id := aws.ToString(child.JobId)
		if batch.HasEnded(child.Status) || id == s.id {
			continue
		}
		s.done = false
		if s.terminated[id] {
			continue
		}
		if err := s.client.stopOne(ctx, "TerminateJob", id, s.reason); err != nil {
			return err
		}
		if s.terminated == nil {
			s.terminated = map[string]bool{}
		}
		s.terminated[id] = true
		s.Children++
	}
	return nil
}

// live counts the children that an array's summary says have not ended.
func live(job types.JobDetail) (n int32) {
	for _, status := range NotEnded {
		n += job.ArrayProperties.StatusSummary[string(status)]
	}
	return n
}

// stopOne makes one call.
func (c *Client) stopOne(ctx context.Context, call, id, reason string) (err error) {
	if call == "CancelJob" {
		_, err = c.API.CancelJob(ctx, &awsbatch.CancelJobInput{JobId: &id, Reason: &reason})
	} else {
		_, err = c.API.TerminateJob(ctx, &awsbatch.TerminateJobInput{JobId: &id, Reason: &reason})
	}
	if err != nil {
		return Failed(call+" "+batch.ShortID(id), err)
	}
	return nil
}

// submittedJustNow reports whether the memory knows the job as one that DescribeJobs
// may not show yet.
func (c *Client) submittedJustNow(id string) bool {
	if c.Memory == nil {
		return false
	}
	known, _ := c.Memory.Jobs() // what cannot be read is not known
	for _, k := range slices.Backward(known) {
		if k.ID == id {
			return time.Since(k.Submitted) < JustNow
		}
	}
	return false
}

// StopCall is the operation that ends a job in this state; "" when it has ended.
func StopCall(job types.JobDetail) string {
	switch job.Status {
	case types.JobStatusSucceeded, types.JobStatusFailed:
		return ""
	case types.JobStatusSubmitted, types.JobStatusPending, types.JobStatusRunnable:
		if !batch.IsArray(job) {
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
	if batch.HasEnded(s.Job.Status) {
		return fmt.Errorf("job %s (%s) has ended, but not all of its children had when the wait ended: %w",
			aws.ToString(s.Job.JobName), batch.ShortID(id), err)
	}
	return fmt.Errorf("job %s (%s) was sent %s, and was still %s when the wait ended: %w",
		aws.ToString(s.Job.JobName), batch.ShortID(id), s.Call, s.Job.Status, err)
}
