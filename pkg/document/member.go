package document

import (
	"cmp"

	"github.com/batchctl/batchctl/pkg/jsontree"
)

// member is a member of a job file: what each phase does with it. A nil function means that the phase does nothing
// special. Only the schema of a member is elsewhere, in schemas/job.schema.json.
type member struct {
	name string

	// in is the part of the requests that has the member, 0 for none. The member's name there is aws; "" if it is
	// the same. In the submission of a job with a registered definition, it is override; "" if the job cannot change
	// the member there.
	in            section
	aws, override string
	// lower returns the member in AWS's form; nil copies it. The argument is nil if the job lacks the member.
	lower func(l *lowering, m *jsontree.Node) *jsontree.Node
	// extend adds the member to containerProperties if it is, or has, a part of another member there.
	extend func(l *lowering, m, container *jsontree.Node)
	// raise is the reverse of lower: it returns the member for a value in AWS's form; nil if only jobDefinition and
	// submitJob can have that value.
	raise func(value *jsontree.Node) *jsontree.Node

	// read adds the member to a job beyond its requests, and reports mistakes.
	read func(l *lowering, m *jsontree.Node, job *Job)
	// references visits the references to an array's values in what read added.
	references func(r *referring, job *Job)
	// noNative returns why AWS requests cannot express what the job has of the member, and a hint; "" if they can.
	noNative func(job *Job) (why, hint string)
	// native adds what read added to copies of the requests.
	native func(job *Job, register, submit *jsontree.Node)
	// find takes the member out of the requests if it is not one value in them. It undoes extend and native.
	find func(c *compaction)

	// foreign is how a job must not state what it runs, beyond what follows from in and oneContainer.
	foreign means
	// oneContainer means that the member works only in a job with one container. Messages call it subject; "" for the
	// name, as a plural.
	oneContainer bool
	subject      string
	// ofPlatform means that a platform file's default also applies to a job with a registered definition. Other
	// defaults would replace members of that definition.
	ofPlatform bool
	// merge merges the member of a job, or of a later layer of defaults, over an earlier one. Without it, objects
	// are merged, and other values replaced.
	merge func(below, above *jsontree.Node) *jsontree.Node
}

// section is a set of parts of the two requests.
type section uint8

const (
	// inContainer is containerProperties, or containerOverrides for a job with a registered definition.
	inContainer section = 1 << iota
	// inDefinition is RegisterJobDefinition, or SubmitJob for a job with a registered definition.
	inDefinition
	// inSubmission is SubmitJob.
	inSubmission
	inBoth = inDefinition | inSubmission
)

// members lists the members of a job in the order in which requests and job files have them.
var members = [...]*member{
	{name: "name"},
	{name: "image", in: inContainer},
	{name: "definition", foreign: byImage | byFragment},
	{name: "command", in: inContainer, override: "command"},
	{name: "parameters", in: inDefinition, override: "parameters"},
	&resourcesMember,
	&environmentMember,
	&inputsMember,
	&outputsMember,
	&checkpointMember,
	&secretsMember,
	{name: "jobRoleArn", in: inContainer},
	{name: "executionRoleArn", in: inContainer},
	{name: "user", in: inContainer},
	{name: "privileged", in: inContainer},
	{name: "readonlyRootFilesystem", in: inContainer},
	{name: "volumes", in: inContainer},
	{name: "mountPoints", in: inContainer},
	{name: "ulimits", in: inContainer},
	&tmpfsMember,
	{name: "linuxParameters", in: inContainer},
	{name: "logConfiguration", in: inContainer},
	{name: "networkConfiguration", in: inContainer},
	{name: "fargatePlatformConfiguration", in: inContainer},
	{name: "ephemeralStorage", in: inContainer},
	{name: "runtimePlatform", in: inContainer},
	{name: "repositoryCredentials", in: inContainer},
	{name: "enableExecuteCommand", in: inContainer},
	&measureMember,
	&metricsMember,
	&onFailureMember,
	&notifyMember,
	&retryStrategyMember,
	&timeoutMember,
	{name: "queue", in: inSubmission, aws: "jobQueue", ofPlatform: true},
	&dependsOnMember,
	&whenMember,
	&arrayMember,
	{name: "shareIdentifier", in: inSubmission, ofPlatform: true},
	{name: "schedulingPriority", in: inDefinition, override: "schedulingPriorityOverride"},
	{name: "platformCapabilities", in: inDefinition},
	{name: "consumableResourceProperties", in: inDefinition, override: "consumableResourcePropertiesOverride"},
	{name: "tags", in: inBoth, ofPlatform: true},
	{name: "propagateTags", in: inBoth},
	{name: "waivers"},
	{name: "jobDefinition", foreign: byName},
	{name: "submitJob", ofPlatform: true},
}

// namesOf returns the names of the members for which is is true.
func namesOf(is func(m *member) bool) (names []string) {
	for _, m := range members {
		if is(m) {
			names = append(names, m.name)
		}
	}
	return names
}

// foreign returns the names of the members that have no effect in a job that states in this way what it runs.
func (by means) foreign() []string { return namesOf(func(m *member) bool { return m.isForeign(by) }) }

// isForeign reports whether the member has no effect in a job that states in this way what it runs.
func (m *member) isForeign(by means) bool {
	switch {
	case m.foreign&by != 0:
		return true
	case by == byName: // the registered definition has them
		return m.in&(inContainer|inDefinition) != 0 && m.in&inSubmission == 0 && m.override == ""
	}
	return by == byFragment && (m.in == inContainer || m.oneContainer)
}

// nameIn returns the name of the member in its section of the requests.
func (m *member) nameIn() string { return cmp.Or(m.aws, m.name) }

// with returns the member with a verb, for a message.
func (m *member) with(verb string) string {
	if m.subject != "" {
		return m.subject + " " + verb + "s"
	}
	return m.name + " " + verb
}
