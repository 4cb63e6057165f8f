package process

import (
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/local/attempt"
)

// workloadsImage is the base name of the image of the shipped workloads.
const workloadsImage = "batchctl-workloads"

// Executor runs attempts as processes of this machine. The image is not used;
// that of the shipped workloads stands for program.
type Executor struct {
	program []string
	bin     string       // holds batchctl, for jobs that begin with it; "": PATH has it
	memory  *memoryWatch // nil: nothing is killed for its memory
	trees   trees        // nil: those that need no permission
}

func newProcess(program []string) Executor {
	return Executor{program: program, memory: new(memoryWatch), trees: newTrees()}
}

// findsBatchctl lets a command that batchctl stands in find the one in bin: a container
// has the one of its image.
func (p Executor) findsBatchctl(argv, env []string) []string {
	if p.bin == "" || !slices.Contains(argv, programName) {
		return env
	}
	return append(env, "PATH="+p.bin+string(filepath.ListSeparator)+valueOf(env, "PATH"))
}

// programName is what the shipped workloads see as the name of their program.
const programName = "batchctl"

// isWorkloads reports whether an image is that of the shipped workloads, from
// whatever registry and in whatever version.
func isWorkloads(image string) bool {
	image, _, _ = strings.Cut(image, "@")
	name, _, _ := strings.Cut(path.Base(image), ":")
	return name == workloadsImage
}

// argv is the command line of an attempt; empty: not known.
func (p Executor) argv(a attempt.Attempt) []string {
	if isWorkloads(aws.ToString(a.Container.Image)) {
		return append(slices.Clone(p.program), a.Command...)
	}
	return a.Command
}

// Unhonoured names the members of a container that are without effect for a process.
func (p Executor) Unhonoured(c *types.ContainerProperties) []string {
	l := c.LinuxParameters
	members := []struct {
		name  string
		given bool
	}{
		{"image", !isWorkloads(aws.ToString(c.Image))},
		{"ephemeralStorage", c.EphemeralStorage != nil},
		{"fargatePlatformConfiguration", c.FargatePlatformConfiguration != nil},
		{"enableExecuteCommand", aws.ToBool(c.EnableExecuteCommand)},
		{"executionRoleArn", c.ExecutionRoleArn != nil},
		{"jobRoleArn", c.JobRoleArn != nil},
		{"linuxParameters", l != nil},
		{"logConfiguration", c.LogConfiguration != nil},
		{"mountPoints", len(c.MountPoints) > 0},
		{"networkConfiguration", c.NetworkConfiguration != nil},
		{"privileged", aws.ToBool(c.Privileged)},
		{"readonlyRootFilesystem", aws.ToBool(c.ReadonlyRootFilesystem)},
		{"repositoryCredentials", c.RepositoryCredentials != nil},
		{"runtimePlatform", c.RuntimePlatform != nil},
		{"secrets", len(c.Secrets) > 0},
		{"the memory as a limit", !canWatchMemory},
		{"user", c.User != nil},
		{"volumes", len(c.Volumes) > 0},
	}
	var names []string
	for _, m := range members {
		if m.given {
			names = append(names, m.name)
		}
	}
	return append(names, unhonouredUlimits(c.Ulimits)...)
}

// inherited are the variables of the engine that a job gets too: what a shell
// and most programs need to work at all. Everything else, keys of the user above
// all, stays with the user.
var inherited = []string{"PATH", "HOME", "USER", "LOGNAME", "LANG", "TMPDIR", "TZ"}

// defaultPath is the PATH of a job whose engine has none, the same that container
// runtimes give to an image without one.
const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// attemptVariable marks the processes of an attempt, beside their limit (see marks): some
// systems do not let that be set.
const attemptVariable = "BATCHCTL_ATTEMPT="

// processEnvironment is the environment of an attempt: a little of the engine's,
// the job's, and the devices. What comes later wins.
func processEnvironment(own []string, a attempt.Attempt) []string {
	env := []string{"PATH=" + defaultPath}
	for _, v := range own {
		name, value, _ := strings.Cut(v, "=")
		if name == "PATH" && value == "" {
			continue
		}
		if slices.Contains(inherited, name) || strings.HasPrefix(name, "LC_") {
			env = append(env, v)
		}
	}
	env = append(env, attemptVariable+a.ID)
	for _, v := range a.Environment {
		env = append(env, aws.ToString(v.Name)+"="+aws.ToString(v.Value))
	}
	// Without a GPU of its own a job sees none: an empty list hides all devices
	// from CUDA, "void" from NVIDIA's container tools.
	devices := strings.Join(a.GPUs, ",")
	visible := devices
	if devices == "" {
		visible = "void"
	}
	return append(env, "CUDA_VISIBLE_DEVICES="+devices, "NVIDIA_VISIBLE_DEVICES="+visible)
}

// valueOf returns the value of a variable in env; the last one counts.
func valueOf(env []string, name string) string {
	for _, v := range slices.Backward(env) {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value
		}
	}
	return ""
}

// Name is the name of the executor that runs jobs as processes of this machine.
const Name = "process"

// New is the executor that an engine has if it is given none. program is
// the argv prefix that runs the shipped workloads. bin is a directory with batchctl in it,
// which commands find that call it; "": they look for it in their own PATH.
func New(program []string, bin string) Executor {
	p := newProcess(program)
	p.bin = bin
	return p
}
