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
	l.fill(r, inDefinition)
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
	l.fill(c, inContainer)
	for _, m := range members {
		if n := l.job.Get(m.name); n != nil && m.extend != nil {
			m.extend(l, n, c)
		}
	}
	return c
}

// submit builds the SubmitJob request. With a registered definition, it also contains the
// job's changes to that definition.
func (l *lowering) submit(register *jsontree.Node) *jsontree.Node {
	s := l.object(l.job)
	s.Set("jobName", l.get("name"))
	s.Set("jobQueue", l.get("queue")) // here it stays before the definition
	if register != nil {
		s.Set("jobDefinition", l.arena.Clone(register.Get("jobDefinitionName")))
	} else {
		s.Set("jobDefinition", l.get("definition"))
		c := l.object(l.job)
		if l.override(c, inContainer); c.Len() > 0 {
			s.Set("containerOverrides", c)
		}
		l.override(s, inDefinition)
	}
	l.fill(s, inSubmission)
	return merge(s, l.job.Get("submitJob"))
}

// fill adds the members of a section to it.
func (l *lowering) fill(to *jsontree.Node, in section) {
	for _, m := range members {
		if m.in&in != 0 {
			to.Set(m.nameIn(), l.lowered(m))
		}
	}
}

// override adds what a job with a registered definition changes of a section.
func (l *lowering) override(to *jsontree.Node, in section) {
	for _, m := range members {
		if m.in == in && m.override != "" {
			to.Set(m.override, l.lowered(m))
		}
	}
}

// lowered returns a member in AWS's form.
func (l *lowering) lowered(m *member) *jsontree.Node {
	if m.lower == nil {
		return l.get(m.name)
	}
	return m.lower(l, l.job.Get(m.name))
}
