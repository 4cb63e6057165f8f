// Package replay runs one attempt of an AWS Batch job again locally: with the same image,
// command, environment, index, limits and timeout. It reports what differs.
package replay

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/local/attempt"
)

// Attempt is an attempt that has ended and can run again.
type Attempt struct {
	// Job is the job's id, id:index for a child of an array; Name is its name.
	Job, Name string
	// Number is the number of the attempt, from 1; Attempts is how many the job has had.
	Number, Attempts int
	// Queue is the name of the job's queue, ComputeEnvironment the name of the environment in which
	// the attempt ran; "" if unknown.
	Queue, ComputeEnvironment string
	// Index is the index of a child in its array; -1 for a job that is not a child. Size is the
	// number of children; 0 if unknown, or not an array.
	Index, Size int
	// Container is the job's container, as DescribeJobs describes it.
	Container *types.ContainerProperties
	// Command is the command line with its parameters filled in.
	Command []string
	// Environment has the container's variables, then those of Batch, then the user's; each name
	// once.
	Environment []types.KeyValuePair
	// Directory is where a process runs if the caller names no other directory; "" means a new one.
	Directory string
	// Timeout is how long the attempt may run; 0 means no limit.
	Timeout time.Duration
	// Original is how the attempt ended on AWS Batch.
	Original types.AttemptDetail

	differences []Difference
}

// Options are changes to the attempt.
type Options struct {
	// Parent is the array of a child, which alone has the number of children; nil if unknown.
	Parent *types.JobDetail
	// Environment has variables that are added to the job's and Batch's, or replace them.
	Environment []types.KeyValuePair
	// Command replaces the job's command, without Ref:: substitution; nil keeps the job's.
	Command []string
}

// Of returns an attempt of a job, from the job's description. Attempts are numbered from 1; 0 is
// the latest that has ended. The error says why there is no such attempt, or why it cannot run
// here.
func Of(job types.JobDetail, number int, o Options) (*Attempt, error) {
	if err := runnable(&job); err != nil {
		return nil, err
	}
	number, err := choose(&job, number)
	if err != nil {
		return nil, err
	}
	a := &Attempt{Job: aws.ToString(job.JobId), Name: aws.ToString(job.JobName), Number: number,
		Attempts: len(job.Attempts),
		Queue:    batch.Name(aws.ToString(job.JobQueue)), Index: -1, Container: properties(job.Container),
		Command: o.Command, Original: job.Attempts[number-1]}
	a.Directory = attempt.WorkingDirectory(job.Parameters[batch.DirectoryParameter], a.Container.Environment)
	a.ComputeEnvironment = environmentOf(a.Original.Container)
	if p := job.ArrayProperties; p != nil && p.Index != nil {
		a.Index = int(*p.Index)
		a.Size = sizeOf(p, o.Parent)
	}
	if o.Command == nil {
		if a.Command, err = substitute(job.Container.Command, job.Parameters); err != nil {
			return nil, fmt.Errorf("job %s: %w", a.Job, err)
		}
	}
	if job.Timeout != nil {
		a.Timeout = time.Duration(aws.ToInt32(job.Timeout.AttemptDurationSeconds)) * time.Second
	}
	a.Environment = over(over(a.Container.Environment, a.variables()), o.Environment)
	a.differences = a.compare(&job, o)
	return a, nil
}

// Requirement returns how much of a resource the container requests, as written in the job: vCPUs,
// MiB, GPUs. It returns "" for none.
func (a *Attempt) Requirement(kind types.ResourceType) string {
	for _, r := range a.Container.ResourceRequirements {
		if r.Type == kind {
			return aws.ToString(r.Value)
		}
	}
	//lint:ignore SA1019 older jobs are described with them
	vcpus, memory := a.Container.Vcpus, a.Container.Memory
	switch {
	case kind == types.ResourceTypeVcpu && vcpus != nil:
		return strconv.Itoa(int(*vcpus))
	case kind == types.ResourceTypeMemory && memory != nil:
		return strconv.Itoa(int(*memory))
	}
	return ""
}

// gpus returns how many devices the container requests.
func (a *Attempt) gpus() int {
	n, err := strconv.Atoi(a.Requirement(types.ResourceTypeGpu))
	if err != nil {
		return 0
	}
	return max(n, 0)
}

// variables returns the variables that Batch sets in the container of an attempt (AWS Batch user
// guide, "AWS Batch job environment variables").
func (a *Attempt) variables() []types.KeyValuePair {
	set := []types.KeyValuePair{variable("AWS_BATCH_JOB_ID", a.Job), variable("AWS_BATCH_JOB_ATTEMPT",
		strconv.Itoa(a.Number)), variable("AWS_BATCH_JQ_NAME", a.Queue)}
	if a.ComputeEnvironment != "" {
		set = append(set, variable("AWS_BATCH_CE_NAME", a.ComputeEnvironment))
	}
	if a.Index >= 0 {
		set = append(set, variable("AWS_BATCH_JOB_ARRAY_INDEX", strconv.Itoa(a.Index)))
	}
	if a.Size > 0 {
		set = append(set, variable("AWS_BATCH_JOB_ARRAY_SIZE", strconv.Itoa(a.Size)))
	}
	return set
}

func variable(name, value string) types.KeyValuePair {
	return types.KeyValuePair{Name: &name, Value: &value}
}

// over returns base with more added. A variable in more replaces one of the same name; of two with
// the same name the last counts.
func over(base, more []types.KeyValuePair) []types.KeyValuePair {
	var out []types.KeyValuePair
	for _, v := range slices.Concat(base, more) {
		at := slices.IndexFunc(out,
			func(w types.KeyValuePair) bool { return aws.ToString(w.Name) == aws.ToString(v.Name) })
		if at < 0 {
			out = append(out, v)
		} else {
			out[at] = v
		}
	}
	return out
}

// substitute replaces each element of the command that is Ref::name by the job's parameter, where
// AWS Batch has not done so.
func substitute(command []string, parameters map[string]string) ([]string, error) {
	out := slices.Clone(command)
	for i, arg := range out {
		name, ref := strings.CutPrefix(arg, "Ref::")
		if !ref {
			continue
		}
		value, ok := parameters[name]
		if !ok {
			return nil, fmt.Errorf("its command contains %s, but the job has no parameter %s: write the complete command after --", arg, name)
		}
		out[i] = value
	}
	return out, nil
}

// sizeOf returns the size of a child's array.
func sizeOf(child *types.ArrayPropertiesDetail, parent *types.JobDetail) int {
	if parent != nil && parent.ArrayProperties != nil && parent.ArrayProperties.Size != nil {
		return int(*parent.ArrayProperties.Size)
	}
	return int(aws.ToInt32(child.Size))
}
