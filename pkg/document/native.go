package document

import (
	"fmt"
	"strconv"

	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/ladder"
	"github.com/batchctl/batchctl/pkg/results"
	"github.com/batchctl/batchctl/pkg/stage"
	"github.com/batchctl/batchctl/pkg/usage"
)

// NoNative returns why AWS requests cannot express a job, and a hint. It returns "" for a
// job that Native converts without loss.
func NoNative(job *Job) (why, hint string) {
	const submit = "submit the job file itself, or print its requests: batchctl plan"
	switch source := ArraySource(job.Array); {
	case source != nil:
		return fmt.Sprintf("AWS Batch gives all children of an array the same request, so %s has no native form",
			source.Name), submit
	case job.Array.Get("maxParallel") != nil:
		return "AWS Batch has no limit on children that run at once, so maxParallel has no native form", submit
	case job.localPlace() != nil:
		return fmt.Sprintf("a request cannot contain files, so the local path %s has no native form",
			strconv.Quote(job.localPlace().Text)), submit
	case job.Checkpoint != nil && job.Checkpoint.IsStaged():
		return "the checkpoint is in the target's staging location, which a request cannot name, so it has no native form", `write "to": "s3://bucket/prefix/"`
	case job.IsStaged() && commandOf(job) == nil:
		return "inputs, outputs and checkpoints need the job's command, and this job has none, so they have no native form",
			`give the job a "command"`
	case len(job.Notify) > 0:
		return "AWS Batch does not send messages, so notify has no native form", submit
	case job.When != "":
		return fmt.Sprintf("AWS Batch starts a job only after all its dependencies have succeeded, so \"when\": %q has no native form", job.When), submit
	case len(job.Earlier) > 0:
		return fmt.Sprintf("AWS Batch accepts only job ids as dependencies, so the dependency on %q has no native form",
				job.Earlier[0].Job),
			"write its id as jobId in dependsOn: batchctl list shows it"
	}
	return "", ""
}

// localPlace returns the first local source or destination of the job; nil without one.
func (j *Job) localPlace() *jsontree.Node {
	for _, in := range j.Inputs {
		if IsLocal(in.Source.Text) {
			return in.Source
		}
	}
	for _, out := range j.Outputs {
		if IsLocal(out.Destination.Text) {
			return out.Destination
		}
	}
	return nil
}

// Native returns copies of the two requests of a job for which NoNative returns "". A
// dependency by name, which a request cannot express yet, becomes "${name}" in the submission.
func Native(job *Job) (register, submit *jsontree.Node) {
	register, submit = job.Register.Clone(), job.Submit.Clone()
	stageNative(job, register, submit)
	measureUsageNative(job, register, submit)
	measureNative(job, submit)
	climbNative(job, submit)
	if submit == nil || len(job.DependsOn) == 0 {
		return register, submit
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
	return register, submit
}

// stageNative adds a job's inputs and outputs to copies of its requests, as pkg/plan does
// for requests that are sent.
func stageNative(job *Job, register, submit *jsontree.Node) {
	if !job.IsStaged() || commandOf(job) == nil {
		return // NoNative reports it
	}
	box := submit.Get("containerOverrides")
	if box.Get("command").Len() == 0 {
		box = register.Get("containerProperties")
	}
	command := jsontree.NewArray(box)
	var args []string
	for n := range box.Get("command").Children() {
		args = append(args, n.Str())
	}
	for _, arg := range StagedCommand("", args) {
		command.Append(jsontree.NewString(arg, box))
	}
	box.Set("command", command)
	if register != nil {
		box = register.Get("containerProperties")
	}
	environment := box.Get("environment").Clone()
	if environment == nil {
		environment = jsontree.NewArray(box)
	}
	v := jsontree.NewObject(box)
	v.Set("name", jsontree.NewString(stage.Variable, box))
	v.Set("value", jsontree.NewString(StageText(job.Document()), box))
	environment.Append(v)
	box.Set("environment", environment)
}

// measureUsageNative adds the measurement of a job to copies of its requests, as pkg/plan does for requests that are
// sent.
func measureUsageNative(job *Job, register, submit *jsontree.Node) {
	if job.Measure == nil {
		return
	}
	if task := register.Get(ecsProperties).Get("taskProperties").Index(0); task != nil {
		for c := range task.Get("containers").Children() {
			addVariable(c, usage.Variable, "1")
		}
		return
	}
	overrides := submit.Get("containerOverrides")
	if overrides == nil {
		overrides = jsontree.NewObject(submit)
		submit.Set("containerOverrides", overrides)
	}
	addVariable(overrides, usage.Variable, "1")
	box := overrides
	if box.Get("command").Len() == 0 {
		box = register.Get("containerProperties")
	}
	if box.Get("command").Len() > 0 {
		setCommand(box, MeasuredCommand(texts(box.Get("command"))))
	}
}

// measureNative adds the metrics of a job to a copy of its submission, as pkg/plan does for requests that are sent.
func measureNative(job *Job, submit *jsontree.Node) {
	if len(job.Metrics) == 0 {
		return
	}
	environmentOf(submit).Append(newVariable(results.MetricsVariable, results.FormatMetrics(job.Metrics), submit))
}

// climbNative adds the rungs of a job to a copy of its submission, as pkg/plan does for requests that are sent.
func climbNative(job *Job, submit *jsontree.Node) {
	if len(job.Rungs) == 0 {
		return
	}
	text := job.Ladder(func(queue string) string { return queue }).Format()
	environmentOf(submit).Append(newVariable(ladder.Variable, text, submit))
}

// environmentOf returns the list of variables in a submission's overrides. It creates a missing one.
func environmentOf(submit *jsontree.Node) *jsontree.Node {
	overrides := submit.Get("containerOverrides")
	if overrides == nil {
		overrides = jsontree.NewObject(submit)
		submit.Set("containerOverrides", overrides)
	}
	environment := overrides.Get("environment")
	if environment == nil {
		environment = jsontree.NewArray(overrides)
		overrides.Set("environment", environment)
	}
	return environment
}

// newVariable returns an entry of an environment.
func newVariable(name, value string, from *jsontree.Node) *jsontree.Node {
	v := jsontree.NewObject(from)
	v.Set("name", jsontree.NewString(name, from))
	v.Set("value", jsontree.NewString(value, from))
	return v
}

// addVariable appends an environment variable to a container or to overrides.
func addVariable(box *jsontree.Node, name, value string) {
	environment := box.Get("environment").Clone()
	if environment == nil {
		environment = jsontree.NewArray(box)
	}
	v := jsontree.NewObject(box)
	v.Set("name", jsontree.NewString(name, box))
	v.Set("value", jsontree.NewString(value, box))
	environment.Append(v)
	box.Set("environment", environment)
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
