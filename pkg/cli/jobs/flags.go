package jobs

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/service/batch/types"
	"github.com/urfave/cli/v2"

	"github.com/batchctl/batchctl/pkg/cli/cmdline"
	"github.com/batchctl/batchctl/pkg/cli/input"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/explain"
	"github.com/batchctl/batchctl/pkg/jobqueue"
	"github.com/batchctl/batchctl/pkg/target"
	"github.com/batchctl/batchctl/pkg/wire"
)

// ExplainCommand is batchctl explain.
func ExplainCommand(con *term.Console) *cli.Command {
	return &cli.Command{
		Name:      "explain",
		Usage:     "explain why a job waits or failed",
		UsageText: "batchctl explain [FLAGS] [JOB]",
		Description: cmdline.Help("For the name of a workflow, explain chooses the job that failed, or else the first job that waits. "+
			"Without a JOB, explain uses the last submission.\n\nSome causes also appear while instances start. explain reports them only after 10 minutes and two observations; until then, it says when to try "+
			"again. --record saves the evidence, without credentials, for a colleague to read with --bundle.",
			"batchctl explain resnet-train\nbatchctl explain 3f2a91c0:7 --file job.json\n"+
				"batchctl explain resnet-train --record evidence.json\nbatchctl explain --bundle evidence.json --output json"),
		Flags: Flags(append(cmdline.OutputFlags(cmdline.JSON[explain.Answer]()),
			&cli.StringFlag{Name: "file", Usage: "the job's `FILE`; the fix then names the line"},
			&cli.StringFlag{Name: "bundle", Usage: "explain the evidence in this `FILE`; query nothing"},
			&cli.StringFlag{Name: "record", Usage: "write the evidence to this `FILE`"},
			&cli.BoolFlag{Name: "wait", Aliases: []string{"w"}, Usage: "repeat until the answer is final"},
			&cli.DurationFlag{Name: "timeout", Usage: "with --wait, stop after this `DURATION`, such as 30m"},
		)...),
		Action: with(func(c *cli.Context, o Options) error {
			x := explainOptions{Options: o, bundle: c.String("bundle"), record: c.String("record"),
				file: c.String("file"), wait: c.Bool("wait"), timeout: c.Duration("timeout")}
			for _, flag := range []string{"record", "wait", "timeout", "target", "profile", "region", "endpoint-url",
				"file"} {
				if c.IsSet(flag) {
					x.targetFlags = append(x.targetFlags, flag)
				}
			}
			return explainJob(c.Context, con, x)
		}),
	}
}

// Flags are the flags of every command that names jobs, and the command's own
// flags.
func Flags(more ...cli.Flag) []cli.Flag {
	return append(append([]cli.Flag{cmdline.PlatformFlag()}, cmdline.TargetFlags()...), more...)
}

// StatusCommand is batchctl status.
func StatusCommand(con *term.Console) *cli.Command {
	return &cli.Command{
		Name:      "status",
		Usage:     "show the status of jobs",
		UsageText: "batchctl status [FLAGS] [JOB ...]",
		Description: cmdline.Help("A JOB is a job's name, short id, ARN or submission id; name:7 is child 7 of an array. The name of a workflow, its file, or the id of a "+
			"submission means all its jobs. A job includes those that run it again: steps of onFailure and retries, newest first. If several jobs or submissions have the name, status shows the newest and lists the others.\n\nWithout a JOB, "+
			"status shows the last submission. Several jobs are shown as a tree of their dependencies.",
			"batchctl status\nbatchctl status 3f2a91c0\nbatchctl status resnet-train --output json\nbatchctl status calibration.json"),
		Flags:  Flags(append(cmdline.OutputFlags(cmdline.JSON[[]jobRow]()), cmdline.SubmissionFlag())...),
		Action: with(func(c *cli.Context, o Options) error { return status(c.Context, con, o) }),
	}
}

// ListCommand is batchctl list.
func ListCommand(con *term.Console) *cli.Command {
	return &cli.Command{
		Name:      "list",
		Usage:     "list jobs",
		UsageText: "batchctl list [FLAGS]",
		Description: cmdline.Help("Lists the newest jobs first. A job must match all flags. --array JOB lists the children of an array.\n\nA TIME is a date, a date "+
			"with a time, or an age: 2026-03-31, \"2026-03-31 14:00\", 2026-03-31T14:00:00Z, 90m, 7d.",
			"batchctl list\nbatchctl list --status RUNNABLE --queue gpu\n"+
				"batchctl list --name 'resnet*' --output json"),
		Flags: Flags(append(cmdline.OutputFlags(cmdline.JSON[wire.Native[[]types.JobSummary]]()),
			&cli.StringSliceFlag{Name: "status", Usage: "only jobs in this `STATUS`; may be repeated"},
			&cli.StringSliceFlag{Name: "queue", Usage: "only this `QUEUE`; may be repeated"},
			&cli.StringFlag{Name: "name", Usage: "only jobs of this `NAME`; a trailing * is a wildcard"},
			&cli.StringFlag{Name: "definition",
				Usage: "only jobs of this `DEFINITION`: name, name:revision or ARN; a trailing * is a wildcard"},
			&cli.StringFlag{Name: "share", Usage: "only jobs of this fair-share `IDENTIFIER`"},
			&cli.StringFlag{Name: "created-after", Usage: "only jobs created since this `TIME`"},
			&cli.StringFlag{Name: "created-before", Usage: "only jobs created before this `TIME`"},
			&cli.StringFlag{Name: "array", Usage: "the children of this array `JOB`"},
			&cli.IntFlag{Name: "limit", Value: 50, Usage: "list at most `N` jobs; 0 lists all"},
		)...),
		Action: with(func(c *cli.Context, o Options) error {
			return list(c.Context, con, listOptions{Options: o, statuses: c.StringSlice("status"),
				queues: c.StringSlice("queue"), name: c.String("name"),
				definition: c.String("definition"), share: c.String("share"), createdAfter: c.String("created-after"),
				createdBefore: c.String("created-before"),
				array:         c.String("array"), limit: c.Int("limit")})
		}),
	}
}

// LogsCommand is batchctl logs.
func LogsCommand(con *term.Console) *cli.Command {
	return &cli.Command{
		Name:      "logs",
		Usage:     "print job logs",
		UsageText: "batchctl logs [FLAGS] [JOB ...]",
		Description: cmdline.Help("Prints the log of the last attempt. With --follow, it continues until the job has finished.\n\nAdd the index to name a child of an "+
			"array: 3f2a91c0:7. The name of an array stands for all its children, one after the other. --first-error prints one line for each distinct failure, from the last 1000 "+
			"lines of each log.",
			"batchctl logs 3f2a91c0\nbatchctl logs resnet-train --follow\n"+
				"batchctl logs sweep --children 0-9 --tail 20\nbatchctl logs sweep --failed --first-error"),
		Flags: Flags(append(cmdline.OutputFlags(cmdline.JSON[[]logRow](),
			cmdline.JSONWith[[]failureRow]("first-error")), cmdline.SubmissionFlag(),
			&cli.BoolFlag{Name: "follow", Aliases: []string{"f"}, Usage: "continue until the job has finished"},
			&cli.BoolFlag{Name: "timestamps", Usage: "print the time before each line"},
			&cli.IntFlag{Name: "attempt", Usage: "the log of attempt `N`, from 1 (default: the last one)"},
			&cli.IntFlag{Name: "tail", Aliases: []string{"n"}, Usage: "only the last `N` lines of each log"},
			&cli.StringFlag{Name: "since",
				Usage: "only lines since this `TIME`: 2026-03-31T14:00:00Z, or an age such as 90m"},
			&cli.StringFlag{Name: "children", Usage: "only these children of an array: `RANGE`, such as 0-9,17"},
			&cli.BoolFlag{Name: "failed", Usage: "only jobs and children that FAILED"},
			&cli.BoolFlag{Name: "first-error",
				Usage: "print one line for each distinct failure, and how many jobs have it"},
			input.RawFlag(con),
			&cli.IntFlag{Name: "limit", Value: mostLogs, Usage: "read at most `N` logs; 0 reads all"})...),
		Action: with(func(c *cli.Context, o Options) error {
			return logs(c.Context, con, logOptions{Options: o, follow: c.Bool("follow"),
				timestamps: c.Bool("timestamps"), failed: c.Bool("failed"),
				firstError: c.Bool("first-error"), attempt: c.Int("attempt"), tail: c.Int("tail"),
				limit: c.Int("limit"), since: c.String("since"),
				children: c.String("children")})
		}),
	}
}

// QueuesCommand is batchctl queues.
func QueuesCommand(con *term.Console) *cli.Command {
	return &cli.Command{
		Name:      "queues",
		Usage:     "show the job queues and their capacity",
		UsageText: "batchctl queues [FLAGS] [QUEUE ...]",
		Description: cmdline.Help("Counts the unfinished jobs of each queue, children of arrays included. IN USE is the vCPUs of running jobs. CAPACITY is the total "+
			"maxvCpus of the queue's compute environments. SHARES lists what each share of a fair-share queue uses.\n\nbatchctl top shows the "+
			"same, and the jobs, live.",
			"batchctl queues\nbatchctl queues gpu --target prod"),
		Flags:  Flags(cmdline.OutputFlags(cmdline.JSON[[]jobqueue.Queue]())...),
		Action: with(func(c *cli.Context, o Options) error { return queues(c.Context, con, o) }),
	}
}

// StopCommand is batchctl stop.
func StopCommand(con *term.Console) *cli.Command {
	return &cli.Command{
		Name:      "stop",
		Usage:     "stop jobs in any state",
		UsageText: "batchctl stop [FLAGS] JOB ...",
		Description: cmdline.Help("Write complete names: a prefix stops nothing. A running job gets SIGTERM, then "+
			"SIGKILL after 30 seconds. An array stops with all its children.\n\nstop waits until the jobs have finished, and lists the jobs that it did "+
			"not stop. It exits with status 3 if no job of a JOB runs.",
			"batchctl stop resnet-train --reason \"wrong learning rate\"\nbatchctl stop calibration --dry-run"),
		Flags: Flags(append(cmdline.OutputFlags(cmdline.JSON[[]stopRow]()), cmdline.SubmissionFlag(),
			&cli.StringFlag{Name: "reason", Value: "stopped with batchctl stop",
				Usage: "the reason `TEXT` that AWS Batch stores with the job"},
			&cli.BoolFlag{Name: "dry-run", Usage: "print what would be stopped; change nothing"},
			&cli.DurationFlag{Name: "timeout", Value: 2 * time.Minute,
				Usage: "wait at most this `DURATION` for the jobs to finish"})...),
		Action: with(func(c *cli.Context, o Options) error {
			return stop(c.Context, con, stopOptions{Options: o, dryRun: c.Bool("dry-run"),
				timeout: c.Duration("timeout"), reason: c.String("reason")})
		}),
	}
}

// WaitCommand is batchctl wait.
func WaitCommand(con *term.Console) *cli.Command {
	return &cli.Command{
		Name:      "wait",
		Usage:     "wait until jobs finish",
		UsageText: "batchctl wait [FLAGS] [JOB ...]",
		Description: cmdline.Help("The exit code is 0 if every job SUCCEEDED, 1 if one FAILED, and 3 if the result is unknown. A job that a newer one healed counts as SUCCEEDED. Ctrl-C stops the waiting, not the job.",
			"batchctl wait prepare train --timeout 2h\nbatchctl wait calibration"),
		Flags: Flags(append(cmdline.OutputFlags(cmdline.JSON[[]jobRow]()), cmdline.SubmissionFlag(),
			&cli.DurationFlag{Name: "timeout", Usage: "stop waiting after this `DURATION`, such as 90m"})...),
		Action: with(func(c *cli.Context, o Options) error { return wait(c.Context, con, o, c.Duration("timeout")) }),
	}
}

// Options are the flags and arguments that all commands about jobs share.
type Options struct {
	// Command is the command's name, for the hints in messages.
	Command string
	// Args name jobs. Without any, the command uses Submission, or else the last submission.
	Args       []string
	Submission string
	// Format is text or json, or another one that the command has.
	Format string
	Target target.Options
}

// OptionsOf reads the flags and arguments that all commands about jobs share.
func OptionsOf(c *cli.Context) (Options, error) {
	format, err := cmdline.OutputFormat(c)
	return Options{Command: c.Command.Name, Args: c.Args().Slice(), Submission: c.String("submission"), Format: format,
		Target: cmdline.TargetOptions(c)}, err
}

// with reads the options of a command and runs it.
func with(run func(*cli.Context, Options) error) cli.ActionFunc {
	return func(c *cli.Context) error {
		o, err := OptionsOf(c)
		if err != nil {
			return err
		}
		return run(c, o)
	}
}

// listOptions are the flags of list.
type listOptions struct {
	Options
	statuses, queues               []string
	name, definition, share, array string
	// as written
	createdAfter, createdBefore string
	// 0 lists all
	limit int
}

// logOptions are the flags of logs.
type logOptions struct {
	Options
	follow, timestamps, failed, firstError bool
	attempt, tail, limit                   int
	// as written
	since, children string
}

// stopOptions are the flags of stop.
type stopOptions struct {
	Options
	dryRun  bool
	timeout time.Duration
	reason  string
}

// explainOptions are the flags of explain.
type explainOptions struct {
	Options
	bundle, record, file string // paths
	wait                 bool
	// 0 sets no limit
	timeout time.Duration
	// given flags that --bundle excludes
	targetFlags []string
}
