package attempt

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/local/logs"
	"github.com/batchctl/batchctl/pkg/local/model"
	"github.com/batchctl/batchctl/pkg/usage"
)

// measured lets the executor measure the container if the job asks for it. The measurement becomes the last line of
// the log, as on AWS, where the launcher writes it. Here the executor sees more than a program in the container, and
// any image works. So the launcher is removed from the command, and a launcher that stages must not measure too.
func measured(a Attempt, container string, log *logs.Log) Attempt {
	asked := false
	for _, v := range a.Environment { // the last one of a name counts
		if aws.ToString(v.Name) == usage.Variable {
			asked = usage.IsAsked(aws.ToString(v.Value))
		}
	}
	if !asked {
		return a
	}
	a.Environment = model.MergedBy(a.Environment, []types.KeyValuePair{Variable(usage.Variable, "")},
		func(v types.KeyValuePair) string { return aws.ToString(v.Name) })
	if l := len(usage.Launcher); len(a.Command) > l && slices.Equal(a.Command[:l], usage.Launcher) &&
		(a.Pod == nil || len(a.Pod.Entrypoint) == 0) {
		a.Command = a.Command[l:]
	}
	a.Measured = func(u usage.Usage) {
		u.Container = container
		log.End(u.Line())
	}
	return a
}
