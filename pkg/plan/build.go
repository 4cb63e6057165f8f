package plan

import (
	"fmt"
	"strings"

	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// Build returns the plan of files that passed validation. The platform may be nil. Its
// problems have a place, as in validation.
//
// Dependencies apply within a file; files keep their order. A SubmitJob file whose
// jobDefinition names the definition of a RegisterJobDefinition file becomes one job with it.
// A definition that no job uses is registered at its place.
func Build(files []*document.File, platform *document.Platform, o Options) (*Plan, diag.List) {
	qs := &queues{&converter{}, platform, o}
	b := &builder{converter: qs.converter, plan: &Plan{}, definitions: newDefinitions(files), queues: qs,
		splitter: newSplitter(qs, o)}
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
	*converter
	plan        *Plan
	definitions *definitions
	queues      *queues
	splitter    *splitter
	// dependencies are those of the current file.
	dependencies *dependencies
}

// addFile adds the jobs of a file, each after those that it depends on.
func (b *builder) addFile(f *document.File) {
	ordered, cycle := Order(f.Jobs)
	if cycle != nil {
		b.fail(cycle[0].Node, "dep-cycle", "jobs wait for each other: "+Cycle(cycle),
			"remove one of these dependencies")
		return
	}
	names := b.definitions.namesOf(f)
	b.splitter.names, b.dependencies = names, newDependencies(b.queues, names)
	b.checkNames(f.Jobs)
	first := len(b.plan.Jobs)
	for _, j := range ordered {
		switch {
		case j.Submit != nil:
			b.addJob(f, j)
		case b.definitions.isUnused(j):
			b.addDefinition(j)
		}
	}
	for _, job := range b.plan.Jobs[first:] {
		job.File = f.Source.Name
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
		b.fail(source, "array-unread", "the values of the children are unknown here",
			"write the job to a file beside its "+source.Name)
		return
	}
	known := b.definitions.of(j)
	register := b.definitions.register(j, known)
	job := &Job{Name: j.Name, Group: j.Name, When: j.When, Notify: j.Notify, Queue: b.queues.of(f, j, known)}
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
	g.parts = b.splitter.split(g, job)
	b.plan.Jobs = append(b.plan.Jobs, b.dependencies.connect(g)...)
	b.plan.Jobs = append(b.plan.Jobs, g.parts...)
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
				b.fail(d.Node, "duplicate-job-name", fmt.Sprintf("%d jobs have the name %q", n, d.Job),
					"give each its own name")
			}
		}
	}
}
