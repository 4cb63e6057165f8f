package document

import (
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/results"
	"github.com/batchctl/batchctl/pkg/sweep"
)

// Job is one job, as written and as native requests. The nodes of Register and Submit have
// the locations of the user's text, so one rule over the native form also covers the
// compact form.
type Job struct {
	Name string
	// Node is what the user wrote: the compact job, or the native request.
	Node *jsontree.Node
	// Register is the RegisterJobDefinition request; nil when the job names a
	// definition that is already registered.
	Register *jsontree.Node
	// Submit is the SubmitJob request; nil for a job definition alone. It has no jobQueue
	// if the file names no queue. Dependencies by name are in DependsOn and Earlier
	// instead.
	Submit *jsontree.Node
	// DependsOn holds the dependencies by the name of a job in the same file.
	DependsOn []Dependency
	// Earlier holds the dependencies on jobs that were submitted before, by name or short
	// id.
	Earlier []Dependency
	// When says in which case the job runs once its dependencies have ended: "" if all of
	// them succeeded, as in AWS Batch; WhenFailure if one failed; WhenAlways in any case.
	When string
	// Sweep holds the values in which the children differ. It is nil for a job without an
	// array, for children that differ only in their index, and for an array that could not
	// be read. Array is the member of the file. Register and Submit have the user's own
	// command, and the size of the first of the arrays that the job becomes.
	Sweep *sweep.Sweep
	Array *jsontree.Node
	// Inputs and Outputs are the files to download and upload, in the order of the file. The
	// command in Register and Submit is the user's own.
	Inputs  []Input
	Outputs []Output
	// Checkpoint is nil for a job that always starts from scratch.
	Checkpoint *Checkpoint
	// Metrics are the numbers to find in the job's log, in the order of the file, and MetricsNode is the member. The
	// requests do not contain them: submit adds a variable of the environment.
	Metrics     []results.Metric
	MetricsNode *jsontree.Node
	// Rungs are what to do after a failure, by cause, and RungsNode is the member. The requests do not contain them:
	// submit adds a variable of the environment.
	Rungs     []Rung
	RungsNode *jsontree.Node
	// Notify are the receivers of a message when the job has ended: URLs and ARNs of topics.
	// NotifyNodes are their places.
	Notify      []string
	NotifyNodes []*jsontree.Node
	// Measure is the member that asks to measure the attempts; nil if they are not measured. The requests contain neither
	// its variable nor its launcher.
	Measure *jsontree.Node
	// Waivers are the rules that the job may break: its own, then those of the workflow's
	// defaults. A native request has none.
	Waivers []Waiver
}

// commandOf returns the command of the container; nil if the job does not contain it.
func commandOf(job *Job) *jsontree.Node {
	for _, n := range [...]*jsontree.Node{job.Submit.Get("containerOverrides"),
		job.Register.Get("containerProperties")} {
		if command := n.Get("command"); command.Len() > 0 {
			return command
		}
	}
	return nil
}
