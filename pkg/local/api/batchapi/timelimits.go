package batchapi

import (
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/wire"
)

// checkLimits rejects jobStateTimeLimitActions that Batch rejects: only RUNNABLE, only CANCEL, or
// TERMINATE in a queue for service jobs, 10 minutes to a day.
func checkLimits(actions []types.JobStateTimeLimitAction, service bool) error {
	var seen []string
	only, limitReasons := types.JobStateTimeLimitActionsActionCancel, batch.TimeLimitReasons()
	if service {
		only, limitReasons = types.JobStateTimeLimitActionsActionTerminate, batch.ServiceTimeLimitReasons()
	}
	for _, a := range actions {
		reason, seconds := aws.ToString(a.Reason), aws.ToInt32(a.MaxTimeSeconds)
		switch {
		case a.State != types.JobStateTimeLimitActionsStateRunnable:
			return wire.ClientException("Invalid job state. Valid job states: [RUNNABLE]")
		case a.Action != only:
			return wire.ClientException("Invalid job action. Valid job actions: [%s]", only)
		case !slices.Contains(limitReasons, reason):
			return wire.ClientException("Invalid job reason. Valid job reasons: [%s]", strings.Join(limitReasons, ", "))
		case seconds < 600 || seconds > 86400:
			return wire.ClientException("maxTimeSeconds must be between 600 and 86400.")
		case slices.Contains(seen, reason):
			return wire.ClientException("Duplicate job state limit actions are not allowed.")
		}
		seen = append(seen, reason)
	}
	return nil
}
