package batch

import "strings"

// TimeLimitReasons are the reasons for which a queue can cancel a job that stays RUNNABLE (user guide, "Automatic
// remediation with jobStateTimeLimitActions").
func TimeLimitReasons() []string {
	return []string{
		"CAPACITY:INSUFFICIENT_INSTANCE_CAPACITY",
		"MISCONFIGURATION:COMPUTE_ENVIRONMENT_MAX_RESOURCE",
		"MISCONFIGURATION:JOB_RESOURCE_REQUIREMENT",
		"MISCONFIGURATION:EC2_INSTANCE_CONFIGURATION_UNSUPPORTED",
	}
}

// ServiceTimeLimitReasons are those reasons for service jobs (same page).
func ServiceTimeLimitReasons() []string {
	return []string{
		"CAPACITY:INSUFFICIENT_INSTANCE_CAPACITY",
		"MISCONFIGURATION:SERVICE_ENVIRONMENT_MAX_RESOURCE",
		"MISCONFIGURATION:QUOTA_MANAGEMENT_LIMIT_EXCEEDED",
	}
}

// SplitReason splits the reason why a job waits into its code, such as MISCONFIGURATION:JOB_RESOURCE_REQUIREMENT, and
// what it says about this job. The local engine writes AWS's general sentence before that, which is left out. The code
// is "" for other reasons, which are all detail.
func SplitReason(reason string) (code, detail string) {
	code, text, ok := strings.Cut(reason, " - ")
	if kind, _, isCode := strings.Cut(code, ":"); !ok || !isCode || kind != "MISCONFIGURATION" && kind != "CAPACITY" {
		return "", reason
	}
	if at := strings.LastIndex(text, ": "); at >= 0 {
		return code, text[at+2:]
	}
	return code, text
}

// ShortReason returns a reason without AWS's general sentence: its code, then its detail.
func ShortReason(reason string) string {
	code, detail := SplitReason(reason)
	if code == "" {
		return reason
	}
	return code + ": " + detail
}

// IsMisconfigured reports whether a status reason says that a job waits because of a setting that needs a change
// (user guide, "Jobs stuck in a RUNNABLE status"): more time does not help. The state machine of the retry ladder
// (templates/infra/ladder.json) has the same condition.
func IsMisconfigured(reason string) bool {
	return strings.HasPrefix(reason, "MISCONFIGURATION:") || strings.HasPrefix(reason, "ACTION_REQUIRED")
}

// IsBlocked reports whether a status reason is one with which AWS Batch reports a blocked queue: a misconfiguration, or
// a lack of capacity (user guide, "Jobs stuck in a RUNNABLE status").
func IsBlocked(reason string) bool {
	return IsMisconfigured(reason) || strings.HasPrefix(reason, "CAPACITY:")
}
