package document

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/sweep"
)

// Compact returns the compact job that lowers to the same two requests. Members without
// a short form go into its jobDefinition and submitJob. Either request may be nil; both
// must be free of comments, as Load returns them. A dependency on "${name}" becomes one by
// name. The job has the name of the submission, or of the definition if there is no
// submission.
//
// It returns nil if the compact form cannot express the requests: a definition in which
// nothing runs, or a submission to a definition other than the given one.
func Compact(register, submit *jsontree.Node) *jsontree.Node {
	var metrics, measure, rungs *jsontree.Node
	if fragmentName(register) == "" {
		submit, rungs = withoutRungs(submit) // added after the metrics
		submit, metrics = withoutMetrics(submit)
		register, submit, measure = withoutUsage(register, submit)
	}
	c := &compaction{register: register, submit: submit, main: register, taken: map[*jsontree.Node]bool{}}
	if register == nil {
		c.main = submit
	}
	if !c.possible() {
		return nil
	}
	c.job = jsontree.NewObject(c.main)
	c.identity()
	c.container()
	c.job.Set("metrics", metrics)
	c.job.Set("onFailure", rungs)
	c.job.Set("measure", measure)
	c.move("retryStrategy", c.main.Get("retryStrategy"), attempts)
	c.move("timeout", c.main.Get("timeout"), duration)
	c.placement()
	c.job.Set("jobDefinition", c.rest(register))
	c.job.Set("submitJob", c.rest(submit))
	return c.job
}

// NoCompact reports texts of a request that a job file cannot contain: AWS Batch takes ${{
// matrix.lr }} literally, but in a job file it is a reference. The request may be nil.
func NoCompact(request *jsontree.Node) diag.List {
	var r referring
	r.literal(request)
	return r.diags
}

// literal reports the texts at and below a node that would become references.
func (r *referring) literal(n *jsontree.Node) {
	if strings.Contains(n.Str(), referenceMark) {
		for _, ref := range sweep.References(n.Text) {
			r.blame(n, ref, "change the text, or keep the request: validate, plan and submit accept it too",
				"%s is plain text here, but in a job file it would be the value of a child", clip(n.Text[ref.From:ref.To]))
		}
	}
	for child := range n.Children() {
		r.literal(child)
	}
}

// NoNative returns why AWS requests cannot express a job, and a hint. It returns "" for a
// job that Native converts without loss.
func NoNative(job *Job) (why, hint string) {
	const submit = "submit the job file itself, or print its requests: batchctl plan"
	switch source := ArraySource(job.Array); {
	case source != nil:
		return fmt.Sprintf("AWS Batch gives all children of an array the same request, so %s has no native form", source.Name), submit
	case job.Array.Get("maxParallel") != nil:
		return "AWS Batch has no limit on children that run at once, so maxParallel has no native form", submit
	case job.localPlace() != nil:
		return fmt.Sprintf("a request contains no files, so the local path %s has no native form", strconv.Quote(job.localPlace().Text)), submit
	case job.Checkpoint != nil && job.Checkpoint.IsStaged():
		return "the checkpoint is in the target's staging location, which a request cannot name, so it has no native form", `write "to": "s3://bucket/prefix/"`
	case job.IsStaged() && commandOf(job) == nil:
		return "inputs, outputs and checkpoints need the job's command, and this job has none, so they have no native form",
			`give the job a "command"`
	case len(job.Notify) > 0:
		return "AWS Batch sends no messages, so notify has no native form", submit
	case job.When != "":
		return fmt.Sprintf("AWS Batch starts a job only after all its dependencies have succeeded, so \"when\": %q has no native form", job.When), submit
	case len(job.Earlier) > 0:
		return fmt.Sprintf("AWS Batch accepts only job ids as dependencies, so the dependency on %q has no native form", job.Earlier[0].Job),
			"write its id as jobId in dependsOn: batchctl list shows it"
	}
	return "", ""
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

// possible reports whether the requests have the parts of a compact job: a definition with
// an image, or several containers, or a submission that names a definition.
func (c *compaction) possible() bool {
	switch {
	case c.main == nil:
		return false
	case c.register == nil:
		return c.submit.Get("jobDefinition") != nil
	case c.submit != nil && c.submit.Get("jobDefinition").Str() != c.register.Get("jobDefinitionName").Str():
		return false
	}
	return fragmentName(c.register) != "" || c.register.Get("containerProperties").Get("image") != nil
}

// drop removes a member that lowering adds automatically.
func (c *compaction) drop(from *jsontree.Node, implied string) {
	if from != nil && from.Str() == implied {
		c.taken[from] = true
	}
}

// identity moves the names of the job and of its definition, and what runs.
func (c *compaction) identity() {
	if c.register == nil {
		c.move("name", c.submit.Get("jobName"))
		c.move("definition", c.submit.Get("jobDefinition"))
		return
	}
	definition := c.register.Get("jobDefinitionName")
	name := definition
	if job := c.submit.Get("jobName"); job != nil {
		name = job
	}
	c.move("name", name)
	c.drop(definition, name.Str())
	c.drop(c.submit.Get("jobDefinition"), definition.Str())
	implied := "container"
	if c.register.Get("nodeProperties") != nil {
		implied = "multinode"
	}
	c.drop(c.register.Get("type"), implied)
}

// container moves the members of a container: from the definition, or from the overrides
// of a registered definition.
func (c *compaction) container() {
	box := c.submit.Get("containerOverrides")
	if c.register != nil {
		box = c.register.Get("containerProperties")
		if fragmentName(c.register) != "" {
			box = nil // a job with a fragment cannot have these members
		}
	}
	c.move("image", box.Get("image"))
	unstage := c.unstaged(box)
	c.move("command", box.Get("command"), unstage.command)
	c.move("parameters", c.main.Get("parameters"))
	c.resources(box)
	c.environment(box.Get("environment"), unstage)
	c.job.Set("inputs", unstage.inputs)
	c.job.Set("outputs", unstage.outputs)
	c.job.Set("checkpoint", unstage.checkpoint)
	c.move("secrets", box.Get("secrets"), asMapOf("valueFrom"))
	for _, name := range containerMembers {
		if m := c.rest(box.Get(name)); m != nil {
			c.job.Set(name, m)
			c.taken[box.Get(name)] = true
		}
	}
}

// resources moves the requirements, if all of them have a short form, and the shared
// memory.
func (c *compaction) resources(box *jsontree.Node) {
	list := box.Get("resourceRequirements")
	resources := shortResources(list)
	if resources != nil {
		c.taken[list] = true
	} else {
		resources = jsontree.NewObject(list)
	}
	shared := box.Get("linuxParameters").Get("sharedMemorySize")
	if short := shortSize(shared); short != nil {
		resources.Set("sharedMemory", short)
		c.taken[shared] = true
	}
	if resources.Len() > 0 {
		c.job.Set("resources", resources)
	}
}

// placement moves the queue, the dependencies, the share and the tags.
func (c *compaction) placement() {
	c.move("queue", c.submit.Get("jobQueue"))
	if depends := c.submit.Get("dependsOn"); depends.Len() > 0 {
		c.move("dependsOn", depends, byNames)
	}
	if array := c.submit.Get("arrayProperties"); array.Get("size") != nil {
		c.move("array", array)
	}
	c.move("shareIdentifier", c.submit.Get("shareIdentifier"))
	priority, consumables := "schedulingPriority", "consumableResourceProperties"
	if c.register == nil {
		priority, consumables = "schedulingPriorityOverride", "consumableResourcePropertiesOverride"
	}
	c.move("schedulingPriority", c.main.Get(priority))
	c.move("platformCapabilities", c.register.Get("platformCapabilities"))
	c.move("consumableResourceProperties", c.main.Get(consumables))
	for _, name := range [...]string{"tags", "propagateTags"} {
		c.both(name)
	}
}

// both moves a member that the job gives to both requests.
func (c *compaction) both(name string) {
	m, other := c.main.Get(name), c.submit.Get(name)
	if c.submit != nil && !reflect.DeepEqual(m.Value(), other.Value()) {
		return
	}
	c.move(name, m)
	c.taken[other] = true
}

// rest returns a copy of the members that were not moved; nil if there are no such
// members.
func (c *compaction) rest(n *jsontree.Node) *jsontree.Node {
	if n == nil || c.taken[n] {
		return nil
	}
	if !n.Is(jsontree.Object) || n.Len() == 0 {
		return n.Clone()
	}
	out := jsontree.NewObject(n)
	for m := range n.Children() {
		out.Set(m.Name, c.rest(m))
	}
	if out.Len() == 0 {
		return nil
	}
	return out
}
