package target

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/local/attempt"
	"github.com/batchctl/batchctl/pkg/local/container"
	"github.com/batchctl/batchctl/pkg/local/process"
	"github.com/batchctl/batchctl/pkg/local/secretsource"
)

// ExecutorChoice is how the local engine runs jobs and what they may use on this machine.
// Permissions come only from the command line: a platform file comes with the job files, possibly
// from a stranger.
type ExecutorChoice struct {
	name       string // one of container.Executors
	process    bool   // jobs may choose to run as processes
	privileged bool
	mounts     []string // absolute
	root       bool     // as root, start processes for all clients, not only for batchctl's commands
	runs       bool     // the command has the flags: it runs jobs
	given      bool     // requested: an engine with another executor does not fit
}

// Choose returns the choice of the command line and the platform file. Commands without the flags
// accept any engine.
func (o ExecutorOptions) Choose(entry document.Target) (ExecutorChoice, error) {
	choice := ExecutorChoice{name: cmp.Or(o.Name, entry.Executor, container.Process), process: o.AllowProcess,
		privileged: o.AllowPrivileged,
		root:       o.AllowRoot || os.Getenv(allowRoot) == "1", runs: o.Runs}
	choice.given = o.Runs && (o.Name != "" || entry.Executor != "" || choice.process || choice.privileged ||
		len(o.AllowMounts) > 0)
	names := container.Executors()
	if !slices.Contains(names, choice.name) {
		return choice, exit.Usage("unknown --executor %q", choice.name).
			Try("%s", diag.Instead(choice.name, names, diag.Offer{Near: "did you mean --executor %s?",
				Are: "the executors are"}))
	}
	for _, dir := range o.AllowMounts {
		dir, err := filepath.Abs(dir)
		if err != nil {
			return choice, exit.Fail(exit.NotDone, "--allow-mount: %v", err)
		}
		choice.mounts = append(choice.mounts, dir)
	}
	if choice.name == container.Process && (choice.privileged || len(choice.mounts) > 0) {
		return choice, exit.Usage("--allow-mount and --allow-privileged apply only to containers, and the executor is process").
			Try("add --executor %s", attempt.Containers())
	}
	return choice, nil
}

// allowRoot is an environment variable that works like --allow-root, for images in which everything
// runs as root. Only the value 1 counts.
const allowRoot = "BATCHCTL_ALLOW_ROOT"

// startsProcesses reports whether jobs may run as processes on this machine.
func (e ExecutorChoice) startsProcesses() bool { return e.name == container.Process || e.process }

// onlyOwnProcesses reports whether the engine starts processes only for batchctl's own commands. A
// job file that you run yourself runs as you, as with make or a shell. A job from another client
// runs as root only if you allowed it.
func (e ExecutorChoice) onlyOwnProcesses() bool {
	return os.Geteuid() == 0 && e.startsProcesses() && !e.root
}

// arguments returns the choice as flags of serve.
func (e ExecutorChoice) arguments() []string {
	args := []string{"--executor", e.name}
	for _, dir := range e.mounts {
		args = append(args, "--allow-mount", dir)
	}
	if e.process {
		args = append(args, "--allow-process")
	}
	if e.privileged {
		args = append(args, "--allow-privileged")
	}
	return args
}

// Executor is an opened choice.
type Executor struct {
	attempt.Executor
	ExecutorChoice
	Label string // with its version: podman 4.3.1
	// Secrets are the engine's own source of secrets, for the jobs of all clients; nil for none.
	Secrets *secretsource.Source
}

// OpenExecutor creates the executor, or returns why it is not available on this machine.
func OpenExecutor(ctx context.Context, dir string, choice ExecutorChoice) (Executor, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return Executor{}, exit.Fail(exit.NotDone, "create the state directory: %v", err)
	}
	bin, err := ownProgram(dir)
	if err != nil {
		return Executor{}, exit.Fail(exit.NotDone, "make batchctl available to jobs: %v", err)
	}
	x, err := container.NewChoice(ctx, container.ChoiceOptions{AllowProcesses: choice.process,
		Options: container.Options{
			Program: choice.name, Dir: dir, AllowPrivileged: choice.privileged, AllowMounts: choice.mounts,
			Processes: process.New(shippedWorkloads(), bin)}})
	if unavailable, ok := errors.AsType[*container.UnavailableError](err); ok {
		return Executor{}, exit.Fail(exit.NotDone, "--executor %s: %s", choice.name, unavailable.Problem).
			Try("%s", unavailable.Hint)
	}
	if err != nil {
		return Executor{}, exit.Fail(exit.NotDone, "--executor %s: %v", choice.name, err)
	}
	choice.name, _, _ = strings.Cut(x.String(), " ")
	return Executor{Executor: x, ExecutorChoice: choice, Label: x.String()}, nil
}

// NameExecutor prints how jobs run. For processes, the engine's note on members without effect already does so; once
// per state directory dir, this line adds that they run as root.
func NameExecutor(con *term.Console, dir, label string, runsJobs bool) {
	switch {
	case label != "" && label != container.Process:
		fmt.Fprintf(con.Err, "executor: %s\n", diag.Printable(label))
	case label == container.Process && runsJobs && os.Geteuid() == 0 && firstNote(dir, "root"):
		fmt.Fprintf(con.Err, "note: you are root, so jobs run as root on this machine; to run them in containers: --executor %s\n", attempt.Containers())
	}
}

// executorFile records how the engine of a state directory runs jobs: its label, then its flags,
// one word per line.
const executorFile = "executor"

// Keep records the executor of the engine that holds dir, for commands that join it.
func (e Executor) Keep(dir string) error {
	words := append([]string{e.Label}, e.arguments()...)
	if e.Secrets != nil {
		words = append(words, secretsFrom) // commands that join need not know the source
	}
	text := strings.Join(words, "\n") + "\n"
	// The file is replaced, so that a link of that name is not followed.
	fresh := filepath.Join(dir, executorFile+".new")
	if err := os.Remove(fresh); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.WriteFile(fresh, []byte(text), 0o600); err != nil {
		return err
	}
	return os.Rename(fresh, filepath.Join(dir, executorFile))
}

// joined returns the label of the executor of the engine that holds dir, or an error if it is not
// the one requested.
func joined(dir string, want ExecutorChoice) (label string, err error) {
	label, words := recorded(dir)
	words = slices.DeleteFunc(words, func(word string) bool { return word == secretsFrom })
	flags := strings.Join(words, "\n")
	if !want.given {
		return label, nil
	}
	names := []string{want.name}
	if want.name == container.Either {
		names = []string{container.Docker, container.Podman}
	}
	for _, want.name = range names {
		if flags == strings.Join(want.arguments(), "\n") {
			return label, nil
		}
	}
	return label, exit.Fail(exit.NotDone, "the engine that serves %s was started with %s", dir,
		strings.ReplaceAll(flags, "\n", " ")).
		Try("stop it: batchctl serve --stop    or use another state directory: --state-dir DIRECTORY")
}
