package once

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/checkpoint"
	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/plan"
	"github.com/batchctl/batchctl/pkg/stage"
	"github.com/batchctl/batchctl/pkg/sweep"
)

// RetryOptions are the options of Retry.
type RetryOptions struct {
	// Partial includes the children that have failed so far in arrays that have not ended.
	Partial bool
}

// RetryError reports a job that cannot be run again from the data that the service and the ledger
// have about it.
type RetryError struct{ Job, ID, Why string }

// Error names the job and the cause.
func (e *RetryError) Error() string {
	return fmt.Sprintf("job %s (%s) cannot be retried: %s", e.Job, batch.ShortID(e.ID), e.Why)
}

// retrying is a Retry in progress.
type retrying struct {
	client      *client.Client
	options     RetryOptions
	definitions map[string]types.JobDefinition // by ARN
}

// request returns the SubmitJob that created a job of one container, as far as it differs from the
// job's definition. inOrder adds the dependencies.
func (r *retrying) request(ctx context.Context, job types.JobDetail) (*awsbatch.SubmitJobInput, error) {
	d, err := r.definition(ctx, job)
	if err != nil {
		return nil, err
	}
	in := &awsbatch.SubmitJobInput{JobQueue: aws.String(batch.Name(aws.ToString(job.JobQueue))),
		JobDefinition:      job.JobDefinition,
		ContainerOverrides: overridesOf(job.Container, d.ContainerProperties), ShareIdentifier: job.ShareIdentifier,
		Tags: retryTags(job)}
	for name, value := range job.Parameters {
		if own, ok := d.Parameters[name]; !ok || own != value {
			if in.Parameters == nil {
				in.Parameters = map[string]string{}
			}
			in.Parameters[name] = value
		}
	}
	if job.Timeout != nil && !reflect.DeepEqual(job.Timeout, d.Timeout) {
		in.Timeout = job.Timeout
	}
	if job.RetryStrategy != nil && !reflect.DeepEqual(job.RetryStrategy, d.RetryStrategy) {
		in.RetryStrategy = upperActions(job.RetryStrategy)
	}
	if job.PropagateTags != nil && aws.ToBool(job.PropagateTags) != aws.ToBool(d.PropagateTags) {
		in.PropagateTags = job.PropagateTags
	}
	if job.SchedulingPriority != nil && job.ShareIdentifier != nil &&
		aws.ToInt32(job.SchedulingPriority) != aws.ToInt32(d.SchedulingPriority) {
		in.SchedulingPriorityOverride = job.SchedulingPriority
	}
	in.ConsumableResourcePropertiesOverride = otherResources(job, d)
	continues(job, in)
	return in, nil
}

// definition returns the definition that a job ran. It must still be ACTIVE.
func (r *retrying) definition(ctx context.Context, job types.JobDetail) (types.JobDefinition, error) {
	no := func(why string) error { return &RetryError{aws.ToString(job.JobName), aws.ToString(job.JobId), why} }
	arn := aws.ToString(job.JobDefinition)
	d, known := r.definitions[arn]
	if !known {
		var err error
		if d, err = r.client.RegisteredDefinition(ctx, arn); err != nil {
			return d, err
		}
		r.definitions[arn] = d
	}
	switch {
	case aws.ToString(d.Status) == "INACTIVE":
		return d, no("its definition " + batch.Name(arn) + " is INACTIVE; submit its file again")
	case d.ContainerProperties == nil || job.Container == nil || job.NodeProperties != nil:
		return d, no("it has several containers, or runs on Kubernetes, and batchctl cannot tell which overrides it had; submit its file again")
	}
	return d, nil
}

// overridesOf returns the differences between a container and its definition.
func overridesOf(c *types.ContainerDetail, d *types.ContainerProperties) *types.ContainerOverrides {
	out := &types.ContainerOverrides{}
	if !slices.Equal(c.Command, d.Command) {
		out.Command = c.Command
	}
	for _, v := range c.Environment {
		name := aws.ToString(v.Name)
		if name == client.SubmissionVariable || strings.HasPrefix(name, "AWS_BATCH") { // set by batchctl or the service
			continue
		}
		same := func(o types.KeyValuePair) bool {
			return reflect.DeepEqual(o.Name, v.Name) && reflect.DeepEqual(o.Value, v.Value)
		}
		if !slices.ContainsFunc(d.Environment, same) {
			out.Environment = append(out.Environment, v)
		}
	}
	for _, q := range c.ResourceRequirements {
		same := func(o types.ResourceRequirement) bool {
			return o.Type == q.Type && aws.ToString(o.Value) == aws.ToString(q.Value)
		}
		if !slices.ContainsFunc(d.ResourceRequirements, same) {
			out.ResourceRequirements = append(out.ResourceRequirements, q)
		}
	}
	olderOverrides(out, c, d)
	return out
}

// olderOverrides handles the members that resourceRequirements replaced: older jobs are described
// with them.
func olderOverrides(out *types.ContainerOverrides, c *types.ContainerDetail, d *types.ContainerProperties) {
	//lint:ignore SA1019 see above
	if aws.ToInt32(c.Vcpus) != aws.ToInt32(d.Vcpus) {
		out.Vcpus = c.Vcpus //lint:ignore SA1019 see above
	}
	//lint:ignore SA1019 see above
	if aws.ToInt32(c.Memory) != aws.ToInt32(d.Memory) {
		out.Memory = c.Memory //lint:ignore SA1019 see above
	}
}

// retryTags returns the job's tags, with its id in client.RetryTag instead of those of its
// submission.
func retryTags(job types.JobDetail) map[string]string {
	tags := maps.Clone(job.Tags)
	maps.DeleteFunc(tags, func(name, _ string) bool {
		return name == client.SubmissionTag || name == client.RunTag || name == client.WorkflowTag ||
			name == MaxParallelTag || strings.HasPrefix(name, "aws:")
	})
	if tags == nil {
		tags = map[string]string{}
	}
	if _, again := tags[client.RetryTag]; again || len(tags) < client.TagLimit {
		tags[client.RetryTag] = aws.ToString(job.JobId)
	}
	return tags
}

// upperActions returns a strategy as SubmitJob documents it; DescribeJobs writes its actions in
// lower case.
func upperActions(s *types.RetryStrategy) *types.RetryStrategy {
	out := *s
	out.EvaluateOnExit = slices.Clone(s.EvaluateOnExit)
	for i, rule := range out.EvaluateOnExit {
		out.EvaluateOnExit[i].Action = types.RetryAction(strings.ToUpper(string(rule.Action)))
	}
	return &out
}

// otherResources returns what the job requests besides the resource of its group, if that differs
// from its definition.
func otherResources(job types.JobDetail, d types.JobDefinition) *types.ConsumableResourceProperties {
	list := func(p *types.ConsumableResourceProperties) (all []types.ConsumableResourceRequirement) {
		if p == nil {
			return nil
		}
		return slices.DeleteFunc(slices.Clone(p.ConsumableResourceList),
			func(r types.ConsumableResourceRequirement) bool {
				return job.Tags[MaxParallelTag] != "" &&
					strings.HasPrefix(batch.Name(aws.ToString(r.ConsumableResource)),
						resourcePrefix)
			})
	}
	mine, own := list(job.ConsumableResourceProperties), list(d.ConsumableResourceProperties)
	same := len(mine) == len(own)
	for _, r := range mine {
		same = same && slices.ContainsFunc(own, func(o types.ConsumableResourceRequirement) bool {
			return batch.Name(aws.ToString(o.ConsumableResource)) == batch.Name(aws.ToString(r.ConsumableResource)) &&
				aws.ToInt64(o.Quantity) == aws.ToInt64(r.Quantity)
		})
	}
	if same {
		return nil
	}
	for i, r := range mine {
		mine[i].ConsumableResource = aws.String(batch.Name(aws.ToString(r.ConsumableResource)))
	}
	return &types.ConsumableResourceProperties{ConsumableResourceList: mine}
}

// continues lets a job that replaces another one find its checkpoint. A job that is itself a retry passes on the id
// of the first job of the chain.
func continues(job types.JobDetail, in *awsbatch.SubmitJobInput) {
	text, _ := variable(job, stage.Variable)
	if d, err := stage.Parse(text); err != nil || d.Checkpoint == nil {
		return
	}
	origin, ok := variable(job, checkpoint.OriginVariable)
	if !ok {
		origin = aws.ToString(job.JobId)
	}
	setVariable(in, checkpoint.OriginVariable, origin)
}

// retrySuffix ends the name of a job that runs another one again.
const retrySuffix = "-retry"

// failed returns the indexes of the FAILED children, among those that are wanted or all.
func (r *retrying) failed(ctx context.Context, array string, wanted []int) (indexes []int, err error) {
	ids, err := r.client.FailedChildren(ctx, array)
	for _, id := range ids {
		_, suffix := batch.SplitID(id)
		index, err := strconv.Atoi(suffix[1:])
		if err == nil && (wanted == nil || slices.Contains(wanted, index)) {
			indexes = append(indexes, index)
		}
	}
	return indexes, err
}

// cellsOf returns the cells of an array's children: their indexes, unless the array has others.
func cellsOf(job types.JobDetail, indexes []int) ([]int, error) {
	text, listed := variable(job, sweep.CellsVariable)
	if !listed || text == "" {
		return indexes, nil
	}
	all, err := sweep.ParseCells(text)
	if err != nil {
		return nil, damagedCells(job, err.Error())
	}
	var cells []int
	for _, i := range indexes {
		cell, ok := all.At(i)
		if !ok {
			return nil, damagedCells(job, fmt.Sprintf("it has no cell for index %d", i))
		}
		cells = append(cells, cell)
	}
	return cells, nil
}

// damagedCells returns the error for cells that cannot be read.
func damagedCells(job types.JobDetail, why string) error {
	return &RetryError{aws.ToString(job.JobName), aws.ToString(job.JobId), sweep.CellsVariable + ": " + why}
}

// asSweep lets the children find their cells. Children of a sweep can do so already; a plain
// array gets a launcher.
func asSweep(job types.JobDetail, in *awsbatch.SubmitJobInput) error {
	_, text := variable(job, sweep.DocumentVariable)
	_, url := variable(job, sweep.URLVariable)
	if text || url {
		return nil
	}
	if len(job.Container.Command) == 0 {
		return &RetryError{aws.ToString(job.JobName), aws.ToString(job.JobId),
			"it runs the default command of its image, which cannot have a launcher; write the command in the job file, and submit the whole array again"}
	}
	s := sweep.Sweep{Kind: sweep.Plain, Launcher: sweep.Shell, Size: batch.ArraySize(job)}
	in.ContainerOverrides.Command = s.Command(job.Container.Command)
	setVariable(in, sweep.DocumentVariable, s.Document())
	return nil
}

// maxChildren is the maximum number of children of an array (API reference of SubmitJob).
const maxChildren = 10000

// arrays returns the jobs for some cells. Each has as many cells as fit into a request.
func (r *retrying) arrays(job types.JobDetail, in *awsbatch.SubmitJobInput, cells []int) (all []*plan.Job, err error) {
	setVariable(in, sweep.CellsVariable, "")
	size, err := sizeOf(*withVariable(in.ContainerOverrides, client.NewSubmissionID()))
	if err != nil {
		return nil, err
	}
	capacity := plan.MaxOverrides - plan.OverridesReserve - size
	var parts [][]int
	for len(cells) > 0 {
		// sort.Search works because the text of more cells is never shorter.
		n := sort.Search(min(len(cells), maxChildren),
			func(i int) bool { return len(sweep.FormatCells(cells[:i+1])) > capacity })
		n = max(n, 1) // a single cell that does not fit gets an error of its own
		parts, cells = append(parts, cells[:n]), cells[n:]
	}
	for i, part := range parts {
		suffix := retrySuffix
		if len(parts) > 1 {
			suffix = fmt.Sprintf("%s-%dof%d", retrySuffix, i+1, len(parts))
		}
		one := *in
		overrides := *in.ContainerOverrides
		overrides.Environment = slices.Clone(overrides.Environment)
		one.ContainerOverrides = &overrides
		setVariable(&one, sweep.CellsVariable, sweep.FormatCells(part))
		if len(part) > 1 {
			one.ArrayProperties = &types.ArrayProperties{Size: aws.Int32(int32(len(part)))}
		}
		all = append(all, retryJob(job, &one, suffix))
	}
	return all, nil
}

// retryJob returns a job of the plan, named after the one that it runs again.
func retryJob(job types.JobDetail, in *awsbatch.SubmitJobInput, suffix string) *plan.Job {
	name := aws.ToString(job.JobName)
	name = name[:min(len(name), client.MaxUserName-len(suffix))]
	in.JobName = aws.String(name + suffix)
	bound, _ := strconv.Atoi(job.Tags[MaxParallelTag]) // "" and other text: no limit
	return &plan.Job{Name: *in.JobName, Again: aws.ToString(job.JobId), Submit: in, Group: name + retrySuffix,
		MaxParallel: max(bound, 0),
		Queue: plan.Choice{Queue: *in.JobQueue, Reason: "queue of job " + batch.ShortID(aws.ToString(job.JobId)) +
			", which is run again"}}
}
