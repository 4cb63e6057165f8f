package attempt

import (
	"context"
	"fmt"
	"os"

	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/local/model"
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

// ChosenIn is the name of the executor that a job asks for; empty: it does not choose.
// in may be nil.
func ChosenIn(d *awsbatch.RegisterJobDefinitionInput, in *awsbatch.SubmitJobInput) string {
	if in != nil {
		if name, ok := in.Tags[ExecutorTag]; ok {
			return name
		}
	}
	return d.Tags[ExecutorTag]
}

// Choose returns the executor of a name that jobs chose, given the engine's own, which is that of the name "".
func Choose(ctx context.Context, own Executor, name string) (Executor, error) {
	if name == "" {
		return own, nil
	}
	c, ok := own.(Chooser)
	if !ok {
		return nil, fmt.Errorf("tag %s: this engine has one executor only, the one it was started with (--executor)", ExecutorTag)
	}
	x, err := c.Chosen(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("tag %s: %w", ExecutorTag, err)
	}
	return x, nil
}

// ChosenBy is the name of the executor that a job asks for; empty: it does not choose.
func ChosenBy(j *model.Job) string { return ChosenIn(j.Definition.Request, j.Request) }

// Contained reports whether an executor runs jobs in containers.
func Contained(x Executor) bool {
	c, ok := x.(interface{ Contained() bool })
	return ok && c.Contained()
}

// How says how an executor runs commands, for the notice of what has no effect.
func How(x Executor) string {
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
