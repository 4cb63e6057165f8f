package submit

import (
	"context"
	"errors"

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
	planned, err := call.Retry(ctx, session.IDs(call.Jobs), once.RetryOptions{Partial: o.partial})
	if err != nil {
		return retryFailure(call.Target, err)
	}
	if o.dryRun {
		document, err := planned.JSON(nil)
		if err != nil {
			return err
		}
		_, err = con.Out.Write(append(diag.PrintableJSON(document), '\n'))
		return err
	}
	return deliver(ctx, con, o.deliverOptions, call.Target, planned, &input.Input{Platform: call.Platform})
}

// retryFailure returns an exit.Failure for the errors that mean that there is
// nothing to retry. It returns other errors unchanged.
func retryFailure(t *target.Target, err error) error {
	var (
		nothing *once.NothingFailedError
		running *once.NotEndedError
		unknown *once.RetryError
	)
	switch {
	case errors.As(err, &nothing):
		return exit.Fail(exit.NotDone, "%v", err).Try("show how they ended: batchctl status --submission JOB%s", t.Flags)
	case errors.As(err, &running):
		return exit.Fail(exit.NotDone, "%v", err).Try("wait: batchctl wait %s%s    or retry the children that failed so far: --partial", batch.ShortID(running.ID), t.Flags)
	case errors.As(err, &unknown):
		return exit.Fail(exit.NotDone, "%v", err).Try("submit its file again: batchctl submit FILE%s", t.Flags)
	}
	return err
}
