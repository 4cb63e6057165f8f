// Package history is the record of attempts: what each requested, what it used and how it ended. It is a file of
// JSON lines in the state directory, one for each attempt, which is kept longer than AWS Batch keeps jobs.
package history

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/usage"
)

// Attempt is one attempt of a job or of a child of an array. Times are epoch milliseconds, as in AWS Batch; 0 means
// unknown.
type Attempt struct {
	// Target is where the job ran: "local", or the account and Region.
	Target string `json:"target"`
	// Job is the job's id, id:index for a child. Number is the attempt's number, from 1.
	Job    string `json:"job"`
	Number int    `json:"attempt"`
	Name   string `json:"name"`
	Queue  string `json:"queue,omitempty"`
	// Share is the fair-share identifier.
	Share string `json:"share,omitempty"`
	// Submission is the id of the submission in the ledger.
	Submission string `json:"submission,omitempty"`
	// Definition is name:revision. Hash is the hash of the definition's content without its sizes, so that attempts
	// of the same program with different requests have the same one.
	Definition string `json:"definition,omitempty"`
	Hash       string `json:"hash,omitempty"`
	Image      string `json:"image,omitempty"`
	// ImageDigests are the digests of the images that ran, by container; the only one is "default". nil is unknown.
	ImageDigests map[string]string `json:"imageDigests,omitempty"`
	// Cell has the values of a child of a matrix or a table.
	Cell map[string]string `json:"cell,omitempty"`
	// InstanceType is that of the machine; "" is unknown. Spot is whether it was a Spot instance; nil is unknown.
	InstanceType string    `json:"instanceType,omitempty"`
	Spot         *bool     `json:"spot,omitempty"`
	Requested    Resources `json:"requested"`

	// Status is SUCCEEDED or FAILED. An attempt before a retry is FAILED.
	Status types.JobStatus `json:"status"`
	// Reason is the job's status reason, Container the container's, which says OutOfMemoryError.
	Reason    string `json:"reason,omitempty"`
	Container string `json:"containerReason,omitempty"`
	ExitCode  *int32 `json:"exitCode,omitempty"`
	LogStream string `json:"logStream,omitempty"`
	CreatedAt int64  `json:"createdAt,omitempty"` // of the job
	StartedAt int64  `json:"startedAt,omitempty"`
	StoppedAt int64  `json:"stoppedAt,omitempty"`

	// Usage has a measurement for each container that was measured.
	Usage []usage.Usage `json:"usage,omitempty"`
	// Searched means that the complete log was searched for measurements, so that no command needs to read it again.
	Searched bool `json:"searched,omitempty"`
}

// Resources is what the containers of an attempt requested together. 0 means none or unknown.
type Resources struct {
	VCPUs     float64 `json:"vcpus,omitempty"`
	MemoryMiB int64   `json:"memoryMiB,omitempty"`
	GPUs      int     `json:"gpus,omitempty"`
}

// Duration is how long the attempt ran; 0 if unknown.
func (a Attempt) Duration() time.Duration {
	if a.StartedAt == 0 || a.StoppedAt < a.StartedAt {
		return 0
	}
	return time.Duration(a.StoppedAt-a.StartedAt) * time.Millisecond
}
