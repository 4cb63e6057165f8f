// Package replay runs one attempt of a job of AWS Batch again on this machine: the same
// image, command, environment, index, limits and timeout. What cannot be the same here is
// named.
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
)

// Attempt is an attempt that has ended and can run again.
type Attempt struct {
	// Job is the job's id, id:index for a child of an array; Name its name.
	Job, Name string
	// Number is the attempt's, from 1; Attempts is how many the job has had.
	Number, Attempts int
	// Queue is the name of the job's queue, ComputeEnvironment that of the environment
	// in which the attempt ran; empty: not known.
	Queue, ComputeEnvironment string
	// Index is the child's in its array; -1: the job is not a child. Size is how many
	// children there are; 0: not known, or no array.
	Index, Size int
	// Container is the job's, as DescribeJobs shows it.
	Container *types.ContainerProperties
	// Command is the command line with all parameters in it.
	Command []string
	// Environment is the container's variables, then those that Batch sets, then those
	// that were asked for; each name once.
	Environment []types.KeyValuePair
	// Timeout is how long it may run; 0: as long as it takes.
	Timeout time.Duration
	// Original is how the attempt ended on AWS Batch.
	Original types.AttemptDetail

	differences []Difference
}

// Options say what of the attempt is to be another here.
type Options struct {
	// Parent is the array of a child: it alone says how many children there are. nil:
	// not known.
	Parent *types.JobDetail
	// Environment holds variables to add, or in place of the job's and of Batch's.
	Environment []types.KeyValuePair
	// Command takes the place of the job's. Ref:: means nothing in it. nil: the job's.
	Command []string
}

// Of is an attempt of a job, given as DescribeJobs describes it. Attempts are numbered
// from 1; 0 is the newest that has ended. The error says why there is no such attempt,
// or why it cannot run here.
func Of(job types.JobDetail, attempt int, o Options) (*Attempt, error) {
	if err := runnable(&job); err != nil {
		return nil, err
	}
	number, err := choose(&job, attempt)
	if err != nil {
		return nil, err
	}
	a := &Attempt{Job: aws.ToString(job.JobId), Name: aws.ToString(job.JobName), Number: number, Attempts: len(job.Attempts),
		Queue: batch.Name(aws.ToString(job.JobQueue)), Index: -1, Container: properties(job.Container), Command: o.Command, Original: job.Attempts[number-1]}
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

// Requirement is how much of a resource the container asks for, as the job says it: vCPUs,
// MiB, GPUs. Empty: nothing.
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

// gpus is how many devices the container asks for.
func (a *Attempt) gpus() int {
	n, err := strconv.Atoi(a.Requirement(types.ResourceTypeGpu))
	if err != nil {
		return 0
	}
	return max(n, 0)
}

// variables are those that Batch sets in the container of an attempt (AWS Batch user
// guide, "AWS Batch job environment variables").
func (a *Attempt) variables() []types.KeyValuePair {
	set := []types.KeyValuePair{variable("AWS_BATCH_JOB_ID", a.Job), variable("AWS_BATCH_JOB_ATTEMPT", strconv.Itoa(a.Number)), variable("AWS_BATCH_JQ_NAME", a.Queue)}
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

// over is base with the variables of more in place of those with the same name, and the
// rest of more behind. Of two with one name the last counts.
func over(base, more []types.KeyValuePair) []types.KeyValuePair {
	var out []types.KeyValuePair
	for _, v := range slices.Concat(base, more) {
		at := slices.IndexFunc(out, func(w types.KeyValuePair) bool { return aws.ToString(w.Name) == aws.ToString(v.Name) })
		if at < 0 {
			out = append(out, v)
		} else {
			out[at] = v
		}
	}
	return out
}

// substitute puts the job's parameters into its command, where AWS Batch has not: in
// place of each element that is Ref::name as a whole.
func substitute(command []string, parameters map[string]string) ([]string, error) {
	out := slices.Clone(command)
	for i, word := range out {
		name, ref := strings.CutPrefix(word, "Ref::")
		if !ref {
			continue
		}
		value, ok := parameters[name]
		if !ok {
			return nil, fmt.Errorf("its command has %s, and the job has no parameter %s: give the command as it should be", word, name)
		}
		out[i] = value
	}
	return out, nil
}

// sizeOf is the size of a child's array.
func sizeOf(child *types.ArrayPropertiesDetail, parent *types.JobDetail) int {
	if parent != nil && parent.ArrayProperties != nil && parent.ArrayProperties.Size != nil {
		return int(*parent.ArrayProperties.Size)
	}
	return int(aws.ToInt32(child.Size))
}
