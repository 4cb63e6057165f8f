package explain

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/service/batch/types"
)

// Waits reports whether a job has waited so long for a machine, or for another job, that the user
// needs an explanation.
func Waits(job types.JobDetail, now time.Time) bool {
	switch job.Status {
	case types.JobStatusPending, types.JobStatusRunnable, types.JobStatusStarting:
		return now.UnixMilli()-num(job.CreatedAt) >= patience.Milliseconds()
	}
	return false
}

// Reason returns one line on why a job waits, from the evidence of Glance. It is never empty.
func Reason(b *Bundle) string {
	a := Explain(b)
	switch {
	case a.Verdict == nil:
		return a.Standing
	case a.Verdict.Confidence == High:
		return a.Verdict.Summary
	}
	return "probably " + a.Verdict.Summary
}
