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
	"github.com/batchctl/batchctl/pkg/rpc"
)

// defaultReason is the statusReason when the user gives none.
const defaultReason = "stopped with batchctl"

// StopCall is the operation that stops a job.
const StopCall = "TerminateJob"

// stopAgain is the time after which the call for an unfinished job is repeated: longer than the 30
// seconds between SIGTERM and SIGKILL. An answer of 200 does not guarantee that the job ends.
const stopAgain = 45 * time.Second

// Stopped is the result of stopping one job.
type Stopped struct {
	// Job is the last description of the job.
	Job types.JobDetail
	// Before is the status before Stop.
	Before types.JobStatus
	// Call is TerminateJob, or "" when the job had already ended.
	Call string
	// Children is how many children of an array were terminated one by one, because they kept
	// running after their parent had ended.
	Children int
	// Err is why the job could not be stopped, or why its end was not observed.
	Err error
}

// Stop ends a job and waits until it has ended, or ctx has. See StopAll.
func (j *Jobs) Stop(ctx context.Context, id, reason string) (Stopped, error) {
	s := j.StopAll(ctx, []string{id}, reason)[0]
	return s, s.Err
}

// StopAll stops jobs and waits until DescribeJobs shows that they have ended, or until ctx ends.
// TerminateJob ends a job in any state. CancelJob does nothing for a job that has started, and ends a PENDING
// job only after its dependencies. The calls go out in reverse order of the ids: a job should not start when
// its dependency ends. The result has one Stopped for each id. A failure for one job does not affect the others.
func (j *Jobs) StopAll(ctx context.Context, ids []string, reason string) []Stopped {
	if reason == "" {
		reason = defaultReason
	}
	stops := make([]*stopping, len(ids))
	for i, id := range ids {
		stops[i] = &stopping{jobs: j, id: id, reason: reason}
	}
	pace := Pace{Polling: j.polling}
	for pending := slices.Clone(stops); len(pending) > 0; {
		err := j.stopTurn(ctx, pending)
		pending = slices.DeleteFunc(pending, func(s *stopping) bool { return s.done })
		if len(pending) == 0 {
			break
		}
		pause, err := pace.Next(err)
		if err == nil {
			err = rpc.Sleep(ctx, pause)
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

// stopping is a job that is being stopped.
type stopping struct {
	Stopped
	jobs       *Jobs
	id, reason string
	// sent is when the service answered Call.
	sent time.Time
	// terminated are the children that were sent TerminateJob on their own.
	terminated map[string]bool
	done       bool
}

// stopTurn describes the jobs and makes the calls that are due. An error that concerns one job is
// kept with that job; any other error is returned.
func (j *Jobs) stopTurn(ctx context.Context, pending []*stopping) error {
	ids := make([]string, len(pending))
	for i, s := range pending {
		ids[i] = s.id
	}
	jobs, err := j.ByID(ctx, Distinct(ids))
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
	var fault error
	for i, s := range pending {
		if err := errs[i]; Refused(err) && !Throttled(err) && !Expired(err) || isMissing(err) {
			s.Err, s.done = err, true
		} else if err != nil {
			fault = err
		}
	}
	return fault
}

// isMissing reports whether the service does not have a job.
func isMissing(err error) bool {
	_, missing := errors.AsType[*MissingError](err)
	return missing
}

// turn records the state of the job and makes the call that is due.
func (s *stopping) turn(ctx context.Context, job types.JobDetail, known bool) error {
	if !known {
		if s.jobs.submittedJustNow(s.id) {
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
	if s.Call != "" && time.Since(s.sent) < stopAgain {
		return nil
	}
	if err := s.jobs.terminate(ctx, s.id, s.reason); err != nil {
		return err
	}
	s.Call, s.sent = StopCall, time.Now()
	return nil
}

// children stops children that keep running after their array has ended. The array's summary may
// be outdated, so it lists them.
func (s *stopping) children(ctx context.Context) error {
	if s.Call == "" || batch.ArraySize(s.Job) == 0 || live(s.Job) == 0 {
		s.done = true
		return nil
	}
	s.done = true
	for child, err := range s.jobs.List(ctx, Filter{ArrayOf: s.id, Statuses: NotEnded}) {
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
		if err := s.jobs.terminate(ctx, id, s.reason); err != nil {
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

// live returns how many children have not ended according to the array's summary.
func live(job types.JobDetail) (n int32) {
	for _, status := range NotEnded {
		n += job.ArrayProperties.StatusSummary[string(status)]
	}
	return n
}

// terminate calls TerminateJob for one job.
func (j *Jobs) terminate(ctx context.Context, id, reason string) error {
	if _, err := j.api.TerminateJob(ctx, &awsbatch.TerminateJobInput{JobId: &id, Reason: &reason}); err != nil {
		return Failed(StopCall+" "+batch.ShortID(id), err)
	}
	return nil
}

// submittedJustNow reports whether the memory has the job as one that DescribeJobs may not show
// yet.
func (j *Jobs) submittedJustNow(id string) bool {
	if j.Memory == nil {
		return false
	}
	known, _ := j.Memory.Jobs() // a job in an unreadable ledger counts as unknown
	for _, k := range slices.Backward(known) {
		if k.ID == id {
			return time.Since(k.Submitted) < JustNow
		}
	}
	return false
}

// unfinished explains an error that ended the wait after the call was sent.
func (s Stopped) unfinished(id string, err error) error {
	late := errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
	if !late || s.Call == "" {
		return err
	}
	if batch.HasEnded(s.Job.Status) {
		return fmt.Errorf("job %s (%s) has ended, but some of its children had not when batchctl stopped waiting: %w",
			aws.ToString(s.Job.JobName), batch.ShortID(id), err)
	}
	return fmt.Errorf("job %s (%s): sent %s, but it was still %s when batchctl stopped waiting: %w",
		aws.ToString(s.Job.JobName), batch.ShortID(id), s.Call, s.Job.Status, err)
}
