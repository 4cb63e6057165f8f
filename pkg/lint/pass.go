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
	index index
}

// index is what rules would otherwise search for again and again. Most of it is
// made once for the pass; what few files need is made when it is asked for.
type index struct {
	jobs, definitions, submits []Job
	images                     []Image
	edges                      []Edge
	requirements               []requirement
	strategies                 []strategy
	tags                       []tag
	// sites holds what the rules look into, in the order of the files.
	sites sites
	// resources is what the files create: queues, environments and the rest.
	resources resources

	// registered: submissions in other files may name these definitions.
	registered map[string][]Job
	// defining is the directories of native definitions.
	defining map[string]bool
	// runs holds the submissions that run a definition of the files.
	runs map[*jsontree.Node][]Job
	// environmentsIn and definitionsIn (those that nobody submits) are what lies in a directory;
	// definitionsOn is what runs on an environment behind a queue; loose makes a queue of a
	// directory's environments. See Pass.environmentsFor.
	environmentsIn, definitionsIn map[string][]Site
	definitionsOn                 map[*jsontree.Node][]Site
	loose                         map[string]*document.Platform
	// references is the Ref:: placeholders of commands, by the request they stand in.
	references map[*jsontree.Node][]reference
	// placings holds where a job would go, or why it finds no place.
	placings map[*document.Job]placing
	// launches holds what instances start from, and what is wrong with its user data.
	launches []launch
	read     bool
	// rules holds the rules by name.
	rules map[string]*Rule
	// waived holds the waivers that have silenced something.
	waived map[*jsontree.Node]bool
}

// begin makes the pass ready for other files, in the room that it has.
func (p *Pass) begin(files []*document.File, platform *document.Platform) {
	x := p.index
	*p = Pass{Files: files, Platform: platform, index: index{jobs: x.jobs[:0], definitions: x.definitions[:0], submits: x.submits[:0]}}
	p.index.sites = x.sites.emptied()
	for _, f := range files {
		for _, j := range f.Jobs {
			p.add(Job{Job: j, File: f, pass: p})
		}
	}
	p.collect()
	p.index.images = p.images(x.images[:0])
	p.index.edges = p.dependencies(x.edges[:0])
	p.index.requirements = p.required(x.requirements[:0])
	p.index.strategies = p.retryStrategies(x.strategies[:0])
	p.index.tags = p.tagged(x.tags[:0])
	p.index.resources = p.created()
}

func (p *Pass) add(j Job) {
	x := &p.index
	x.jobs = append(x.jobs, j)
	if j.Register != nil {
		x.definitions = append(x.definitions, j)
	}
	if j.Submit != nil {
		x.submits = append(x.submits, j)
	}
}

// registered returns the job definitions of the files by name.
func (p *Pass) registered() map[string][]Job {
	if p.index.registered == nil {
		p.index.registered = map[string][]Job{}
		for _, j := range p.index.definitions {
			if name := j.Register.Get("jobDefinitionName").Str(); name != "" {
				p.index.registered[name] = append(p.index.registered[name], j)
			}
		}
		for name, list := range p.index.registered {
			isNative := func(j Job) bool { return j.Submit == nil }
			if slices.ContainsFunc(list, isNative) { // as plan.Build chooses
				p.index.registered[name] = slices.DeleteFunc(list, func(j Job) bool { return !isNative(j) })
			}
		}
	}
	return p.index.registered
}

// runs returns the submissions that run a definition of the files.
func (p *Pass) runs(definition *jsontree.Node) []Job {
	if p.index.runs == nil {
		p.index.runs = map[*jsontree.Node][]Job{}
		for _, j := range p.index.submits {
			if d := j.Known(); d != nil {
				p.index.runs[d] = append(p.index.runs[d], j)
			}
		}
	}
	return p.index.runs[definition]
}

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
		Severity: severity, Rule: p.rule.Name, Source: src, Span: span, Message: message, Hint: hint, Fix: p.classified(fix, severity, hint),
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
func (p *Pass) Jobs() []Job { return p.index.jobs }

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
	if d, ok := meant(j.pass.registered()[batch.Name(j.Submit.Get("jobDefinition").Str())], j); ok {
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
func (p *Pass) Definitions() []Job { return p.index.definitions }

// Submits returns the jobs that have a SubmitJob request.
func (p *Pass) Submits() []Job { return p.index.submits }

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
func (p *Pass) Containers() []Site { return p.index.sites.containers }

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
