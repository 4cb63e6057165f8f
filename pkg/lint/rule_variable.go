package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// environmentRules returns the rules about environment variables, which the container gets
// unchanged, and about the role that fetches secrets for them.
func environmentRules() []*Rule {
	return []*Rule{
		(&Rule{
			Name: "env-name-reserved-prefix", Severity: diag.Warning, Confidence: High,
			Doc: "Names that start with AWS_BATCH are reserved for AWS Batch, which sets such variables itself. Reports say that it accepts your variable, and that the job does not get it.",
			Source: apiReference + ", ContainerProperties.environment; " + userGuide + ", job environment variables" +
				lostVariables,
			Run: func(p *Pass) {
				for _, c := range p.Containers() {
					if c.Single { // tasks, nodes and pods have rules of their own
						reservedNames(c.Job, c.Node.Get("environment"))
					}
				}
			},
		}).onlyWith("environment"),
		(&Rule{
			Name: "submit-env-name-reserved-prefix", Severity: diag.Warning, Confidence: Medium,
			Doc:    "Names that start with AWS_BATCH are reserved for AWS Batch, also in overrides. Reports of definitions say that the job does not get such a variable.",
			Source: apiReference + ", ContainerOverrides.environment" + lostVariables,
			Run: func(p *Pass) {
				for _, j := range p.Submits() {
					for _, o := range overridesOf(j.Submit) {
						reservedNames(j, o.Get("environment"))
					}
				}
			},
		}).onlyWith("environment"),
		(&Rule{
			Name: "env-duplicate-name", Severity: diag.Warning, Confidence: Low,
			Doc:    "A variable is set twice. The documentation does not say which value the container sees.",
			Source: "practice",
			Run: func(p *Pass) {
				for _, c := range requirers(p) {
					checkDuplicateNames(c, c.Node.Get("environment"))
				}
				for _, c := range podParts(p) {
					checkDuplicateNames(c, c.Node.Get("env"))
				}
			},
		}).onlyWith("environment", "env"),
		(&Rule{
			Name: "env-empty-value", Severity: diag.Warning, Confidence: High,
			Doc:    "AWS Batch drops the variables of a definition that have an empty value, so the container does not have them. No report says the same of overrides.",
			Source: "reports of users and tests on AWS of Terraform's provider (hashicorp/terraform-provider-aws#26960 and #29820)",
			Run: func(p *Pass) {
				for _, c := range p.Containers() {
					for e := range c.Node.Get("environment").Children() {
						if v := e.Get("value"); v.Is(jsontree.String) && v.Text == "" {
							c.Report(fmt.Sprintf("variable %s has an empty value: AWS Batch drops it, and the container does not have it", quote(e.Get("name").Str())),
								"give it a value, or let the program do without it", v)
						}
					}
				}
			},
		}).onlyWith("environment"),
		(&Rule{
			Name: "nul-character", Severity: diag.Error, Confidence: High,
			Doc:    "Arguments and variables cannot contain a NUL character, so the program would not start.",
			Source: "Go documentation, syscall.SlicePtrFromStrings; POSIX.1-2024, exec",
			Run: func(p *Pass) {
				without := sourcesWithoutNUL.of(p)
				everyArgument(p, func(s *Site, n *jsontree.Node) {
					if n != nil && !without.has(n.Source) && strings.IndexByte(n.Str(), 0) >= 0 {
						s.Report("a NUL character ends an argument or variable", "use a text without \\u0000", n)
					}
				})
			},
		}).onlyWith("command", "environment", "args", "env"),
		(&Rule{
			Name: "env-name-charset", Severity: diag.Warning, Confidence: High,
			Doc:    "The name of a variable ends at its first equals sign, and a shell cannot read a name with a line break.",
			Source: "POSIX.1-2024, environment variables",
			Run: func(p *Pass) {
				for _, v := range variables.of(p) {
					if slices.ContainsFunc([]byte(v.name.Str()), func(c byte) bool {
						return c == '=' || c == '\n' ||
							c == '\r'
					}) {
						v.site.Report(fmt.Sprintf("variable %s: a name cannot contain an equals sign or a line break",
							quote(v.name.Str())),
							"use only letters, digits and underscores", v.name)
					}
				}
			},
		}).onlyWith("environment", "env"),
		(&Rule{
			Name: "secrets-execution-role", Severity: diag.Error, Confidence: Medium,
			Doc:    "The execution role fetches secrets before the container starts, so a job with secrets needs executionRoleArn.",
			Source: "confirmed by the service's answer in 2026-09 (cdk-preflight)",
			Run: func(p *Pass) {
				for _, c := range p.Containers() {
					if s := c.Node.Get("secrets"); s.Len() > 0 && c.Task.Get("executionRoleArn") == nil {
						c.Report("secrets need executionRoleArn, the role that fetches them", roleHint, s)
					}
				}
			},
		}).onlyWith("secrets"),
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

// reservedNames reports variables of a list with the prefix of AWS Batch. A pod's list has
// the same form.
func reservedNames(j Job, list *jsontree.Node) {
	for e := range list.Children() {
		n := e.Get("name")
		if strings.HasPrefix(n.Str(), "AWS_BATCH") {
			j.Report(fmt.Sprintf("variable %s: AWS Batch reserves names that start with AWS_BATCH, and the job probably does not get the variable", quote(n.Str())),
				"choose a name that does not start with AWS_BATCH", n)
		}
	}
}
