// Package lint is what a schema cannot see: one rule per mistake, one file per
// topic, every rule in one visible list.
package lint

import (
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/lint/cfn"
)

// Confidence says how well a rule is known.
type Confidence string

// The confidences of rules.
const (
	// High: two kinds of source agree, the API model demands it, or the service
	// was quoted.
	High Confidence = "high"
	// Medium: one good source says so.
	Medium Confidence = "medium"
	// Low: likely, but nobody has shown it; such a rule only warns.
	Low Confidence = "low"
)

// Rule is one check.
type Rule struct {
	// Name is stable: users write it in waivers. It is the id in the rules table.
	Name string
	// Severity is Error or Warning. A rule of low confidence is a warning.
	Severity diag.Severity
	// Confidence says how well the rule is known.
	Confidence Confidence
	// Scope is the topic that the rule belongs to, such as "fargate".
	Scope string
	// Doc says in a sentence or two what is wrong and why it matters.
	Doc string
	// Source says where the rule comes from.
	Source string
	// Run reports every breach in the pass's files.
	Run func(*Pass)
	// KeepsMeaning says of a warning that its fix leaves the job's behavior unchanged.
	// The fix of any other warning is for the user to choose.
	KeepsMeaning bool

	// about is the members of which a file has some, or the rule finds nothing; none
	// for a rule that looks at every file.
	about []nameSet
}

// keepingMeaning marks a rule whose fix leaves the job's behavior unchanged.
func (r *Rule) keepingMeaning() *Rule {
	r.KeepsMeaning = true
	return r
}

// Check runs rules over the files and returns what they found, unsorted; what a
// job waives is marked so. The platform may be nil; rules that need one then find
// nothing.
func Check(files []*document.File, platform *document.Platform, rules []Rule) diag.List {
	return (&Checker{}).Check(files, platform, rules)
}

// Checker is Check for many files one after the other, all in the room of the
// first. Its zero value is ready; it is for one goroutine.
type Checker struct{ pass Pass }

// Check is the function Check.
func (c *Checker) Check(files []*document.File, platform *document.Platform, rules []Rule) diag.List {
	p := &c.pass
	p.begin(files, platform)
	p.rules = rules
	gates := allGates()
	if len(rules) == 0 || &rules[0] != &all()[0] || len(rules) != len(gates) {
		gates = gatesOf(rules)
	}
	names := namesIn(files)
	for i := range gates {
		if gates[i].open(&names) {
			p.rule = &rules[i]
			p.rule.Run(p)
		}
	}
	return append(p.found, checkTemplates(files, platform, rules)...)
}

// checkTemplates checks the requests that CloudFormation makes of templates.
func checkTemplates(files []*document.File, platform *document.Platform, rules []Rule) (found diag.List) {
	for _, f := range files {
		if f.Kind == document.KindTemplate {
			var checker Checker
			found = append(found, cfn.Check(f, func(requests []*document.File) diag.List { return checker.Check(requests, platform, rules) })...)
		}
	}
	return found
}

// CheckRequest runs all rules over one request in its native form, as an engine
// receives it. The operation is one of those that document.Kind names, or
// CancelJob, TerminateJob or DescribeJobs; for others it returns nothing.
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
	case document.KindComputeEnvironment, document.KindJobQueue, document.KindSchedulingPolicy, document.KindConsumableResource,
		cancelJob, terminateJob, describeJobs:
		file.Request, file.Requests = tree, []*jsontree.Node{tree}
	default:
		return nil
	}
	file.Name = job.Name
	file.Source, _ = tree.Place()
	return Check([]*document.File{file}, nil, Rules())
}
