package lint

import (
	"iter"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/plan"
)

// Pass is one run of the rules over all files. Its iterators yield what rules
// look at, always in the native form of AWS, whatever form the user wrote.
type Pass struct {
	Files    []*document.File
	Platform *document.Platform

	rules []Rule
	rule  *Rule
	found diag.List

	jobs, definitions, submits []Job
	facts                      []expiring
	// waived holds the waivers that have silenced something.
	waived map[*jsontree.Node]bool
}

// begin prepares the pass for other files. It reuses the memory of the run before.
func (p *Pass) begin(files []*document.File, platform *document.Platform) {
	for _, f := range p.facts {
		if f != nil {
			f.expire()
		}
	}
	*p = Pass{Files: files, Platform: platform, jobs: p.jobs[:0], definitions: p.definitions[:0], submits: p.submits[:0], facts: p.facts}
	for _, f := range files {
		for _, j := range f.Jobs {
			p.add(Job{Job: j, File: f, pass: p})
		}
	}
}

func (p *Pass) add(j Job) {
	p.jobs = append(p.jobs, j)
	if j.Register != nil {
		p.definitions = append(p.definitions, j)
	}
	if j.Submit != nil {
		p.submits = append(p.submits, j)
	}
}

// registered is the job definitions of the files by name.
var registered = newFact(func(p *Pass, _ map[string][]Job) map[string][]Job {
	byName := map[string][]Job{}
	for _, j := range p.definitions {
		if name := j.Register.Get("jobDefinitionName").Str(); name != "" {
			byName[name] = append(byName[name], j)
		}
	}
	for name, list := range byName {
		isNative := func(j Job) bool { return j.Submit == nil }
		if slices.ContainsFunc(list, isNative) { // as plan.Build chooses
			byName[name] = slices.DeleteFunc(list, func(j Job) bool { return !isNative(j) })
		}
	}
	return byName
})

// runs is the submissions that run a definition of the files, by the definition.
var runs = newFact(func(p *Pass, _ map[*jsontree.Node][]Job) map[*jsontree.Node][]Job {
	by := map[*jsontree.Node][]Job{}
	for _, j := range p.submits {
		if d := j.Known(); d != nil {
			by[d] = append(by[d], j)
		}
	}
	return by
})

// Report reports a breach of the running rule at a node. Of an object or array
// only the opening bracket is marked, as for a member that is missing there.
func (p *Pass) Report(n *jsontree.Node, message, hint string) {
	p.report(p.rule.Severity, nil, n, message, hint)
}

func (p *Pass) report(severity diag.Severity, fix *diag.Fix, n *jsontree.Node, message, hint string) {
	src, span := n.Place()
	if (n.Is(jsontree.Object) || n.Is(jsontree.Array)) && span.End > span.Start {
		span = document.Opening(n)
	}
	if fix != nil && editsPlaceholder(src, fix) {
		fix, hint = nil, "fill in the placeholder, then check again"
	}
	p.found = append(p.found, diag.Diagnostic{
		Severity: severity, Rule: p.rule.Name, Source: src, Span: span, Message: message, Hint: hint, Fix: classified(fix, severity, p.rule.KeepsMeaning, hint),
	})
}

// Job is a job with the file it stands in.
type Job struct {
	*document.Job
	File *document.File
	pass *Pass
}

// Iterators that are more than a slice are not inlined: hundreds of rules range over
// them, and a copy of each in every rule took 2 of the package's 5 seconds of compiling.

// Jobs returns every job of every file.
func (p *Pass) Jobs() []Job { return p.jobs }

// Report reports a breach at the first of the nodes that somebody wrote; if
// there is none, at the job's name.
func (j Job) Report(message, hint string, nodes ...*jsontree.Node) {
	j.reportAs(j.pass.rule.Severity, nil, message, hint, nodes...)
}

// ReportFix is Report with the edit that mends the breach; the fix may be nil.
func (j Job) ReportFix(fix *diag.Fix, message, hint string, nodes ...*jsontree.Node) {
	j.reportAs(j.pass.rule.Severity, fix, message, hint, nodes...)
}

func (j Job) reportAs(severity diag.Severity, fix *diag.Fix, message, hint string, nodes ...*jsontree.Node) {
	place := j.NameNode()
	for _, n := range nodes {
		if src, _ := n.Place(); src != nil {
			place = n
			break
		}
	}
	j.pass.report(severity, fix, place, message, hint)
	j.amend(&j.pass.found[len(j.pass.found)-1])
}

// NameNode is the place for a problem of the whole job: its name, so that a
// report underlines one word and not the whole object.
func (j Job) NameNode() *jsontree.Node {
	for _, member := range []string{"name", "jobName", "jobDefinitionName", "jobQueueName", "computeEnvironmentName", "consumableResourceName"} {
		if n := j.Node.Get(member); n != nil {
			return n
		}
	}
	return j.Node
}

// compact reports whether the user writes the short form, so that hints do too.
func (j Job) compact() bool {
	return j.File.Kind == document.KindJob || j.File.Kind == document.KindWorkflow
}

// Known returns the definition that the job runs, as far as the files tell: its
// own, or the one of that name in another file. Nil if it is registered
// elsewhere.
func (j Job) Known() *jsontree.Node {
	if j.Register != nil {
		return j.Register
	}
	if d, ok := meant(registered.of(j.pass)[batch.Name(j.Submit.Get("jobDefinition").Str())], j); ok {
		return d.Register
	}
	return nil
}

// directory is where the job's file lies.
func (j Job) directory() string {
	if j.File.Source == nil {
		return ""
	}
	return filepath.Dir(j.File.Source.Name)
}

// Own returns the member of the SubmitJob request, unless it is only the copy
// of what the definition says too: the compact form writes such members once.
func (j Job) Own(member string) *jsontree.Node {
	n := j.Submit.Get(member)
	if !samePlace(n, j.Register.Get(member)) {
		return n
	}
	return nil
}

func samePlace(a, b *jsontree.Node) bool {
	srcA, spanA := a.Place()
	srcB, spanB := b.Place()
	return srcA != nil && srcA == srcB && spanA == spanB
}

// Definitions returns the jobs that have a RegisterJobDefinition request.
func (p *Pass) Definitions() []Job { return p.definitions }

// Submits returns the jobs that have a SubmitJob request.
func (p *Pass) Submits() []Job { return p.submits }

// Report reports a breach at the first of the nodes that somebody wrote; if
// there is none, at the site, then at the name of the request.
func (c Site) Report(message, hint string, nodes ...*jsontree.Node) {
	c.Job.Report(message, hint, append(nodes, c.Node)...)
}

// ReportFix is Report with the edit that mends the breach; the fix may be nil.
func (c Site) ReportFix(fix *diag.Fix, message, hint string, nodes ...*jsontree.Node) {
	c.Job.ReportFix(fix, message, hint, append(nodes, c.Node)...)
}

// Containers returns the containers of all job definitions, except those of EKS,
// which have another shape.
func (p *Pass) Containers() []Site { return allSites.of(p).containers }

//go:noinline
func (j Job) containers() iter.Seq[Site] {
	return func(yield func(Site) bool) {
		fargate := plan.IsFargate(j.Register)
		visit := func(body *jsontree.Node, member string) bool {
			if n := body.Get(member); n.Is(jsontree.Object) &&
				!yield(Site{Job: j, Node: n, Task: n, Fargate: fargate, Single: member == "containerProperties"}) {
				return false
			}
			for task := range body.Get("ecsProperties").Get("taskProperties").Children() {
				for n := range task.Get("containers").Children() {
					if n.Is(jsontree.Object) && !yield(Site{Job: j, Node: n, Task: task, Fargate: fargate}) {
						return false
					}
				}
			}
			return true
		}
		if !visit(j.Register, "containerProperties") {
			return
		}
		for group := range j.Register.Get("nodeProperties").Get("nodeRangeProperties").Children() {
			if !visit(group, "container") {
				return
			}
		}
	}
}

// pods yields the podProperties of an EKS job definition.
func (j Job) pods() iter.Seq[*jsontree.Node] {
	return func(yield func(*jsontree.Node) bool) {
		if pod := j.Register.Get("eksProperties").Get("podProperties"); pod != nil && !yield(pod) {
			return
		}
		for group := range j.Register.Get("nodeProperties").Get("nodeRangeProperties").Children() {
			if pod := group.Get("eksProperties").Get("podProperties"); pod != nil && !yield(pod) {
				return
			}
		}
	}
}

// podContainers yields the containers and init containers of an EKS definition.
func (j Job) podContainers() iter.Seq[*jsontree.Node] {
	return func(yield func(*jsontree.Node) bool) {
		for pod := range j.pods() {
			for _, member := range []string{"initContainers", "containers"} {
				for c := range pod.Get(member).Children() {
					if c.Is(jsontree.Object) && !yield(c) {
						return
					}
				}
			}
		}
	}
}

// overrides yields the containerOverrides of a SubmitJob request: the job's, a
// node range's, and those of the containers of ecsPropertiesOverride.
//
//go:noinline
func (j Job) overrides() iter.Seq[*jsontree.Node] {
	return func(yield func(*jsontree.Node) bool) {
		body := func(body *jsontree.Node) bool {
			if n := body.Get("containerOverrides"); n != nil && !yield(n) {
				return false
			}
			for task := range body.Get("ecsPropertiesOverride").Get("taskProperties").Children() {
				for n := range task.Get("containers").Children() {
					if !yield(n) {
						return false
					}
				}
			}
			return true
		}
		if !body(j.Submit) {
			return
		}
		for group := range j.Submit.Get("nodeOverrides").Get("nodePropertyOverrides").Children() {
			if !body(group) {
				return
			}
		}
	}
}

// number reads a figure that is a number, or a string as resourceRequirements
// writes it. ok is false for anything else, and for NaN and infinities.
func number(n *jsontree.Node) (float64, bool) {
	if !n.Is(jsontree.Number) && !n.Is(jsontree.String) {
		return 0, false
	}
	f, err := strconv.ParseFloat(n.Text, 64)
	return f, err == nil && f-f == 0
}
