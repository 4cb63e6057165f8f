package jobs

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/client/once"
	"github.com/batchctl/batchctl/pkg/explain"
	"github.com/batchctl/batchctl/pkg/text"
)

const (
	// patienceTick is how often the limit is checked.
	patienceTick = time.Second
	// proofEvery is how often the evidence about a waiting job is gathered, to find a cause
	// that waiting does not remove.
	proofEvery = time.Minute
)

// LosePatience ends jobs that have not started within limit, or earlier if the
// evidence proves that they will not start. It calls gaveUp with the reason
// before it ends a job; calls do not overlap. A limit of 0 disables it. The
// returned function stops it and waits until it has stopped.
func (f *follower) LosePatience(ctx context.Context, limit time.Duration,
	gaveUp func(job once.Submitted, why string)) (stop func()) {
	if limit <= 0 {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var checking sync.WaitGroup
	checking.Go(func() {
		tick := time.NewTicker(patienceTick)
		defer tick.Stop()
		// asked is when the evidence about a job was last gathered; over are the
		// jobs given up.
		asked, over := map[string]time.Time{}, map[string]bool{}
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			for _, job := range f.unstarted() {
				id := aws.ToString(job.JobId)
				late := time.Since(time.UnixMilli(aws.ToInt64(job.CreatedAt))) > limit
				if over[id] || !late && time.Since(asked[id]) < proofEvery {
					continue
				}
				asked[id] = time.Now()
				if why := f.hopeless(ctx, job, limit, late); why != "" && ctx.Err() == nil {
					over[id] = true
					gaveUp(f.names[id], why)
					f.end(ctx, id)
				}
			}
		}
	})
	return func() {
		cancel()
		checking.Wait()
	}
}

// unstarted returns the followed jobs that have no attempt yet.
func (f *follower) unstarted() (jobs []types.JobDetail) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, j := range f.jobs {
		if job, ok := f.last[j.ID]; ok && !batch.HasEnded(job.Status) && job.Status != types.JobStatusRunning &&
			batch.Attempts(job) == 0 {
			jobs = append(jobs, job)
		}
	}
	return jobs
}

// hopeless returns why a job is given up, and prints the evidence. It returns ""
// if the job may still start. late means that the limit has passed.
func (f *follower) hopeless(ctx context.Context, job types.JobDetail, limit time.Duration, late bool) string {
	if !late && !explain.Waits(job, time.Now()) {
		return ""
	}
	evidence, err := EvidenceOf(ctx, f.target, aws.ToString(job.JobId))
	if err != nil {
		if !late {
			return ""
		}
		return fmt.Sprintf("the job had not started after %s, and the reason is unknown: %v", text.Duration(limit), err)
	}
	a := explain.Explain(evidence)
	if !late && !proved(a) {
		return ""
	}
	f.Put(a.Text())
	why := a.Standing
	if a.Verdict != nil {
		why = a.Verdict.Summary
	}
	if proved(a) {
		return why
	}
	return fmt.Sprintf("the job had not started after %s: %s", text.Duration(limit), why)
}

// proved reports whether the answer excludes that the job starts. Missing
// capacity does not count, because it may come back.
func proved(a explain.Answer) bool {
	v := a.Verdict
	return v != nil && a.Firm() && !v.Waits && v.Confidence == explain.High && v.Cause != "no-capacity"
}

// end stops a job that is given up. The watch reports its end.
func (f *follower) end(ctx context.Context, id string) {
	if _, err := f.target.Client.Stop(ctx, id, "batchctl: it did not start in time"); err != nil && ctx.Err() == nil {
		f.Line("stop %s: %v", batch.ShortID(id), err)
	}
}
