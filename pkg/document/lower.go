package document

import (
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// lower returns the job with its requests, for a compact job and its defaults.
func lower(job *jsontree.Node, defaults layers, o Options) (*Job, diag.List) {
	merged, m := defaults.under(job)
	l := &lowering{job: merged, means: m, options: o, part: part{arena: o.Arena.tree()}, spoilt: defaults.spoilt,
		unreadable: defaults.unreadable}
	if m == byNothing && !defaults.lost {
		l.report(RuleMissingMember, merged, brace(merged),
			`add "image", or "definition" for a registered job definition`,
			"the job has neither an image nor a definition")
	}
	l.conflicts()
	out := o.Arena.job()
	out.Name, out.Array, out.Waivers = merged.Get("name").Str(), merged.Get("array"), waiversOf(job, defaults.workflow)
	if out.Array != nil {
		l.sweep = l.cells()
		l.dropCommand()
	}
	if m != byName {
		out.Register = l.register()
	}
	out.Submit = l.submit(out.Register)
	overlay(out.Submit, o)
	for _, m := range members {
		if m.read == nil || m.isForeign(l.means) {
			continue
		}
		n := l.job.Get(m.name)
		if n == nil {
			continue
		}
		if !m.oneContainer || n.Len() == 0 || l.hasOneContainer(out, n, m.with("work")) {
			m.read(l, n, out)
		}
	}
	l.checkCommand(out)
	if (out.Array != nil || defaults.references) && !l.spoilt {
		l.references(out)
	}
	out.Sweep = l.sweep
	if len(l.diags) == 0 && !defaults.faulty {
		l.complete(out)
	}
	return out, l.diags
}

// conflicts reports members that have no effect together with other members.
func (l *lowering) conflicts() {
	if shared := l.job.Get("resources").Get("sharedMemory"); shared != nil && l.means == byName {
		l.conflict(&resourcesMember, shared)
	}
	for _, m := range members {
		if !m.isForeign(l.means) {
			continue
		}
		if n := l.job.Get(m.name); n != nil {
			l.conflict(m, n)
		}
	}
	if m := l.job.Get("submitJob").Get("jobDefinition"); m != nil {
		l.report(RuleMemberConflict, m, m.Key, `give it as "definition" beside "name"`,
			"submitJob cannot change the job definition")
	}
}

// conflict reports a member that has no effect with the way in which the job says what it
// runs.
func (l *lowering) conflict(m *member, n *jsontree.Node) {
	switch {
	case l.means == byName && n.Name == "image":
		l.report(RuleMemberConflict, n, n.Key, "keep one of them", "image and definition exclude each other")
	case l.means == byFragment && m.oneContainer:
		l.report(RuleMemberConflict, n, n.Key, `write the job with "image", or with "definition" and "command"`,
			"%s a job with one container, and this job has jobDefinition.%s", m.with("need"),
			fragmentName(l.job.Get("jobDefinition")))
	case l.means == byName:
		l.report(RuleMemberConflict, n, n.Key, `remove it, or write "image" in place of "definition"`,
			"%s cannot change in a registered definition", n.Name)
	default:
		fragment := fragmentName(l.job.Get("jobDefinition"))
		l.report(RuleMemberConflict, n, n.Key, "write it in "+fragment,
			"%s has no effect beside jobDefinition.%s", n.Name, fragment)
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

// checkDefaults reports the mistakes in the defaults of a platform file, even without a job. Every job reads these
// units again. references is true if a text of the file may refer to the values of an array.
func checkDefaults(defaults *jsontree.Node, references bool) diag.List {
	l := &lowering{job: defaults}
	l.container()
	timeout(l, defaults.Get("timeout"))
	readMetrics(l, defaults.Get("metrics"), &Job{})
	if references && defaults.Get("array") == nil {
		r := &referring{}
		r.misplaced(defaults, "defaults apply to every job, but the values of a child belong to one job")
		l.diags = append(l.diags, r.diags...)
	}
	return l.diags
}
