package lint

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/jsontree"
)

// parameterRules returns the rules about Ref:: placeholders. AWS Batch replaces those that
// are whole arguments of commands by parameters of the submission, or else by the defaults
// of the definition (batch.ParameterReference).
func parameterRules() []*Rule {
	return []*Rule{
		warns(over("ref-without-default", High, (*Pass).Definitions, checkDefaults,
			"The command names a parameter that has no default, so every submission without a value for it fails.",
			guide("job definition parameters")+"; the service's error quoted in public repositories")),
		over("submit-ref-unresolved", High, (*Pass).Submits, checkReferences,
			"The command names a parameter for which neither the submission nor the job definition has a value. AWS Batch rejects the submission. The rule checks arguments that are exactly Ref::name; ref-inside-word checks the others.",
			"the service's error (no parameter found for reference), quoted in public repositories"),
		rule("ref-inside-word", Low, checkInsideWords,
			"A Ref:: placeholder inside a longer argument, such as --epochs=Ref::epochs or a script. AWS documents placeholders that are a whole argument, and public job definitions have both forms. The local engine leaves a placeholder inside an argument unchanged.",
			guide("job definition parameters")+
				"; its examples have whole arguments only; hammerlab/coclobas#109 asks for a way to escape a placeholder"),
		warns(rule("parameter-unused", Medium, checkUnusedParameters,
			"A parameter of a definition or a submission that no Ref:: placeholder of the command names has no effect. Often it is a typo.",
			guide("job definition parameters"))),
	}
}

// checkDefaults reports the parameters of a command without a default, if no submission is known.
func checkDefaults(j Job) {
	if len(runs.of(j.pass)[j.Register]) > 0 {
		return // submit-ref-unresolved also sees the submission
	}
	for _, r := range commandReferences.of(j.pass)[j.Register] {
		if !r.inside && j.lacksParameter(j.Register, r.name) {
			j.Report(fmt.Sprintf("parameter %s has no default", quote(r.name)),
				fmt.Sprintf(`add "parameters": { %q: "..." }`, r.name), r.arg)
		}
	}
}

// checkReferences reports the parameters of a command without a value.
func checkReferences(j Job) {
	if j.Known() == nil {
		return
	}
	for _, r := range j.runReferences() {
		if !r.inside && !j.hasParameter(r.name) {
			j.Report(fmt.Sprintf("parameter %s has no value", quote(r.name)), parameterHint(j, r.name), r.arg)
		}
	}
}

// checkInsideWords reports the placeholders inside longer arguments.
func checkInsideWords(p *Pass) {
	for _, j := range p.Definitions() {
		checkInsideWord(j, commandReferences.of(p)[j.Register])
	}
	for _, j := range p.Submits() {
		checkInsideWord(j, commandReferences.of(p)[j.Submit])
	}
}

// checkUnusedParameters reports parameters that no command names. One that the compact form writes once is reported for
// the definition.
func checkUnusedParameters(p *Pass) {
	for _, j := range p.Definitions() {
		for param := range j.Register.Get("parameters").Children() {
			if !usesParameter(p, j, param.Name) {
				j.Report(unusedParameter(param.Name), "use it in the command as Ref::"+param.Name+", or remove it",
					param)
			}
		}
	}
	for _, j := range p.Submits() {
		if j.Known() == nil || j.Own("parameters").Len() == 0 {
			continue
		}
		used := j.runReferences()
		for param := range j.Own("parameters").Children() {
			if !refersTo(used, param.Name) && !sameLocation(param, j.Register.Get("parameters").Get(param.Name)) {
				j.Report(unusedParameter(param.Name), nearHint(param.Name, names(used)), param)
			}
		}
	}
}

// checkInsideWord reports the placeholders inside longer arguments, once for each argument.
func checkInsideWord(j Job, list []reference) {
	var last *jsontree.Node
	for _, r := range list {
		if !r.inside || r.arg == last {
			continue
		}
		last = r.arg
		hint := "pass Ref::" + r.name + " as an argument of its own, or set an environment variable"
		if flag, found := strings.CutSuffix(r.arg.Str(), "=Ref::"+r.name); found && strings.HasPrefix(flag, "-") {
			hint = fmt.Sprintf("write two arguments if the program takes them: %q, %q", flag, "Ref::"+r.name)
		}
		j.Report(fmt.Sprintf("Ref::%s is only part of an argument: AWS does not document this, and the local engine does not replace it", r.name), hint, r.arg)
	}
}

// unusedParameter is the message about a parameter that no command names.
func unusedParameter(name string) string {
	return fmt.Sprintf("no Ref::%s in the command uses parameter %s", name, quote(name))
}

// parameterHint suggests a similar parameter that has a value, or to add a value.
func parameterHint(j Job, name string) string {
	given := map[string]bool{}
	for _, list := range []*jsontree.Node{j.Submit.Get("parameters"), j.Known().Get("parameters")} {
		for param := range list.Children() {
			given[param.Name] = true
		}
	}
	if near := near(name, slices.Collect(maps.Keys(given))); near != "" {
		return "did you mean Ref::" + near + "?"
	}
	return fmt.Sprintf(`add "parameters": { %q: "..." }`, name)
}

// usesParameter reports whether a command of the definition, or of a submission that runs it,
// names the parameter.
func usesParameter(p *Pass, definition Job, parameter string) bool {
	return refersTo(commandReferences.of(p)[definition.Register], parameter) ||
		slices.ContainsFunc(runs.of(p)[definition.Register],
			func(j Job) bool { return refersTo(j.runReferences(), parameter) })
}
