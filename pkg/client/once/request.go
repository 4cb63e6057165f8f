package once

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/ladder"
	"github.com/batchctl/batchctl/pkg/plan"
	"github.com/batchctl/batchctl/pkg/wire"
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

// TooLargeError reports a request that the service would reject, or accept and then fail.
type TooLargeError struct {
	// What is the request or the member; Name is the job or definition.
	What, Name  string
	Size, Limit int // bytes
}

// Error names the request, its size and the limit.
func (e *TooLargeError) Error() string {
	return fmt.Sprintf("%s of %s has %d bytes of JSON, including the submission id that batchctl adds; AWS accepts at most %d: move long values to a file or an S3 object",
		e.What, e.Name, e.Size, e.Limit)
}

// sizeOf returns the size of a message on the wire, in bytes.
func sizeOf(message any) (int, error) {
	text, err := wire.Marshal(message)
	return len(text), err
}

// checkSubmitSize compares a complete request with the limits.
func checkSubmitSize(name string, in *awsbatch.SubmitJobInput) error {
	if in.ContainerOverrides != nil {
		if err := atMost("containerOverrides", name, *in.ContainerOverrides, plan.MaxOverrides); err != nil {
			return err
		}
	}
	return atMost("SubmitJob", name, *in, plan.MaxSubmit-1)
}

// atMost returns a *TooLargeError if a message is larger than the limit on the wire.
func atMost(what, name string, message any, limit int) error {
	size, err := sizeOf(message)
	if err != nil {
		return fmt.Errorf("%s of %s: %w", what, name, err)
	}
	if size > limit {
		return &TooLargeError{what, name, size, limit}
	}
	return nil
}

// Climbs reports whether this client executes rungs of the job that a request creates.
func Climbs(in *awsbatch.SubmitJobInput) bool { return len(rungsOf(in)) > 0 }

// rungsOf returns the rungs that the client executes; none for a job of the state machine. Rungs
// that cannot be read are ignored: another version of batchctl wrote them.
func rungsOf(in *awsbatch.SubmitJobInput) ladder.Ladder {
	if in == nil || in.Tags[ladder.Tag] == ladder.ByStateMachine {
		return nil
	}
	l, _ := ladder.Parse(rungsText(in))
	return l
}

// stateMachineClimbs reports whether the state machine executes rungs of the job that a request creates.
func stateMachineClimbs(in *awsbatch.SubmitJobInput) bool {
	return in != nil && in.Tags[ladder.Tag] == ladder.ByStateMachine && rungsText(in) != ""
}

// rungsText returns the rungs in a request, as ladder.Variable has them; "" for none.
func rungsText(in *awsbatch.SubmitJobInput) string {
	if in.ContainerOverrides == nil {
		return ""
	}
	for _, v := range in.ContainerOverrides.Environment {
		if aws.ToString(v.Name) == ladder.Variable {
			return aws.ToString(v.Value)
		}
	}
	return ""
}
