package once

import (
	"context"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/ladder"
)

// giveUpWaiting cancels a job that has waited for capacity for as long as its rungs allow. The
// reason tells climb, in this or another process, why the job failed. CancelJob does nothing for a
// job that has started (API reference), so it may be sent again.
func (c climber) giveUpWaiting(ctx context.Context, t *plannedJob, job *types.JobDetail) error {
	if job == nil || !t.laddered() || !t.cancelled.IsZero() {
		return nil
	}
	if waitsForCapacity(job) && t.seen.IsZero() {
		t.seen = time.Now()
	}
	after, step, ok := t.rungs.Patience(t.taken(), t.need(job))
	since := ladder.RunnableSince(asWaiting(job), t.seen)
	if !ok || since.IsZero() || time.Since(since) < after {
		return nil
	}
	if time.Since(t.asked) < max(askAgain, after/4) {
		return nil
	}
	t.asked = time.Now()
	saw, why := c.lacksCapacity(ctx, job)
	if why != "" {
		why = "for another reason than missing capacity: " + why
	} else if no, err := c.targets.cannotMove(ctx, t, &step); no != "" || err != nil {
		if err != nil {
			no = err.Error()
		}
		why = "and it cannot move to target " + step.Target + ": " + no
	}
	if why != "" {
		if why != t.stays && ctx.Err() == nil {
			t.stays = why
			c.client.progress("job %s (%s) stays in its queue: it has been RUNNABLE for %s, %s", t.name,
				batch.ShortID(t.result.ID), after, why)
		}
		return nil
	}
	reason := ladder.Cancellation(after, saw)
	if err := c.run.note(t, line{What: lineCancelled, ID: t.result.ID, Reason: reason}); err != nil {
		return err
	}
	if _, err := c.client.API.CancelJob(ctx, &awsbatch.CancelJobInput{JobId: &t.result.ID,
		Reason: &reason}); err != nil {
		return client.Failed("CancelJob "+batch.ShortID(t.result.ID), err)
	}
	t.cancelled = time.Now()
	text := "no capacity for " + after.String()
	if saw != "" {
		text += " (" + saw + ")"
	}
	c.client.progress("job %s (%s): %s; cancelled it", t.name, batch.ShortID(t.result.ID), text)
	return nil
}

// askAgain is the shortest pause between two questions why a job waits: an answer takes many requests.
const askAgain = time.Minute

// lacksCapacity returns what a waiting job was seen to wait for, or why that is no lack of capacity.
// Both are "" if the cause is unknown: then the time alone decides.
func (c climber) lacksCapacity(ctx context.Context, job *types.JobDetail) (saw, no string) {
	if reason := aws.ToString(job.StatusReason); batch.IsMisconfigured(reason) {
		return "", reason
	}
	if c.client.WhyWaiting == nil {
		return "", ""
	}
	cause, summary := c.client.WhyWaiting(ctx, aws.ToString(job.JobId))
	switch {
	case cause == "":
		return "", ""
	case ladder.LacksCapacity(cause):
		return cause, ""
	}
	return "", cause + ", " + summary
}

// waitsForCapacity reports whether a job, or every child of an array, waits in RUNNABLE.
func waitsForCapacity(job *types.JobDetail) bool {
	if batch.ArraySize(*job) == 0 {
		return job.Status == types.JobStatusRunnable
	}
	children := job.ArrayProperties.StatusSummary
	for status, n := range children {
		if n > 0 && !slices.Contains([]string{"SUBMITTED", "PENDING", "RUNNABLE"}, status) {
			return false
		}
	}
	return children["RUNNABLE"] > 0
}

// asWaiting returns an array whose children all wait as a RUNNABLE job. AWS Batch shows the parent
// as PENDING.
func asWaiting(job *types.JobDetail) *types.JobDetail {
	if batch.ArraySize(*job) == 0 || !waitsForCapacity(job) {
		return job
	}
	out := *job
	out.Status = types.JobStatusRunnable
	return &out
}
