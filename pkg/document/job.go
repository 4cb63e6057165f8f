package document

import (
	"strings"

	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/ladder"
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

// The values of Job.When.
const (
	WhenSuccess = "success" // the default, which Job.When does not have
	WhenAlways  = "always"
	WhenFailure = "failure"
)

// Dependency is an edge of a workflow or a job list: the job waits for the job of that name.
type Dependency struct {
	Job string
	// Type is "", "N_TO_N" or "SEQUENTIAL", as in SubmitJob.dependsOn.
	Type string
	Node *jsontree.Node
}

// Input is a file or directory that a job downloads into its container before its program
// starts.
type Input struct {
	// Node is the member of inputs; its key, and Path, is the path in the container.
	Node *jsontree.Node
	Path string
	// Source is the source in the file: a URL or a local path.
	Source *jsontree.Node
	// SHA256 is the expected checksum of the content; nil without one.
	SHA256 *jsontree.Node
	// Local is the local source, relative to the working directory. Its Path is empty for a URL
	// and for a missing file.
	Local Found
}

// Output is a file or directory that a job uploads when the program has ended.
type Output struct {
	// Node is the member of outputs; its key, and Path, is the path in the container.
	Node *jsontree.Node
	Path string
	// Destination is the destination in the file: a URL or a local path.
	Destination *jsontree.Node
	// When is "" for after success, or "failure" or "always".
	When string
}

// Found is a local file or directory.
type Found struct {
	// Path is the path from the working directory.
	Path string
	Dir  bool
	// Bytes is the size of a file.
	Bytes int64
}

// Checkpoint is the directory from which a later attempt of a job continues.
type Checkpoint struct {
	// Node is the member of the file.
	Node *jsontree.Node
	// Path is the directory in the container.
	Path *jsontree.Node
	// To is the location; nil for the target's staging location.
	To *jsontree.Node
	// Every is the time between two checkpoints in seconds; 0 is the default.
	Every int
}

// IsStaged reports whether the checkpoint is in the target's staging location. An absolute path is not: it is a path
// in the container, or on this machine for the target local.
func (c *Checkpoint) IsStaged() bool {
	return c.To == nil || IsLocal(c.To.Text) && !strings.HasPrefix(c.To.Text, "/")
}

// Rung is an entry of a job's onFailure.
type Rung struct {
	ladder.Rung
	// Node is the entry, and Queue the name of a queue in it; nil for none.
	Node, Queue *jsontree.Node
}

// Waiver is a rule that a job may break. AWS requests do not contain it.
type Waiver struct {
	Rule, Reason string
	// Until is the last day of the waiver, as written; "" if it does not expire.
	Until string
	// Node is what the user wrote. Jobs that share a waiver of their workflow's
	// defaults share the node.
	Node *jsontree.Node
}

// IsStaged reports whether the job has inputs, outputs or a checkpoint.
func (j *Job) IsStaged() bool { return len(j.Inputs)+len(j.Outputs) > 0 || j.Checkpoint != nil }

// Ladder returns the rungs with the queues that name returns for those of the file.
func (j *Job) Ladder(name func(queue string) string) (l ladder.Ladder) {
	for _, r := range j.Rungs {
		rung := r.Rung
		if rung.Queue != "" {
			rung.Queue = name(rung.Queue)
		}
		l = append(l, rung)
	}
	return l
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

// differing are the members of an array that give each child its own values.
var differing = [...]string{"matrix", "table", "commands"}

// ArraySource returns the member of Job.Array that gives each child its own values:
// matrix, table or commands. It returns nil for a job without an array, and for an array
// whose children differ only in their index.
func ArraySource(array *jsontree.Node) *jsontree.Node {
	for _, name := range differing {
		if m := array.Get(name); m != nil {
			return m
		}
	}
	return nil
}

// launcherOf returns the kind of launcher that gives the children their values; "" if they
// have none.
func launcherOf(array *jsontree.Node) sweep.Launcher {
	switch launcher := array.Get("launcher"); {
	case ArraySource(array) == nil:
		return ""
	case launcher != nil:
		return sweep.Launcher(launcher.Str())
	}
	return sweep.Shell
}
