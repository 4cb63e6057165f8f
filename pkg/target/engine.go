package target

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/lint"
	"github.com/batchctl/batchctl/pkg/local"
	"github.com/batchctl/batchctl/pkg/local/attempt"
	"github.com/batchctl/batchctl/pkg/local/model"
	"github.com/batchctl/batchctl/pkg/plan"
)

// DefaultQueue is the local engine's queue for jobs without a platform file.
const DefaultQueue = "default"

// checkRequest applies validate's rules to a request to the local engine.
func checkRequest(operation string, body []byte) error {
	root, problems := jsontree.Parse(diag.NewSource("request", string(body)))
	if len(problems) == 0 {
		problems = lint.CheckRequest(operation, root)
	}
	var messages, rules []string
	for _, d := range problems {
		if d.Severity == diag.Error {
			messages, rules = append(messages, d.Masked().Message), append(rules, d.Rule)
		}
	}
	if len(messages) == 0 {
		return nil
	}
	return &local.BrokenRules{Message: strings.Join(messages, "; "), Rules: rules}
}

// EnsureQueues creates the plan's queues on the local engine, so that the platform file's names
// work locally too.
func (t *Target) EnsureQueues(ctx context.Context, made *plan.Plan) error {
	have, err := t.Client.Queues(ctx)
	if err != nil {
		return err
	}
	known := map[string]bool{}
	for _, q := range have {
		known[aws.ToString(q.JobQueueName)], known[aws.ToString(q.JobQueueArn)] = true, true
	}
	for _, j := range made.Jobs {
		if j.Submit == nil {
			continue
		}
		for _, queue := range append([]string{j.Queue.Queue}, j.Ladder.Queues()...) {
			name := batch.Name(queue)
			if known[name] {
				continue
			}
			known[name] = true
			if err := t.Client.CreateQueue(ctx, name, model.ComputeEnvironment); err != nil {
				return exit.Fail(exit.NotDone, "create queue %s on the local engine: %v", name, err)
			}
		}
	}
	return nil
}

// MachineHere returns the compute environment of a local engine that was never used, and its machine. It reads and
// writes no state directory. entry is the platform file's entry of the target.
func MachineHere(ctx context.Context,
	entry document.Target) ([]types.ComputeEnvironmentDetail, map[string][]batch.Machine, error) {
	o := EngineOptions("", entry, ExecutorChoice{})
	o.ReadOnly = true
	engine, err := local.Open(o)
	if err != nil {
		return nil, nil, exit.Fail(exit.NotDone, "open the local engine: %v", err)
	}
	queues := client.New(engine.Config()).JobQueues
	environments, err := queues.Environments(ctx)
	var machines map[string][]batch.Machine
	if err == nil {
		machines, err = queues.FixedMachines(ctx, environments)
	}
	return environments, machines, errors.Join(err, engine.Close(ctx))
}

// serveLoopback lets other processes use the engine of this process. stop ends the server and waits
// for it.
func serveLoopback(engine *local.Engine) (stop func() error, err error) {
	listener, err := engine.Listen()
	if err != nil {
		return nil, exit.Fail(exit.NotDone, "listen on 127.0.0.1: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- engine.Serve(ctx, listener, nil) }()
	return func() error {
		cancel()
		return <-done
	}, nil
}

// startTimeout limits the start of a background engine, including the replay of a long journal.
const startTimeout = 30 * time.Second

// EngineTaken is what a background engine prints in place of its exports if another engine has the state directory.
const EngineTaken = "taken"

// startEngine starts a background engine with BackgroundArguments in its own session, so that it
// outlives this process and its terminal, and waits until an engine answers. That may be another one: several
// commands may start one at the same time, and a newer batchctl may replace it at once.
func startEngine(ctx context.Context, con *term.Console, dir string, arguments []string) (local.Connection, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return local.Connection{}, exit.Fail(exit.NotDone, "create the state directory: %v", err)
	}
	logPath := filepath.Join(dir, "engine.log")
	log, err := os.OpenFile(logPath, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return local.Connection{}, exit.Fail(exit.NotDone, "open the engine's log: %v", err)
	}
	defer log.Close()
	limit, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for attempt := 1; ; attempt++ {
		begun, err := log.Seek(0, io.SeekEnd)
		if err == nil {
			err = launch(limit, log, arguments)
		}
		if errors.Is(err, io.EOF) {
			return local.Connection{}, exit.Fail(exit.NotDone, "the local engine did not start: %s",
				lastMessage(logPath, begun)).Try("its log: %s", logPath)
		}
		if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			return local.Connection{}, exit.Fail(exit.NotDone, "start the local engine: %v", err)
		}
		connection, err := joinEngine(limit, dir)
		if err == nil {
			return connection, nil
		}
		// The engine that had the directory has ended since, or was replaced and its successor has not begun.
		if attempt == startAttempts || limit.Err() != nil {
			return connection, exit.Fail(exit.NotDone, "the local engine does not answer: %v", err).
				Try("its log: %s", logPath)
		}
	}
}

// startAttempts limits how often one command starts an engine. Each engine could start a job that brings it down.
const startAttempts = 3

// launch starts a background engine, and returns when it answers or has found that the directory is taken. It
// returns io.EOF if the engine could not start.
func launch(ctx context.Context, log *os.File, arguments []string) error {
	ready, err := spawn(log, arguments)
	if err != nil {
		return err
	}
	defer ready.Close()
	stop := context.AfterFunc(ctx, func() { ready.SetReadDeadline(time.Now()) })
	defer stop()
	_, err = bufio.NewReader(ready).ReadString('\n')
	return err
}

// joinEngine waits until the engine of the process that holds the state directory answers. It
// returns an error if it has no engine, or if that does not answer in time.
func joinEngine(ctx context.Context, dir string) (local.Connection, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for {
		connection, err := local.Connect(dir)
		if err == nil {
			return connection, nil
		}
		turn, done := context.WithTimeout(ctx, 200*time.Millisecond)
		free := local.WaitClosed(turn, dir) == nil
		done()
		if free || ctx.Err() != nil {
			return connection, err
		}
	}
}

// lastMessage returns the last error that an engine's log has from an offset on, without the hints below it; without
// an error, the last line.
func lastMessage(path string, from int64) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text[min(from, int64(len(text))):])), "\n")
	for _, line := range slices.Backward(lines) {
		if message, ok := strings.CutPrefix(line, "batchctl: "); ok {
			return message
		}
	}
	return cmp.Or(lines[len(lines)-1], "it exited without a message; check whether the disk is full")
}

// BackgroundArguments returns the arguments of a background engine: of `batchctl serve`.
func BackgroundArguments(dir string, entry document.Target, choice ExecutorChoice) []string {
	args := []string{"serve", "--daemon", "--state-dir", dir, "--exit-when-idle", "10m"}
	if entry.VCPUs > 0 {
		args = append(args, "--vcpus", strconv.FormatFloat(entry.VCPUs, 'f', -1, 64))
	}
	if entry.MemoryMiB > 0 {
		args = append(args, "--memory", strconv.Itoa(entry.MemoryMiB))
	}
	if entry.GPUs > 0 {
		args = append(args, "--gpus", strconv.Itoa(entry.GPUs))
	}
	args = append(args, choice.arguments()...)
	if choice.root {
		args = append(args, "--allow-root")
	}
	return args
}

// Engine is the part of a *local.Engine that commands use beside the API. It is an interface, because the compiler
// reads the fields and methods of a type in every package that uses the type: the packages of commands would otherwise
// compile parts of the engine's model again.
type Engine interface {
	// Unknown returns the jobs whose status is unknown because no engine is running.
	Unknown() (id string, jobs int, since time.Time)
	// Drain waits until other commands no longer use the engine.
	Drain(ctx context.Context) error
	// EndJobs ends all jobs and accepts no new ones.
	EndJobs(ctx context.Context) (jobs int, err error)
	// Drill, RunningTimes and Unharmed are for drills of checkpoints.
	Drill(blows []attempt.Blow, reference map[local.RunKey]time.Duration)
	RunningTimes(ids ...string) map[local.RunKey]time.Duration
	Unharmed(ids ...string) []local.Unharmed
}

// EndJobs ends the jobs of an engine before it stops.
func EndJobs(ctx context.Context, engine Engine) error {
	if _, err := engine.EndJobs(ctx); err != nil {
		return exit.Fail(exit.NotDone, "stop the local engine: %v", err).
			Try("jobs that are still running will be killed")
	}
	return nil
}

// Unfinished returns the jobs that have not ended, each as its name and short id.
func (t *Target) Unfinished(ctx context.Context) (names []string, err error) {
	statuses := slices.DeleteFunc(types.JobStatus("").Values(), batch.HasEnded)
	for job, err := range t.Client.List(ctx, client.Filter{Statuses: statuses}) {
		if err != nil {
			return nil, err
		}
		names = append(names, aws.ToString(job.JobName)+" "+batch.ShortID(aws.ToString(job.JobId)))
	}
	return names, nil
}

// SomeOf joins the first few of many names.
func SomeOf(names []string) string {
	const most = 5
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// CloseTimeout is longer than the 30 seconds between SIGTERM and SIGKILL.
const CloseTimeout = 45 * time.Second
