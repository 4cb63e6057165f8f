package attempt

import (
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/local/model"
	"github.com/batchctl/batchctl/pkg/stage"
)

// Of returns what the executor needs of t's newest attempt, except for its own directory. The model
// must not change meanwhile.
func Of(t *model.Task) (Attempt, error) {
	if t.Job.Service != nil {
		return trainingOf(t)
	}
	command, err := model.Substitute(t.Job.Container.Command, t.Job.Parameters())
	return Attempt{ID: t.Last().Stream, Job: t.ID(), Container: t.Job.Container, Command: command,
		Environment: environmentOf(t),
		Directory:   workingDirectory(t), GPUs: t.Last().GPUs}, err
}

// workingDirectory returns where the process of a task runs; "" means a scratch directory.
func workingDirectory(t *model.Task) string {
	if t.Job.Container == nil {
		return t.Job.Directory
	}
	return WorkingDirectory(t.Job.Directory, t.Job.Container.Environment)
}

// WorkingDirectory returns where a process runs whose job has this environment: in beside, the directory of the job
// file. A staged job, and a job of another client, which names no directory, run in a scratch directory: "". Files that
// are staged in must not be written beside the job file.
func WorkingDirectory(beside string, environment []types.KeyValuePair) string {
	if slices.ContainsFunc(environment,
		func(v types.KeyValuePair) bool { return aws.ToString(v.Name) == stage.Variable }) {
		return ""
	}
	return beside
}

// environmentOf returns the job's environment with the variables that Batch sets.
func environmentOf(t *model.Task) []types.KeyValuePair {
	set := variables(t, len(t.Attempts)-1)
	if len(t.Job.Parts) > 0 {
		return set // each container has its own variables
	}
	return merged(t.Job.Container.Environment, set)
}

// merged returns variables with others that replace those of the same name.
func merged(base, set []types.KeyValuePair) []types.KeyValuePair {
	return model.MergedBy(base, set, func(v types.KeyValuePair) string { return aws.ToString(v.Name) })
}

// Environment returns the variables of container i in an ECS task, also of one that has ended: its
// own with those that Batch sets. For a job with one container, i is 0.
func Environment(e model.ECSTask, i int) []types.KeyValuePair {
	j, set := e.Task.Job, variables(e.Task, e.Attempt)
	switch {
	case len(j.Parts) == 0:
		return merged(j.Container.Environment, set)
	case j.IsMultiNode():
		set = merged(set, nodeVariables(j, j.Parts[i].Node))
	}
	return merged(j.Parts[i].Container.Environment, set)
}

// variables returns what Batch sets in each container of an attempt, which is given by its index.
func variables(t *model.Task, attempt int) []types.KeyValuePair {
	queue := *t.Job.Request.JobQueue
	name := model.ComputeEnvironment
	if v := t.Attempts[attempt].Environment; v != nil {
		name = v.Name
	}
	set := []types.KeyValuePair{
		Variable("AWS_BATCH_JOB_ID", t.ID()),
		Variable("AWS_BATCH_JOB_ATTEMPT", strconv.Itoa(attempt+1)),
		Variable("AWS_BATCH_JQ_NAME", queue),
		Variable("AWS_BATCH_CE_NAME", name),
	}
	if t.Job.IsPod() {
		set = append(set, Variable("AWS_BATCH_JOB_KUBERNETES_NODE_UID", nodeUID))
	}
	if t.IsChild() {
		set = append(set, Variable("AWS_BATCH_JOB_ARRAY_INDEX", strconv.Itoa(int(t.Index))),
			Variable("AWS_BATCH_JOB_ARRAY_SIZE", strconv.Itoa(len(t.Job.Children))))
	}
	return set
}

// Variable returns an environment variable of a container.
func Variable(name, value string) types.KeyValuePair {
	return types.KeyValuePair{Name: &name, Value: &value}
}

// mainNodeAddress is the address of the main node for the other nodes. All nodes are on one
// machine.
const mainNodeAddress = "127.0.0.1"

// nodeVariables returns what Batch sets for node i in addition to the job's variables.
func nodeVariables(j *model.Job, i int) []types.KeyValuePair {
	set := []types.KeyValuePair{
		Variable("AWS_BATCH_JOB_ID", model.NodeID(j.ID, i)),
		Variable("AWS_BATCH_JOB_NUM_NODES", strconv.Itoa(j.Nodes())),
		Variable("AWS_BATCH_JOB_NODE_INDEX", strconv.Itoa(i)),
		Variable("AWS_BATCH_JOB_MAIN_NODE_INDEX", strconv.Itoa(j.MainNode())),
	}
	if i != j.MainNode() {
		set = append(set, Variable("AWS_BATCH_JOB_MAIN_NODE_PRIVATE_IPV4_ADDRESS", mainNodeAddress))
	}
	return set
}
