package submit

import (
	"errors"

	"github.com/urfave/cli/v2"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/cli/cmdline"
	"github.com/batchctl/batchctl/pkg/cli/jobs"
	"github.com/batchctl/batchctl/pkg/cli/session"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/client/once"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/target"
)

// RetryCommand is batchctl retry.
func RetryCommand(con *term.Console) *cli.Command {
	return &cli.Command{
		Name:      "retry",
		Usage:     "submit again what failed: of an array only the cells that FAILED, as a new array",
		UsageText: "batchctl retry [FLAGS] [JOB ...]",
		Description: cmdline.Help("Definition, queue, overrides, timeout and retry strategy are those of the job; it is called NAME-retry and has the tag\n"+
			"batchctl:retry-of. It waits for the retries of jobs that it waited for. Each child gets the cell of one that failed, also in\n"+
			"the retry of a retry; a plain array needs a shell in its image for that. array:3 names one child. Without a JOB it is the last submission.",
			"batchctl retry pi-sweep\nbatchctl retry --failed --submission sweep.json --wait\nbatchctl retry pi-sweep:17\n"+
				"batchctl results pi-sweep pi-sweep-retry"),
		Flags: jobs.Flags(append(append(cmdline.ExecutorFlags(), cmdline.OutputFlags()...), cmdline.SubmissionFlag(), settleFlag(),
			&cli.BoolFlag{Name: "failed", Usage: "the children that FAILED: there is no other choice yet, and it may be left out"},
			&cli.BoolFlag{Name: "partial", Usage: "of an array that has not ended, those that failed so far"},
			&cli.BoolFlag{Name: "dry-run", Usage: "show what would be sent, as plan --json does, and send nothing"},
			&cli.BoolFlag{Name: "wait", Aliases: []string{"w"}, Usage: "follow the jobs to their end"})...),
		Action: func(c *cli.Context) error { return retry(con, c) },
	}
}

func retry(con *term.Console, c *cli.Context) error {
	why := target.ToChange
	if c.Bool("dry-run") {
		why = target.ToRead
	}
	call, err := jobs.OpenJobsFlags(con, c, why)
	if err != nil {
		return err
	}
	defer call.Close()
	made, err := call.Retry(c.Context, session.IDs(call.Jobs), once.RetryOptions{Partial: c.Bool("partial")})
	if err != nil {
		return retryFailure(call.Target, err)
	}
	if c.Bool("dry-run") {
		document, err := made.JSON(nil)
		if err != nil {
			return err
		}
		_, err = con.Out.Write(append(diag.PrintableJSON(document), '\n'))
		return err
	}
	return deliver(con, c, call.Target, made, call.Format)
}

// retryFailure gives the ways in which there is nothing to retry their codes.
func retryFailure(t *target.Target, err error) error {
	var (
		nothing *once.NothingFailedError
		running *once.NotEndedError
		unknown *once.RetryError
	)
	switch {
	case errors.As(err, &nothing):
		return exit.Fail(exit.NotDone, "%v", err).Try("see how they ended: batchctl status --submission JOB%s", t.Flags)
	case errors.As(err, &running):
		return exit.Fail(exit.NotDone, "%v", err).Try("wait: batchctl wait %s%s    or take those that failed so far: --partial", batch.ShortID(running.ID), t.Flags)
	case errors.As(err, &unknown):
		return exit.Fail(exit.NotDone, "%v", err).Try("submit its file again: batchctl submit FILE%s", t.Flags)
	}
	return err
}
