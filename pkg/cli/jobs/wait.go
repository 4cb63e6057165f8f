package jobs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/urfave/cli/v2"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/cli/cmdline"
	"github.com/batchctl/batchctl/pkg/cli/session"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/client/once"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/local"
	"github.com/batchctl/batchctl/pkg/target"
)

// WaitCommand is batchctl wait.
func WaitCommand(con *term.Console) *cli.Command {
	return cmdline.Command(cli.Command{
		Name:      "wait",
		Usage:     "wait until jobs finish",
		UsageText: "batchctl wait [FLAGS] [JOB ...]",
		Description: cmdline.Help("The exit code is 0 if every job SUCCEEDED, 1 if one FAILED, and 3 if the result is unknown. A job that a newer one healed counts as SUCCEEDED. Ctrl-C stops the waiting, not the job.",
			"batchctl wait prepare train --timeout 2h\nbatchctl wait calibration"),
	}, waitOptions{Options: Options{Output: cmdline.Outputs(cmdline.JSON[[]Row]())}},
		func(ctx context.Context, o waitOptions) error { return wait(ctx, con, o) })
}

// waitOptions are the flags of wait.
type waitOptions struct {
	Options
	// 0 sets no limit
	Timeout time.Duration `flag:"timeout" usage:"stop waiting after this <DURATION>, such as 90m"`
}

// wait is batchctl wait.
func wait(ctx context.Context, con *term.Console, o waitOptions) error {
	call, err := OpenJobs(ctx, con, o.Options, target.ToChange)
	if err != nil {
		return err
	}
	defer call.Close()
	if o.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.Timeout)
		defer cancel()
	}
	err = waitKnown(ctx, con, call)
	if call.Format == "json" {
		return errors.Join(PrintJobs(con, call.Target, call.Jobs), err)
	}
	return err
}

// waitKnown waits for the jobs that the service still has. It prints the end of
// the others from the ledger. The exit status covers both.
func waitKnown(ctx context.Context, con *term.Console, call *Call) error {
	var live []once.Submitted
	for i, job := range call.Known {
		if !job.Forgotten {
			live = append(live, call.Jobs[i])
			continue
		}
		fmt.Fprintf(con.Err, "%s  %s  %s\n", diag.Printable(call.Jobs[i].Name), batch.ShortID(call.Jobs[i].ID),
			fromLedger(job.JobDetail, serviceOf(call.Target), time.Now()))
	}
	verdict, code, counting := exit.OK, exit.OK, []once.Recalled(nil)
	for {
		if len(live) > 0 {
			var err error
			if verdict, err = waitFollowing(ctx, con, call, &live); err != nil {
				return err
			}
		}
		var err error
		if counting, code, err = call.recall(ctx); err != nil {
			return err
		}
		live = nil
		for _, job := range session.Live(counting) { // jobs that another process has submitted meanwhile
			if !batch.HasEnded(job.Status) {
				live = append(live, once.Submitted{ID: aws.ToString(job.JobId), Name: aws.ToString(job.JobName)})
			}
		}
		if len(live) == 0 {
			break
		}
	}
	if len(call.elsewhere) > 0 || verdict > exit.Problem { // recall does not have them
		code = max(code, verdict)
	}
	if code != exit.OK {
		printCauses(ctx, con, call.Target, counting)
	}
	return exit.Silent(code)
}

// waitFollowing waits for jobs. If they are all jobs of a submission that needs a client after their
// end, to execute their rungs, to submit the jobs after them or to send a message, it does that. It
// adds the jobs that it submits to jobs.
func waitFollowing(ctx context.Context, con *term.Console, call *Call, jobs *[]once.Submitted) (int, error) {
	run, err := followedRun(con, call.Target, *jobs)
	if err != nil || run == "" {
		if err != nil {
			return exit.OK, err
		}
		return WaitFor(ctx, con, call.Target, *jobs, nil)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w := Start(call.Target, 0, func() ([]once.Submitted, error) { return call.Target.Client.Resume(ctx, run) })
	code, err := WaitFor(ctx, con, call.Target, *jobs, nil)
	for wave := w.Next(); err == nil && len(wave) > 0; wave = w.Next() {
		*jobs = append(*jobs, wave...)
		var more int
		more, err = WaitFor(ctx, con, call.Target, wave, nil)
		code = max(code, more)
	}
	if err != nil {
		cancel()
		_, _ = w.End() // the submission stays open; err says how to continue
		return code, err
	}
	all, err := w.End()
	if _, locked := errors.AsType[*once.LockedError](err); locked || errors.Is(err, fs.ErrNotExist) {
		return code, nil // another process does it
	}
	if err != nil {
		return code, session.SubmitFailure(ctx, call.Target, err)
	}
	return VerdictOf(ctx, call.Target, all, code)
}

// followedRun returns the name of the open submission of the jobs that needs a client after their
// end; "" for none. It prints submissions that have other jobs, too: waiting for some of their jobs
// does not continue them.
func followedRun(con *term.Console, t *target.Target, jobs []once.Submitted) (name string, err error) {
	open, err := t.Submissions.OpenRuns()
	if err != nil {
		return "", err
	}
	ids := session.IDs(jobs)
	for _, r := range open {
		if r.Target != t.Submissions.Target || r.Followed == 0 || !slices.ContainsFunc(r.IDs,
			func(id string) bool { return slices.Contains(ids, id) }) {
			continue
		}
		if name == "" && !slices.ContainsFunc(r.IDs, func(id string) bool { return !slices.Contains(ids, id) }) {
			name = r.Name
			continue
		}
		fmt.Fprintf(con.Err, "note: onFailure and notify of submission %s need a command that waits for all its jobs: batchctl resume %s%s\n", r.Name, r.Name, t.Flags)
	}
	return name, nil
}

// WaitFor follows jobs that continue without this process, and returns the exit
// status of their result. Jobs that moved to another target are followed there. If
// the waiting ends earlier, the error says how to continue; no job is stopped.
func WaitFor(ctx context.Context, con *term.Console, t *target.Target, jobs []once.Submitted,
	log io.Writer) (code int, err error) {
	byTarget, names := map[string][]once.Submitted{}, []string(nil)
	for _, j := range jobs {
		if byTarget[j.At] == nil {
			names = append(names, j.At)
		}
		byTarget[j.At] = append(byTarget[j.At], j)
	}
	for _, name := range names {
		there, err := t.At(ctx, name, target.ToChange)
		if err != nil {
			return code, err
		}
		verdict, err := waitAt(ctx, con, there, byTarget[name], log)
		if code = max(code, verdict); err != nil {
			return code, err
		}
	}
	return code, nil
}

// waitAt is WaitFor for the jobs of one target.
func waitAt(ctx context.Context, con *term.Console, t *target.Target, jobs []once.Submitted,
	log io.Writer) (int, error) {
	f := NewFollower(con, t, jobs, log)
	f.UntilStuck = t.IsLocal()
	code, err := f.Run(ctx)
	args := session.ArgsFor(t, jobs)
	next := fmt.Sprintf("continue waiting: batchctl wait %[1]s    stop: batchctl stop %[1]s", args)
	switch {
	case err == nil:
		return code, nil
	case ctx.Err() != nil && errors.Is(ctx.Err(), context.DeadlineExceeded):
		return code, exit.Fail(exit.TimedOut, "not all jobs finished in time; %s", stillRunning(len(jobs))).
			Try("%s", next)
	case ctx.Err() != nil:
		return code, exit.Fail(exit.Interrupted, "stopped waiting; %s", stillRunning(len(jobs))).Try("%s", next)
	}
	if _, missing := errors.AsType[*client.MissingError](err); missing {
		return code, err
	}
	if stuck, ok := errors.AsType[*ErrStuck](err); ok {
		return code, exit.Fail(exit.Unplaceable, "%v: %s", stuck, diag.Printable(stuck.Why)).
			Try("it waits indefinitely; stop it: batchctl stop %s", args)
	}
	// The connection error alone does not say that the engine's process is gone.
	if t.IsLocal() {
		if _, down := local.Connect(t.Submissions.Dir); down != nil {
			return code, exit.Fail(exit.NotDone, "stopped waiting: the local engine and its jobs were killed").
				Try("start it again, which retries or fails its jobs: batchctl wait %s", args)
		}
	}
	stopped := exit.Fail(exit.NotDone, "stopped waiting: %v; %s", err, stillRunning(len(jobs)))
	if stopped.Hint != "" { // the remedy for the credentials
		return code, stopped.Then("batchctl wait " + args)
	}
	return code, stopped.Try("%s", next)
}

// stillRunning is the clause about jobs that an interrupted command leaves
// running.
func stillRunning(jobs int) string {
	if jobs == 1 {
		return "the job continues"
	}
	return "the jobs continue"
}

// warnOnce returns a function that prints each kind of error once. A watch
// survives these errors and repeats the call.
func warnOnce(con *term.Console, say func(string)) func(error) {
	var mu sync.Mutex
	printed := map[string]bool{}
	return func(err error) {
		text := "note: a call failed; trying again: " + err.Error()
		kind := "failing"
		switch {
		case client.Expired(err):
			kind, text = "expired", "note: the credentials expired; loading them again"
		case client.Throttled(err):
			kind, text = "throttled",
				"note: the service limits the call rate of all clients together; this command now sends fewer calls"
		}
		mu.Lock()
		defer mu.Unlock()
		if !printed[kind] {
			printed[kind] = true
			say(text)
		}
	}
}
