package jobs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/cli/session"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/client/once"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/local"
	"github.com/batchctl/batchctl/pkg/target"
)

func wait(ctx context.Context, con *term.Console, o Options, timeout time.Duration) error {
	call, err := OpenJobs(ctx, con, o, target.ToChange)
	if err != nil {
		return err
	}
	defer call.Close()
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	err = waitKnown(ctx, con, call)
	if call.Format == "json" {
		return errors.Join(PrintJobs(con, call.Target, call.Jobs), err)
	}
	return err
}

// waitKnown waits for the jobs that AWS Batch still has. How the others ended it reads from
// the ledger.
func waitKnown(ctx context.Context, con *term.Console, call *Call) error {
	code := exit.OK
	var live []once.Submitted
	for i, job := range call.Known {
		if !job.Forgotten {
			live = append(live, call.Jobs[i])
			continue
		}
		fmt.Fprintf(con.Err, "%s  %s  %s\n", diag.Printable(call.Jobs[i].Name), batch.ShortID(call.Jobs[i].ID), fromLedger(job.JobDetail, serviceOf(call.Target), time.Now()))
		switch job.Status {
		case once.StatusExpired:
			code = exit.NotDone
		case types.JobStatusFailed:
			code = max(code, exit.Problem)
		}
	}
	if len(live) == 0 {
		return exit.Silent(code)
	}
	verdict, err := WaitFor(ctx, con, call.Target, live, nil)
	if err != nil {
		return err
	}
	if verdict != exit.OK {
		session.PrintNextOf(ctx, con, call.Target, live)
	}
	return exit.Silent(max(code, verdict))
}

// WaitFor follows jobs that continue without us, and returns the exit code of their
// verdict. Whatever else ends the waiting, it says how to continue and stops nothing.
func WaitFor(ctx context.Context, con *term.Console, t *target.Target, jobs []once.Submitted, log io.Writer) (int, error) {
	code, err := NewFollower(con, t, jobs, log).Run(ctx)
	words := session.WordsOf(t, jobs)
	next := fmt.Sprintf("wait on: batchctl wait %[1]s    stop: batchctl stop %[1]s", words)
	switch {
	case err == nil:
		return code, nil
	case ctx.Err() != nil && errors.Is(ctx.Err(), context.DeadlineExceeded):
		return code, exit.Fail(exit.TimedOut, "not everything finished in time; %s", stillRunning(len(jobs))).Try("%s", next)
	case ctx.Err() != nil:
		return code, exit.Fail(exit.Interrupted, "stopped waiting; %s", stillRunning(len(jobs))).Try("%s", next)
	case client.Expired(err) || strings.Contains(err.Error(), "get credentials"):
		return code, exit.Fail(exit.NotDone, "stopped waiting: %v; %s", exit.Cause(err), stillRunning(len(jobs))).
			Try("get new credentials, for example aws sso login, then wait on: batchctl wait %s", words)
	}
	if _, missing := errors.AsType[*client.MissingError](err); missing {
		return code, err
	}
	if t.IsLocal() {
		if _, gone := local.Connect(t.Submissions.Dir); gone != nil {
			return code, exit.Fail(exit.NotDone, "stopped waiting: the local engine and its jobs were killed").
				Try("start it again, which retries or fails its jobs: batchctl wait %s", words)
		}
	}
	return code, exit.Fail(exit.NotDone, "stopped waiting: %v; %s", err, stillRunning(len(jobs))).Try("%s", next)
}

func stillRunning(jobs int) string {
	if jobs == 1 {
		return "the job continues"
	}
	return "the jobs continue"
}

// warnOnce says once of each kind what a watch lives through.
func warnOnce(con *term.Console, say func(string)) func(error) {
	var mu sync.Mutex
	said := map[string]bool{}
	return func(err error) {
		text := "note: the service does not answer as it should; it is asked again: " + err.Error()
		kind := "failing"
		switch {
		case client.Expired(err):
			kind, text = "expired", "note: the credentials expired; they are loaded again"
		case client.Throttled(err):
			kind, text = "throttled", "note: the service is asked too often, by all who use it together; this command asks less often now"
		}
		mu.Lock()
		defer mu.Unlock()
		if !said[kind] {
			said[kind] = true
			say(text)
		}
	}
}
