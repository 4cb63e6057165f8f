package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/client/once"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/target"
)

// checkDue does the checks for duplicates that earlier commands left for this
// target, if they are due, and prints those that are due later. It reports
// failures and leaves the check to the next command, because this command has
// other work. Where requests may be replayed, it also checks jobs for which no
// answer was missing.
func checkDue(ctx context.Context, con *term.Console, o target.Options, t *target.Target) {
	checker := recheck(ctx, con, o, t)
	if o.Resumes {
		return // resume does the checks of every open run
	}
	open, err := t.Submissions.OpenRuns()
	if err != nil {
		return // the command reports it where it reads the ledger
	}
	for _, r := range open {
		if r.Damage != nil || r.CheckDue.IsZero() || !t.Submissions.Covers(r.Target) &&
			r.Target != t.Submissions.Target {
			continue
		}
		if checker == nil {
			checker = changing(ctx, con, o, t)
		}
		if r.Target != checker.Ledger.Target {
			continue
		}
		if wait := time.Until(r.CheckDue); wait > 0 {
			fmt.Fprintf(con.Err, "note: jobs of run %s may have duplicates; the first command after %v checks for them; to wait for the check: batchctl resume %[1]s%[3]s\n",
				r.Name, (wait + time.Second - 1).Truncate(time.Second), t.Flags)
			continue
		}
		err := checker.CheckDuplicates(ctx, r.Name)
		_, locked := errors.AsType[*once.LockedError](err)
		if err == nil || locked || errors.Is(err, fs.ErrNotExist) {
			continue // the check is done, or another process does it
		}
		con.Explain(exit.From(SubmitFailure(ctx, t, err)))
	}
}

// recheck ends duplicates of earlier jobs that have appeared since the last
// check. It returns the client that it used, or nil if there was nothing to
// check.
func recheck(ctx context.Context, con *term.Console, o target.Options, t *target.Target) *once.Client {
	if !t.Client.Replayable {
		return nil
	}
	if jobs, err := t.Submissions.Unverified(); err != nil || len(jobs) == 0 {
		return nil // an error is reported where the command reads the ledger
	}
	checker := changing(ctx, con, o, t)
	err := checker.RecheckDuplicates(ctx)
	if twice, ok := errors.AsType[*once.TwiceError](err); ok {
		con.Explain(exit.From(SubmitFailure(ctx, t, twice)))
	} else if err != nil {
		fmt.Fprintf(con.Err, "note: check earlier jobs for duplicates: %s; the next command checks them again\n",
			diag.Printable(con.Redacted(err.Error())))
	}
	return checker
}

// changing returns a client that may change the target. Its ledger has the
// account in its label; a command that only reads does not query the account.
func changing(ctx context.Context, con *term.Console, o target.Options, t *target.Target) *once.Client {
	ledger := target.LedgerIn(con, t.Submissions.Dir)
	account, err := target.AccountsIn(ledger.Dir).Of(ctx, t.Config, target.AccountOf)
	if err != nil {
		account = ""
	}
	ledger.Target = target.AWSLabel(cmp.Or(account, batch.UnknownAccount), t.Config)
	checker := once.New(t.Config)
	checker.Ledger, checker.Replayable = ledger, t.Client.Replayable
	target.SubmitsWith(con, o, checker)
	return checker
}

// SubmitFailure returns an exit.Failure for the error of a submission, with the
// command that continues. It returns nil for nil.
func SubmitFailure(ctx context.Context, t *target.Target, err error) error {
	if err == nil {
		return nil
	}
	var (
		open      *once.OpenError
		ambiguous *client.AmbiguousError
		unknown   *once.UnknownError
		forgotten *once.ForgottenError
		due       *once.DueError
		twice     *once.TwiceError
		locked    *once.LockedError
		refused   *client.RefusedError
		large     *once.TooLargeError
	)
	code := exit.NotDone
	switch {
	case errors.As(err, &due), errors.As(err, &twice):
		code = exit.Unknown
	case ctx.Err() != nil:
		code = exit.Interrupted
	case errors.As(err, &forgotten), errors.As(err, &ambiguous), errors.As(err, &unknown):
		code = exit.Unknown
	case errors.As(err, &refused), errors.As(err, &large):
		code = exit.Problem
	}
	f := exit.Fail(code, "%s", strings.ReplaceAll(err.Error(), "\n", "; "))
	switch {
	case errors.As(err, &forgotten):
		return f.Try("check your results, then: batchctl resume --submit-again %[1]s    or drop it: batchctl resume --drop %[1]s", runOf(err)+t.Flags)
	case errors.As(err, &due):
		return f.Try("check again: batchctl resume %s    (other commands for this target also check)", due.Run+t.Flags)
	case errors.As(err, &twice) && !errors.As(err, &open):
		return f.Try("compare the two jobs: batchctl status %s %s%s", batch.ShortID(twice.Duplicates[0].ID),
			batch.ShortID(twice.Duplicates[0].Duplicate), t.Flags)
	case errors.As(err, &locked):
		return f
	case errors.As(err, &open):
		return f.Try("continue: batchctl resume %[1]s    or drop the rest: batchctl resume --drop %[1]s",
			open.Run+t.Flags)
	case errors.Is(err, context.Canceled):
		return exit.Fail(exit.Interrupted, "interrupted; no job was accepted").Try("nothing was created; submit again")
	case code == exit.NotDone:
		return exit.From(LeadOn(t, err))
	}
	return f
}

// runOf returns the open run that an error is about; "" if there is none.
func runOf(err error) string {
	if open, ok := errors.AsType[*once.OpenError](err); ok {
		return open.Run
	}
	return ""
}

// OpenTarget opens the target that the command line, the environment or the
// platform file names, in this order.
func OpenTarget(ctx context.Context, con *term.Console, o target.Options, platform *document.Platform,
	why target.Need) (*target.Target, error) {
	return OpenNamed(ctx, con, o, platform, o.NameFrom(platform), why)
}

// OpenNamed opens the target with this name, and does the checks for duplicates
// that earlier commands left there.
func OpenNamed(ctx context.Context, con *term.Console, o target.Options, platform *document.Platform, name string,
	why target.Need) (*target.Target, error) {
	t, err := target.Open(ctx, con, o, platform, name, why)
	if err == nil && !t.IsLocal() {
		checkDue(ctx, con, o, t)
	}
	return t, err
}

// LeadOn adds the next step to an error about a job that does not exist.
func LeadOn(t *target.Target, err error) error {
	if missing, ok := errors.AsType[*client.NoSuchJobError](err); ok && missing.Near == "" {
		return exit.Fail(exit.NotDone, "%v", missing).Try("list the jobs: batchctl list%s", t.Flags)
	}
	if part, ok := errors.AsType[*client.NoSuchPartError](err); ok {
		return exit.Fail(exit.NotDone, "%v", err).Try("name one that exists: %s", part.Use)
	}
	return err
}
