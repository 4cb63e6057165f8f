package document

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/ladder"
	"github.com/batchctl/batchctl/pkg/results"
	"github.com/batchctl/batchctl/pkg/usage"
)

// withoutMetrics finds the metrics in a submission. It returns a copy of the submission without them, and the member
// of a job from which lowering adds them again; nil if it would not add the same.
func withoutMetrics(submit *jsontree.Node) (rest, metrics *jsontree.Node) {
	v, rest := cutLast(submit, results.MetricsVariable)
	if v == nil {
		return submit, nil
	}
	text := v.Get("value").Str()
	list, err := results.ListMetrics(text)
	if err != nil || len(list) == 0 || results.FormatMetrics(list) != text || strings.Contains(text, referenceMark) {
		return submit, nil
	}
	metrics = jsontree.NewObject(v)
	for _, m := range list {
		if wrong, _ := results.CheckMetricName(m.Name); wrong != "" || results.CheckExpression(m.Expression) != nil ||
			metrics.Get(m.Name) != nil {
			return submit, nil
		}
		metrics.Set(m.Name, jsontree.NewString(m.Expression, v))
	}
	return rest, metrics
}

// withoutRungs finds the rungs in a submission. It returns a copy of the submission without them, and the member of a
// job from which lowering adds them again; nil if it would not add the same.
func withoutRungs(submit *jsontree.Node) (rest, rungs *jsontree.Node) {
	v, rest := cutLast(submit, ladder.Variable)
	if v == nil {
		return submit, nil
	}
	l, err := ladder.Parse(v.Get("value").Str())
	if err != nil || len(l) == 0 || l.Format() != v.Get("value").Str() ||
		strings.Contains(v.Get("value").Str(), referenceMark) {
		return submit, nil
	}
	rungs = jsontree.NewArray(v)
	for _, r := range l {
		entry := jsontree.NewObject(v)
		entry.Set(string(r.Cause), rungNode(r, v))
		rungs.Append(entry)
	}
	return rest, rungs
}

// rungNode returns the settings of a rung as a job file has them.
func rungNode(r ladder.Rung, from *jsontree.Node) *jsontree.Node {
	n := jsontree.NewObject(from)
	if r.Cause == ladder.OutOfMemory {
		n.Set("memory", jsontree.NewString(fmt.Sprintf("x%g", r.Factor), from))
		n.Set("upTo", sizeNode(int64(r.UpToMiB), from))
	}
	if len(r.Codes) > 0 {
		codes := jsontree.NewArray(from)
		for _, c := range r.Codes {
			codes.Append(jsontree.NewInt(int64(c), from))
		}
		n.Set("codes", codes)
	}
	if r.Attempts > 0 {
		n.Set("attempts", jsontree.NewInt(int64(r.Attempts), from))
	}
	if r.After > 0 {
		n.Set("after", durationNode(int64(r.After/time.Second), from))
	}
	if r.Queue != "" {
		n.Set("queue", jsontree.NewString(r.Queue, from))
	}
	if r.Target != "" {
		n.Set("target", jsontree.NewString(r.Target, from))
	}
	return n
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
	if count != 1 || last.Len() != 2 || last.Get("name").Str() != usage.Variable || last.Get("value").
		Str() != "1" || fragmentName(register) != "" ||
		submit.Get("ecsPropertiesOverride") != nil || submit.Get("eksPropertiesOverride") != nil ||
		submit.Get("nodeOverrides") != nil {
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

// cutLast returns the last variable of a submission's environment if it has this name, and a copy of the submission
// without it; nil if another variable is last, or the submission has several containers.
func cutLast(submit *jsontree.Node, name string) (variable, rest *jsontree.Node) {
	environment := submit.Get("containerOverrides").Get("environment")
	last := environment.Len() - 1
	at := slices.IndexFunc(slices.Collect(environment.Children()), func(v *jsontree.Node) bool {
		return v.Get("name").
			Str() == name
	})
	v := environment.Index(last)
	if at < 0 || at != last || v.Len() != 2 || submit.Get("ecsPropertiesOverride") != nil ||
		submit.Get("eksPropertiesOverride") != nil || submit.Get("nodeOverrides") != nil {
		return nil, nil
	}
	others := jsontree.NewArray(environment)
	for o := range environment.Children() {
		if others.Len() < last {
			others.Append(o.Clone())
		}
	}
	rest = without(submit, []string{"containerOverrides"})
	overrides := without(submit.Get("containerOverrides"), []string{"environment"})
	if others.Len() > 0 {
		overrides.Set("environment", others)
	}
	if overrides.Len() > 0 {
		rest.Set("containerOverrides", overrides)
	}
	return v, rest
}
