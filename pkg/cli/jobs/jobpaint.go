package jobs

import (
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/client/once"
)

// paint pads a status to 9 columns, and colours it on a terminal.
func paint(s *term.LiveOutput, status types.JobStatus) string {
	code := map[types.JobStatus]string{
		types.JobStatusSucceeded: "32", types.JobStatusFailed: "31", types.JobStatusRunning: "36",
	}[status]
	text := fmt.Sprintf("%-9s", status)
	if !s.Color || code == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// endStyle is the style of a status in a tree, which also shows ended jobs.
func endStyle(status types.JobStatus) string {
	switch status {
	case types.JobStatusSucceeded:
		return term.StyleGood
	case types.JobStatusFailed, once.StatusExpired:
		return term.StyleFailure
	}
	return StyleOf(status)
}

// StyleOf is the style of the status of an unfinished job.
func StyleOf(status types.JobStatus) string {
	switch status {
	case types.JobStatusRunning, types.JobStatusStarting:
		return term.StyleRun
	case types.JobStatusRunnable:
		return term.StyleWait
	}
	return ""
}
