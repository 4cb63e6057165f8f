package attempt

import (
	"errors"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/local/model"
	"github.com/batchctl/batchctl/pkg/stage"
)

// Of is what the executor needs of t's newest attempt, but for a directory of its own. The model must not change
// meanwhile.
func Of(t *model.Task) (Attempt, error) {
	command, err := model.Substitute(t.Job.Container.Command, t.Job.Parameters())
	if t.Job.Pod != nil {
		err = ErrPods
	}
	return Attempt{ID: t.Last().Stream, Job: t.ID(), Container: t.Job.Container, Command: command, Environment: environmentOf(t),
		Directory: workingDirectory(t), GPUs: t.Last().GPUs}, err
}

// workingDirectory is where the task's command runs; empty: in a directory of its own. That is
// said for commands that need something beside the job file. A job with inputs gets what
// it needs, and what it gets must not come to lie there.
func workingDirectory(t *model.Task) string {
	has := func(v types.KeyValuePair) bool { return aws.ToString(v.Name) == stage.Variable }
	if t.Job.Container != nil && slices.ContainsFunc(t.Job.Container.Environment, has) {
		return ""
	}
	return t.Job.Directory
}

// environmentOf is the job's environment with the variables that Batch sets.
func environmentOf(t *model.Task) []types.KeyValuePair {
	queue := *t.Job.Request.JobQueue
	place := model.ComputeEnvironment
	if v := t.Last().Place; v != nil {
		place = v.Name
	}
	set := []types.KeyValuePair{
		Variable("AWS_BATCH_JOB_ID", t.ID()),
		Variable("AWS_BATCH_JOB_ATTEMPT", strconv.Itoa(len(t.Attempts))),
		Variable("AWS_BATCH_JQ_NAME", queue),
		Variable("AWS_BATCH_CE_NAME", place),
	}
	if t.IsChild() {
		set = append(set, Variable("AWS_BATCH_JOB_ARRAY_INDEX", strconv.Itoa(int(t.Index))),
			Variable("AWS_BATCH_JOB_ARRAY_SIZE", strconv.Itoa(len(t.Job.Children))))
	}
	if len(t.Job.Parts) > 0 {
		return set // each container has variables of its own
	}
	return model.MergedBy(t.Job.Container.Environment, set, func(v types.KeyValuePair) string { return aws.ToString(v.Name) })
}

// Variable is an environment variable of a container.
func Variable(name, value string) types.KeyValuePair {
	return types.KeyValuePair{Name: &name, Value: &value}
}

// mainNodeAddress is where the main node is, as the other nodes see it.
const mainNodeAddress = "127.0.0.1"

// nodeVariables is what Batch sets for node i beside the job's own.
func nodeVariables(j *model.Job, i int) []types.KeyValuePair {
	set := []types.KeyValuePair{
		Variable("AWS_BATCH_JOB_ID", model.NodeID(j.ID, i)),
		Variable("AWS_BATCH_JOB_NUM_NODES", strconv.Itoa(len(j.Parts))),
		Variable("AWS_BATCH_JOB_NODE_INDEX", strconv.Itoa(i)),
		Variable("AWS_BATCH_JOB_MAIN_NODE_INDEX", strconv.Itoa(int(j.MainNode()))),
	}
	if int32(i) != j.MainNode() {
		set = append(set, Variable("AWS_BATCH_JOB_MAIN_NODE_PRIVATE_IPV4_ADDRESS", mainNodeAddress))
	}
	return set
}

// ErrPods is why jobs of pods cannot run.
var ErrPods = errors.New("the local engine has no Kubernetes and runs no pods")
