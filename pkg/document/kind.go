package document

import (
	"strings"
	"unicode"
)

// Kind says which document a file is.
type Kind string

// The documents batchctl reads. Those named after an operation hold that AWS
// request in its native form, as `aws batch ... --cli-input-json` reads it.
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

	// Those about hosts, which Load reads where Options.Hosts asks for them: a template
	// of CloudFormation, a launch template of EC2, and the user data of an instance, the
	// one document that is no JSON. They have no schema here.
	KindTemplate       Kind = "CloudFormation"
	KindLaunchTemplate Kind = "CreateLaunchTemplate"
	KindUserData       Kind = "user-data"
)

// kinds is every document there is, and the member that holds its name. Of two
// kinds that fit a document equally well the first one is meant.
var kinds = [...]struct {
	kind Kind
	name string
}{
	{KindJob, "name"},
	{KindWorkflow, "name"},
	{KindPlatform, ""},
	{KindJobList, ""},
	{KindJobDefinition, "jobDefinitionName"},
	{KindSubmitJob, "jobName"},
	{KindComputeEnvironment, "computeEnvironmentName"},
	{KindJobQueue, "jobQueueName"},
	{KindSchedulingPolicy, "name"},
	{KindConsumableResource, "consumableResourceName"},
}

// name returns the member that holds the name of a document of that kind, and
// "" for a kind that has no names.
func (k Kind) name() string {
	for _, known := range kinds {
		if known.kind == k {
			return known.name
		}
	}
	return ""
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

// native reports whether the kind is an AWS request.
func (k Kind) native() bool {
	return k != KindJob && k != KindWorkflow && k.name() != ""
}

// base makes the names of the embedded schemas into URLs.
const base = "embed:///"

// location is where the schema of a kind stands.
func (k Kind) location() string {
	switch k {
	case KindJob, KindWorkflow, KindPlatform:
		return base + string(k) + ".schema.json"
	case KindJobList:
		return base + "joblist.schema.json"
	}
	return base + "native.schema.json#/$defs/" + string(k)
}
