package process

import (
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/batchctl/batchctl/pkg/local/attempt"
)

// workloadsImage is the base name of the image of the shipped workloads.
const workloadsImage = "batchctl-workloads"

// Executor runs attempts as processes on this machine. It does not use the image, except that of
// the shipped workloads, which means program.
type Executor struct {
	program []string
	bin     string       // has batchctl, for jobs that start it; "": it is in PATH
	memory  *memoryWatch // nil: there is no limit on memory
	trees   trees        // nil: the trees that need no permission
	measure *measuring   // nil: only samples of processes
}

// newProcess returns an executor with the memory watch and the trees of this system.
func newProcess(program []string) Executor {
	return Executor{program: program, memory: new(memoryWatch), trees: newTrees(), measure: new(measuring)}
}

// findsBatchctl makes a command that calls batchctl find the one in bin: a container has the one of
// its image.
func (p Executor) findsBatchctl(argv, env []string) []string {
	if p.bin == "" || !slices.Contains(argv, programName) {
		return env
	}
	return append(env, "PATH="+p.bin+string(filepath.ListSeparator)+valueOf(env, "PATH"))
}

// programName is the program name that the shipped workloads see.
const programName = "batchctl"

// isWorkloads reports whether an image is that of the shipped workloads, from any registry and in
// any version.
func isWorkloads(image string) bool {
	image, _, _ = strings.Cut(image, "@")
	name, _, _ := strings.Cut(path.Base(image), ":")
	return name == workloadsImage
}

// argv returns the command line of an attempt; empty if unknown.
func (p Executor) argv(a attempt.Attempt) []string {
	if isWorkloads(aws.ToString(a.Container.Image)) {
		if a.Pod == nil || len(a.Pod.Entrypoint) == 0 {
			return append(slices.Clone(p.program), a.Command...)
		}
	}
	return a.Argv()
}

// inherited are the variables of the engine that a job also gets: what a shell and most programs
// need to work at all. Other variables, above all the user's keys, are not passed on.
var inherited = []string{"PATH", "HOME", "USER", "LOGNAME", "LANG", "TMPDIR", "TZ"}

// defaultPath is the PATH of a job whose engine has none, the same as container runtimes use for an
// image without one.
const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// attemptVariable marks the processes of an attempt, in addition to their limit (see marks), which
// cannot be set on some systems.
const attemptVariable = "BATCHCTL_ATTEMPT="

// processEnvironment returns the environment of an attempt: some of the engine's variables, the
// job's, and the devices. Later ones win.
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
	// A job without a GPU must see none: an empty list hides all devices from CUDA, "void" from
	// NVIDIA's container tools.
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

// Name is the name of the executor that runs jobs as processes on this machine.
const Name = "process"

// New returns the default executor of an engine. program is the argv prefix that runs the shipped
// workloads. bin is a directory with batchctl in it for commands that call it; "" means that they
// search their own PATH.
func New(program []string, bin string) Executor {
	p := newProcess(program)
	p.bin = bin
	return p
}
