package document

import (
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"slices"
)

// lower returns the job with its requests, for a compact job and its defaults.
func lower(job *jsontree.Node, defaults layers, o Options) (*Job, diag.List) {
	merged, m := defaults.under(job)
	l := &lowering{job: merged, means: m, arena: o.Arena, spoilt: defaults.spoilt, unreadable: defaults.unreadable}
	if m == byNothing && !defaults.lost {
		l.report(RuleMissingMember, merged, brace(merged),
			`add "image", or "definition" for a registered job definition`, "the job has neither an image nor a definition")
	}
	l.conflicts()
	out := &Job{Name: merged.Get("name").Str(), Array: merged.Get("array"), Waivers: waiversOf(job, defaults.workflow)}
	if out.Array != nil {
		l.sweep = l.differ(o)
		l.dropCommand()
	}
	if m != byName {
		out.Register = l.register()
	}
	out.Submit = l.submit(out.Register)
	overlay(out.Submit, o)
	out.DependsOn, out.Earlier = l.dependsOn()
	out.When = l.when()
	if out.Array != nil {
		l.launch(out)
	}
	l.stage(out, o)
	l.measure(out)
	l.climb(out)
	l.notify(out)
	l.measureUsage(out, o)
	if (out.Array != nil || defaults.references) && !l.spoilt {
		l.references(out)
	}
	out.Sweep = l.sweep
	if len(l.diags) == 0 && !defaults.faulty {
		l.complete(out)
	}
	return out, l.diags
}

// merge applies a fragment to a request; nil changes nothing.
func merge(request, fragment *jsontree.Node) *jsontree.Node {
	if fragment == nil {
		return request
	}
	return jsontree.Merge(request, fragment)
}

// conflicts reports members that have no effect together with other members.
func (l *lowering) conflicts() {
	if shared := l.job.Get("resources").Get("sharedMemory"); shared != nil && l.means == byName {
		l.conflict(shared)
	}
	for _, name := range l.means.foreign() {
		if m := l.job.Get(name); m != nil {
			l.conflict(m)
		}
	}
	if m := l.job.Get("submitJob").Get("jobDefinition"); m != nil {
		l.report(RuleMemberConflict, m, m.Key, `write "definition" beside "name"`, "submitJob cannot change the job definition")
	}
}

// conflict reports a member that has no effect with the way in which the job says what it
// runs.
func (l *lowering) conflict(m *jsontree.Node) {
	switch {
	case l.means == byName && m.Name == "image":
		l.report(RuleMemberConflict, m, m.Key, "keep one of them", "image and definition exclude each other")
	case l.means == byFragment && slices.Contains([]string{"inputs", "outputs", "checkpoint", "metrics", "onFailure"}, m.Name):
		l.report(RuleMemberConflict, m, m.Key, `write the job with "image", or with "definition" and "command"`,
			"%s a job with one container, and this job has jobDefinition.%s", needs(m.Name), fragmentName(l.job.Get("jobDefinition")))
	case l.means == byName:
		l.report(RuleMemberConflict, m, m.Key, `remove it, or write "image" in place of "definition"`,
			"%s cannot change in a registered definition", m.Name)
	default:
		fragment := fragmentName(l.job.Get("jobDefinition"))
		l.report(RuleMemberConflict, m, m.Key, "write it in "+fragment,
			"%s has no effect beside jobDefinition.%s", m.Name, fragment)
	}
}

// complete checks the requests against their own schemas. jobDefinition and submitJob are
// fragments, so missing members show only in the whole request.
func (l *lowering) complete(job *Job) {
	if l.job.Get("jobDefinition") == nil && l.job.Get("submitJob") == nil {
		return
	}
	if job.Register != nil {
		l.diags = append(l.diags, check(job.Register, KindJobDefinition).diags...)
	}
	submit := job.Submit.Clone()
	if submit.Get("jobQueue") == nil {
		submit.Set("jobQueue", jsontree.NewString("", nil)) // chosen later
	}
	l.diags = append(l.diags, check(submit, KindSubmitJob).diags...)
}

// register builds the RegisterJobDefinition request.
func (l *lowering) register() *jsontree.Node {
	r := l.object(l.job)
	r.Set("jobDefinitionName", l.get("name"))
	r.Set("type", l.jobType())
	if l.means != byFragment {
		r.Set("containerProperties", l.container())
	}
	for _, name := range [...]string{"parameters", "tags", "propagateTags", "platformCapabilities",
		"schedulingPriority", "consumableResourceProperties"} {
		r.Set(name, l.get(name))
	}
	r.Set("retryStrategy", l.retryStrategy())
	r.Set("timeout", l.timeout())
	return merge(r, l.job.Get("jobDefinition"))
}

// jobType is multinode if the job has nodeProperties. Its location is that of
// nodeProperties, since the file has no such member.
func (l *lowering) jobType() *jsontree.Node {
	if node := l.job.Get("jobDefinition").Get("nodeProperties"); node != nil {
		return jsontree.NewString("multinode", at(node, node.Key))
	}
	return l.text("container", l.job)
}

// container returns containerProperties for a job with an image.
func (l *lowering) container() *jsontree.Node {
	c := l.object(l.job)
	c.Set("image", l.get("image"))
	c.Set("command", l.get("command"))
	c.Set("resourceRequirements", l.resourceRequirements())
	c.Set("environment", l.pairs(l.job.Get("environment"), "value"))
	c.Set("secrets", l.pairs(l.job.Get("secrets"), "valueFrom"))
	for _, name := range containerMembers {
		c.Set(name, l.get(name))
	}
	l.sharedMemory(c)
	return c
}

// submit builds the SubmitJob request. With a registered definition, it also contains the
// job's changes to that definition.
func (l *lowering) submit(register *jsontree.Node) *jsontree.Node {
	s := l.object(l.job)
	s.Set("jobName", l.get("name"))
	s.Set("jobQueue", l.get("queue"))
	if register != nil {
		s.Set("jobDefinition", l.arena.Clone(register.Get("jobDefinitionName")))
	} else {
		s.Set("jobDefinition", l.get("definition"))
		l.override(s)
	}
	s.Set("arrayProperties", l.arrayProperties())
	s.Set("dependsOn", l.jobIDs())
	for _, name := range [...]string{"shareIdentifier", "tags", "propagateTags"} {
		s.Set(name, l.get(name))
	}
	return merge(s, l.job.Get("submitJob"))
}

// override adds to a submission what a job with a registered definition changes. SubmitJob
// has other names than RegisterJobDefinition for some of the members.
func (l *lowering) override(s *jsontree.Node) {
	c := l.object(l.job)
	c.Set("command", l.get("command"))
	c.Set("environment", l.pairs(l.job.Get("environment"), "value"))
	c.Set("resourceRequirements", l.resourceRequirements())
	if c.Len() > 0 {
		s.Set("containerOverrides", c)
	}
	s.Set("parameters", l.get("parameters"))
	s.Set("retryStrategy", l.retryStrategy())
	s.Set("timeout", l.timeout())
	s.Set("schedulingPriorityOverride", l.get("schedulingPriority"))
	s.Set("consumableResourcePropertiesOverride", l.get("consumableResourceProperties"))
}
