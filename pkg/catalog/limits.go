package catalog

// The limits of AWS Batch. Without another source, it is the API
// reference (2016-08-10, as of 2026-05).
const (
	// MaxNameLength bounds the names of jobs, definitions, queues,
	// environments and policies, in characters.
	MaxNameLength = 128
	// MaxImageLength bounds a container image reference, in characters.
	MaxImageLength = 255
	// MinArraySize and MaxArraySize bound arrayProperties.size.
	MinArraySize = 2
	MaxArraySize = 10000
	// MaxDependencies bounds SubmitJob.dependsOn.
	MaxDependencies = 20
	// MaxAttempts bounds retryStrategy.attempts; the least is 1.
	MaxAttempts = 10
	// MaxEvaluateOnExit bounds retryStrategy.evaluateOnExit.
	MaxEvaluateOnExit = 5
	// MaxRetryPattern bounds a pattern of evaluateOnExit, in characters.
	MaxRetryPattern = 512
	// MinTimeout is the least timeout.attemptDurationSeconds.
	MinTimeout = 60
	// MinMemoryMiB is the least memory of a container.
	MinMemoryMiB = 4
	// MaxTags bounds the tags of one resource; the lengths are in characters.
	MaxTags           = 50
	MaxTagKeyLength   = 128
	MaxTagValueLength = 256
	// MaxPriority bounds schedulingPriority and its override.
	MaxPriority = 9999
	// MaxRegisterBytes and MaxSubmitBytes bound the request bodies (AWS Batch
	// service quotas).
	MaxRegisterBytes = 24 << 10
	MaxSubmitBytes   = 30 << 10
)

// FargateMaxSeconds is 14 days, after which Fargate may end a job.
const FargateMaxSeconds = 14 * 24 * 60 * 60
