package submit

import (
	"github.com/urfave/cli/v2"

	"github.com/batchctl/batchctl/pkg/cli/cmdline"
	"github.com/batchctl/batchctl/pkg/cli/input"
	"github.com/batchctl/batchctl/pkg/cli/jobs"
	"github.com/batchctl/batchctl/pkg/cli/preview"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/client/once"
	"github.com/batchctl/batchctl/pkg/plan"
	"github.com/batchctl/batchctl/pkg/target"
)

// GCCommand is batchctl gc.
func GCCommand(con *term.Console) *cli.Command {
	return &cli.Command{
		Name:      "gc",
		Usage:     "deregister unused revisions of job definitions",
		UsageText: "batchctl gc [FLAGS] [DEFINITION ...]",
		Description: cmdline.Help("Deregisters all but the newest revisions of each job definition. It keeps revisions that an unfinished job or an open submission "+
			"uses, and revisions that another tool registered.\n\nWithout a DEFINITION, it checks all definitions, and also deletes consumable resources that maxParallel created and no job needs any more. On the "+
			"local engine, it also deletes staged data that no submission has used for 90 days.",
			"batchctl gc --dry-run --target prod"),
		Flags: jobs.Flags(append(cmdline.OutputFlags(cmdline.JSON[[]target.Removed]()),
			&cli.IntFlag{Name: "keep", Value: keptRevisions, Usage: "keep the newest `N` revisions of each definition"},
			&cli.BoolFlag{Name: "dry-run", Usage: "print what would be deregistered; change nothing"})...),
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
		Description: cmdline.Help("A RUN is a submission that was interrupted or has a missing answer: its id, which submit prints, its workflow or file, or one of its jobs. resume "+
			"checks which jobs were accepted, submits the rest, and ends duplicates.\n\nWithout a RUN it resumes every open submission to the target. It refuses to continue in "+
			"another account or Region.",
			"batchctl resume\nbatchctl resume 3f2a91c0\nbatchctl resume --drop 3f2a91c0"),
		Flags: jobs.Flags(append(append(cmdline.ExecutorFlags(), cmdline.OutputFlags(cmdline.JSON[[]submittedRow](),
			cmdline.JSONWith[[]openRow]("dry-run"))...), cmdline.SecretsFlag(), settleFlag(),
			&cli.BoolFlag{Name: "dry-run", Usage: "list open submissions; change nothing"},
			&cli.BoolFlag{Name: "drop",
				Usage: "close the submissions without submitting the rest; accepted jobs continue"},
			&cli.BoolFlag{Name: "submit-again",
				Usage: "also resubmit jobs so old that AWS Batch may have deleted them"})...),
		Action: func(c *cli.Context) error {
			o, err := jobs.OptionsOf(c)
			if err != nil {
				return err
			}
			return resume(c.Context, con, resumeOptions{Options: o, dryRun: c.Bool("dry-run"), drop: c.Bool("drop"),
				submitAgain: c.Bool("submit-again")})
		},
	}
}

// RetryCommand is batchctl retry.
func RetryCommand(con *term.Console) *cli.Command {
	return &cli.Command{
		Name:      "retry",
		Usage:     "resubmit failed jobs; for an array, its failed children",
		UsageText: "batchctl retry [FLAGS] [JOB ...]",
		Description: cmdline.Help("The new job has the definition, queue, overrides, timeout and retry strategy of the failed one. It is named NAME-retry and has the tag "+
			"batchctl:retry-of. If the jobs that it depends on are retried too, it waits for the retries.\n\nFor an array, each new child gets the cell of a failed child. A plain array needs a shell in its image for that. array:3 retries one child. What a newer job runs already does not run again. Without a "+
			"JOB, retry uses the last submission.",
			"batchctl retry pi-sweep\nbatchctl retry pi-sweep:17\n"+
				"batchctl results pi-sweep"),
		Flags: jobs.Flags(append(append(cmdline.ExecutorFlags(), cmdline.OutputFlags(cmdline.JSON[[]submittedRow](),
			cmdline.JSONWith[plan.Document]("dry-run"))...), cmdline.SubmissionFlag(), cmdline.SecretsFlag(),
			settleFlag(), whenFlag(),
			&cli.BoolFlag{Name: "failed", Usage: "retry the FAILED children (the default and only choice)"},
			&cli.BoolFlag{Name: "partial",
				Usage: "for an unfinished array, retry the children that have failed so far"},
			&cli.BoolFlag{Name: "dry-run", Usage: "print what would be sent, as plan --json does; send nothing"},
			&cli.BoolFlag{Name: "wait", Aliases: []string{"w", "monitor"}, Usage: "wait until the jobs finish"})...),
		Action: func(c *cli.Context) error {
			o, err := jobs.OptionsOf(c)
			if err != nil {
				return err
			}
			return retry(c.Context, con, retryOptions{Options: o, deliverOptions: delivers(c, o.Format),
				partial: c.Bool("partial"), dryRun: c.Bool("dry-run")})
		},
	}
}

// RunCommand is batchctl run.
func RunCommand(con *term.Console) *cli.Command {
	return &cli.Command{
		Name:      "run",
		Usage:     "run a job file on this machine",
		UsageText: "batchctl run [FLAGS] FILE ...",
		Description: cmdline.Help("Runs the job in an engine in this process. You need no AWS account, no container daemon and no service. The job's output goes to stdout; in an array, "+
			"each line starts with name:index.\n\nCtrl-C stops the job: SIGTERM, then SIGKILL after 30 seconds. status and logs still show it.",
			"batchctl run job.json\nbatchctl run jobs/matrix-cpu.json --parameters sizes=500"),
		Flags: append(append(append(input.Flags(), preview.PlanFlags()...),
			cmdline.OutputFlags(jobs.DescribedForm())...),
			append(cmdline.ExecutorFlags(), cmdline.SecretsFlag(), input.RawFlag(con), cmdline.StateDirFlag(),
				&cli.StringFlag{Name: "drill",
					Usage: "make attempts fail, and report whether the job survives: `FAILURES` such as reclaim@40%,oom@90s, after a part of a run without failures or after a time"})...),
		Action: func(c *cli.Context) error {
			o, err := preview.OptionsOf(c)
			if err != nil {
				return err
			}
			return run(c.Context, con, o, c.String("drill"))
		},
	}
}

// SubmitCommand is batchctl submit.
func SubmitCommand(con *term.Console) *cli.Command {
	return &cli.Command{
		Name:      "submit",
		Usage:     "submit a job file",
		UsageText: "batchctl submit [FLAGS] FILE ...",
		Description: cmdline.Help("Prints the target before it sends anything. On the local target, it starts an engine in the background if none is running, so the job continues after "+
			"this command.\n\nEach job is submitted once: batchctl records it before the first call, and checks for the job if an "+
			"answer is missing. If the submission is interrupted, batchctl resume submits the rest.",
			"batchctl submit job.json\nbatchctl submit job.json --wait\nbatchctl submit job.json --target prod --queue gpu --parameters epochs=20"),
		Flags: append(append(append(append(input.Flags(), preview.PlanFlags()...), cmdline.TargetFlags()...),
			append(cmdline.ExecutorFlags(), cmdline.OutputFlags(cmdline.JSON[[]submittedRow](),
				cmdline.JSONWith[plan.Document]("dry-run"))...)...),
			cmdline.SecretsFlag(), settleFlag(), preview.PricesFlag(), preview.MaxCostFlag(),
			&cli.IntFlag{Name: "count", Value: 1, Usage: "submit the job `N` times, as NAME-1 to NAME-N"},
			&cli.StringFlag{Name: "on-failure", Value: onFailureResume,
				Usage: "the `ACTION` if one of several jobs is rejected: resume keeps the accepted jobs for batchctl resume, stop ends them"},
			&cli.StringFlag{Name: "check",
				Usage: "send nothing if anything has changed since this `PLAN`, a file of plan --out"},
			&cli.BoolFlag{Name: "dry-run", Usage: "print what would be sent, as plan does; send nothing"},
			whenFlag(),
			&cli.BoolFlag{Name: "wait", Aliases: []string{"w", "monitor"},
				Usage: "wait until the job finishes; Ctrl-C stops the waiting, not the job"}, input.RawFlag(con)),
		Action: func(c *cli.Context) error {
			o, err := preview.OptionsOf(c)
			if err != nil {
				return err
			}
			return submit(c.Context, con, submitOptions{Options: o, deliverOptions: delivers(c, o.Format),
				onFailure: c.String("on-failure"), check: c.String("check"), dryRun: c.Bool("dry-run")})
		},
	}
}

// whenFlag is --when.
func whenFlag() cli.Flag {
	return &cli.BoolFlag{Name: "when", Value: true,
		Usage: "if the jobs will not start within a minute, print when they start; a forecast takes a second at most; --when=false turns it off"}
}

// settleFlag is --settle, how long batchctl checks for a job after a missing
// answer.
func settleFlag() cli.Flag {
	return &cli.DurationFlag{Name: "settle", Value: once.DefaultSettle,
		Usage: "if an answer is missing, look for the job for this `DURATION` before assuming that it was not accepted"}
}

// delivers reads the flags that say how a command reports and follows the jobs
// that it submits.
func delivers(c *cli.Context, format string) deliverOptions {
	return deliverOptions{format: format, idsFile: cmdline.IDsFile(c), wait: c.Bool("wait"), when: c.Bool("when")}
}
