package lint

import (
	"strings"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// Evidence is the source that shows that a rule is right.
type Evidence string

// The classes of evidence, the strongest first.
const (
	// ServiceAnswer: AWS's own error for the problem has been published.
	ServiceAnswer Evidence = "the service's answer"
	// APIModel: the API model or the API reference does not allow the request: an unknown
	// member, a missing one, another JSON type, a value outside the documented values,
	// pattern or limit.
	APIModel Evidence = "API model"
	// FileFormat: the format of the file does not allow it: JSON, YAML, or the formats that
	// batchctl defines for job files and platform files.
	FileFormat Evidence = "file format"
	// Documentation: documentation says it, and nothing confirms it. Such a rule is an error only
	// if a sentence states the refusal; refusals has these sentences, and how they are chosen.
	Documentation Evidence = "documentation"
)

// describe describes a class of evidence.
func (e Evidence) describe() string {
	switch e {
	case ServiceAnswer:
		return "AWS's own error for the problem has been published."
	case APIModel:
		return "the API model or the API reference does not allow the request, for example because of an unknown member or a value beyond a documented limit."
	case FileFormat:
		return "the format of JSON, YAML, the job file or the platform file does not allow it."
	}
	return "documentation describes the problem. Such a rule is an error only if a sentence, quoted with its source, says that AWS rejects the request, that the job can never start, or that the program that reads the text stops."
}

// certain reports whether a problem of the rule with that severity is beyond doubt, so that
// it cannot be waived.
func (r *Rule) certain(s diag.Severity) bool {
	return s == diag.Error && r.Evidence != Documentation
}

// warnsToo holds the rules whose evidence is certain, and that nevertheless report some of
// their problems as warnings: for values that may be newer than the API model, for a member
// that a description loses, and for hosts whose use is a guess.
var warnsToo = map[string]bool{
	jsontree.RuleDuplicate: true, document.RuleUnknownMember: true, document.RuleDocumentKind: true,
	"jobdef-unknown-member": true, jsontree.RulePlaceholder: true, document.RuleSkeleton: true,
	"platform-capability-enum": true, "fargate-os-family-enum": true, "queue-type-enum": true,
	"ce-resources-type-enum": true, "ce-allocation-enum": true, "ce-imagetype-known": true,
	"ce-imagetype-al2-eol": true, "ce-instancetype-known": true,
	"launch-root-size": true, "userdata-mime-required": true,
	"vcpu-min-ec2": true, "vcpu-integer-ec2": true,
}

// withEvidence completes a rule: its source gives the class of its evidence, unless the
// rule is an exception.
func (r Rule) withEvidence() Rule {
	r.Quote, r.canWarn = refusals[r.Name], warnsToo[r.Name]
	switch {
	case r.Evidence != "":
	case r.Quote != "":
		r.Evidence = Documentation
	default:
		r.Evidence = evidenceOf(r.Source)
		// What the model rules out is an error: a warning has only the text of the reference.
		if r.Evidence == APIModel && r.Severity == diag.Warning {
			r.Evidence = Documentation
		}
	}
	return r
}

// answers are the words of a source that quotes the service.
var answers = []string{strings.TrimPrefix(probed, "; "), "the service's error", "the failed job's reason"}

// formats are the sources that define a file.
var formats = []string{jsonStandard, yamlStandard, ourSchemas, shortForms, ourArrays, ourStaging, ourLadder, ourWhen,
	policySource, waiverSource,
	"the older list of submissions", "the platform file's queues", "dependencies name jobs",
	"AWS Batch assigns job ids at submission",
	"cmd/batchctl-workloads/gpu.Dockerfile", "pkg/local, ExecutorTag", cfnReference + "intrinsic functions"}

// evidenceOf returns the class of evidence of a source.
func evidenceOf(source string) Evidence {
	for _, a := range answers {
		if strings.Contains(source, a) {
			return ServiceAnswer
		}
	}
	for _, f := range formats {
		if strings.HasPrefix(source, f) {
			return FileFormat
		}
	}
	if strings.HasPrefix(source, apiReference) || strings.HasPrefix(source, sdkModel) ||
		strings.HasPrefix(source, cfnSchema) {
		return APIModel
	}
	return Documentation
}

// The sentences that several rules share.
const (
	noWindowsMember = "The following parameters can't be set for Windows containers: linuxParameters, privileged, user, ulimits, readonlyRootFilesystem, and efsVolumeConfiguration."
	agentDeadlock   = "Starting ecs this way via userdata will cause a deadlock in systemd's startup scripts for docker and ecs."
	maxTooSmall     = "CE(s) associated with the job queue cannot meet the CPU requirement of the job."
	jobTooLarge     = "The job resource requirement (vCPU/memory/GPU) is higher than that can be met by the CE(s) attached to the job queue."
	notPlaced       = "Then, the job can't be placed in your compute environment."
)

// refusals holds the rules with the evidence Documentation that are errors nevertheless, each with its Quote. Markup
// is left out of a quote, and its apostrophes are straight.
//
// A sentence states a refusal if it says that something is impossible or fails ("can't", "isn't supported", "is moved
// to the FAILED state"), or what a request has to meet ("must", "requires", "Required: Yes"). Advice does not
// ("should", "don't", "isn't applicable", "reserved"), nor does "must not specify", because people use members of
// which the API reference says that. Published reports are stronger than a sentence: the API reference says that names
// of variables cannot start with AWS_BATCH, and AWS Batch drops such variables instead. Without a refusal, the rule is
// a warning.
//
// AWS's own error is in this list if the problem is uncertain: batchctl does not know which names the account has.
var refusals = map[string]string{
	"jobdef-size-max": "The following table provides the service quotas for AWS Batch that can't be changed.",

	"nul-character":          "If any string contains a NUL byte, it returns (nil, [EINVAL]).",
	"mount-members-required": "Required: Yes, when mountPoints is used.",
	"efs-iam-job-role":       "EFS IAM authorization requires that TransitEncryption be ENABLED and that a JobRoleArn is specified.",
	"consumable-members":     "Required: Yes",

	"windows-no-linuxparameters":        noWindowsMember,
	"windows-no-user":                   noWindowsMember,
	"windows-no-readonlyrootfilesystem": noWindowsMember,
	"windows-no-ulimits":                noWindowsMember,
	"windows-no-privileged":             noWindowsMember,
	"windows-no-efs":                    noWindowsMember,
	"ecs-fargate-no-privileged":         "This parameter is not supported for Windows containers or tasks run on Fargate.",
	"mnp-same-instance-type":            "All node groups in a multi-node parallel job must use the same instance type.",
	"mnp-node-resources":                "It must be specified for each node at least once.",
	"submit-numnodes-open-range":        "There must be at least one node range in your job definition that has an open upper boundary, such as : or n:.",
	"submit-numnodes-lower-bound":       "The lower boundary of the node range that's specified in the job definition must be fewer than the number of nodes specified in the override.",
	"submit-eksoverride-only-eks":       "An object, with properties that override defaults for the job definition, can only be specified for jobs that are run on Amazon EKS resources.",
	"submit-override-container-unknown": "The name must match a unique container name that you wish to override.",
	"queue-service-and-compute":         "A job queue can't have both a serviceEnvironmentOrder and a computeEnvironmentOrder field.",
	"quota-share-max-20":                "A maximum of 20 can be attached to any job queue.",
	"queue-scheduling-policy-immutable": "After a job queue has a fair-share scheduling policy, it can be replaced but can't be removed.",
	"queue-mix-architecture":            "Batch doesn't support mixing compute environment architecture types in a single job queue.",
	"propagated-tags-total-50":          "If the total number of combined tags from the job and job definition is over 50, the job is moved to the FAILED state.",
	"submit-queue-enabled":              "If the job queue state is DISABLED, new jobs can't be added to the queue, but jobs already in the queue can finish.",
	"submit-jobdefinition-exists":       "JobDefinition name nextflow does not exist or is not in ACTIVE status",
	"queue-ce-exists":                   "Compute environments must be in the VALID state before you can associate them with a job queue.",
	"submit-queue-exists":               "JobQueue x-job-queue not found.",
	"stage-bucket-name":                 "Bucket names must be between 3 (min) and 63 (max) characters long.",
	"ce-al2023-no-a1":                   "Amazon Linux 2023 does not support A1 instances.",
	"ce-al2023-nvidia-no-p3-g3":         "ECS_AL2023_NVIDIA doesn't support p3 and g3 instance types.",

	"stuck-mnp-on-spot":           "Multi-node parallel jobs aren't supported on Spot Instances.",
	"stuck-mnp-on-unmanaged":      "Multi-node parallel jobs aren't supported on UNMANAGED compute environments.",
	"stuck-mnp-security-groups":   "There's a limit of 5 security groups that can be specified.",
	"stuck-mnp-maxvcpus":          "Your compute environment must have enough maximum vCPUs to support your multi-node parallel job.",
	"stuck-mnp-instancetype":      "If you specify an instance type for a node group in a multi-node parallel job, your compute environment must launch that instance type.",
	"stuck-all-ce-disabled":       "If the state is DISABLED, then the Batch scheduler doesn't attempt to place jobs within the environment.",
	"stuck-all-ce-invalid":        "ACTION_REQUIRED - CE(s) associated with the job queue are invalid.",
	"stuck-consumable-gt-total":   "the job will wait in RUNNABLE state until all the required resources become available",
	"stuck-vcpu-gt-maxvcpus":      maxTooSmall,
	"stuck-fargate-vcpu-gt-max":   maxTooSmall,
	"stuck-maxvcpus-zero":         maxTooSmall,
	"stuck-vcpu-gt-instance":      jobTooLarge,
	"stuck-memory-gt-instance":    notPlaced,
	"stuck-memory-equals-nominal": notPlaced,
	"stuck-gpu-no-gpu-instance":   jobTooLarge,
	"stuck-gpu-optimal":           jobTooLarge,
	"stuck-gpu-count-gt-instance": jobTooLarge,
	"stuck-fargate-windows-spot":  "A job queue will be blocked if a Windows job is submitted to a job queue with only Fargate Spot compute environments.",
	"stuck-eks-node-overhead":     "In this example, an 8,192 MiB job doesn't fit on this instance even though it's an 8 gibibyte (GiB) instance.",

	"userdata-shebang":         "User data shell scripts must start with the #! characters and the path to the interpreter you want to read the script",
	"userdata-mime-boundary":   "The body must then contain one or more body parts, each preceded by a boundary delimiter line",
	"userdata-shell-syntax":    "Certain errors shall cause the shell to write a diagnostic message to standard error and exit as shown in the following table:",
	"userdata-cloud-init-wait": "The cloud-init process is not considered finished until your Amazon EC2 user data has finished running.",
	"cfn-role-trust":           "ECS was unable to assume the role",
	"userdata-ecs-start":       agentDeadlock,
	"userdata-ecs-wait":        agentDeadlock,
	"userdata-daemon-json":     "A non-zero exit code is returned for invalid configuration files.",
	"userdata-gpu-support":     "You must set ECS_ENABLE_GPU_SUPPORT to true in your agent configuration file.",
}
