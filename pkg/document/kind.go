package document

import (
	"slices"
	"strings"
	"unicode"
)

// Kind is a kind of document.
type Kind string

// The documents that batchctl reads. Kinds named after an operation are AWS requests in
// their native form, as for `aws batch ... --cli-input-json`.
const (
	KindJob           Kind = "job"
	KindWorkflow      Kind = "workflow"
	KindPlatform      Kind = "platform"
	KindJobDefinition Kind = "RegisterJobDefinition"
	KindSubmitJob     Kind = "SubmitJob"

	// KindJobList is several SubmitJob requests that may wait for each other.
	KindJobList Kind = "jobs"

	KindComputeEnvironment Kind = "CreateComputeEnvironment"
	KindJobQueue           Kind = "CreateJobQueue"
	KindSchedulingPolicy   Kind = "CreateSchedulingPolicy"
	KindConsumableResource Kind = "CreateConsumableResource"
	KindQuotaShare         Kind = "CreateQuotaShare"
	KindServiceEnvironment Kind = "CreateServiceEnvironment"

	// The requests that change a resource, and submit or change a job of a service environment.
	KindUpdateComputeEnvironment Kind = "UpdateComputeEnvironment"
	KindUpdateJobQueue           Kind = "UpdateJobQueue"
	KindUpdateSchedulingPolicy   Kind = "UpdateSchedulingPolicy"
	KindUpdateConsumableResource Kind = "UpdateConsumableResource"
	KindUpdateQuotaShare         Kind = "UpdateQuotaShare"
	KindUpdateServiceEnvironment Kind = "UpdateServiceEnvironment"
	KindUpdateServiceJob         Kind = "UpdateServiceJob"
	KindSubmitServiceJob         Kind = "SubmitServiceJob"

	// KindResources is several requests that create resources other than jobs, by kind.
	KindResources Kind = "resources"

	// Documents about hosts, which Load reads with Options.Hosts: a CloudFormation
	// template, a launch template of EC2, and user data, which is not JSON. They have no
	// schema here.
	KindTemplate       Kind = "CloudFormation"
	KindLaunchTemplate Kind = "CreateLaunchTemplate"
	KindUserData       Kind = "user-data"

	// Documents of services that send requests to AWS Batch, which Load also reads with Options.Hosts: a definition in
	// the Amazon States Language, and the targets, schedules and pipes of Amazon EventBridge. A script of KindUserData
	// can have requests too.
	KindStateMachine Kind = "state-machine"
	KindEventBridge  Kind = "EventBridge"
)

// operationKinds lists the kinds that operationTable recognizes, with the member that names what the request is about.
var operationKinds = map[Kind]string{
	KindUpdateComputeEnvironment: "computeEnvironment", KindUpdateJobQueue: "jobQueue",
	KindUpdateSchedulingPolicy:   "arn",
	KindUpdateConsumableResource: "consumableResource", KindUpdateQuotaShare: "quotaShareArn",
	KindUpdateServiceEnvironment: "serviceEnvironment",
	KindUpdateServiceJob:         "jobId", KindSubmitServiceJob: "jobName",
}

// kinds lists every other kind with the member that contains its name. If two kinds match a
// document equally well, the first one is chosen.
var kinds = [...]struct {
	kind Kind
	name string
}{
	{KindJob, "name"},
	{KindWorkflow, "name"},
	{KindPlatform, ""},
	{KindJobList, ""},
	{KindResources, ""},
	{KindJobDefinition, "jobDefinitionName"},
	{KindSubmitJob, "jobName"},
	{KindComputeEnvironment, "computeEnvironmentName"},
	{KindJobQueue, "jobQueueName"},
	{KindSchedulingPolicy, "name"},
	{KindConsumableResource, "consumableResourceName"},
	{KindQuotaShare, "quotaShareName"},
	{KindServiceEnvironment, "serviceEnvironmentName"},
}

// ResourceList is a member of a document of KindResources: a list of requests of one kind.
type ResourceList struct {
	Member string
	Kind   Kind
}

// ResourceLists are the lists of a document of KindResources, in the order in which their resources are created.
var ResourceLists = [...]ResourceList{
	{"schedulingPolicies", KindSchedulingPolicy},
	{"consumableResources", KindConsumableResource},
	{"serviceEnvironments", KindServiceEnvironment},
	{"computeEnvironments", KindComputeEnvironment},
	{"jobQueues", KindJobQueue},
	{"quotaShares", KindQuotaShare},
}

// NameMember returns the member that holds the name of a document of that kind, and
// "" for a kind that has no names.
func (k Kind) NameMember() string {
	for _, known := range kinds {
		if known.kind == k {
			return known.name
		}
	}
	return operationKinds[k]
}

// Command returns the AWS CLI's command for a request of the kind:
// "aws batch submit-job" for SubmitJob.
func (k Kind) Command() string {
	var b strings.Builder
	b.WriteString("aws batch ")
	for i, r := range string(k) {
		if i > 0 && unicode.IsUpper(r) {
			b.WriteByte('-')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// KindOfCommand returns the kind of the request that a subcommand of aws batch sends, such as submit-job; "" for
// requests that batchctl does not check.
func KindOfCommand(subcommand string) Kind {
	for _, k := range kinds {
		if k.kind.native() && k.kind.Command() == "aws batch "+subcommand {
			return k.kind
		}
	}
	for k := range operationKinds {
		if k.Command() == "aws batch "+subcommand {
			return k
		}
	}
	return ""
}

// native reports whether the kind is an AWS request.
func (k Kind) native() bool {
	return k != KindJob && k != KindWorkflow && k.NameMember() != ""
}

// createsResources reports whether a document of the kind creates something other than jobs.
func (k Kind) createsResources() bool {
	return k == KindResources || slices.ContainsFunc(ResourceLists[:], func(l ResourceList) bool { return l.Kind == k })
}

// base turns the names of the embedded schemas into URLs.
const base = "embed:///"

// location returns the location of a kind's schema.
func (k Kind) location() string {
	switch k {
	case KindJob, KindWorkflow, KindPlatform:
		return base + string(k) + ".schema.json"
	case KindJobList, KindResources:
		return base + map[Kind]string{KindJobList: "joblist", KindResources: "resources"}[k] + ".schema.json"
	}
	return base + "native.schema.json#/$defs/" + string(k)
}
