package submit

import (
	"github.com/urfave/cli/v2"

	"github.com/batchctl/batchctl/pkg/cli/cmdline"
	"github.com/batchctl/batchctl/pkg/cli/input"
	"github.com/batchctl/batchctl/pkg/cli/jobs"
	"github.com/batchctl/batchctl/pkg/cli/preview"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/client/once"
)

// GCCommand is batchctl gc.
func GCCommand(con *term.Console) *cli.Command {
	return &cli.Command{
		Name:      "gc",
		Usage:     "deregister unused revisions of job definitions",
		UsageText: "batchctl gc [FLAGS] [DEFINITION ...]",
		Description: cmdline.Help("The last revisions of each name stay, and every one that a job which has not ended or an open submission\n"+
			"uses. What something else registered is left alone. Without a DEFINITION all names are looked at, and the\n"+
			"consumable resources that held maxParallel and that no job needs any more; and on the local engine the texts that were\n"+
			"too long for a request and have not been submitted for 90 days.",
			"batchctl gc --dry-run --target prod\nbatchctl gc --keep 10 resnet-train"),
		Flags: jobs.Flags(append(cmdline.OutputFlags(),
			&cli.IntFlag{Name: "keep", Value: keptRevisions, Usage: "leave the last `N` revisions of each name"},
			&cli.BoolFlag{Name: "dry-run", Usage: "say what would be deregistered, and change nothing"})...),
		Action: func(c *cli.Context) error {
			o, err := jobs.OptionsOf(c)
			if err != nil {
				return err
			}
			return gc(c.Context, con, gcOptions{Options: o, keep: c.Int("keep"), dryRun: c.Bool("dry-run")})
		},
	}
}

// ResumeCommand is batchctl resume.
func ResumeCommand(con *term.Console) *cli.Command {
	return &cli.Command{
		Name:      "resume",
		Usage:     "resume interrupted submissions",
		UsageText: "batchctl resume [FLAGS] [RUN ...]",
		Description: cmdline.Help("A RUN is a submission that was interrupted, or of which an answer is missing; submit names it. What may have\n"+
			"been accepted is looked up, the rest is submitted, and duplicates of a job are ended. Without a\n"+
			"RUN all that went to the target are gone on with. It goes on only at the account and the Region of the submission.",
			"batchctl resume\nbatchctl resume --dry-run\nbatchctl resume 3f2a91c0\nbatchctl resume --drop 3f2a91c0"),
		Flags: jobs.Flags(append(append(cmdline.ExecutorFlags(), cmdline.OutputFlags()...), settleFlag(),
			&cli.BoolFlag{Name: "dry-run", Usage: "say what is open, and change nothing"},
			&cli.BoolFlag{Name: "drop", Usage: "leave the rest of the runs unsubmitted, and forget them; what was accepted goes on"},
			&cli.BoolFlag{Name: "submit-again", Usage: "submit jobs again that are so old that Batch may have forgotten them"})...),
		Action: func(c *cli.Context) error {
			o, err := jobs.OptionsOf(c)
			if err != nil {
				return err
			}
			return resume(c.Context, con, resumeOptions{Options: o, dryRun: c.Bool("dry-run"), drop: c.Bool("drop"), submitAgain: c.Bool("submit-again")})
		},
	}
}

// RetryCommand is batchctl retry.
func RetryCommand(con *term.Console) *cli.Command {
	return &cli.Command{
		Name:      "retry",
		Usage:     "resubmit failed jobs; for an array, its failed children",
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
		Action: func(c *cli.Context) error {
			o, err := jobs.OptionsOf(c)
			if err != nil {
				return err
			}
			return retry(c.Context, con, retryOptions{Options: o, deliverOptions: delivers(c, o.Format), partial: c.Bool("partial"), dryRun: c.Bool("dry-run")})
		},
	}
}

// RunCommand is batchctl run.
func RunCommand(con *term.Console) *cli.Command {
	return &cli.Command{
		Name:      "run",
		Usage:     "run a job file on this machine",
		UsageText: "batchctl run [FLAGS] FILE ...",
		Description: cmdline.Help("The same as submit --wait on the local target, with the engine in this process: no account, no\n"+
			"container daemon, no service. The job's output goes to stdout; a line of an array's child begins with\n"+
			"name:index. Ctrl-C ends the job (SIGTERM, and SIGKILL after 30 seconds); what it did is kept for status and logs.",
			"batchctl run job.json\nbatchctl run jobs/matrix-cpu.json --parameters sizes=500"),
		Flags: append(append(append(input.Flags(), preview.PlanFlags()...), cmdline.OutputFlags()...),
			append(cmdline.ExecutorFlags(), input.RawFlag(con), &cli.StringFlag{Name: "state-dir", Usage: "`DIRECTORY` of the local engine (default: $BATCHCTL_STATE_DIR, else ~/.local/state/batchctl)"})...),
		Action: func(c *cli.Context) error {
			o, err := preview.OptionsOf(c)
			if err != nil {
				return err
			}
			return run(c.Context, con, o)
		},
	}
}

// SubmitCommand is batchctl submit.
func SubmitCommand(con *term.Console) *cli.Command {
	return &cli.Command{
		Name:      "submit",
		Usage:     "submit a job file",
		UsageText: "batchctl submit [FLAGS] FILE ...",
		Description: cmdline.Help("The target is named before anything is sent. On the local target an engine is started in the\n"+
			"background if none runs, and the job outlives this command. Each job is submitted once: a ledger is written\n"+
			"before the first call, and an answer that is missing is looked up. What is open at the end, resume goes on with.",
			"batchctl submit job.json\nbatchctl submit job.json --wait\nbatchctl submit job.json --target prod --queue gpu --parameters epochs=20"),
		Flags: append(append(append(append(input.Flags(), preview.PlanFlags()...), cmdline.TargetFlags()...), append(cmdline.ExecutorFlags(), cmdline.OutputFlags()...)...),
			settleFlag(), preview.PricesFlag(), preview.MaxCostFlag(),
			&cli.IntFlag{Name: "count", Value: 1, Usage: "submit the job `N` times, as NAME-1 to NAME-N"},
			&cli.StringFlag{Name: "on-failure", Value: onFailureResume, Usage: "when a job of several is refused: resume leaves the others and what is missing to batchctl resume, stop ends those that were accepted"},
			&cli.StringFlag{Name: "check", Usage: "send nothing unless all is as it was when `PLAN` was made: a file of plan --out"},
			&cli.BoolFlag{Name: "dry-run", Usage: "show what would be sent, as plan does, and send nothing"},
			&cli.BoolFlag{Name: "wait", Aliases: []string{"w"}, Usage: "follow the job to its end; Ctrl-C stops the waiting, not the job"}, input.RawFlag(con)),
		Action: func(c *cli.Context) error {
			o, err := preview.OptionsOf(c)
			if err != nil {
				return err
			}
			return submit(c.Context, con, submitOptions{Options: o, deliverOptions: delivers(c, o.Format), onFailure: c.String("on-failure"), check: c.String("check"), dryRun: c.Bool("dry-run")})
		},
	}
}

// settleFlag bounds the look-up after an answer that is missing.
func settleFlag() cli.Flag {
	return &cli.DurationFlag{Name: "settle", Value: once.DefaultSettle,
		Usage: "look for a job whose answer is missing for this `DURATION` before it counts as not accepted"}
}

// delivers reads what commands that submit say about their answer.
func delivers(c *cli.Context, format string) deliverOptions {
	return deliverOptions{format: format, idsFile: cmdline.IDsFile(c), wait: c.Bool("wait")}
}
