package lint

import (
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// resolvedJob is a job as AWS Batch runs it: a definition with the overrides of a submission.
// Either is nil if it is unknown.
type resolvedJob struct {
	definition definition
	submit     *jsontree.Node
}

// resolved returns the job with the definition that it runs.
func (j Job) resolved() resolvedJob { return resolvedJob{definition{j.Known()}, j.Submit} }

// change is a definition that runs, or one of its node ranges, with the overrides of a
// submission.
type change struct {
	// body is the definition or the node range; nil if it is unknown. over is the
	// submission, or its override for that range; nil if there is no override.
	body, over *jsontree.Node
}

// container returns the container of a body that runs a single one.
func (c change) container() *jsontree.Node {
	return firstOf(c.body.Get("containerProperties"), c.body.Get("container"))
}

// changes yields the changes of a submission. The first is that of the whole definition,
// without its node ranges.
func (r resolvedJob) changes(yield func(change) bool) {
	if !yield(change{r.definition.Node, r.submit}) {
		return
	}
	groups := r.submit.Get("nodeOverrides").Get("nodePropertyOverrides")
	for g := range r.definition.Get("nodeProperties").Get("nodeRangeProperties").Children() {
		if !yield(change{g, withMember(groups, "targetNodes", g.Get("targetNodes").Str())}) {
			return
		}
	}
}

// commands yields the command lines that run: those of the definition, unless the
// submission overrides them.
func (c change) commands(yield func(*jsontree.Node) bool) {
	// run yields one command: the override's, or else the container's. It returns
	// false if the loop has stopped.
	run := func(container, over *jsontree.Node, member string) bool {
		command := firstOf(over.Get(member), container.Get(member))
		return command == nil || yield(command)
	}
	if !run(c.container(), c.over.Get("containerOverrides"), "command") {
		return
	}
	if c.body.Get("ecsProperties") == nil && c.body.Get("eksProperties") == nil {
		return // nearly always; the loops below cost time even so
	}
	// AWS Batch accepts one task in the definition and one in the override.
	overTask := c.over.Get("ecsPropertiesOverride").Get("taskProperties").Index(0)
	for task := range c.body.Get("ecsProperties").Get("taskProperties").Children() {
		for n := range task.Get("containers").Children() {
			if !run(n, overriding(overTask.Get("containers"), n, task.Get("containers")), "command") {
				return
			}
		}
	}
	pod, overPod := c.body.Get("eksProperties").Get("podProperties"), c.over.Get("eksPropertiesOverride").
		Get("podProperties")
	for _, list := range []string{"initContainers", "containers"} {
		for n := range pod.Get(list).Children() {
			over := overriding(overPod.Get(list), n, pod.Get(list))
			if !run(n, over, "command") || !run(n, over, "args") {
				return
			}
		}
	}
}

// overriding returns the override for a container: the one with its name, or one without
// a name if there is no other container.
func overriding(overrides, container, all *jsontree.Node) *jsontree.Node {
	if one := overrides.Index(0); all.Len() == 1 && overrides.Len() == 1 && one.Get("name").Str() == "" {
		return one
	}
	return withMember(overrides, "name", podName(container))
}

// overridesOf returns the containerOverrides of a SubmitJob request: the job's, a
// node range's, and those of the containers of ecsPropertiesOverride.
func overridesOf(submit *jsontree.Node) (overrides []*jsontree.Node) {
	body := func(body *jsontree.Node) {
		if n := body.Get("containerOverrides"); n != nil {
			overrides = append(overrides, n)
		}
		for task := range body.Get("ecsPropertiesOverride").Get("taskProperties").Children() {
			for n := range task.Get("containers").Children() {
				overrides = append(overrides, n)
			}
		}
	}
	body(submit)
	for group := range submit.Get("nodeOverrides").Get("nodePropertyOverrides").Children() {
		body(group)
	}
	return overrides
}

// overridesSize returns the length of the overrides of one container that AWS Batch sends
// to Amazon ECS, as JSON: the command with its placeholders replaced, environment and
// resources. The command is included even if only parameters change it.
func (r resolvedJob) overridesSize(c change) int {
	over := c.over.Get("containerOverrides")
	command := over.Get("command")
	if own := c.container().Get("command"); command == nil && (over != nil || r.submit.Get("parameters") != nil) {
		command = own
	}
	size := r.commandSize(command)
	for _, member := range []string{"environment", "resourceRequirements"} {
		if n := over.Get(member); n != nil {
			size += len(n.AppendJSON(nil))
		}
	}
	return size
}

// commandSize returns the length of a command as JSON, with its placeholders replaced by
// the parameters of the submission, or else of the definition.
func (r resolvedJob) commandSize(command *jsontree.Node) int {
	if command == nil {
		return 0
	}
	size := len(command.AppendJSON(nil))
	for _, ref := range addReferences(nil, command) {
		if ref.inside {
			continue // the size is the least that is certain
		}
		value := firstOf(r.submit.Get("parameters").Get(ref.name), r.definition.Get("parameters").Get(ref.name))
		if value.Is(jsontree.String) {
			size += len(value.AppendJSON(nil)) - len(`""`) - len("Ref::"+ref.name)
		}
	}
	return size
}
