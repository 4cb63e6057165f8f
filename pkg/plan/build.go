package plan

import (
	"errors"
	"fmt"
	"maps"
	"strings"

	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/wire"
)

// Build returns the plan of files that passed validation. The platform may be nil. Its
// problems have a place, as in validation.
//
// Dependencies apply within a file; files keep their order. A SubmitJob file whose
// jobDefinition names the definition of a RegisterJobDefinition file becomes one job with it.
// A definition that no job uses is registered at its place.
func Build(files []*document.File, platform *document.Platform, o Options) (*Plan, diag.List) {
	b := &builder{platform: platform, options: o, plan: &Plan{},
		wanted: wanted(files), known: known(files), registered: map[string]*jsontree.Node{}, waits: map[*Job][]wait{}}
	for _, f := range files {
		if b.plan.Name == "" {
			b.plan.Name = f.Name
		}
		b.addFile(f)
	}
	if b.problems.HasErrors() {
		return nil, b.problems
	}
	return b.plan, b.problems
}

// builder is one Build.
type builder struct {
	platform *document.Platform
	options  Options
	plan     *Plan
	problems diag.List
	// registered are the definitions that earlier jobs of the plan register, by name.
	registered map[string]*jsontree.Node
	// wanted are the names of the definitions that submissions of the files run.
	wanted map[string]bool
	// known are the definitions in the files, by name.
	known map[string]*jsontree.Node
	// groups are the jobs of the current file, by their names in it. names are the names of
	// jobs and definitions that generated ones must not have.
	groups map[string]*group
	names  taken
	// waits are the dependencies of the jobs of the plan.
	waits map[*Job][]wait
}

// wanted returns the names of the definitions that submissions of the files run.
func wanted(files []*document.File) map[string]bool {
	names := map[string]bool{}
	for _, f := range files {
		for _, j := range f.Jobs {
			if j.Register == nil {
				names[batch.Name(j.Submit.Get("jobDefinition").Str())] = true
			}
		}
	}
	return names
}

// known returns the definitions in the files by name. Those of
// RegisterJobDefinition files take precedence over those that jobs contain.
func known(files []*document.File) map[string]*jsontree.Node {
	own, alone := map[string]*jsontree.Node{}, map[string]*jsontree.Node{}
	for _, f := range files {
		for _, j := range f.Jobs {
			switch {
			case j.Register == nil:
			case j.Submit == nil:
				alone[definitionName(j)] = j.Register
			default:
				own[definitionName(j)] = j.Register
			}
		}
	}
	maps.Copy(own, alone)
	return own
}

// definitionName returns the name of the job's own definition; "" if it has none.
func definitionName(j *document.Job) string { return j.Register.Get("jobDefinitionName").Str() }

// addFile adds the jobs of a file, each after those that it depends on.
func (b *builder) addFile(f *document.File) {
	ordered, cycle := Order(f.Jobs)
	if cycle != nil {
		b.fail(cycle[0].Node, "dep-cycle", "jobs wait for each other: "+Cycle(cycle), "remove one of these dependencies")
		return
	}
	b.groups, b.names = map[string]*group{}, b.namesOf(f)
	b.checkNames(f.Jobs)
	for _, j := range ordered {
		switch name := definitionName(j); {
		case j.Submit != nil:
			b.addJob(f, j)
		case !b.wanted[name] || b.known[name] != j.Register:
			b.addDefinition(j)
		}
	}
}

// addDefinition registers a definition that no submission of the files runs.
func (b *builder) addDefinition(j *document.Job) {
	job := &Job{Name: j.Name, Group: j.Name, Register: &awsbatch.RegisterJobDefinitionInput{}}
	b.lower(j.Register, job.Register)
	b.plan.Jobs = append(b.plan.Jobs, job)
}

// Cycle writes the members of a cycle as an arrow chain that ends where it began.
func Cycle(members []*document.Job) string {
	var names []string
	for _, j := range members {
		names = append(names, j.Name)
	}
	return strings.Join(append(names, members[0].Name), " -> ")
}

// addJob adds a job with its requests, its queue and its dependencies.
func (b *builder) addJob(f *document.File, j *document.Job) {
	if source := document.ArraySource(j.Array); source != nil && j.Sweep == nil {
		b.fail(source, "array-unread", "the values of the children are unknown here", "write the job to a file beside its "+source.Name)
		return
	}
	known := j.Register
	if known == nil {
		known = b.known[batch.Name(j.Submit.Get("jobDefinition").Str())]
	}
	register := b.register(j, known)
	job := &Job{Name: j.Name, Group: j.Name, When: j.When, Notify: j.Notify, Queue: b.queue(f, j, known)}
	submit := j.Submit.Clone()
	if job.Queue.Queue != "" {
		submit.Set("jobQueue", jsontree.NewString(job.Queue.Queue, j.Submit.Get("jobQueue")))
	}
	ok := true
	if register != nil {
		job.Register = &awsbatch.RegisterJobDefinitionInput{}
		ok = b.lower(register, job.Register)
	}
	job.Submit = &awsbatch.SubmitJobInput{}
	if !b.lower(submit, job.Submit) || !ok {
		return // incomplete requests would only cause more problems
	}
	g := &group{Job: j, known: known}
	g.parts = b.split(g, job)
	b.connect(g)
	b.groups[j.Name] = g
	b.plan.Jobs = append(b.plan.Jobs, g.parts...)
}

// register returns the definition that a job must register. The first job that
// runs a definition registers it; later jobs find it registered. A definition
// with a launcher belongs only to its job.
func (b *builder) register(j *document.Job, definition *jsontree.Node) *jsontree.Node {
	if definition == nil {
		return nil
	}
	name := definition.Get("jobDefinitionName").Str()
	if j.Register != nil && (j.Sweep != nil || j.IsStaged()) {
		delete(b.registered, name)
		return definition
	}
	if b.registered[name] == definition {
		return nil
	}
	b.registered[name] = definition
	return definition
}

// checkNames refuses a dependency on a name that is missing or not unique among
// the jobs of a file: the client would have to guess the id. Another file may have
// a job of that name.
func (b *builder) checkNames(jobs []*document.Job) {
	count := map[string]int{}
	for _, j := range jobs {
		if j.Submit != nil {
			count[j.Name]++
		}
	}
	for _, j := range jobs {
		for _, d := range j.DependsOn {
			switch n := count[d.Job]; {
			case n == 0:
				b.fail(d.Node, "dep-unknown-job", fmt.Sprintf("no job %q", d.Job), "name a job of this file")
			case n > 1:
				b.fail(d.Node, "duplicate-job-name", fmt.Sprintf("%d jobs have the name %q", n, d.Job), "give each its own name")
			}
		}
	}
}

// lower converts a document to the SDK's struct. It returns false after a
// problem.
func (b *builder) lower(tree *jsontree.Node, input any) (ok bool) {
	err := wire.Unmarshal(tree.AppendJSON(nil), input)
	if err == nil {
		return true
	}
	if at, ok := errors.AsType[*wire.Error](err); ok {
		n := tree.At(steps(at.Path)...)
		if at.Message == wire.UnknownMember && n != nil {
			b.fail(n, "request-shape", fmt.Sprintf("batchctl cannot send %q: its AWS SDK does not have this member", n.Name), "send the request with a newer AWS CLI")
			return false
		}
		b.fail(n, "request-shape", at.Message, "")
		return false
	}
	b.fail(tree, "request-shape", err.Error(), "")
	return false
}

// steps splits a wire path: a.b[0].c into a, b, 0, c.
func steps(path string) []string {
	return strings.FieldsFunc(path, func(r rune) bool { return r == '.' || r == '[' || r == ']' })
}

// fail adds a problem at a member.
func (b *builder) fail(n *jsontree.Node, rule, message, hint string) {
	src, span := n.Location()
	b.problems = append(b.problems, diag.Diagnostic{
		Severity: diag.Error, Rule: rule, Source: src, Span: span, Message: message, Hint: hint,
	})
}
