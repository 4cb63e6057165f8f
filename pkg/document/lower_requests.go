package document

import (
	"github.com/batchctl/batchctl/pkg/jsontree"
)

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
	r.Set("retryStrategy", retryStrategy(&l.part, l.job.Get("retryStrategy")))
	r.Set("timeout", timeout(&l.part, l.job.Get("timeout")))
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
	c.Set("resourceRequirements", resourceRequirements(&l.part, l.job.Get("resources")))
	c.Set("environment", pairs(l.arena, l.job.Get("environment"), "value"))
	c.Set("secrets", pairs(l.arena, l.job.Get("secrets"), "valueFrom"))
	for _, name := range containerMembers {
		c.Set(name, l.get(name))
	}
	sharedMemory(&l.part, l.job, c)
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
	s.Set("dependsOn", jobIDs(l.arena, l.job.Get("dependsOn")))
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
	c.Set("environment", pairs(l.arena, l.job.Get("environment"), "value"))
	c.Set("resourceRequirements", resourceRequirements(&l.part, l.job.Get("resources")))
	if c.Len() > 0 {
		s.Set("containerOverrides", c)
	}
	s.Set("parameters", l.get("parameters"))
	s.Set("retryStrategy", retryStrategy(&l.part, l.job.Get("retryStrategy")))
	s.Set("timeout", timeout(&l.part, l.job.Get("timeout")))
	s.Set("schedulingPriorityOverride", l.get("schedulingPriority"))
	s.Set("consumableResourcePropertiesOverride", l.get("consumableResourceProperties"))
}
