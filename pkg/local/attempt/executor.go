package attempt

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"

	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/local/model"
	"github.com/batchctl/batchctl/pkg/usage"
)

// Executor runs the attempts of jobs. States, retries and timeouts are up to the engine.
type Executor interface {
	// Run runs one attempt until it finishes and returns its exit code. It calls a.Started once,
	// when the command runs. When ctx ends it asks the attempt to end (SIGTERM); when a.Kill is
	// closed it kills it (SIGKILL). In both cases it returns only when no process of the attempt is
	// left. The command's output goes to log, unbuffered.
	//
	// An error says why the attempt did not end normally; its text becomes the container's reason.
	// The exit code then counts only if it is not negative. If the machine was too full to start
	// the command (see tooFull), Run is called again for the same attempt.
	Run(ctx context.Context, a Attempt, log *os.File) (exit int, err error)
	// Clear ends what is left of an attempt of an earlier engine: by its id, and by the handle that
	// was given to Started. The handle is empty if that engine died before it could record it. If
	// nothing is left, that is no error.
	Clear(id, handle string) error
	// Unhonoured returns the members of a container that this executor does not apply, except for
	// secrets, which the engine provides.
	Unhonoured(c *types.ContainerProperties) []Member
}

// Containers returns the executor that messages suggest for containers: the installed one, or podman.
func Containers() string { return cmp.Or(Installed(), "podman") }

// Installed returns the executor for containers whose program is on this machine: podman, or else docker; "" for none.
func Installed() string {
	for _, name := range [...]string{"podman", "docker"} {
		if _, err := exec.LookPath(name); err == nil {
			return name
		}
	}
	return ""
}

// ExecutorTag is the tag with which a job chooses its executor. The tag of SubmitJob overrides that
// of the job definition. Later tags have no effect.
const ExecutorTag = "batchctl:executor"

// Chooser is an executor that has others by name. As an executor it is the default one.
type Chooser interface {
	Executor
	// Chosen returns the executor with a name. The error says why it is not available. It may take
	// as long as a program takes to answer.
	Chosen(ctx context.Context, name string) (Executor, error)
}

// ChosenIn returns the name of the executor that a job chooses, or "". in may be nil.
func ChosenIn(d *awsbatch.RegisterJobDefinitionInput, in *awsbatch.SubmitJobInput) string {
	if in != nil {
		if name, ok := in.Tags[ExecutorTag]; ok {
			return name
		}
	}
	return d.Tags[ExecutorTag]
}

// Choose returns the executor with a name that jobs chose; "" is the engine's own.
func Choose(ctx context.Context, own Executor, name string) (Executor, error) {
	if name == "" {
		return own, nil
	}
	c, ok := own.(Chooser)
	if !ok {
		return nil, fmt.Errorf("tag %s: this engine has only one executor, the one it was started with (--executor)",
			ExecutorTag)
	}
	x, err := c.Chosen(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("tag %s: %w", ExecutorTag, err)
	}
	return x, nil
}

// ChosenBy returns the name of the executor that a job chooses, or "".
func ChosenBy(j *model.Job) string { return ChosenIn(j.Definition.Request, j.Request) }

// Contained reports whether an executor runs jobs in containers.
func Contained(x Executor) bool {
	c, ok := x.(interface{ Contained() bool })
	return ok && c.Contained()
}

// Argv returns the command with the entrypoint of a pod's container before it.
func (a Attempt) Argv() []string {
	if a.Pod == nil {
		return a.Command
	}
	return append(slices.Clone(a.Pod.Entrypoint), a.Command...)
}

// How returns how an executor runs commands, as a phrase for notices.
func How(x Executor) string {
	if other, ok := x.(interface{ How() string }); ok {
		return other.How()
	}
	return "as a process on this machine"
}

// Attempt is one run of a job, in the form that an executor needs.
type Attempt struct {
	// ID is unique: the UUID of the attempt's log stream.
	ID string
	// Job is the job's id, id:index for a child of an array.
	Job string
	// Container is the job's container with all overrides.
	Container *types.ContainerProperties
	// Command is its command after the substitution of Ref:: parameters. For a pod it is the args.
	Command []string
	// Pod is what a container of a pod has beyond other containers, after the same substitution; nil for
	// others. PodID is the pod's own id: its containers have different ones.
	Pod   *model.PodPart
	PodID string
	// Environment has the job's variables, those that Batch sets, and the secrets.
	Environment []types.KeyValuePair
	// Secrets are the names of the variables whose values must not be visible to other users.
	Secrets []string
	// Directory is where the command runs, an absolute path.
	Directory string
	// GPUs are the devices that belong to this attempt alone.
	GPUs []string
	// Training is what only a training job of SageMaker has; nil for other attempts.
	Training *Training
	// Started reports to the engine that the command runs, with a handle that finds it again after
	// the engine has died.
	Started func(handle string)
	// Pulled takes the digest of the container's image, before Started is called. It is nil if no one asks for it. An
	// executor without images does not call it.
	Pulled func(digest string)
	// Measured takes what the container used, when its command has ended and before Run returns. It is nil if the job
	// does not ask for it. The command then must not measure itself.
	Measured func(usage.Usage)
	// Differed takes what of the container did not apply, as a phrase, and can make the result another one than on AWS.
	// Tests may leave it nil.
	Differed func(phrase string)
	// Kill is closed when the attempt has to end at once.
	Kill <-chan struct{}
}
