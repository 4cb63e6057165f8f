package document

import (
	"slices"

	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/sweep"
	"github.com/batchctl/batchctl/pkg/usage"
)

// ecsProperties is the fragment with the containers of a task.
const ecsProperties = "ecsProperties"

// measureMember is whether the attempts of a job are measured.
var measureMember = member{name: "measure", read: readMeasure, native: measureNative, find: findMeasure}

// readMeasure reads whether the attempts of a job are measured. Defaults of a platform file apply to all jobs, so they
// have no effect where nothing can be measured.
func readMeasure(l *lowering, m *jsontree.Node, job *Job) {
	if !isTrue(m) || l.means == byNothing {
		return
	}
	byDefault := l.options.ofPlatform(m)
	several := l.severalContainers(job)
	switch {
	case several == nil || several.Name == ecsProperties:
	case byDefault:
		return
	default:
		l.report(RuleMemberConflict, m, m.Key,
			`write the job with "image", with "definition" and "command", or with jobDefinition.ecsProperties`,
			"measure does not work in a job with %s", several.Name)
		return
	}
	runsLines := job.Array.Get("commands") != nil
	if several == nil && commandOf(job) == nil && job.Register != nil && !runsLines &&
		launcherOf(job.Array) != sweep.Image && !byDefault && !l.spoilt && l.readable("command") {
		l.report(RuleMissingMember, m, m.Key, `add "command" with the image's own command and its arguments`,
			"measure needs the job's command: batchctl measure runs it, and does not know the image's own command")
		return
	}
	job.Measure = m
}

// findMeasure finds the measurement of a job with one container, unless lowering would not add the same.
func findMeasure(c *compaction) {
	v, submit := c.cutVariable(usage.Variable)
	if v.Get("value").Str() != "1" {
		return
	}
	register, box := c.register, submit.Get("containerOverrides")
	if box.Get("command").Len() == 0 {
		register = c.register.Clone()
		box = register.Get("containerProperties")
	}
	command := texts(box.Get("command"))
	own := command
	if n := len(usage.Launcher); len(command) > n && slices.Equal(command[:n], usage.Launcher) {
		own = command[n:]
	}
	if len(own) == 0 || !slices.Equal(MeasuredCommand(own), command) {
		return
	}
	if len(own) < len(command) {
		setCommand(box, own)
	}
	c.register, c.submit = register, submit
	c.found["measure"] = &jsontree.Node{Kind: jsontree.Bool, Text: "true", Source: v.Source, Span: v.Span}
}

// measureNative adds the measurement of a job to copies of its requests, as pkg/plan does for requests that are
// sent.
func measureNative(job *Job, register, submit *jsontree.Node) {
	if job.Measure == nil {
		return
	}
	if task := register.Get(ecsProperties).Get("taskProperties").Index(0); task != nil {
		for c := range task.Get("containers").Children() {
			addVariable(c, usage.Variable, "1")
		}
		return
	}
	box := ownOverrides(submit)
	addVariable(box, usage.Variable, "1")
	if box.Get("command").Len() == 0 {
		box = register.Get("containerProperties")
	}
	if box.Get("command").Len() > 0 {
		setCommand(box, MeasuredCommand(texts(box.Get("command"))))
	}
}
