package container

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/batchctl/batchctl/pkg/local/process"
)

// The programs that an executor can use.
const (
	Docker = "docker"
	Podman = "podman"
	// Either is docker if its daemon answers, else podman.
	Either = "container"
)

// UnavailableError reports why containers cannot be run, and what to do.
type UnavailableError struct {
	Problem, Hint string
}

// Error returns the problem without the hint.
func (e *UnavailableError) Error() string { return e.Problem }

// client is a program that runs containers.
type client struct {
	kind    string // Docker or Podman
	path    string
	version string
}

// open finds a program and checks that it works.
func open(ctx context.Context, program string) (client, error) {
	if program != Either {
		return probe(ctx, program)
	}
	docker, dockerErr := probe(ctx, Docker)
	if dockerErr == nil {
		return docker, nil
	}
	podman, podmanErr := probe(ctx, Podman)
	if podmanErr == nil {
		return podman, nil
	}
	return client{}, &UnavailableError{Problem: fmt.Sprintf("neither docker nor podman can be used: %v; %v", dockerErr,
		podmanErr),
		Hint: "install podman, or start the docker daemon; --executor process needs neither"}
}

// find looks for a program in PATH.
func find(kind string) (client, error) {
	path, err := exec.LookPath(kind)
	if err != nil {
		return client{}, &UnavailableError{Problem: fmt.Sprintf("%s is not on PATH", kind),
			Hint: fmt.Sprintf("install %s, or run without containers: --executor process", kind)}
	}
	return client{kind: kind, path: path}, nil
}

// probeTimeout limits the wait for a daemon that accepts a request and does not answer.
const probeTimeout = 20 * time.Second

// probe finds a program and asks it for its version. The error is an *UnavailableError.
func probe(ctx context.Context, kind string) (client, error) {
	c, err := find(kind)
	if err != nil {
		return c, err
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	question := []string{"version", "--format", "{{.Server.Version}}"}
	if kind == Podman { // `version` does not use the storage; `info` fails if containers cannot be created
		question = []string{"info", "--format", "{{.Version.Version}}"}
	}
	version, err := c.output(ctx, question...)
	if ctx.Err() != nil {
		err = fmt.Errorf("no answer within %v", probeTimeout)
	}
	if err != nil {
		return c, &UnavailableError{Problem: fmt.Sprintf("%s does not work: %v", kind, err),
			Hint: hint(kind, err.Error())}
	}
	c.version = strings.TrimSpace(version)
	if kind == Podman && c.version == "4.7.0" { // github.com/containers/podman/issues/20255
		return c, &UnavailableError{Problem: "podman 4.7.0 changes the values of a job's variables",
			Hint: "update podman to 4.7.1 or later"}
	}
	return c, nil
}

// hint returns the next step for an error message of the program.
func hint(kind, message string) string {
	message = strings.ToLower(message)
	switch {
	case kind == Podman:
		return "see: podman info"
	case strings.Contains(message, "permission denied"):
		return "your user is not allowed to use docker's socket: join its group (sudo usermod -aG docker $USER, then log in again), or use --executor podman"
	case strings.Contains(message, "cannot connect") || strings.Contains(message, "daemon running"):
		return "start the daemon (sudo systemctl start docker, or Docker Desktop), or set DOCKER_HOST, or use --executor podman"
	}
	return "see: docker version"
}

// command returns a command of the program. It is not in the terminal's process group: Ctrl-C is
// for the engine, which then stops the container.
func (c client) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, c.path, args...)
	cmd.SysProcAttr = apart()
	cmd.WaitDelay = 10 * time.Second // its child processes may keep its outputs open after it was killed
	return cmd
}

// output runs the program and returns its stdout. The error contains its stderr.
func (c client) output(ctx context.Context, args ...string) (string, error) {
	return run(c.command(ctx, args...))
}

// call is a command line of the program with its environment and stdin.
type call struct {
	args  []string
	stdin string
	env   []string // NAME=VALUE, in addition to batchctl's own
}

// do runs a call and returns its stdout.
func (c client) do(ctx context.Context, what call) (string, error) {
	cmd := c.command(ctx, what.args...)
	cmd.Stdin = strings.NewReader(what.stdin)
	cmd.Env = append(os.Environ(), what.env...)
	return run(cmd)
}

// answerTimeout limits calls without another limit: a daemon that does not answer must not block an
// attempt indefinitely. Removing many files takes a while.
const answerTimeout = 5 * time.Minute

// quickly is output for short calls, with a time limit.
func (c client) quickly(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), answerTimeout)
	defer cancel()
	out, err := c.output(ctx, args...)
	if err != nil && ctx.Err() != nil {
		return "", fmt.Errorf("%s %s: no answer within %v", c.kind, args[0], answerTimeout)
	}
	return out, err
}

// run runs a command and returns its stdout. The error has the last line of its stderr.
func run(cmd *exec.Cmd) (string, error) {
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	if err := process.Start(cmd); err != nil {
		return "", err
	}
	if err := cmd.Wait(); err != nil {
		return "", explained(err, stderr.String())
	}
	return out.String(), nil
}

// explained returns the last line of stderr, which has the cause. Errors other than an exit
// status stay unchanged.
func explained(err error, stderr string) error {
	if _, ended := errors.AsType[*exec.ExitError](err); !ended {
		return err
	}
	lines := strings.Split(strings.TrimSpace(stderr), "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		line := strings.TrimSpace(lines[i])
		if line == "" || strings.HasPrefix(line, "Run '") || strings.HasPrefix(line, "See '") {
			continue // docker's advice after its message
		}
		return errors.New(strings.TrimPrefix(line, "Error: "))
	}
	return err
}

// remove kills a container and removes it with its anonymous volumes.
func (c client) remove(name string) error {
	_, err := c.quickly("rm", "--force", "--volumes", "--", name)
	if err != nil && strings.Contains(strings.ToLower(err.Error()), "no such container") {
		return nil
	}
	return err
}

// inspected are the members of inspect that are needed here.
type inspected struct {
	ID string `json:"Id"`
	// Image is the id of the image, ImageDigest the digest of its manifest, which only podman has here.
	Image, ImageDigest string
	State              struct {
		Running   bool
		Pid       int
		OOMKilled bool
		ExitCode  int
		Error     string
		StartedAt time.Time
	}
	Config struct {
		StopSignal any // a name, a number, or nothing
	}
}

// begun reports whether the container has started at some time.
func (i inspected) begun() bool { return !i.State.StartedAt.IsZero() }

// stopSignal returns the signal that asks the container to end: that of its image, as `docker stop`
// and ECS send it.
func (i inspected) stopSignal() string {
	if s := fmt.Sprint(i.Config.StopSignal); i.Config.StopSignal != nil && s != "" && s != "0" {
		return s
	}
	return "SIGTERM"
}

// inspect returns the state of a container.
func (c client) inspect(name string) (inspected, error) {
	text, err := c.quickly("container", "inspect", "--", name)
	if err != nil {
		return inspected{}, err
	}
	var all []inspected
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		return inspected{}, fmt.Errorf("%s inspect: %w", c.kind, err)
	}
	if len(all) != 1 {
		return inspected{}, fmt.Errorf("%s inspect named %d containers", c.kind, len(all))
	}
	return all[0], nil
}
