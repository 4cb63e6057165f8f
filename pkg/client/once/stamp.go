package once

import (
	"maps"
	"slices"

	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/plan"
)

// stamped returns a copy of the request with the submission's id in its name (unless the service
// recognises submissions), its tags and, for a job of one container, its environment.
func stamped(in *awsbatch.SubmitJobInput, submission string, single, named bool) *awsbatch.SubmitJobInput {
	out := *in
	if named {
		name := client.JobName(*in.JobName, submission)
		out.JobName = &name
	}
	if len(in.Tags) < client.TagLimit {
		out.Tags = maps.Clone(in.Tags)
		if out.Tags == nil {
			out.Tags = map[string]string{}
		}
		out.Tags[client.SubmissionTag] = submission
	}
	if single || in.ContainerOverrides != nil {
		out.ContainerOverrides = withVariable(in.ContainerOverrides, submission)
	}
	return &out
}

// tagWorkflow tags the jobs of a workflow with its name and the run, as far as they have room for
// tags. It removes such tags of another submission, which a converted job may have.
func (r *run) tagWorkflow() {
	for _, t := range r.tasks {
		if t.submit != nil {
			r.tagTask(t)
		}
	}
}

// tagTask is tagWorkflow for one job.
func (r *run) tagTask(t *plannedJob) {
	tags := maps.Clone(t.submit.Tags)
	delete(tags, client.WorkflowTag)
	delete(tags, client.RunTag)
	if r.title != "" && len(tags)+1 < client.TagLimit {
		if tags == nil {
			tags = map[string]string{}
		}
		tags[client.WorkflowTag], tags[client.RunTag] = client.TagText(r.title), r.name
	}
	t.submit.Tags = tags
}

// withVariable adds SubmissionVariable to the overrides, unless the job has a variable of that name
// or it does not fit.
func withVariable(in *types.ContainerOverrides, submission string) *types.ContainerOverrides {
	var out types.ContainerOverrides
	if in != nil {
		out = *in
	}
	name := client.SubmissionVariable
	for _, v := range out.Environment {
		if v.Name != nil && *v.Name == name {
			return in
		}
	}
	out.Environment = append(slices.Clone(out.Environment), types.KeyValuePair{Name: &name, Value: &submission})
	if size, err := sizeOf(out); err != nil || size > plan.MaxOverrides-plan.OverridesReserve {
		return in
	}
	return &out
}
