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
	// Documentation: documentation says it, and nothing confirms it.
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
	return "documentation describes the problem. Such a rule is an error only if the documentation says that AWS rejects the request or that the job can never start."
}

// certain reports whether a problem of the rule with that severity is beyond doubt, so that
// it cannot be waived.
func (r *Rule) certain(s diag.Severity) bool {
	return s == diag.Error && r.Evidence != Documentation
}

// warnsToo holds the rules whose evidence is certain, and that nevertheless report some of
// their problems as warnings: for values that may be newer than the API model, and for a
// member that a description loses.
var warnsToo = map[string]bool{
	document.RuleUnknownMember: true, document.RuleDocumentKind: true, "jobdef-unknown-member": true, jsontree.RulePlaceholder: true, document.RuleSkeleton: true,
	"platform-capability-enum": true, "fargate-os-family-enum": true, "queue-type-enum": true,
	"ce-resources-type-enum": true, "ce-allocation-enum": true, "ce-imagetype-known": true, "ce-instancetype-known": true,
}

// withEvidence completes a rule: its source gives the class of its evidence, unless the
// rule is an exception.
func (r Rule) withEvidence() Rule {
	r.Rejects, r.canWarn = rejections[r.Name], warnsToo[r.Name]
	switch {
	case r.Evidence != "":
	case r.Rejects != "":
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
var formats = []string{jsonStandard, yamlStandard, ourSchemas, shortForms, ourArrays, ourStaging, ourLadder, ourWhen, policySource, waiverSource,
	"the older list of submissions", "the platform file's queues", "dependencies name jobs", "AWS Batch assigns job ids at submission",
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
	if strings.HasPrefix(source, apiReference) || strings.HasPrefix(source, sdkModel) || strings.HasPrefix(source, cfnSchema) {
		return APIModel
	}
	return Documentation
}

// The sentences that several rules share.
const (
	reservedPrefix  = "The API reference says that names of variables cannot start with AWS_BATCH."
	notOnWindows    = "The API reference lists the members that cannot be set for Windows containers."
	staysInRunnable = "The user guide names it as a cause of jobs that stay in RUNNABLE."
	numNodesNeeds   = "The API reference lists the conditions that an override of numNodes must meet."
	al2023Instances = "The API reference says that the image does not support these instances."
	agentDeadlock   = "The agent's developers say that such a script never finishes, so the host never joins its cluster."
	unknownName     = "The service rejects an unknown name; whether the account has this name is unknown here."
	requestQuota    = "The user guide gives the size as the maximum of a request, which cannot be raised."
)

// rejections holds the rules that only documentation supports and that are errors
// nevertheless: a document says that the request is rejected, or that the job can never
// start. Each has what the document says, in our own words.
var rejections = map[string]string{
	"jobdef-size-max": requestQuota,

	"env-name-reserved-prefix":        reservedPrefix,
	"submit-env-name-reserved-prefix": reservedPrefix,
	"mnp-env-reserved-prefix":         reservedPrefix,
	"ecs-env-reserved-prefix":         reservedPrefix,
	"eks-env-reserved-prefix":         reservedPrefix,
	"nul-character":                   "The standard ends an argument at its first NUL character, so no program can start with one inside.",

	"mount-members-required": "The user guide marks both members as required.",
	"efs-iam-job-role":       "The API reference says that IAM authorization for EFS requires a job role.",
	"consumable-members":     "The schema of AWS::Batch::JobDefinition requires both members.",

	"windows-no-linuxparameters":        notOnWindows,
	"windows-no-user":                   notOnWindows,
	"windows-no-readonlyrootfilesystem": notOnWindows,
	"windows-no-ulimits":                notOnWindows,
	"windows-no-privileged":             notOnWindows,
	"windows-no-efs":                    notOnWindows,
	"ecs-fargate-no-privileged":         "The API reference says that tasks on Fargate do not support privileged containers.",
	"ecs-ec2-no-networkconfiguration":   "The API reference says that jobs on EC2 must not specify networkConfiguration.",
	"eks-no-platformcapabilities":       "The API reference says that jobs on EKS must not specify platformCapabilities.",
	"mnp-same-instance-type":            "The API reference says that all node groups must use the same instance type.",
	"mnp-node-resources":                "The API reference says that vCPUs and memory must be specified at least once for each node.",
	"submit-numnodes-open-range":        numNodesNeeds,
	"submit-numnodes-lower-bound":       numNodesNeeds,
	"submit-eksoverride-only-eks":       "The API reference says that eksPropertiesOverride can only be specified for jobs on EKS.",
	"submit-override-container-unknown": "The API reference says that the name must match a container of the definition.",
	"tag-aws-prefix":                    "The user guide reserves aws: for AWS: you cannot create, change or remove such a tag.",
	"queue-service-and-compute":         "The API reference says that a job queue cannot have both lists.",
	"queue-scheduling-policy-immutable": "The API reference says that a queue's policy cannot be removed, and that none can be added later.",
	"queue-mix-architecture":            "The API reference says that all environments of a queue must have the same architecture.",
	"propagated-tags-total-50":          "The API reference says that the job moves to FAILED.",
	"submit-queue-enabled":              "The API reference says that a disabled queue takes no new jobs.",
	"submit-jobdefinition-exists":       unknownName,
	"queue-ce-exists":                   unknownName,
	"submit-queue-exists":               "The API reference says that jobQueue is the name or the ARN of a queue.",
	"stage-bucket-name":                 "The guide says that bucket names must follow these rules, so no such bucket exists.",
	"ce-al2023-no-a1":                   al2023Instances,
	"ce-al2023-nvidia-no-p3-g3":         al2023Instances,
	"stuck-mnp-on-spot":                 "The user guide says that environments with Spot Instances do not support multi-node jobs.",
	"stuck-mnp-on-unmanaged":            "The user guide says that unmanaged environments do not support multi-node jobs.",
	"stuck-mnp-security-groups":         "The user guide allows at most five security groups.",
	"stuck-mnp-maxvcpus":                staysInRunnable,
	"stuck-mnp-instancetype":            staysInRunnable,
	"stuck-all-ce-disabled":             "The API reference says that AWS Batch places no jobs in a disabled environment.",
	"stuck-all-ce-invalid":              staysInRunnable,
	"stuck-consumable-gt-total":         "The user guide says that a job waits until the resources that it requests are available.",
	"stuck-vcpu-gt-maxvcpus":            staysInRunnable,
	"stuck-fargate-vcpu-gt-max":         staysInRunnable,
	"stuck-vcpu-gt-instance":            staysInRunnable,
	"stuck-memory-gt-instance":          staysInRunnable,
	"stuck-memory-equals-nominal":       "The user guide says that such a job cannot be placed on that instance type.",
	"stuck-gpu-no-gpu-instance":         staysInRunnable,
	"stuck-gpu-optimal":                 staysInRunnable,
	"stuck-gpu-count-gt-instance":       staysInRunnable,
	"stuck-fargate-windows-spot":        "The API reference says that such a job blocks its queue.",
	"stuck-eks-node-overhead":           "The user guide says that the reserved part of a node is not available to pods.",
	"stuck-maxvcpus-zero":               staysInRunnable,

	"launch-root-size":            "EC2 rejects a volume that is smaller than its snapshot.",
	"userdata-size":               "The guide says that user data is limited to 16 KB.",
	"userdata-base64":             "The API reference says that the value must be base64.",
	"userdata-shebang":            "The documentation says that cloud-init chooses what to do by the first line, so it does not run this text.",
	"userdata-mime-required":      "The user guide says that user data must be a MIME multi-part archive.",
	"userdata-mime-boundary":      "The documentation says that the parts of an archive begin at its boundary, so there is nothing to run.",
	"userdata-shell-syntax":       "The manual says that the shell does not run a command that it cannot parse.",
	"userdata-cloud-init-wait":    "The documentation says that --wait returns when cloud-init has finished, which includes this script.",
	"cfn-role-trust":              "The IAM guide says that a service can assume a role only if the role's trust policy names it.",
	"userdata-ecs-start":          agentDeadlock,
	"userdata-ecs-wait":           agentDeadlock,
	"userdata-docker-restart":     agentDeadlock,
	"userdata-docker-wait":        agentDeadlock,
	"userdata-daemon-json":        "The documentation says that dockerd does not start with an invalid configuration file.",
	"userdata-ecs-config-emptied": "The guide says that the agent joins the cluster that ecs.config names, so the host never joins the environment's.",
	"userdata-gpu-support":        "The guide says that the agent offers GPUs only with ECS_ENABLE_GPU_SUPPORT=true, so no GPU job can start.",
}
