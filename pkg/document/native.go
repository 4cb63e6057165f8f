package document

import (
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// NoNative returns why AWS requests cannot express a job, and a hint. It returns "" for a
// job that Native converts without loss.
func NoNative(job *Job) (why, hint string) {
	for _, m := range members {
		if m.noNative == nil {
			continue
		}
		if why, hint = m.noNative(job); why != "" {
			return why, hint
		}
	}
	return "", ""
}

// submitInstead is the hint for a job that requests cannot express.
const submitInstead = "submit the job file itself, or print its requests: batchctl plan"

// Native returns copies of the two requests of a job for which NoNative returns "". A
// dependency by name, which a request cannot express yet, becomes "${name}" in the submission.
func Native(job *Job) (register, submit *jsontree.Node) {
	register, submit = job.Register.Clone(), job.Submit.Clone()
	for _, m := range members {
		if m.native != nil {
			m.native(job, register, submit)
		}
	}
	return register, submit
}

// ownOverrides returns the overrides of a submission. It creates missing ones.
func ownOverrides(submit *jsontree.Node) *jsontree.Node {
	overrides := submit.Get("containerOverrides")
	if overrides == nil {
		overrides = jsontree.NewObject(submit)
		submit.Set("containerOverrides", overrides)
	}
	return overrides
}

// addVariable appends an environment variable to a container or to overrides.
func addVariable(box *jsontree.Node, name, value string) {
	environment := box.Get("environment")
	if environment == nil {
		environment = jsontree.NewArray(box)
		box.Set("environment", environment)
	}
	v := jsontree.NewObject(box)
	v.Set("name", jsontree.NewString(name, box))
	v.Set("value", jsontree.NewString(value, box))
	environment.Append(v)
}

// setCommand replaces the command of a container or of overrides.
func setCommand(box *jsontree.Node, words []string) {
	command := jsontree.NewArray(box)
	for _, word := range words {
		command.Append(jsontree.NewString(word, box))
	}
	box.Set("command", command)
}

// Requests are the two requests of one job; either may be nil.
type Requests struct{ Register, Submit *jsontree.Node }

// NativeEach returns copies of the requests of jobs that belong together, as Native does
// for one. Dependencies refer to jobNames, which can differ from the names in a workflow.
func NativeEach(jobs []*Job) []Requests {
	called := map[string]string{}
	for _, job := range jobs {
		if name := job.Submit.Get("jobName"); name != nil {
			called[job.Name] = name.Str()
		}
	}
	var out []Requests
	for _, job := range jobs {
		register, submit := Native(job)
		callAgain(submit.Get("dependsOn"), called)
		out = append(out, Requests{register, submit})
	}
	return out
}

// callAgain changes references to jobs of a workflow to their jobNames.
func callAgain(dependsOn *jsontree.Node, called map[string]string) {
	for d := range dependsOn.Children() {
		id := d.Get("jobId")
		name, err := reference(id.Str())
		if other, known := called[name]; err == nil && known {
			d.Set("jobId", jsontree.NewString(referenceTo(other), id))
		}
	}
}
