package local

import (
	"context"
	"os"

	"github.com/aws/aws-sdk-go-v2/service/batch/types"
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
	Run(ctx context.Context, a Attempt, log *os.File) (exit int, err error)
	// Clear ends what is left of an attempt of an earlier engine: by its id, and by
	// the handle that was given to Started, which is empty if that engine died before
	// it could note it. Nothing left is no error.
	Clear(id, handle string) error
	// Unhonoured names the members of a container that are without effect here.
	Unhonoured(c *types.ContainerProperties) []string
}

// Processes is the executor that an engine has if it is given none. program is
// the argv prefix that runs the shipped workloads.
func Processes(program []string) Executor { return newProcess(program) }

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
