package submit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/cli/cmdline"
	"github.com/batchctl/batchctl/pkg/cli/input"
	"github.com/batchctl/batchctl/pkg/cli/jobs"
	"github.com/batchctl/batchctl/pkg/cli/session"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/client/once"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/plan"
	"github.com/batchctl/batchctl/pkg/target"
	"github.com/urfave/cli/v2"
)

// RetryCommand is batchctl retry.
func RetryCommand(con *term.Console) *cli.Command {
	return cmdline.Command(cli.Command{
		Name:      "retry",
		Usage:     "resubmit failed jobs; for an array, its failed children",
		UsageText: "batchctl retry [FLAGS] [JOB ...]",
		Description: cmdline.Help("The new job has the definition, queue, overrides, timeout and retry strategy of the failed one. It is named NAME-retry and has the tag "+
			"batchctl:retry-of. If the jobs that it depends on are retried too, it waits for the retries.\n\nFor an array, each new child gets the cell of a failed child. A plain array needs a shell in its image for that. array:3 retries one child. What a newer job runs already does not run again. Without a "+
			"JOB, retry uses the last submission.",
			"batchctl retry pi-sweep\nbatchctl retry pi-sweep:17\n"+
				"batchctl results pi-sweep"),
	}, RetryOptions{Options: jobs.Options{Output: cmdline.Outputs(cmdline.JSON[[]SubmittedRow](),
		cmdline.JSONWith[plan.Document]("dry-run")).OrFile()}, Settle: once.DefaultSettle, When: true},
		func(ctx context.Context, o RetryOptions) error { _, err := Retry(ctx, con, o); return err })
}

// RetryOptions are the flags and arguments of retry.
type RetryOptions struct {
	jobs.Options
	Executor target.ExecutorOptions
	Settle   time.Duration `flag:"settle" usage:"if an answer is missing, look for the job for this <DURATION> before assuming that it was not accepted"`
	When     bool          `flag:"when" usage:"if the jobs will not start within a minute, print when they start; a forecast takes a second at most; --when=false turns it off"`
	Failed   bool          `flag:"failed" usage:"retry the FAILED children (the default and only choice)"`
	Partial  bool          `flag:"partial" usage:"for an unfinished array, retry the children that have failed so far"`
	DryRun   bool          `flag:"dry-run" usage:"print what would be sent, as plan --json does; send nothing"`
	Wait     bool          `flag:"wait,w,monitor" usage:"wait until the jobs finish"`
}

// Retry is batchctl retry: it plans new jobs for the failed ones, submits them as
// Submit does, and returns them.
func Retry(ctx context.Context, con *term.Console, o RetryOptions) ([]SubmittedRow, error) {
	o.Target.Settle, o.Target.Executor = o.Settle, o.Executor
	o.Target.Executor.Runs = true
	why := target.ToChange
	if o.DryRun {
		why = target.ToRead
	}
	call, err := jobs.OpenJobs(ctx, con, o.Options, why)
	if err != nil {
		return nil, err
	}
	defer call.Close()
	planned, err := call.Client.Retry(ctx, session.IDs(call.Jobs), once.RetryOptions{Partial: o.Partial})
	if err != nil {
		return nil, retryFailure(call, err)
	}
	if o.DryRun {
		document, err := planned.JSON(nil)
		if err != nil {
			return nil, err
		}
		_, err = con.Out.Write(append(diag.PrintableJSON(document), '\n'))
		return nil, err
	}
	rows, err := deliver(ctx, con, deliverOptions{Output: o.Output, wait: o.Wait, when: o.When}, call.Target, planned,
		&input.Input{Platform: call.Platform})
	if err == nil || exit.From(err).Message == "" {
		fmt.Fprintf(con.Err, "next: %s\n", diag.Printable(withRetry(call)))
	}
	return rows, err
}

// withRetry returns the commands that show the retried jobs together with those that run them again.
func withRetry(call *jobs.Call) string {
	args := session.ArgsFor(call.Target, call.Jobs)
	if slices.ContainsFunc(call.Known, func(job once.Recalled) bool { return batch.ArraySize(job.JobDetail) > 0 }) {
		return fmt.Sprintf("batchctl status %[1]s    batchctl results %[1]s", args)
	}
	return "batchctl status " + args
}

// retryFailure returns an exit.Failure for the errors that mean that there is
// nothing to retry. It returns other errors unchanged.
func retryFailure(call *jobs.Call, err error) error {
	var (
		nothing *once.NothingFailedError
		running *once.NotEndedError
		pending *once.PendingError
		unknown *once.RetryError
	)
	switch {
	case errors.As(err, &nothing):
		return exit.Fail(exit.NotDone, "%v", err).Try("show how they ended: batchctl status %s",
			session.ArgsFor(call.Target, call.Jobs))
	case errors.As(err, &running):
		return exit.Fail(exit.NotDone, "%v", err).
			Try("wait: batchctl wait %s%s    or retry the children that failed so far: --partial",
				batch.ShortID(running.ID), call.Flags)
	case errors.As(err, &pending):
		return exit.Fail(exit.Unknown, "%v", err).Try("resume it first: batchctl resume %s%s", pending.Run, call.Flags)
	case errors.As(err, &unknown):
		return exit.Fail(exit.NotDone, "%v", err).Try("submit its file again: batchctl submit FILE%s", call.Flags)
	}
	return err
}
