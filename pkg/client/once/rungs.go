package once

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"

	"github.com/batchctl/batchctl/pkg/ladder"
)

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
