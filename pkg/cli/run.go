package cli

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

	"github.com/urfave/cli/v2"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/client/once"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/plan"
)

func runCommand(con *term.Console) *cli.Command {
	return &cli.Command{
		Name:      "run",
		Usage:     "run a job file on this machine and follow it to its end",
		UsageText: "batchctl run [FLAGS] FILE ...",
		Description: help("The same as submit --wait on the local target, with the engine in this process: no account, no\n"+
			"container daemon, no service. The job's output goes to stdout; a line of an array's child begins with\n"+
			"name:index. Ctrl-C ends the job (SIGTERM, and SIGKILL after 30 seconds); what it did is kept for status and logs.",
			"batchctl run job.json\nbatchctl run jobs/matrix-cpu.json --parameters sizes=500"),
		Flags: append(append(append(inputFlags(), planFlags()...), outputFlags()...),
			append(executorFlags(), rawFlag(con), &cli.StringFlag{Name: "state-dir", Usage: "`DIRECTORY` of the local engine (default: $BATCHCTL_STATE_DIR, else ~/.local/state/batchctl)"})...),
		Action: func(c *cli.Context) error { return run(con, c) },
	}
}

func run(con *term.Console, c *cli.Context) error {
	format, err := outputFormat(c)
	if err != nil {
		return err
	}
	in, err := load(con, c)
	if err != nil {
		return err
	}
	made, err := buildPlan(con, c, in, true)
	if err != nil {
		return err
	}
	// Whose reader has gone, as in run FILE | head, would be ended by SIGPIPE and leave its
	// jobs without an engine; it ends them.
	broken := make(chan os.Signal, 1)
	signal.Notify(broken, syscall.SIGPIPE)
	defer signal.Stop(broken)
	t, err := openNamed(c.Context, con, c, in.platform, localTarget, toRun)
	if err != nil {
		return err
	}
	err = runPlan(c.Context, con, t, made, format)
	if closeErr := t.close(); err == nil && closeErr != nil {
		err = exit.Fail(exit.NotDone, "close the local engine: %v", closeErr)
	}
	return err
}

// runPlan submits the plan, follows it, and leaves no job of it behind: nothing
// runs once this process has ended.
func runPlan(ctx context.Context, con *term.Console, t *target, made *plan.Plan, format string) error {
	log := io.Writer(con.Out)
	if format == "json" {
		log = term.Unmasked(con.Err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s := &sending{con, t, made}
	jobs, code, err := s.following(ctx, func(some []once.Submitted) (int, error) {
		f := newFollower(con, t, some, log)
		f.untilStuck, f.Unread = true, cancel
		return f.run(ctx)
	})
	if err == nil && len(withID(jobs)) == 0 {
		return printSubmitted(con, jobs)
	}
	jobs = withID(jobs)
	err = runEnd(ctx, con, t, jobs, code, err)
	if len(jobs) == 0 {
		return err
	}
	if format == "json" {
		err = errors.Join(printJobs(con, t, jobs), err)
	}
	lastWords(ctx, con, t, jobs)
	tellOutputs(con, made, batch.ShortID(jobs[0].ID)+t.flags)
	return err
}

// runEnd turns the ways in which a run ends into what is said and returned.
func runEnd(ctx context.Context, con *term.Console, t *target, jobs []once.Submitted, code int, err error) error {
	var stuck *errStuck
	switch {
	case err == nil:
		return exit.Silent(code)
	case errors.As(err, &stuck):
		if endErr := endAll(con, t, jobs, stuck.reason()); endErr != nil {
			return endErr
		}
		return exit.Fail(exit.Unplaceable, "%v", stuck).
			Try("ask for less, or run it where its queue has such machines: batchctl submit --target NAME")
	case ctx.Err() != nil && len(jobs) > 0:
		fmt.Fprintln(con.Err, "ending the job; once more Ctrl-C does not wait for it")
		if endErr := endAll(con, t, jobs, "interrupted"); endErr != nil {
			return endErr
		}
		return exit.Fail(exit.Interrupted, "interrupted; the job has been ended")
	}
	return errors.Join(err, endAll(con, t, jobs, "it was not followed to its end"))
}

// stopTime is longer than the 30 seconds between SIGTERM and SIGKILL.
const stopTime = 40 * time.Second

// endAll terminates what has not ended yet.
func endAll(con *term.Console, t *target, jobs []once.Submitted, reason string) error {
	ctx, cancel := context.WithTimeout(context.Background(), stopTime)
	defer cancel()
	var failed []error
	for _, j := range jobs {
		if _, err := t.Stop(ctx, j.ID, "batchctl run: "+reason); err != nil {
			failed = append(failed, fmt.Errorf("stop %s: %w", batch.ShortID(j.ID), err))
		}
	}
	return errors.Join(failed...)
}

// lastWords prints the next command: what explains the job that FAILED, else what shows the
// run again. After Ctrl-C there is nothing to explain.
func lastWords(ctx context.Context, con *term.Console, t *target, jobs []once.Submitted) {
	next := ""
	if known, err := t.Recall(context.Background(), ids(jobs)...); err == nil && ctx.Err() == nil {
		next = explainNext(t, live(known))
	}
	id := batch.ShortID(jobs[0].ID) + t.flags
	fmt.Fprintf(con.Err, "next: %s\n", cmp.Or(next, fmt.Sprintf("batchctl status %[1]s    batchctl logs %[1]s", id)))
}
