// Package plan turns documents into the ordered AWS requests they stand for,
// and says which queue they go to and why. It is pure: no I/O, no clock.
package plan

import (
	"github.com/aws/aws-sdk-go-v2/service/batch"

	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/spec"
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
	// Register is nil when the job names a registered definition.
	Register *batch.RegisterJobDefinitionInput
	// Submit is nil for a job definition alone. JobDefinition is the bare name
	// when Register is set: the client puts the ARN with its revision there.
	Submit *batch.SubmitJobInput
	// After names the jobs of this plan that must be submitted first; their ids
	// belong into Submit.DependsOn. Of several with one name the last before this
	// job is meant: jobs of another file may have the same names.
	After []spec.Dependency
	// Queue is the queue and the reason for it.
	Queue Choice
}

// Choice is a queue and why it was chosen.
type Choice struct {
	// Queue is the jobQueue's name or ARN.
	Queue string
	// Reason is a clause: `only queue that holds 1 GPU, 8 vCPU, 30720 MiB: g5.8xlarge`.
	Reason string
	// Placement is the proof, where the platform file describes the queue.
	Placement *catalog.Placement
}

// Options for Build.
type Options struct {
	// Queue is used for every job that names none, before any choice is made.
	Queue string
}
