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

// commonReasons are the status reasons that AWS Batch gives to every job that ended in the
// usual way, whether it SUCCEEDED or FAILED: they tell nothing apart.
func commonReasons() []string {
	return []string{"Essential container in task exited", "Array Child Job failed"}
}

// LedgerNote begins the reason of a listed job that only the ledger remembers.
func LedgerNote(service string) string { return "from the ledger: " + service + " no longer has it" }

// ListedReason is why a listed job waits or failed, in a line: its exit code and the
// container's reason, how many children of an array failed, or the status reason where that
// says more. It is empty for a job that SUCCEEDED.
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

// failedChildren is `3 of 10 failed` for an array of which that is known.
func failedChildren(j types.JobSummary) string {
	a := j.ArrayProperties
	if a == nil || a.Index != nil || aws.ToInt32(a.Size) == 0 || a.StatusSummary == nil {
		return ""
	}
	return fmt.Sprintf("%d of %d failed", a.StatusSummary[string(types.JobStatusFailed)], *a.Size)
}

// summaryRollUp counts an array's children by state, where the list knows them.
func summaryRollUp(j types.JobSummary) string {
	a := j.ArrayProperties
	if a == nil || a.StatusSummary == nil {
		return ""
	}
	return RollUp(types.JobDetail{ArrayProperties: &types.ArrayPropertiesDetail{Index: a.Index, Size: a.Size, StatusSummary: a.StatusSummary}})
}

// RollUp counts an array's children by state.
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
