package submit

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/cli/input"
	"github.com/batchctl/batchctl/pkg/cli/jobs"
	"github.com/batchctl/batchctl/pkg/cli/session"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/client/once"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/target"
)

// retryOptions are the flags of retry.
type retryOptions struct {
	jobs.Options
	deliverOptions
	partial, dryRun bool
}

// retry is batchctl retry: it plans new jobs for the failed ones and submits them
// as submit does.
func retry(ctx context.Context, con *term.Console, o retryOptions) error {
	why := target.ToChange
	if o.dryRun {
		why = target.ToRead
	}
	call, err := jobs.OpenJobs(ctx, con, o.Options, why)
	if err != nil {
		return err
	}
	defer call.Close()
	planned, err := call.Client.Retry(ctx, session.IDs(call.Jobs), once.RetryOptions{Partial: o.partial})
	if err != nil {
		return retryFailure(call, err)
	}
	if o.dryRun {
		document, err := planned.JSON(nil)
		if err != nil {
			return err
		}
		_, err = con.Out.Write(append(diag.PrintableJSON(document), '\n'))
		return err
	}
	err = deliver(ctx, con, o.deliverOptions, call.Target, planned, &input.Input{Platform: call.Platform})
	if err == nil || exit.From(err).Message == "" {
		fmt.Fprintf(con.Err, "next: %s\n", diag.Printable(withRetry(call)))
	}
	return err
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
