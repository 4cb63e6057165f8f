package lint

import (
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// Pass is one run of the rules over all files. Its iterators yield the input of rules
// in AWS's native form, even if the user wrote the compact form.
type Pass struct {
	Files []*document.File
	account
	jobLists
	findings

	rules []Rule // the rules of the run
	// reached has the nodes that the running row checks.
	reached []*jsontree.Node
	// facts holds the values of facts by their slot; an entry is nil before the first use.
	facts []expiring
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
	*p = Pass{Files: files, account: account{platform}, jobLists: p.emptied(), facts: p.facts, reached: p.reached}
	for _, f := range files {
		for _, j := range f.Jobs {
			p.add(Job{Job: j, userFile: userFile{f}, pass: p})
		}
	}
}

// jobLists holds the jobs of all files.
type jobLists struct {
	// definitions and submits are the jobs with a RegisterJobDefinition and a SubmitJob
	// request. Most jobs of job files are in both.
	jobs, definitions, submits []Job
}

// emptied returns the same memory without jobs.
func (l *jobLists) emptied() jobLists {
	return jobLists{l.jobs[:0], l.definitions[:0], l.submits[:0]}
}

// add adds a job to the lists that it belongs to.
func (l *jobLists) add(j Job) {
	l.jobs = append(l.jobs, j)
	if j.Register != nil {
		l.definitions = append(l.definitions, j)
	}
	if j.Submit != nil {
		l.submits = append(l.submits, j)
	}
}

// Jobs returns every job of every file.
func (l *jobLists) Jobs() []Job { return l.jobs }

// Definitions returns the jobs that have a RegisterJobDefinition request.
func (l *jobLists) Definitions() []Job { return l.definitions }

// Submits returns the jobs that have a SubmitJob request.
func (l *jobLists) Submits() []Job { return l.submits }

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

// The operations that no file contains, but that an engine receives.
const (
	cancelJob    document.Kind = "CancelJob"
	terminateJob document.Kind = "TerminateJob"
	describeJobs document.Kind = "DescribeJobs"
)
