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
var measureMember = member{name: "measure", find: findMeasure}

// measure reads whether the attempts of a job are measured. Defaults of a platform file apply to all jobs, so they
// have no effect where nothing can be measured.
func (l *lowering) measure(job *Job, o Options) {
	m := l.job.Get("measure")
	if !isTrue(m) || l.means == byNothing {
		return
	}
	byDefault := o.Platform != nil && o.Platform.Defaults != nil && m.Source == o.Platform.Defaults.Source
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
