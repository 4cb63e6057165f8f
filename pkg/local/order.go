package local

import (
	"errors"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/stage"
)

// Of is what the executor needs of t's newest attempt, but for a directory of its own. The model must not change
// meanwhile.
func Of(t *task) (Attempt, error) {
	command, err := substitute(t.job.container.Command, t.job.parameters())
	if t.job.pod != nil {
		err = errPods
	}
	return Attempt{ID: t.last().stream, Job: t.id(), Container: t.job.container, Command: command, Environment: environmentOf(t),
		Directory: workingDirectory(t), GPUs: t.last().gpus}, err
}

// workingDirectory is where the task's command runs; empty: in a directory of its own. That is
// said for commands that need something beside the job file. A job with inputs gets what
// it needs, and what it gets must not come to lie there.
func workingDirectory(t *task) string {
	has := func(v types.KeyValuePair) bool { return aws.ToString(v.Name) == stage.Variable }
	if t.job.container != nil && slices.ContainsFunc(t.job.container.Environment, has) {
		return ""
	}
	return t.job.directory
}

// environmentOf is the job's environment with the variables that Batch sets.
func environmentOf(t *task) []types.KeyValuePair {
	queue := *t.job.request.JobQueue
	place := ComputeEnvironment
	if v := t.last().place; v != nil {
		place = v.name
	}
	set := []types.KeyValuePair{
		variable("AWS_BATCH_JOB_ID", t.id()),
		variable("AWS_BATCH_JOB_ATTEMPT", strconv.Itoa(len(t.attempts))),
		variable("AWS_BATCH_JQ_NAME", queue),
		variable("AWS_BATCH_CE_NAME", place),
	}
	if t.isChild() {
		set = append(set, variable("AWS_BATCH_JOB_ARRAY_INDEX", strconv.Itoa(int(t.index))),
			variable("AWS_BATCH_JOB_ARRAY_SIZE", strconv.Itoa(len(t.job.children))))
	}
	if len(t.job.parts) > 0 {
		return set // each container has variables of its own
	}
	return mergedBy(t.job.container.Environment, set, func(v types.KeyValuePair) string { return aws.ToString(v.Name) })
}

func variable(name, value string) types.KeyValuePair {
	return types.KeyValuePair{Name: &name, Value: &value}
}

// mainNodeAddress is where the main node is, as the other nodes see it.
const mainNodeAddress = "127.0.0.1"

// nodeVariables is what Batch sets for node i beside the job's own.
func nodeVariables(j *job, i int) []types.KeyValuePair {
	set := []types.KeyValuePair{
		variable("AWS_BATCH_JOB_ID", nodeID(j.id, i)),
		variable("AWS_BATCH_JOB_NUM_NODES", strconv.Itoa(len(j.parts))),
		variable("AWS_BATCH_JOB_NODE_INDEX", strconv.Itoa(i)),
		variable("AWS_BATCH_JOB_MAIN_NODE_INDEX", strconv.Itoa(int(j.mainNode()))),
	}
	if int32(i) != j.mainNode() {
		set = append(set, variable("AWS_BATCH_JOB_MAIN_NODE_PRIVATE_IPV4_ADDRESS", mainNodeAddress))
	}
	return set
}

var errPods = errors.New("the local engine has no Kubernetes and runs no pods")
