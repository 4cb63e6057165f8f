package once

import (
	"cmp"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/plan"
)

// arraySize returns the number of children; 0 for a request that is not an array.
func arraySize(in *awsbatch.SubmitJobInput) int {
	if in.ArrayProperties == nil {
		return 0
	}
	return int(aws.ToInt32(in.ArrayProperties.Size))
}

// variable returns an environment variable of a job of one container.
func variable(job types.JobDetail, name string) (value string, ok bool) {
	if job.Container == nil {
		return "", false
	}
	for _, v := range job.Container.Environment {
		if aws.ToString(v.Name) == name {
			return aws.ToString(v.Value), true
		}
	}
	return "", false
}

// setVariable sets an environment variable of the request.
func setVariable(in *awsbatch.SubmitJobInput, name, value string) {
	in.ContainerOverrides = cmp.Or(in.ContainerOverrides, &types.ContainerOverrides{})
	list := &in.ContainerOverrides.Environment
	*list = slices.DeleteFunc(*list, func(v types.KeyValuePair) bool { return aws.ToString(v.Name) == name })
	*list = append(*list, types.KeyValuePair{Name: &name, Value: &value})
}

// setRequirement sets a resource requirement of the request.
func setRequirement(in *awsbatch.SubmitJobInput, of types.ResourceType, value string) {
	list := &in.ContainerOverrides.ResourceRequirements
	*list = append(slices.DeleteFunc(slices.Clone(*list),
		func(q types.ResourceRequirement) bool { return q.Type == of }),
		types.ResourceRequirement{Type: of, Value: &value})
}

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
