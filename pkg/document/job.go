package document

import (
	"strings"

	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/sweep"
)

// differing are the members of an array that give every child something of its own.
var differing = [...]string{"matrix", "table", "commands"}

// ArraySource is the member of Job.Array that gives every child something of its own:
// matrix, table or commands; nil for a job without an array, and for an array of which
// the children differ in their index alone.
func ArraySource(array *jsontree.Node) *jsontree.Node {
	for _, name := range differing {
		if m := array.Get(name); m != nil {
			return m
		}
	}
	return nil
}

// launcherOf is what gives the children their values; "" where they have none.
func launcherOf(array *jsontree.Node) sweep.Launcher {
	switch launcher := array.Get("launcher"); {
	case ArraySource(array) == nil:
		return ""
	case launcher != nil:
		return sweep.Launcher(launcher.Str())
	}
	return sweep.Shell
}

// commandOf is the command that the container runs, as far as the job says; nil if
// it says nothing.
func commandOf(job *Job) *jsontree.Node {
	for _, n := range [...]*jsontree.Node{job.Submit.Get("containerOverrides"), job.Register.Get("containerProperties")} {
		if command := n.Get("command"); command.Len() > 0 {
			return command
		}
	}
	return nil
}

// Job is one job, as written and as the native requests that it stands for.
// The nodes of Register and Submit carry the places of what the user wrote, so
// one rule over the native form serves the compact form too.
type Job struct {
	Name string
	// Node is what the user wrote: the compact job, or the native request.
	Node *jsontree.Node
	// Register is the RegisterJobDefinition request; nil when the job names a
	// definition that is already registered.
	Register *jsontree.Node
	// Submit is the SubmitJob request; nil for a job definition alone. It lacks
	// jobQueue when the file names none, and never holds a dependency by name.
	Submit *jsontree.Node
	// DependsOn holds the dependencies by the name of a job in the same file.
	DependsOn []Dependency
	// Earlier holds those on jobs that were submitted before, by name or short id.
	Earlier []Dependency
	// When is when the job runs once its dependencies have ended: "" when all of them
	// succeeded, as Batch has it; WhenFailure when one of them failed, WhenAlways in
	// any case.
	When string
	// Sweep is what the children differ in; nil for a job without an array, for one of
	// so many children that differ in their index alone, and where it could not be
	// read. Array is what the file says of it. Register and Submit hold the user's own
	// command, and the size of the first of the arrays that come of it.
	Sweep *sweep.Sweep
	Array *jsontree.Node
	// Inputs and Outputs are the files to download and upload, in the order of the file. The
	// command in Register and Submit is the user's own.
	Inputs  []Input
	Outputs []Output
	// Waivers are the rules that the job may break: its own first, then those of
	// the workflow's defaults. A native request has none.
	Waivers []Waiver
}

// The values of Job.When.
const (
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

// IsLocal reports whether a source or destination is a local path: it has no scheme, unlike
// s3://bucket/key.
func IsLocal(place string) bool {
	scheme, _, ok := strings.Cut(place, ":")
	if !ok || len(scheme) < 2 { // C:\data
		return true
	}
	return strings.ContainsFunc(scheme, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '+' && r != '-' && r != '.'
	})
}

// IsStaged reports whether the job has inputs or outputs.
func (j *Job) IsStaged() bool { return len(j.Inputs)+len(j.Outputs) > 0 }

// Waiver is a rule that a job may break. It is no part of the AWS requests.
type Waiver struct {
	Rule, Reason string
	// Until is the last day of the waiver, as written; "" if it does not expire.
	Until string
	// Node is what the user wrote. Jobs that share a waiver of their workflow's
	// defaults share the node.
	Node *jsontree.Node
}
