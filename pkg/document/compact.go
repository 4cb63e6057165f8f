package document

import (
	"reflect"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
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
