// Package plan turns documents into the ordered AWS requests they stand for,
// and says which queue they go to and why. It is pure: no I/O, no clock.
package plan

import (
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"

	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/ladder"
	"github.com/batchctl/batchctl/pkg/stage"
)

// Plan is the AWS requests, in an order in which they can be sent.
type Plan struct {
	// Name is the workflow's name, or the job's.
	Name string
	Jobs []*Job
}

// Job is the requests of one job.
type Job struct {
	Name string
	// File is the path of its file, as it was named.
	File string
	// Again is the id of the failed job that this one runs again; "" for a job of a file.
	Again string
	// Register is nil when the job names a registered definition.
	Register *awsbatch.RegisterJobDefinitionInput
	// Submit is nil for a job definition alone. JobDefinition is the bare name
	// when Register is set: the client puts the ARN with its revision there.
	Submit *awsbatch.SubmitJobInput
	// After names the jobs of this plan that must be submitted first; their ids
	// belong into Submit.DependsOn. Of several with one name the last before this
	// job is meant: jobs of another file may have the same names.
	After []document.Dependency
	// Earlier names jobs that were submitted before this plan: their ids belong into
	// Submit.DependsOn, too.
	Earlier []document.Dependency
	// When is document.WhenAlways or document.WhenFailure for a job that Batch cannot make wait:
	// it is submitted, without dependencies, once all jobs in After and Earlier have
	// ended, and only if one of them failed in the case of WhenFailure.
	When string
	// Group is the name in the file where one job became several: the arrays of a sweep
	// of more than 10,000 cells; else Name.
	Group string
	// Cells are those of this array of several, as sweep.CellsVariable has them:
	// "10000-19999"; "": all cells of the job.
	Cells string
	// MaxParallel is how many children of all arrays of the group may run at once; 0:
	// any number.
	MaxParallel int
	// Staged are texts that must be at their places before the job is submitted.
	Staged []Staged
	// Stage is what the job's document for batchctl stage says, and Places the inputs and
	// outputs of the file that it comes from; nil for a job without.
	Stage  *stage.Document
	Places *document.Job
	// Ladder is what the client does after a failure of the job, with the names of AWS queues.
	// Submit has it as a variable.
	Ladder ladder.Ladder
	// Sent is the command that a container starts, if batchctl put a launcher before that of the file: staging, measuring
	// or the cells of an array; nil if the file's own is sent.
	Sent []string
	// Measured reports that each attempt is measured.
	Measured bool
	// Notify are the receivers of the client's message when the job has ended.
	Notify []string
	// Topics are the topics that the state machine notifies instead of the client. Submit has them as
	// the tag ladder.NoticeTag.
	Topics []string
	// Published are files of the user's machine that must be at their places before the
	// job is submitted.
	Published []Published
	// Join is true for a generated step. It replaces more dependencies than a SubmitJob
	// accepts.
	Join bool
	// Queue is the queue and the reason for it.
	Queue Choice
}

// Staged is a text that a job's children read, too long for a request.
type Staged struct {
	// URL is s3://bucket/key or the absolute path of a file; its last part is the
	// text's SHA-256.
	URL  string
	Text string
}

// Published is a local file, or the files of a directory, as uploaded to the target.
type Published struct {
	// Path leads there from the working directory.
	Path string
	// URL is s3://bucket/key or an absolute path. It follows from the content, so that
	// the same files have the same place in every submission.
	URL string
	// SHA256 is the hash of the one file; "" for a tree.
	SHA256 string
	// Tree says that URL is a list of files; Executable that the one file is a program.
	Tree, Executable bool

	Files int
	Bytes int64
}

// Choice is a queue and why it was chosen.
type Choice struct {
	// Queue is the jobQueue's name or ARN.
	Queue string
	// Reason is a clause: `only queue that fits 1 GPU, 8 vCPU, 30720 MiB: g5.8xlarge`.
	Reason string
	// Placement is the proof, where the platform file describes the queue.
	Placement *catalog.Placement
}

// Options for Build.
type Options struct {
	// Queue is used for every job that names none, before any choice is made.
	Queue string
	// LocalQueue is the local engine's own queue, for jobs that name none under a
	// platform file without queues, or under none. Its policy does not restrict it.
	LocalQueue string
	// Staging is where texts go that are too long for a request: s3://bucket/prefix or
	// an absolute directory. "": there is no such place.
	Staging string
	// Published are the places of the files and directories that inputs name, by their
	// Local.Path.
	Published map[string]Published
}

// FormatVersion is the version of the JSON of a plan.
const FormatVersion = 1
