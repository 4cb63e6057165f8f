package ecs

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/batchctl/batchctl/pkg/plan"
	"github.com/batchctl/batchctl/pkg/stage"
)

// refusals returns why the job would have another result on ECS, each with the
// next step.
func refusals(j *plan.Job, d *awsbatch.RegisterJobDefinitionInput) (list []string) {
	add := func(when bool, text string) {
		if when {
			list = append(list, text)
		}
	}
	s := j.Submit
	if s == nil {
		return []string{"it only registers a job definition and submits no job; name a job file"}
	}
	if d == nil {
		return []string{fmt.Sprintf("it runs job definition %s, which only AWS Batch has; name the definition's file as well", aws.ToString(s.JobDefinition))}
	}
	add(s.ArrayProperties != nil || j.Cells != "",
		"it is an array, and ECS has no arrays; submit it to AWS Batch, or remove \"array\" from the file to run a single task")
	add(len(s.DependsOn)+len(j.After)+len(j.Earlier) > 0 || j.When != "",
		"it depends on other jobs, and an ECS task cannot wait for others; submit it to AWS Batch, or run the files one after the other with --wait")
	add(len(j.Staged) > 0, "it is an array whose children read a file from S3, and ECS has no arrays; submit it to AWS Batch")
	add(len(j.Published) > 0,
		"it has local input files, which only batchctl submit uploads; copy them to S3 and write their S3 URLs, or submit it to AWS Batch")
	if name := namesBatch(j); name != "" {
		add(true, fmt.Sprintf("a location of its inputs or outputs contains %s, which only AWS Batch sets; use ${AWS_BATCH_JOB_ID}, which becomes the task's id, or a variable of the job's environment", name))
	}
	add(hasLocalOutputs(j), "it has outputs with a local path, and batchctl results --fetch downloads those only for AWS Batch jobs; write S3 URLs, or submit it to AWS Batch")
	add(d.NodeProperties != nil || s.NodeOverrides != nil,
		"it runs on several nodes, and an ECS task runs on one; submit it to AWS Batch")
	add(d.EksProperties != nil || s.EksPropertiesOverride != nil, "it is for EKS; submit it to AWS Batch")
	add(d.ConsumableResourceProperties != nil || s.ConsumableResourcePropertiesOverride != nil,
		"it requests consumable resources, and ECS does not count them, so more tasks could run than you have resources for; submit it to AWS Batch, or remove \"consumableResources\" from the file")
	add(len(list) == 0 && d.ContainerProperties == nil && (d.EcsProperties == nil ||
		len(d.EcsProperties.TaskProperties) != 1), "its definition has no container; add an image")
	return list
}

// losses returns which settings have no effect on ECS, or another one, but do not change the
// result.
func losses(j *plan.Job, d *awsbatch.RegisterJobDefinitionInput) (list []string) {
	add := func(when bool, format string, args ...any) {
		if when {
			list = append(list, fmt.Sprintf(format, args...))
		}
	}
	s := j.Submit
	retry := s.RetryStrategy
	if retry == nil {
		retry = d.RetryStrategy
	}
	if retry != nil {
		add(aws.ToInt32(retry.Attempts) > 1,
			"retryStrategy has no effect: ECS makes one attempt, not %d; if the task fails, run it again",
			aws.ToInt32(retry.Attempts))
	}
	timeout := s.Timeout
	if timeout == nil {
		timeout = d.Timeout
	}
	if timeout != nil {
		add(true, "timeout has no effect: ECS does not stop a task after %d s; stop it yourself, or start the command with timeout", aws.ToInt32(timeout.AttemptDurationSeconds))
	}
	add(s.SchedulingPriorityOverride != nil || s.ShareIdentifier != nil || d.SchedulingPriority != nil,
		"the scheduling priority and the share have no effect: a cluster has no queue, and ECS rejects a task that does not fit")
	add(slices.Contains(staged(j).Names(), "AWS_BATCH_JOB_ID"),
		"${AWS_BATCH_JOB_ID} in its locations becomes the task's id; batchctl in the image must be at least as new as this one")
	add(readsBatch(d, s), "the job reads an AWS_BATCH_... variable, and ECS sets none of them")
	return list
}

// readsBatch reports whether a command or a variable contains the name of a
// variable that AWS Batch sets.
func readsBatch(d *awsbatch.RegisterJobDefinitionInput, s *awsbatch.SubmitJobInput) bool {
	var texts []string
	add := func(command []string, environment []types.KeyValuePair) {
		texts = append(texts, command...)
		for _, v := range environment {
			if aws.ToString(v.Name) != stage.Variable { // refusals has read it
				texts = append(texts, aws.ToString(v.Value))
			}
		}
	}
	if c := d.ContainerProperties; c != nil {
		add(c.Command, c.Environment)
	} else {
		for _, c := range d.EcsProperties.TaskProperties[0].Containers {
			add(c.Command, c.Environment)
		}
	}
	if o := s.ContainerOverrides; o != nil {
		add(o.Command, o.Environment)
	}
	return slices.ContainsFunc(texts, func(w string) bool { return strings.Contains(w, batchPrefix) })
}

// onEC2 is the next step for a job that Fargate cannot run.
const onEC2 = "; run it on EC2: --launch-type EC2"

// checkFargate refuses what Fargate does not have (Amazon ECS Developer Guide,
// "Task definition differences for Fargate").
func (b *builder) checkFargate() {
	if len(b.options.Subnets) == 0 {
		b.refuse("a task on Fargate needs subnets; add --subnets subnet-...,subnet-...")
	}
	for _, c := range b.task.Definition.ContainerDefinitions {
		b.checkContainer(c)
	}
	for _, v := range b.task.Definition.Volumes {
		if v.Host != nil && aws.ToString(v.Host.SourcePath) != "" {
			b.refuse("volume %s is a directory on the host, which Fargate does not allow%s", aws.ToString(v.Name),
				onEC2)
		}
	}
	if o := b.task.Run.Overrides; o != nil && slices.ContainsFunc(o.ContainerOverrides,
		func(c ecstypes.ContainerOverride) bool { return len(c.ResourceRequirements) > 0 }) {
		b.refuse("it requests GPUs, and Fargate has no GPUs%s", onEC2)
	}
}

// checkContainer refuses members of a container that Fargate does not have.
func (b *builder) checkContainer(c ecstypes.ContainerDefinition) {
	if len(c.ResourceRequirements) > 0 {
		b.refuse("it requests GPUs, and Fargate has no GPUs%s", onEC2)
	}
	if aws.ToBool(c.Privileged) {
		b.refuse("it is privileged, which Fargate does not allow%s", onEC2)
	}
	if l := c.LinuxParameters; l != nil && (l.SharedMemorySize != nil || len(l.Devices) > 0 || l.MaxSwap != nil ||
		l.Swappiness != nil) {
		b.refuse("it requests shared memory, devices or swap, which Fargate does not have%s", onEC2)
	}
}

// namesBatch returns a variable in a location that only AWS Batch sets, and that has no counterpart in an ECS task; ""
// without one.
func namesBatch(j *plan.Job) string {
	for _, name := range staged(j).Names() {
		if strings.HasPrefix(name, batchPrefix) && !stage.KnownOnECS(name) {
			return name
		}
	}
	return ""
}

// batchPrefix begins the names of all variables that AWS Batch sets.
const batchPrefix = "AWS_BATCH_"

// staged returns what a job moves, which may be nothing.
func staged(j *plan.Job) *stage.Document {
	if j.Stage == nil {
		return &stage.Document{}
	}
	return j.Stage
}

// hasLocalOutputs reports whether an output goes to the user's machine.
func hasLocalOutputs(j *plan.Job) bool {
	return slices.ContainsFunc(staged(j).Outputs, func(out stage.Output) bool { return out.Local != "" })
}
