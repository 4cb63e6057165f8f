package jobs

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/client/once"
	"github.com/batchctl/batchctl/pkg/explain"
)

const (
	// patienceTick is how often it is checked whether a job has waited too long.
	patienceTick = time.Second
	// proofEvery is how often a waiting job's evidence is gathered, for a verdict that no
	// waiting fixes.
	proofEvery = time.Minute
)

// LosePatience ends jobs that have not started after limit, or of which it is proved
// before that that they will not. gaveUp is told each, with the reason, before it is ended; calls do
// not overlap. A limit of 0 is none. The function that it returns ends the looking.
func (f *follower) LosePatience(ctx context.Context, limit time.Duration, gaveUp func(job once.Submitted, why string)) (stop func()) {
	if limit <= 0 {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var looking sync.WaitGroup
	looking.Go(func() {
		tick := time.NewTicker(patienceTick)
		defer tick.Stop()
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
		looking.Wait()
	}
}

// unstarted are the followed jobs that have not begun.
func (f *follower) unstarted() (jobs []types.JobDetail) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, j := range f.jobs {
		if job, ok := f.last[j.ID]; ok && !batch.HasEnded(job.Status) && job.Status != types.JobStatusRunning && len(job.Attempts) == 0 {
			jobs = append(jobs, job)
		}
	}
	return jobs
}

// hopeless says why a job is given up, and tells the evidence; "" while it is not.
func (f *follower) hopeless(ctx context.Context, job types.JobDetail, limit time.Duration, late bool) string {
	if !late && !explain.Waits(job, time.Now()) {
		return ""
	}
	evidence, err := EvidenceOf(ctx, f.target, aws.ToString(job.JobId))
	if err != nil {
		if !late {
			return ""
		}
		return fmt.Sprintf("the job had not started after %s, and the reason is unknown: %v", term.Short(limit), err)
	}
	a := explain.Explain(evidence)
	if !late && !proved(a) {
		return ""
	}
	f.Put(AnswerText(a))
	why := a.Standing
	if a.Verdict != nil {
		why = a.Verdict.Summary
	}
	if proved(a) {
		return why
	}
	return fmt.Sprintf("the job had not started after %s: %s", term.Short(limit), why)
}

// proved reports that no waiting will start a job. Capacity may come back.
func proved(a explain.Answer) bool {
	v := a.Verdict
	return v != nil && a.Firm() && !v.Waits && v.Confidence == explain.High && v.Cause != "no-capacity"
}

// end stops a job that is given up; the watch sees its end.
func (f *follower) end(ctx context.Context, id string) {
	if _, err := f.target.Stop(ctx, id, "batchctl: it did not start in time"); err != nil && ctx.Err() == nil {
		f.Line("stop %s: %v", batch.ShortID(id), err)
	}
}
