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
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/explain"
)

// whyLine returns the lines that status adds for a job that has waited for more
// than a minute.
func (call *Call) whyLine(ctx context.Context, d types.JobDetail) string {
	if !explain.Waits(d, time.Now()) {
		return ""
	}
	text, err := whyOf(ctx, call.Target, d.JobId)
	if err != nil {
		text = "unknown: " + err.Error()
	}
	return fmt.Sprintf("%-11s %s\n", "why", diag.Printable(text)) +
		fmt.Sprintf("%-11s batchctl explain %s%s\n", "more", batch.ShortID(aws.ToString(d.JobId)), call.Flags)
}

// whys returns the reasons of the first jobs that have waited for more than a
// minute, by job id.
func (call *Call) whys(ctx context.Context, now time.Time) map[string]string {
	whys := map[string]string{}
	for _, job := range call.Known {
		if id := aws.ToString(job.JobId); len(whys) < whyMost && !job.Forgotten && explain.Waits(job.JobDetail, now) {
			text, err := whyOf(ctx, call.Target, job.JobId)
			if err != nil {
				text = "the reason is unknown: " + err.Error()
			}
			whys[id] = text + "; more: batchctl explain " + batch.ShortID(id) + call.Flags
		}
	}
	return whys
}

const (
	// whyEvery is how often waiting jobs are explained, and whyMost how many at a time.
	whyEvery = 15 * time.Second
	whyMost  = 3
)

// explainWaits prints why jobs wait that have waited for more than a minute, and
// again when the reason changes. The returned function stops it.
func (f *follower) explainWaits(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTicker(whyEvery)
		defer tick.Stop()
		printed := map[string]string{}
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				f.printReasons(ctx, printed)
			}
		}
	})
	return func() {
		cancel()
		wg.Wait()
	}
}

// printReasons prints the reasons that are new. printed are the last printed
// reasons, by job id.
func (f *follower) printReasons(ctx context.Context, printed map[string]string) {
	for _, job := range f.waiting(time.Now()) {
		id := aws.ToString(job.JobId)
		why, err := whyOf(ctx, f.target, job.JobId)
		if err != nil || why == printed[id] || ctx.Err() != nil {
			continue // the watch itself says when the service does not answer
		}
		printed[id] = why
		f.Line("%s  %s  %s", term.Columns(f.names[id].Name, batch.ShortID(id), f.nameWidth()), job.Status, why)
	}
}

// waiting returns the first followed jobs that have waited for more than a
// minute.
func (f *follower) waiting(now time.Time) (jobs []types.JobDetail) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, j := range f.jobs {
		if d, ok := f.last[j.ID]; ok && explain.Waits(d, now) && len(jobs) < whyMost {
			jobs = append(jobs, d)
		}
	}
	return jobs
}
