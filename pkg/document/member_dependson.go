package document

import (
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// dependsOnMember is the jobs that a job waits for.
var dependsOnMember = member{name: "dependsOn", in: inSubmission, lower: jobIDs, raise: byNames}

// jobIDs returns the dependencies in the form of SubmitJob: those on submitted jobs, and a
// SEQUENTIAL dependency of an array on itself, which names no job.
func jobIDs(l *lowering, depends *jsontree.Node) *jsontree.Node {
	list := l.arena.New(jsontree.Array, "", depends)
	for d := range depends.Children() {
		if d.Is(jsontree.Object) && d.Get("job") == nil && d.Get("jobName") == nil {
			list.Append(l.arena.Clone(d))
		}
	}
	if list.Len() == 0 {
		return nil
	}
	return list
}

// dependencies returns the dependencies by name: on jobs of the same file, and on those
// that were submitted before.
func dependencies(p *problems, depends *jsontree.Node) (here, earlier []Dependency) {
	for d := range depends.Children() {
		job, before := d.Get("job"), d.Get("jobName")
		switch {
		case d.Is(jsontree.String):
			here = append(here, Dependency{Job: d.Text, Node: d})
		case job != nil:
			here = append(here, Dependency{Job: job.Str(), Type: d.Get("type").Str(), Node: d})
			alone(p, d, "job", "jobId", "jobName")
		case before != nil:
			earlier = append(earlier, Dependency{Job: before.Str(), Type: d.Get("type").Str(), Node: d})
			alone(p, d, "jobName", "jobId")
		}
	}
	return here, earlier
}

// alone reports members that name another job in a dependency that names one already.
func alone(p *problems, d *jsontree.Node, first string, others ...string) {
	for _, name := range others {
		if m := d.Get(name); m != nil {
			p.report(RuleMemberConflict, m, m.Key, "keep one of them", "%s and %s exclude each other", first, name)
		}
	}
}

// whenOf returns in which case the job runs; "" for the default of AWS Batch.
func whenOf(when *jsontree.Node) string {
	switch text := when.Str(); text {
	case WhenAlways, WhenFailure:
		return text
	}
	return ""
}

// byNames converts dependencies on ${name} to those of a workflow.
func byNames(list *jsontree.Node) *jsontree.Node {
	if list.Len() == 0 {
		return nil
	}
	out := jsontree.NewArray(list)
	for d := range list.Children() {
		id, typ := d.Get("jobId"), d.Get("type")
		name, err := reference(id.Str())
		switch {
		case err != nil || typ != nil && typ.Str() == "":
			out.Append(d.Clone())
		case typ == nil:
			out.Append(jsontree.NewString(name, d))
		default:
			entry := jsontree.NewObject(d)
			entry.Set("job", jsontree.NewString(name, id))
			entry.Set("type", typ.Clone())
			out.Append(entry)
		}
	}
	return out
}
