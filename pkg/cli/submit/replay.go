package submit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
	"github.com/urfave/cli/v2"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/cli/cmdline"
	"github.com/batchctl/batchctl/pkg/cli/input"
	"github.com/batchctl/batchctl/pkg/cli/jobs"
	"github.com/batchctl/batchctl/pkg/cli/session"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/local/attempt"
	"github.com/batchctl/batchctl/pkg/local/hardware"
	"github.com/batchctl/batchctl/pkg/replay"
	"github.com/batchctl/batchctl/pkg/stage"
	"github.com/batchctl/batchctl/pkg/sweep"
	"github.com/batchctl/batchctl/pkg/target"
)

// ReplayCommand is batchctl replay.
func ReplayCommand(con *term.Console) *cli.Command {
	return cmdline.Command(cli.Command{
		Name:      "replay",
		Usage:     "run one attempt of a job again on this machine",
		UsageText: "batchctl replay [FLAGS] JOB[:INDEX][#ATTEMPT] [-- COMMAND ...]",
		Description: cmdline.Help("The attempt must have finished; without a number, it is the last one. replay lists everything that cannot be the same on this machine, such as "+
			"secrets, roles, volumes and devices. The output goes to stdout. A COMMAND replaces the job's command and gets the same environment.",
			"batchctl replay sweep:17#2 --executor podman\nbatchctl replay sweep:17 --env LOG_LEVEL=debug\n"+
				"batchctl replay sweep:17 -- sh -c 'env | sort'"),
	}, ReplayOptions{},
		func(ctx context.Context, o ReplayOptions) error { return Replay(ctx, con, o) }, "secrets-from")
}

// ReplayOptions are the flags of replay. Args are a job and then its command.
type ReplayOptions struct {
	cmdline.Given
	Target   target.Options
	Executor target.ExecutorOptions
	Env      []string `flag:"env" usage:"add or replace a variable, <NAME=VALUE>; may be repeated"`
	Dir      string   `flag:"dir" usage:"run in this <DIRECTORY>, which must be empty or missing (default: that of the job file for a process without inputs, else a new one, kept if the job leaves files)"`
}

// Replay runs one attempt again as a local process or container, and prints what it prints.
func Replay(ctx context.Context, con *term.Console, o ReplayOptions) error {
	o.Target.Executor, o.Target.Executor.Runs = o.Executor, true
	a, x, flags, err := prepareReplay(ctx, con, o)
	if err != nil {
		return err
	}
	printReplay(con, a)
	// The local GPUs decide what the replay can offer, and what its notes list.
	gpus := hardware.GPUs()
	for _, d := range a.Differences(x, gpus) {
		fmt.Fprintf(con.Err, "note: %s\n", diag.Printable(con.Redacted(d.String())))
	}
	if o.Dir == "" && !attempt.Contained(x) {
		o.Dir = a.Directory
	}
	dir, done, err := replayDir(o.Dir)
	if err != nil {
		return err
	}
	exit, err := runReplay(ctx, con, a, x, dir, gpus)
	if left := done(); left {
		fmt.Fprintf(con.Err, "files of the replay: %s\n", diag.Printable(dir))
	}
	err = replayVerdict(ctx, con, a, exit, err)
	if was := a.Original.Container; exit > 0 && was != nil && aws.ToInt32(was.ExitCode) != 0 {
		fmt.Fprintf(con.Err, "next: batchctl explain %s%s\n", batch.ShortID(a.Job), diag.Printable(flags))
	}
	return err
}

// prepareReplay returns the attempt, the executor, and the flags that select the
// attempt's target in further commands.
func prepareReplay(ctx context.Context, con *term.Console,
	options ReplayOptions) (*replay.Attempt, target.Executor, string, error) {
	var noExecutor target.Executor
	if len(options.Args) == 0 {
		return nil, noExecutor, "", exit.Usage("replay needs a job").
			Try("for example: batchctl replay resnet-train; batchctl list --status FAILED shows some")
	}
	job, number, err := replay.Split(options.Args[0])
	if err != nil {
		return nil, noExecutor, "", exit.Usage("%v", err).Try("write JOB, JOB:INDEX or JOB:INDEX#ATTEMPT")
	}
	environment, err := input.ParseEnvironment(options.Env)
	if err != nil {
		return nil, noExecutor, "", err
	}
	o := replay.Options{Command: options.Args[1:]}
	for v := range environment.Children() {
		con.Sources = append(con.Sources, v.Source)
		o.Environment = append(o.Environment, types.KeyValuePair{Name: aws.String(v.Name), Value: aws.String(v.Str())})
	}
	// nil runs the job's own command; an empty command would replace it.
	if len(o.Command) == 0 {
		o.Command = nil
	}
	a, platform, err := findAttempt(ctx, con, options, job, number, o)
	if err != nil {
		return nil, noExecutor, "", err
	}
	x, err := replayExecutor(ctx, con, options.Target, platform)
	return a, x, options.Target.FlagsTo(platform, options.Target.NameFrom(platform)), err
}

// findAttempt describes the job at the target. For a child it also describes the
// array, because only that has the size. number is the attempt; 0 is the last
// one.
func findAttempt(ctx context.Context, con *term.Console, options ReplayOptions, job string, number int,
	o replay.Options) (*replay.Attempt, *document.Platform, error) {
	call, err := jobs.OpenFor(ctx, con, jobs.Options{Given: options.Given, Target: options.Target}, target.ToRead)
	if err != nil {
		return nil, nil, err
	}
	defer call.Close()
	found, err := jobs.NewResolver(con, options.Command, call.Target, call.Platform).Resolve(ctx, job, session.OneJob)
	if err != nil {
		return nil, nil, err
	}
	id := found[0][0].ID
	// A child does not know the size of its array.
	ids := []string{id}
	if array, _, isChild := batch.SplitChildID(id); isChild {
		ids = append(ids, array)
	}
	jobs, err := call.Client.Describe(ctx, ids...)
	if err != nil {
		return nil, nil, err
	}
	if batch.ArraySize(jobs[0]) > 0 {
		return nil, nil, exit.Usage("%s is an array of %d; choose one of its children", job, batch.ArraySize(jobs[0])).
			Try("name a child: batchctl replay %[1]s:0%[2]s; those that failed: batchctl list --array %[1]s --status FAILED%[2]s", job, call.Flags)
	}
	if len(jobs) > 1 {
		o.Parent = &jobs[1]
	}
	if o.Command != nil {
		o.Command = afterInputs(jobs[0], o.Command)
		of, err := session.FindSweep(ctx, call.Target, jobs[0])
		if err != nil {
			return nil, nil, err
		}
		o.Command = launchedAs(of, jobs[0], o.Command)
	}
	a, err := replay.Of(jobs[0], number, o)
	if err != nil {
		f := exit.Fail(exit.NotDone, "%v", err)
		if attempts := len(jobs[0].Attempts); attempts > 0 && number > attempts {
			return nil, nil, f.Try("name one that has finished: batchctl replay %s#%d%s", job, attempts, call.Flags)
		}
		return nil, nil, f
	}
	keepOutputs(con, a)
	return a, call.Platform, nil
}

// afterInputs puts the job's staging of inputs before another command, so that
// the command finds the input files.
func afterInputs(job types.JobDetail, command []string) []string {
	if job.Container == nil {
		return command
	}
	own, _ := sweep.UserCommand(job.Container.Command)
	before := document.StagedCommand("", nil)
	if len(own) < len(before) || !slices.Equal(own[:len(before)], before) {
		return command
	}
	return append(before, command...)
}

// keepOutputs removes the outputs from a replay, so that it does not overwrite
// the files of the original attempt.
func keepOutputs(con *term.Console, a *replay.Attempt) {
	for i, v := range a.Environment {
		d, err := stage.Parse(aws.ToString(v.Value))
		if aws.ToString(v.Name) != stage.Variable || err != nil || len(d.Outputs) == 0 {
			continue
		}
		// Inputs are still staged; the text keeps them.
		d.Outputs = nil
		text := document.StageText(&d)
		a.Environment = slices.Clone(a.Environment)
		a.Environment[i].Value = &text
		fmt.Fprintln(con.Err, "note: outputs: the replay uploads nothing; files of the original attempt are kept")
	}
}

// launchedAs puts the launcher of a sweep's child before another command, so that
// the command gets the values of its cell and references in its arguments are
// replaced. A command list has no values.
func launchedAs(of *session.SweepOf, job types.JobDetail, command []string) []string {
	if of == nil || of.Sweep == nil || of.Sweep.Kind == sweep.Commands || job.Container == nil {
		return command
	}
	_, launcher := sweep.UserCommand(job.Container.Command)
	return (&sweep.Sweep{Kind: sweep.Matrix, Launcher: launcher}).Command(command)
}

// replayExecutor opens the executor of the local target, as the flags and the
// platform file choose it.
func replayExecutor(ctx context.Context, con *term.Console, options target.Options,
	platform *document.Platform) (target.Executor, error) {
	var entry document.Target
	if platform != nil {
		entry, _ = platform.Target(target.Local)
	}
	choice, err := options.Executor.Choose(entry)
	if err != nil {
		return target.Executor{}, err
	}
	dir, err := options.Dir()
	if err != nil {
		return target.Executor{}, err
	}
	x, err := target.OpenExecutor(ctx, dir, choice)
	if err == nil {
		target.NameExecutor(con, dir, x.Label, true)
	}
	return x, err
}

// printReplay prints which attempt runs, and its image and timeout.
func printReplay(con *term.Console, a *replay.Attempt) {
	which := fmt.Sprintf("attempt %d of %d", a.Number, a.Attempts)
	limit := "no timeout"
	if a.Timeout > 0 {
		limit = "timeout " + a.Timeout.String()
	}
	fmt.Fprintf(con.Err, "replay: %s, %s, %s: %s\n", diag.Printable(a.Name), batch.ShortID(a.Job), which,
		diag.Printable(con.Redacted(term.JoinClauses(aws.ToString(a.Container.Image), limit))))
}

// replayDir returns the working directory. done removes a temporary one if it is
// empty, and reports whether files are left.
func replayDir(given string) (dir string, done func() bool, err error) {
	if given != "" {
		return given, func() bool { return false }, nil
	}
	dir, err = os.MkdirTemp("", "batchctl-replay-")
	return dir, func() bool { return os.Remove(dir) != nil }, err
}

// runReplay runs the attempt with its output on stdout. If stdout is not a file,
// as in tests, it copies the output through a pipe.
func runReplay(ctx context.Context, con *term.Console, a *replay.Attempt, x attempt.Executor, dir string,
	gpus []string) (int, error) {
	// The executor needs a file as the program's stdout.
	log, isFile := con.Out.(*os.File)
	if isFile {
		return a.Run(ctx, x, dir, log, replay.RunOptions{GPUs: gpus})
	}
	from, to, err := os.Pipe()
	if err != nil {
		return -1, err
	}
	copied := make(chan error, 1)
	go func() { _, err := io.Copy(con.Out, from); copied <- err }()
	exit, err := a.Run(ctx, x, dir, to, replay.RunOptions{GPUs: gpus})
	return exit, errors.Join(err, to.Close(), <-copied, from.Close())
}

// replayVerdict prints how the replay and the original attempt ended. It exits
// with exit.Problem if the replay failed.
func replayVerdict(ctx context.Context, con *term.Console, a *replay.Attempt, code int, err error) error {
	before := "without an exit code"
	if c := a.Original.Container; c != nil && c.ExitCode != nil {
		before = fmt.Sprintf("with exit code %d", *c.ExitCode)
	}
	if reason := aws.ToString(a.Original.StatusReason); reason != "" {
		before += ", " + reason
	}
	switch {
	case ctx.Err() != nil:
		return exit.Fail(exit.Interrupted, "interrupted; the replay was stopped")
	case err != nil && code < 0:
		return exit.Fail(exit.NotDone, "the replay did not finish: %v", err)
	case err != nil:
		fmt.Fprintf(con.Err, "ended with exit code %d: %s; the original attempt ended %s\n", code,
			diag.Printable(err.Error()), diag.Printable(before))
	default:
		fmt.Fprintf(con.Err, "ended with exit code %d; the original attempt ended %s\n", code, diag.Printable(before))
	}
	if code != 0 || err != nil {
		return exit.Silent(exit.Problem)
	}
	return nil
}
