package document

import (
	"fmt"

	"github.com/batchctl/batchctl/pkg/jsontree"
)

// dependsOnMember is the jobs that a job waits for.
var dependsOnMember = member{name: "dependsOn", in: inSubmission, lower: jobIDs, raise: byNames,
	read: readDependencies, noNative: noNativeDependencies, native: dependenciesNative}

// whenMember is the case in which a job runs after the jobs that it waits for.
var whenMember = member{name: "when",
	read: func(_ *lowering, m *jsontree.Node, job *Job) {
		if when := m.Str(); when != WhenSuccess {
			job.When = when
		}
	},
	noNative: func(job *Job) (why, hint string) {
		if job.When == "" {
			return "", ""
		}
		return fmt.Sprintf("AWS Batch starts a job only after all its dependencies have succeeded, "+
			`so "when": %q has no native form`, job.When), submitInstead
	}}

// The values of Job.When.
const (
	WhenSuccess = "success" // the default, which Job.When does not have
	WhenAlways  = "always"
	WhenFailure = "failure"
)

// Dependency is an edge of a workflow or a job list: the job waits for the job of that name.
type Dependency struct {
	Job string
	// Type is "", "N_TO_N" or "SEQUENTIAL", as in SubmitJob.dependsOn.
	Type string
	Node *jsontree.Node
}

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

// readDependencies reads the dependencies by name: on jobs of the same file, and on those
// that were submitted before.
func readDependencies(l *lowering, depends *jsontree.Node, out *Job) {
	for d := range depends.Children() {
		job, before := d.Get("job"), d.Get("jobName")
		switch {
		case d.Is(jsontree.String):
			out.DependsOn = append(out.DependsOn, Dependency{Job: d.Text, Node: d})
		case job != nil:
			out.DependsOn = append(out.DependsOn, Dependency{Job: job.Str(), Type: d.Get("type").Str(), Node: d})
			alone(&l.problems, d, "job", "jobId", "jobName")
		case before != nil:
			out.Earlier = append(out.Earlier, Dependency{Job: before.Str(), Type: d.Get("type").Str(), Node: d})
			alone(&l.problems, d, "jobName", "jobId")
		}
	}
}

// alone reports members that name another job in a dependency that names one already.
func alone(p *problems, d *jsontree.Node, first string, others ...string) {
	for _, name := range others {
		if m := d.Get(name); m != nil {
			p.report(RuleMemberConflict, m, m.Key, "keep one of them", "%s and %s exclude each other", first, name)
		}
	}
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

func noNativeDependencies(job *Job) (why, hint string) {
	if len(job.Earlier) == 0 {
		return "", ""
	}
	return fmt.Sprintf("AWS Batch accepts only job ids as dependencies, so the dependency on %q has no native form",
		job.Earlier[0].Job), "write its id as jobId in dependsOn: batchctl list shows it"
}

// dependenciesNative adds the dependencies by name to a copy of a submission.
func dependenciesNative(job *Job, _, submit *jsontree.Node) {
	if submit == nil || len(job.DependsOn) == 0 {
		return
	}
	list := jsontree.NewArray(submit)
	for d := range submit.Get("dependsOn").Children() {
		list.Append(d.Clone())
	}
	for _, d := range job.DependsOn {
		entry := jsontree.NewObject(d.Node)
		entry.Set("jobId", jsontree.NewString(referenceTo(d.Job), d.Node))
		if d.Type != "" {
			entry.Set("type", jsontree.NewString(d.Type, d.Node))
		}
		list.Append(entry)
	}
	submit.Set("dependsOn", list)
}
