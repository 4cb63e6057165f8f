// Package lint checks documents for mistakes that a schema cannot find. There is one rule for each mistake, and
// rules.go lists all rules. The rules of a topic are in rule_TOPIC.go. The other files are the engine: rules and
// their input (Rule, Pass, Job, Site), kinds of rules (row.go), facts about documents that several rules need
// (facts.go and its users), and the pages about rules (example.go, page.go).
package lint

import (
	"slices"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/lint/cfn"
)

// Check runs rules over the files and returns their problems, unsorted. It marks problems
// that a job waives. The platform may be nil; rules that need one then find nothing.
func Check(files []*document.File, platform *document.Platform, rules []Rule) diag.List {
	return (&Checker{}).Check(files, platform, rules)
}

// Checker is Check for many files in sequence; it reuses memory. Its zero value is ready.
// It is for one goroutine.
type Checker struct {
	pass Pass
	// opened are the rules that files with the same names need. Nearly all files of a run have the
	// members of an earlier one, and reading all gates would evict everything else from the processor's cache.
	opened map[nameSet][]openRule
	// gates are those that opened was found with.
	gates []gate
}

// openRule is a rule that a file needs. The functions are adjacent, so that the processor reads few of the rules.
type openRule struct {
	run  func(*Pass)
	rule *Rule
}

// maxOpened bounds the sets of names whose rules a Checker remembers.
const maxOpened = 256

// open returns the rules whose gates are open for files with these names.
func (c *Checker) open(rules []Rule, gates []gate, names nameSet) []openRule {
	if len(gates) == 0 || len(c.gates) != len(gates) || &c.gates[0] != &gates[0] || len(c.opened) == maxOpened {
		c.gates, c.opened = gates, map[nameSet][]openRule{}
	}
	list, known := c.opened[names]
	if !known {
		for i := range gates {
			if gates[i].open(&names) {
				list = append(list, openRule{rules[i].Run, &rules[i]})
			}
		}
		c.opened[names] = list
	}
	return list
}

// Check is the function Check.
func (c *Checker) Check(files []*document.File, platform *document.Platform, rules []Rule) diag.List {
	p := &c.pass
	files = concerned(files)
	p.begin(files, platform)
	p.rules = rules
	gates := allGates()
	// Callers usually pass Rules itself, whose gates are computed once.
	if len(rules) == 0 || &rules[0] != &all()[0] || len(rules) != len(gates) {
		gates = gatesOf(rules)
	}
	waivers := platformWaivers(platform, "")
	for _, open := range c.open(rules, gates, namesIn(files)) {
		p.rule = open.rule
		first := len(p.found)
		open.run(p)
		for i := first; i < len(p.found) && len(waivers) > 0; i++ {
			p.rule.waive(&p.found[i], waivers)
		}
	}
	spell(files, p.found)
	// Templates need a pass of their own: their requests are files that do not exist.
	return append(withoutUnknown(files, p.misspelt, p.found), checkTemplates(files, platform, rules)...)
}

// concerned returns the files without the templates and launch templates to which no rule applies.
func concerned(files []*document.File) []*document.File {
	unconcerned := func(f *document.File) bool { return !cfn.Concerns(f, files) }
	if !slices.ContainsFunc(files, unconcerned) {
		return files
	}
	var of []*document.File
	for _, f := range files {
		if !unconcerned(f) {
			of = append(of, f)
		}
	}
	return of
}

// spell gives problems the fixes that their hints spell out.
func spell(files []*document.File, found diag.List) {
	for i := range found {
		for _, f := range files {
			if d := &found[i]; d.Fix == nil && d.Source == f.Source && f.Source != nil &&
				f.Kind != document.KindTemplate && f.Kind != document.KindUserData && !document.IsYAML(f.Source) {
				jsontree.Spell(f.Root, d)
			}
		}
	}
}

// checkTemplates checks the requests that CloudFormation sends for templates, and those that other services and scripts
// send.
func checkTemplates(files []*document.File, platform *document.Platform, rules []Rule) (found diag.List) {
	var checker Checker
	run := func(requests []*document.File) diag.List { return checker.Check(requests, platform, rules) }
	for _, f := range files {
		if cfn.HasRequests(f) {
			found = append(found, cfn.Check(f, run)...)
		}
		found = append(found, cfn.CheckScript(f, func(doc *document.File, loading diag.List) diag.List {
			if doc == nil {
				return loading
			}
			return Settle(append(Waive(doc, platform, loading), run([]*document.File{doc})...))
		})...)
	}
	return found
}

// CheckRequest runs all rules over one request in its native form, as an engine receives
// it. The operation is one that document.Kind names, or CancelJob, TerminateJob or
// DescribeJobs. For any other operation it returns nothing.
func CheckRequest(operation string, tree *jsontree.Node) diag.List {
	file := &document.File{Root: tree, Kind: document.Kind(operation)}
	job := &document.Job{Node: tree}
	switch file.Kind {
	case document.KindJobDefinition:
		job.Register, job.Name = tree, tree.Get("jobDefinitionName").Str()
		file.Jobs = []*document.Job{job}
	case document.KindSubmitJob:
		job.Submit, job.Name = tree, tree.Get("jobName").Str()
		file.Jobs = []*document.Job{job}
	case document.KindComputeEnvironment, document.KindJobQueue, document.KindSchedulingPolicy,
		document.KindConsumableResource,
		cancelJob, terminateJob, describeJobs:
		file.Requests = []document.Request{{Kind: file.Kind, Node: tree}}
	default:
		return nil
	}
	file.Name = job.Name
	file.Source, _ = tree.Location()
	return Check([]*document.File{file}, nil, Rules())
}
