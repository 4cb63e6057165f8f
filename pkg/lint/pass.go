package lint

import (
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// Pass is one run of the rules over all files. Its iterators yield the input of rules
// in AWS's native form, even if the user wrote the compact form.
type Pass struct {
	Files    []*document.File
	Platform *document.Platform

	// rules are the rules of the run, rule is the running one, and found collects the
	// problems of all.
	rules []Rule
	rule  *Rule
	found diag.List

	// definitions and submits are the jobs with a RegisterJobDefinition and a SubmitJob
	// request. Most jobs of job files are in both.
	jobs, definitions, submits []Job
	// reached has the nodes that the running row checks.
	reached []*jsontree.Node
	// facts holds the values of facts by their slot; an entry is nil before the first use.
	facts []expiring
	// waived holds the waivers that have silenced a problem.
	waived map[*jsontree.Node]bool
}

// expiring is a fact about the files of the current run, or of the run before.
type expiring interface{ expire() }

// begin prepares the pass for other files. It reuses the memory of the run before.
func (p *Pass) begin(files []*document.File, platform *document.Platform) {
	for _, f := range p.facts {
		if f != nil {
			f.expire()
		}
	}
	*p = Pass{Files: files, Platform: platform, jobs: p.jobs[:0], definitions: p.definitions[:0], submits: p.submits[:0], facts: p.facts, reached: p.reached}
	for _, f := range files {
		for _, j := range f.Jobs {
			p.add(Job{Job: j, userFile: userFile{f}, pass: p})
		}
	}
}

// add adds a job to the lists that it belongs to.
func (p *Pass) add(j Job) {
	p.jobs = append(p.jobs, j)
	if j.Register != nil {
		p.definitions = append(p.definitions, j)
	}
	if j.Submit != nil {
		p.submits = append(p.submits, j)
	}
}

// Job is a job with its file.
type Job struct {
	*document.Job
	userFile
	pass *Pass
}

// Site is an object that rules check: a whole request, a container, a task or a pod,
// together with its request. For requests that create something other than a job, Job
// holds only the file and the request's root.
type Site struct {
	Job
	// Node is the object. For an ECS container, Task is the object with
	// executionRoleArn, volumes and runtimePlatform: the container itself, or the
	// task it belongs to. For a container of EKS it is the pod.
	Node, Task *jsontree.Node
	// Fargate reports whether the definition has FARGATE in platformCapabilities.
	Fargate bool
	// Single is true for containerProperties, which is the whole job.
	Single bool
}

// Iterators that are more than a slice are not inlined, because hundreds of rules range
// over them: inlining added 2 seconds to 3 seconds of compiling.

// Jobs returns every job of every file.
func (p *Pass) Jobs() []Job { return p.jobs }

// Definitions returns the jobs that have a RegisterJobDefinition request.
func (p *Pass) Definitions() []Job { return p.definitions }

// Submits returns the jobs that have a SubmitJob request.
func (p *Pass) Submits() []Job { return p.submits }

// The operations that no file contains, but that an engine receives.
const (
	cancelJob    document.Kind = "CancelJob"
	terminateJob document.Kind = "TerminateJob"
	describeJobs document.Kind = "DescribeJobs"
)
