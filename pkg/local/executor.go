package local

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/wire"
)

// Executor runs the attempts of jobs. It knows nothing about states, retries or
// timeouts: the engine decides, the executor carries out.
type Executor interface {
	// Run runs one attempt to its end and returns its exit code. It calls
	// a.Started once, when the command runs. When ctx ends it asks the attempt to
	// end (SIGTERM), when a.Kill is closed it ends it (SIGKILL); in both cases it
	// returns only when nothing of the attempt runs any more. What the command
	// prints goes to log, unbuffered.
	//
	// An error says why there is no regular end; its text becomes the
	// container's reason. The exit code counts then only if it is not negative.
	// Where the machine was too full for the command to start (see tooFull), Run is
	// called again for the same attempt.
	Run(ctx context.Context, a Attempt, log *os.File) (exit int, err error)
	// Clear ends what is left of an attempt of an earlier engine: by its id, and by
	// the handle that was given to Started, which is empty if that engine died before
	// it could note it. Nothing left is no error.
	Clear(id, handle string) error
	// Unhonoured names the members of a container that are without effect here.
	Unhonoured(c *types.ContainerProperties) []string
}

// ExecutorTag is the tag with which a job chooses its executor: that of SubmitJob counts
// before that of the job definition. Tags that are given later do not.
const ExecutorTag = "batchctl:executor"

// Chooser is an executor that knows others by their names. As an executor it is that of
// the jobs that do not choose.
type Chooser interface {
	Executor
	// Chosen is the executor of a name. The error says why a job cannot have it. It may
	// take as long as a program takes to answer.
	Chosen(ctx context.Context, name string) (Executor, error)
}

// chosen is the name of the executor that a job asks for; empty: it does not choose.
// in may be nil.
func chosen(d *awsbatch.RegisterJobDefinitionInput, in *awsbatch.SubmitJobInput) string {
	if in != nil {
		if name, ok := in.Tags[ExecutorTag]; ok {
			return name
		}
	}
	return d.Tags[ExecutorTag]
}

// executor is the one of a name that jobs chose.
func (e *Engine) executor(ctx context.Context, name string) (Executor, error) {
	if name == "" {
		return e.options.Executor, nil
	}
	c, ok := e.options.Executor.(Chooser)
	if !ok {
		return nil, fmt.Errorf("tag %s: this engine has one executor only, the one it was started with (--executor)", ExecutorTag)
	}
	x, err := c.Chosen(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("tag %s: %w", ExecutorTag, err)
	}
	return x, nil
}

// executorName is the name of a job's executor: ProcessExecutor, or that of a container
// program. It is empty for an executor without a name.
func (e *Engine) executorName(j *job) string {
	if name := chosen(j.definition.request, j.request); name != "" {
		return name
	}
	switch x := e.options.Executor.(type) {
	case process:
		return ProcessExecutor
	case fmt.Stringer:
		name, _, _ := strings.Cut(x.String(), " ")
		return name
	}
	return ""
}

// ProcessExecutor is the name of the executor that runs jobs as processes of this machine.
const ProcessExecutor = "process"

// instancePrefix begins the ARN of the container instance of every attempt on a local
// engine, up to its cluster.
const instancePrefix = ecsPrefix + "container-instance/"

// RanBy is the executor that ran an attempt on a local engine. here is false for an attempt
// that ran elsewhere; name is empty where the executor is unknown.
func RanBy(c *types.AttemptContainerDetail) (name string, here bool) {
	if c == nil {
		return "", false
	}
	_, instance, _ := strings.Cut(strings.TrimPrefix(aws.ToString(c.ContainerInstanceArn), instancePrefix), "/")
	if after, known := strings.CutPrefix(instance, ComputeEnvironment+"-"); known {
		name = after
	}
	return name, strings.HasPrefix(aws.ToString(c.TaskArn), ecsPrefix)
}

// executorOf is the executor of a job.
func (e *Engine) executorOf(ctx context.Context, j *job) (Executor, error) {
	return e.executor(ctx, chosen(j.definition.request, j.request))
}

// Processes is the executor that an engine has if it is given none. program is
// the argv prefix that runs the shipped workloads. bin is a directory with batchctl in it,
// which commands find that call it; "": they look for it in their own PATH.
func Processes(program []string, bin string) Executor {
	p := newProcess(program)
	p.bin = bin
	return p
}

// mayStartProcesses rejects a job that would run as a process if the engine starts processes only
// for batchctl's own commands and another client made the request.
func (e *Engine) mayStartProcesses(c *call, x Executor) error {
	if !e.options.ProcessesForBatchctlOnly || contained(x) || c.request.Header.Get(clientHeader) != "" {
		return nil
	}
	return wire.ClientException("The local engine runs as root and starts processes only for batchctl's own commands. " +
		"To accept jobs from every client that has the key: batchctl serve --allow-root. To run jobs in containers: batchctl serve --executor container.")
}

// contained reports whether an executor runs jobs in containers.
func contained(x Executor) bool {
	c, ok := x.(interface{ Contained() bool })
	return ok && c.Contained()
}

// how says how an executor runs commands, for the notice of what has no effect.
func how(x Executor) string {
	if other, ok := x.(interface{ How() string }); ok {
		return other.How()
	}
	return "as a process of this machine"
}

// Attempt is one run of a job, as an executor needs it.
type Attempt struct {
	// ID is the attempt's alone, for all time: the UUID of its log stream.
	ID string
	// Job is the job's id, id:index for a child of an array.
	Job string
	// Container is the job's container with all overrides.
	Container *types.ContainerProperties
	// Command is its command after the substitution of Ref:: parameters.
	Command []string
	// Environment holds the job's variables and those that Batch sets.
	Environment []types.KeyValuePair
	// Directory is where the command runs, an absolute path.
	Directory string
	// GPUs are the devices that belong to this attempt alone.
	GPUs []string
	// Started tells the engine that the command runs, and by what it can be found
	// again after the engine itself has died.
	Started func(handle string)
	// Kill is closed when the time to end in peace is over.
	Kill <-chan struct{}
}
