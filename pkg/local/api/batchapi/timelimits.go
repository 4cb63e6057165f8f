package batchapi

import (
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/wire"
)

// limitReasons are the reasons for which Batch cancels a job that stays RUNNABLE (user guide,
// "Automatic remediation with jobStateTimeLimitActions").
var limitReasons = []string{
	"CAPACITY:INSUFFICIENT_INSTANCE_CAPACITY",
	"MISCONFIGURATION:COMPUTE_ENVIRONMENT_MAX_RESOURCE",
	"MISCONFIGURATION:JOB_RESOURCE_REQUIREMENT",
	"MISCONFIGURATION:EC2_INSTANCE_CONFIGURATION_UNSUPPORTED",
}

// serviceLimitReasons are those reasons for service jobs (same page).
var serviceLimitReasons = []string{
	"CAPACITY:INSUFFICIENT_INSTANCE_CAPACITY",
	"MISCONFIGURATION:SERVICE_ENVIRONMENT_MAX_RESOURCE",
	"MISCONFIGURATION:QUOTA_MANAGEMENT_LIMIT_EXCEEDED",
}

// checkLimits rejects jobStateTimeLimitActions that Batch rejects: only RUNNABLE, only CANCEL, or
// TERMINATE in a queue for service jobs, 10 minutes to a day.
func checkLimits(actions []types.JobStateTimeLimitAction, service bool) error {
	var seen []string
	var refused error
	only, limitReasons := types.JobStateTimeLimitActionsActionCancel, limitReasons
	if service {
		only, limitReasons = types.JobStateTimeLimitActionsActionTerminate, serviceLimitReasons
	}
	for _, a := range actions {
		reason, seconds := aws.ToString(a.Reason), aws.ToInt32(a.MaxTimeSeconds)
		switch {
		case a.State != types.JobStateTimeLimitActionsStateRunnable:
			return wire.ClientException("Invalid job state. Valid job states: [RUNNABLE]")
		case a.Action != only:
			return wire.ClientException("Invalid job action. Valid job actions: [%s]", only)
		case !slices.Contains(limitReasons, reason):
			refused = gravest(refused, faulty("Invalid job reason. Valid job reasons: [%s]", strings.Join(limitReasons, ", ")))
		case seconds < 600 || seconds > 86400:
			refused = gravest(refused, faulty("maxTimeSeconds must be between 600 and 86400."))
		case slices.Contains(seen, reason):
			refused = gravest(refused, faulty("Duplicate job state limit actions are not allowed."))
		}
		seen = append(seen, reason)
	}
	return refused
}
