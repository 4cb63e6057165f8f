package lint

import (
	"fmt"
	"strings"

	"github.com/batchctl/batchctl/pkg/jsontree"
)

// environmentRules returns the rules about environment variables, which the container gets
// unchanged, and about the role that fetches secrets for them.
func environmentRules() []*Rule {
	return []*Rule{
		warns(row("env-name-reserved-prefix", High, in(where(requirers, isOwnContainer), "environment[].name"),
			unreserved,
			"Names that start with AWS_BATCH are reserved for AWS Batch, which sets such variables itself. Reports of definitions say that it accepts your variable, and that the job does not get it. The names are reserved in overrides too.",
			api("ContainerProperties.environment")+"; "+guide("job environment variables")+lostVariables)),
		rule("env-duplicate-name", Low, checkDuplicateVariables,
			"A variable is set twice. The documentation does not say which value the container sees.", "practice").
			onlyWith("environment", "env"),
		warns(row("env-empty-value", High, in(containers, "environment[]"), checkEmptyVariable,
			"AWS Batch drops the variables of a definition that have an empty value, so the container does not have them. No report says the same of overrides.",
			"reports of users and tests on AWS of Terraform's provider (hashicorp/terraform-provider-aws#26960 and #29820)")),
		rule("nul-character", High, checkNULs,
			"Arguments and variables cannot contain a NUL character, so the program would not start.",
			"Go documentation, syscall.SlicePtrFromStrings; POSIX.1-2024, exec").
			quoting("If any string contains a NUL byte, it returns (nil, [EINVAL]).").
			onlyWith("command", "environment", "args", "env"),
		warns(over("env-name-charset", High, variables.of, checkVariableName,
			"The name of a variable ends at its first equals sign, and a shell cannot read a name with a line break.",
			"POSIX.1-2024, environment variables")).onlyWith("environment", "env"),
		row("secrets-execution-role", Medium, in(containers, "secrets"), func(s Site, n *jsontree.Node, _ string) {
			if n.Len() > 0 && s.Task.Get("executionRoleArn") == nil {
				s.Report("secrets need executionRoleArn, the role that fetches them", roleHint, n)
			}
		}, "The execution role fetches secrets before the container starts, so a job with secrets needs executionRoleArn.",
			"confirmed by the service's answer in 2026-09 (cdk-preflight)"),
	}
}

// sourcesWithoutNUL tells the files none of whose strings has a NUL character: few files have one, or an escape.
var sourcesWithoutNUL = sourcesThat(func(text string) bool {
	return strings.IndexByte(text, '\\') < 0 &&
		strings.IndexByte(text, 0) < 0
})

// variable is an entry of an environment.
type variable struct {
	site        *Site // the container, the override or the pod's container
	name, value *jsontree.Node
}

// variables holds the entries of all environments: of containers, of overrides and of pods.
var variables = newFact(func(p *Pass, old []variable) []variable {
	all := old[:0]
	// The lists of containers are called environment, and those of pods env.
	add := func(sites []Site, list string) {
		for i := range sites {
			for e := range sites[i].Node.Get(list).Children() {
				all = append(all, variable{&sites[i], e.Get("name"), e.Get("value")})
			}
		}
	}
	add(requirers(p), "environment")
	add(podParts(p), "env")
	return all
})

// everyArgument visits the arguments of all commands, and the names and values of all variables.
func everyArgument(p *Pass, visit func(s *Site, n *jsontree.Node)) {
	for _, v := range variables.of(p) {
		visit(v.site, v.name)
		visit(v.site, v.value)
	}
	each := func(sites []Site, list string) {
		for i := range sites {
			for arg := range sites[i].Node.Get(list).Children() {
				visit(&sites[i], arg)
			}
		}
	}
	each(requirers(p), "command")
	each(podParts(p), "command")
	each(podParts(p), "args")
}

// checkNULs reports arguments and variables with a NUL character.
func checkNULs(p *Pass) {
	without := sourcesWithoutNUL.of(p)
	everyArgument(p, func(s *Site, n *jsontree.Node) {
		if n != nil && !without.has(n.Source) && strings.IndexByte(n.Str(), 0) >= 0 {
			s.Report("a NUL character ends an argument or variable", "use a text without \\u0000", n)
		}
	})
}

// isOwnContainer selects the container of a job, and its overrides: those of tasks, nodes and pods have rules of their
// own.
func isOwnContainer(s Site) bool { return s.Single || s.Task == nil }

// checkEmptyVariable reports a variable of a definition that is set to nothing.
func checkEmptyVariable(s Site, entry *jsontree.Node, _ string) {
	if v := entry.Get("value"); v.Is(jsontree.String) && v.Text == "" {
		s.Report(fmt.Sprintf("variable %s has an empty value: AWS Batch drops it, and the container does not have it",
			quote(entry.Get("name").Str())), "give it a value, or let the program do without it", v)
	}
}

// checkVariableName reports a name that does not survive a shell.
func checkVariableName(v variable) {
	if name := v.name.Str(); strings.ContainsAny(name, "=\n\r") {
		v.site.Report(fmt.Sprintf("variable %s: a name cannot contain an equals sign or a line break", quote(name)),
			"use only letters, digits and underscores", v.name)
	}
}

// checkDuplicateVariables reports variables that have the name of an earlier one in their list.
func checkDuplicateVariables(p *Pass) {
	for _, s := range requirers(p) {
		checkDuplicateNames(s, s.Node.Get("environment"))
	}
	for _, s := range podParts(p) {
		checkDuplicateNames(s, s.Node.Get("env"))
	}
}

// checkDuplicateNames reports variables of a list that have the name of an earlier one.
func checkDuplicateNames(s Site, list *jsontree.Node) {
	if list.Len() < 2 || list.Index(0).Key.End > 0 {
		return // built from a map, where the parser reports duplicates
	}
	seen := map[string]bool{}
	for e := range list.Children() {
		name := e.Get("name").Str()
		if name != "" && seen[name] {
			s.Report(fmt.Sprintf("variable %s is set twice", quote(name)), "keep one of them", e.Get("name"))
		}
		seen[name] = true
	}
}

// roleHint suggests an execution role, under the name that the console of ECS gives it.
const roleHint = `add "executionRoleArn": "arn:aws:iam::<account>:role/ecsTaskExecutionRole"`

// lostVariables is the part of a source with the reports of variables that jobs did not get.
const lostVariables = "; the lost variables quoted in raster-foundry/raster-foundry#2525; the lost variables quoted in azavea/raster-vision#926"

// unreserved reports the name of a variable that has the prefix of AWS Batch.
func unreserved(s Site, n *jsontree.Node, _ string) {
	if strings.HasPrefix(n.Str(), "AWS_BATCH") {
		s.Report(fmt.Sprintf("variable %s: AWS Batch reserves names that start with AWS_BATCH, and the job probably does not get the variable", quote(n.Str())),
			"choose a name that does not start with AWS_BATCH", n)
	}
}
