package document

import (
	"slices"

	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/sweep"
	"github.com/batchctl/batchctl/pkg/usage"
)

// ecsProperties is the fragment with the containers of a task.
const ecsProperties = "ecsProperties"

// measureUsage reads whether the attempts of a job are measured. Defaults of a platform file apply to all jobs, so they
// have no effect where nothing can be measured.
func (l *lowering) measureUsage(job *Job, o Options) {
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
		l.report(RuleMemberConflict, m, m.Key, `write the job with "image", with "definition" and "command", or with jobDefinition.ecsProperties`,
			"measure does not work in a job with %s", several.Name)
		return
	}
	runsLines := job.Array.Get("commands") != nil
	if several == nil && commandOf(job) == nil && job.Register != nil && !runsLines && launcherOf(job.Array) != sweep.Image && !byDefault && !l.spoilt && l.readable("command") {
		l.report(RuleMissingMember, m, m.Key, `add "command": the image's own command, with its arguments`,
			"measure needs the job's command: batchctl measure runs it, and does not know the image's own command")
		return
	}
	job.Measure = m
}

// MeasuredCommand returns the command line that also measures. Staging and the launcher of an array measure themselves;
// without a command, only the local engine measures.
func MeasuredCommand(command []string) []string {
	if len(command) == 0 || measuresItself(command) {
		return command
	}
	return slices.Concat(usage.Launcher, command)
}

// measuresItself reports whether a command begins with a launcher that measures.
func measuresItself(command []string) bool {
	return len(command) > 1 && command[0] == usage.Launcher[0] && slices.Contains([]string{usage.Launcher[1], stageCommand, "child"}, command[1])
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
		setCommand(box, MeasuredCommand(wordsOf(box.Get("command"))))
	}
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

// wordsOf returns the texts of a list.
func wordsOf(list *jsontree.Node) (words []string) {
	for n := range list.Children() {
		words = append(words, n.Str())
	}
	return words
}

// setCommand replaces the command of a container or of overrides.
func setCommand(box *jsontree.Node, words []string) {
	command := jsontree.NewArray(box)
	for _, word := range words {
		command.Append(jsontree.NewString(word, box))
	}
	box.Set("command", command)
}

// withoutUsage finds the measurement in the requests of a job with one container. It returns copies without it, and
// the member from which lowering adds it again; nil if it would not add the same.
func withoutUsage(register, submit *jsontree.Node) (r, s, measure *jsontree.Node) {
	overrides := submit.Get("containerOverrides")
	environment := overrides.Get("environment")
	last := environment.Index(environment.Len() - 1)
	count := 0
	for v := range environment.Children() {
		if v.Get("name").Str() == usage.Variable {
			count++
		}
	}
	if count != 1 || last.Len() != 2 || last.Get("name").Str() != usage.Variable || last.Get("value").Str() != "1" || fragmentName(register) != "" ||
		submit.Get("ecsPropertiesOverride") != nil || submit.Get("eksPropertiesOverride") != nil || submit.Get("nodeOverrides") != nil {
		return register, submit, nil
	}
	others := jsontree.NewArray(environment)
	for o := range environment.Children() {
		if others.Len() < environment.Len()-1 {
			others.Append(o.Clone())
		}
	}
	o := without(overrides, []string{"environment"})
	if others.Len() > 0 {
		o.Set("environment", others)
	}
	s = without(submit, []string{"containerOverrides"})
	inOverrides := overrides.Get("command").Len() > 0
	command := wordsOf(overrides.Get("command"))
	if !inOverrides {
		command = wordsOf(register.Get("containerProperties").Get("command"))
	}
	rest := command
	if len(command) > len(usage.Launcher) && slices.Equal(command[:len(usage.Launcher)], usage.Launcher) {
		rest = command[len(usage.Launcher):]
	}
	if len(rest) == 0 || !slices.Equal(MeasuredCommand(rest), command) {
		return register, submit, nil
	}
	r = register
	switch {
	case len(rest) == len(command):
	case inOverrides:
		setCommand(o, rest)
	default:
		r = register.Clone()
		setCommand(r.Get("containerProperties"), rest)
	}
	if o.Len() > 0 {
		s.Set("containerOverrides", o)
	}
	measure = &jsontree.Node{Kind: jsontree.Bool, Text: "true", Source: last.Source, Span: last.Span}
	return r, s, measure
}
