package session

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/client/once"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/target"
)

// culprit returns the job to explain: the first that FAILED after it ran. The
// others failed only because they depend on it. It returns nil if none FAILED.
func culprit(jobs []types.JobDetail) *types.JobDetail {
	var found *types.JobDetail
	ran := func(job *types.JobDetail) bool { return !strings.HasPrefix(aws.ToString(job.StatusReason), "Depend") }
	for i := range jobs {
		job := &jobs[i]
		switch {
		case job.Status != types.JobStatusFailed:
		case found == nil, ran(job) && !ran(found),
			ran(job) == ran(found) && aws.ToInt64(job.StoppedAt) < aws.ToInt64(found.StoppedAt):
			found = job
		}
	}
	return found
}

// waitsForOneOf reports whether a job depends on one of the jobs that has not ended.
func waitsForOneOf(jobs []types.JobDetail, job types.JobDetail) bool {
	return slices.ContainsFunc(jobs, func(other types.JobDetail) bool {
		return !batch.HasEnded(other.Status) && slices.ContainsFunc(job.DependsOn, func(d types.JobDependency) bool {
			return aws.ToString(d.JobId) == aws.ToString(other.JobId) && d.JobId != nil
		})
	})
}

// Subject returns the index of the job to explain: one that FAILED, see culprit;
// else the first that has not ended and waits for no other one of them; else the
// first.
func Subject(jobs []types.JobDetail) int {
	if job := culprit(jobs); job != nil {
		return slices.IndexFunc(jobs, func(j types.JobDetail) bool { return j.JobId == job.JobId })
	}
	waits := -1
	for i, job := range jobs {
		if batch.HasEnded(job.Status) || waitsForOneOf(jobs, job) {
			continue
		}
		if waits < 0 || job.Status == types.JobStatusRunnable && jobs[waits].Status != types.JobStatusRunnable {
			waits = i
		}
	}
	return max(waits, 0)
}

// ExplainNext returns the command that explains why jobs failed; "" if none
// FAILED.
func ExplainNext(t *target.Target, jobs []types.JobDetail) string {
	if job := culprit(jobs); job != nil {
		return "batchctl explain " + batch.ShortID(aws.ToString(job.JobId)) + t.Flags
	}
	return ""
}

// PrintNext prints that command, if a job FAILED.
func PrintNext(con *term.Console, t *target.Target, jobs []types.JobDetail) {
	if next := ExplainNext(t, jobs); next != "" {
		fmt.Fprintf(con.Err, "next: %s\n", diag.Printable(next))
	}
}

// Live returns the jobs that the service still describes. Only they can be
// explained.
func Live(jobs []once.Recalled) (all []types.JobDetail) {
	for _, job := range jobs {
		if !job.Forgotten {
			all = append(all, job.JobDetail)
		}
	}
	return all
}
