package submit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/cli/cmdline"
	"github.com/batchctl/batchctl/pkg/cli/input"
	"github.com/batchctl/batchctl/pkg/cli/jobs"
	"github.com/batchctl/batchctl/pkg/cli/preview"
	"github.com/batchctl/batchctl/pkg/cli/session"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/client/once"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/local/attempt"
	"github.com/batchctl/batchctl/pkg/plan"
	"github.com/batchctl/batchctl/pkg/target"
	"github.com/urfave/cli/v2"
)

// RunCommand is batchctl run.
func RunCommand(con *term.Console) *cli.Command {
	return cmdline.Command(cli.Command{
		Name:      "run",
		Usage:     "run a job file on this machine",
		UsageText: "batchctl run [FLAGS] FILE ...",
		Description: cmdline.Help("Runs the job in an engine in this process. You need no AWS account, no container daemon and no service. The job's output goes to stdout; in an array, "+
			"each line starts with name:index.\n\nCtrl-C stops the job: SIGTERM, then SIGKILL after 30 seconds. status and logs still show it.",
			"batchctl run job.json\nbatchctl run jobs/matrix-cpu.json --parameters sizes=500"),
	}, RunOptions{Output: cmdline.Outputs(jobs.DescribedForm())},
		func(ctx context.Context, o RunOptions) error { return Run(ctx, con, o) }, cmdline.NoTarget()...)
}

// RunOptions are the flags and arguments of run.
type RunOptions struct {
	preview.Options
	cmdline.Output
	Executor target.ExecutorOptions
	input.Raw
	Drill string `flag:"drill" usage:"make attempts fail, and report whether the job survives: <FAILURES> such as reclaim@40%,oom@90s, after a part of a run without failures or after a time"`
}

// Run is batchctl run: it opens the local engine in this process, submits the
// plan and follows it.
func Run(ctx context.Context, con *term.Console, o RunOptions) error {
	con.RawLog, o.Target.Executor = o.IsRaw, o.Executor
	o.Target.Executor.Runs = true
	blows, err := parseDrill(o.Drill)
	if err != nil {
		return err
	}
	in, err := input.Load(con, o.Options.Options)
	if err != nil {
		return err
	}
	planned, err := preview.BuildPlan(ctx, con, o.Options, in, true)
	if err != nil {
		return err
	}
	// If the reader of stdout ends, as in run FILE | head, SIGPIPE would kill this process,
	// and the jobs would have no engine. With the signal caught, run ends the jobs.
	broken := make(chan os.Signal, 1)
	signal.Notify(broken, syscall.SIGPIPE)
	defer signal.Stop(broken)
	if len(blows) > 0 {
		if err := checkRetried(planned, blows); err != nil {
			return err
		}
		if err := target.EndIdleEngine(ctx, con, o.Target, "a drill"); err != nil {
			return err
		}
	}
	t, err := session.OpenNamed(ctx, con, o.Target, in.Platform, target.Local, target.ToRun)
	if err != nil {
		return err
	}
	if err = preview.CheckDefinitions(ctx, con, t, in); err == nil {
		err = runPlan(ctx, con, t, planned, o.Format, blows)
	}
	if closeErr := t.Close(); err == nil && closeErr != nil {
		err = exit.Fail(exit.NotDone, "close the local engine: %v", closeErr)
	}
	return err
}

// runPlan runs the plan, with the failures of a drill if there are some, and prints what to do next. No job
// may outlive this process, because the engine is part of it.
func runPlan(ctx context.Context, con *term.Console, t *target.Target, planned *plan.Plan, format string,
	blows []attempt.Blow) error {
	log := io.Writer(con.Out)
	if format == "json" {
		log = term.Unmasked(con.Err)
	}
	run := runJobs
	if len(blows) > 0 {
		run = func(ctx context.Context, con *term.Console, t *target.Target, planned *plan.Plan,
			log io.Writer) ([]once.Submitted, error) {
			return drillPlan(ctx, con, t, planned, blows, log)
		}
	}
	all, err := run(ctx, con, t, planned, log)
	list := session.WithID(all)
	switch {
	case len(list) > 0:
	case err == nil && format == "json":
		return jobs.PrintJobs(con, t, nil) // every job was skipped
	case err == nil:
		return printSubmitted(con, all)
	default:
		return err
	}
	if format == "json" {
		err = errors.Join(jobs.PrintJobs(con, t, list), err)
	}
	printNext(ctx, con, t, jobs.NotHealed(list))
	if err == nil {
		printOutputs(con, planned, batch.ShortID(list[0].ID)+t.Flags, true, nil)
	}
	return err
}

// runJobs submits the plan, follows it, and ends every job that is left. It returns the
// jobs, those that were skipped included.
func runJobs(ctx context.Context, con *term.Console, t *target.Target, planned *plan.Plan,
	log io.Writer) ([]once.Submitted, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s := &Sending{con, t, planned}
	// When the reader of the log is gone, the run ends like after Ctrl-C.
	list, code, err := s.Following(ctx, func(accepted []once.Submitted) (int, error) {
		f := jobs.NewFollower(con, t, accepted, log)
		f.UntilStuck, f.Unread = true, cancel
		return f.Run(ctx)
	})
	if err == nil && len(session.WithID(list)) == 0 {
		return list, nil
	}
	return list, runEnd(ctx, con, t, session.WithID(list), code, err)
}

// runEnd ends the jobs that are left, and returns the error of the run. code is
// the exit status if err is nil.
func runEnd(ctx context.Context, con *term.Console, t *target.Target, list []once.Submitted, code int,
	err error) error {
	var stuck *jobs.ErrStuck
	switch {
	case err == nil:
		return exit.Silent(code)
	case errors.As(err, &stuck):
		if endErr := EndAll(con, t, list, stuck.Reason()); endErr != nil {
			return endErr
		}
		return stuck.Failure()
	case ctx.Err() != nil && len(list) > 0:
		fmt.Fprintln(con.Err, "stopping the job; press Ctrl-C again to quit at once")
		if endErr := EndAll(con, t, list, "interrupted"); endErr != nil {
			return endErr
		}
		return exit.Fail(exit.Interrupted, "interrupted; the job was stopped")
	}
	return errors.Join(err, EndAll(con, t, list, "the command stopped following it"))
}

// stopTime limits the wait for jobs to end. It is longer than the 30 seconds
// between SIGTERM and SIGKILL.
const stopTime = 40 * time.Second

// EndAll terminates the jobs that have not ended. It ignores interrupts of the
// caller, and waits at most stopTime.
func EndAll(con *term.Console, t *target.Target, jobs []once.Submitted, reason string) error {
	ctx, cancel := context.WithTimeout(context.Background(), stopTime)
	defer cancel()
	var failed []error
	for _, j := range jobs {
		if _, err := t.Client.Stop(ctx, j.ID, "batchctl run: "+reason); err != nil {
			failed = append(failed, fmt.Errorf("stop %s: %w", batch.ShortID(j.ID), err))
		}
	}
	return errors.Join(failed...)
}

// printNext prints the next command: explain for a job that FAILED, or else
// status and logs. After Ctrl-C there is nothing to explain.
func printNext(ctx context.Context, con *term.Console, t *target.Target, list []once.Submitted) {
	next := ""
	if known, err := t.Client.Recall(context.Background(), session.IDs(list)...); err == nil && ctx.Err() == nil {
		next = session.ExplainNext(t, session.Live(known))
		jobs.PrintMissingFile(ctx, con, t, session.Live(known))
	}
	id := batch.ShortID(list[0].ID) + t.Flags
	fmt.Fprintf(con.Err, "next: %s\n", cmp.Or(next, fmt.Sprintf("batchctl status %[1]s    batchctl logs %[1]s", id)))
}
