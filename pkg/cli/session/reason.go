package session

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/cli/term"
)

// commonReasons are the status reasons that AWS Batch gives every job that ended
// normally, whether SUCCEEDED or FAILED. They do not distinguish jobs.
func commonReasons() []string {
	return []string{"Essential container in task exited", "Array Child Job failed"}
}

// LedgerNote is the beginning of the reason of a job that only the ledger
// remembers.
func LedgerNote(service string) string { return "from the ledger: " + service + " no longer has it" }

// ListedReason returns in one line why a listed job waits or failed: its exit
// code and the container's reason, the number of failed children, or the status
// reason if it says more. It is "" for a job that SUCCEEDED.
func ListedReason(j types.JobSummary) string {
	reason, note := aws.ToString(j.StatusReason), ""
	if strings.HasPrefix(reason, "from the ledger: ") {
		note, reason, _ = strings.Cut(reason, ", ")
	}
	switch j.Status {
	case types.JobStatusSucceeded:
		return note
	case types.JobStatusFailed:
	default:
		_, reason = batch.SplitReason(reason)
		return term.JoinClauses(note, reason, summaryRollUp(j))
	}
	how := failedChildren(j)
	if c := j.Container; c != nil {
		if c.ExitCode != nil {
			how = fmt.Sprintf("exit code %d", *c.ExitCode)
		}
		how = term.JoinClauses(how, aws.ToString(c.Reason))
	}
	if how != "" && slices.Contains(commonReasons(), reason) {
		reason = ""
	}
	return term.JoinClauses(note, reason, how)
}

// failedChildren returns "3 of 10 failed" for an array whose counts are known.
func failedChildren(j types.JobSummary) string {
	a := j.ArrayProperties
	if a == nil || a.Index != nil || aws.ToInt32(a.Size) == 0 || a.StatusSummary == nil {
		return ""
	}
	return fmt.Sprintf("%d of %d failed", a.StatusSummary[string(types.JobStatusFailed)], *a.Size)
}

// summaryRollUp is RollUp for a listed array, if the list has its counts.
func summaryRollUp(j types.JobSummary) string {
	a := j.ArrayProperties
	if a == nil || a.StatusSummary == nil {
		return ""
	}
	return RollUp(types.JobDetail{ArrayProperties: &types.ArrayPropertiesDetail{Index: a.Index, Size: a.Size,
		StatusSummary: a.StatusSummary}})
}

// RollUp returns the number of an array's children in each status; "" for other
// jobs.
func RollUp(job types.JobDetail) string {
	if job.ArrayProperties == nil || aws.ToInt32(job.ArrayProperties.Size) == 0 || job.ArrayProperties.Index != nil {
		return ""
	}
	text := fmt.Sprintf("%d of %d ended", batch.EndedChildren(job), aws.ToInt32(job.ArrayProperties.Size))
	for _, status := range types.JobStatus("").Values() {
		if n := job.ArrayProperties.StatusSummary[string(status)]; n > 0 {
			text += fmt.Sprintf(" %s:%d", status, n)
		}
	}
	return text
}
