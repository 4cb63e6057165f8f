package submit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/batchctl/batchctl/pkg/cli/cmdline"
	"github.com/batchctl/batchctl/pkg/cli/input"
	"github.com/batchctl/batchctl/pkg/cli/jobs"
	"github.com/batchctl/batchctl/pkg/cli/session"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/client/once"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/target"
	"github.com/urfave/cli/v2"
)

// ResumeCommand is batchctl resume.
func ResumeCommand(con *term.Console) *cli.Command {
	return cmdline.Command(cli.Command{
		Name:      "resume",
		Usage:     "resume interrupted submissions",
		UsageText: "batchctl resume [FLAGS] [RUN ...]",
		Description: cmdline.Help("A RUN is a submission that was interrupted or has a missing answer: its id, which submit prints, its workflow or file, or one of its jobs. resume "+
			"checks which jobs were accepted, submits the rest, and ends duplicates.\n\nWithout a RUN it resumes every open submission to the target. It refuses to continue in "+
			"another account or Region.",
			"batchctl resume\nbatchctl resume 3f2a91c0\nbatchctl resume --drop 3f2a91c0"),
	}, resumeOptions{Options: jobs.Options{Output: cmdline.Outputs(cmdline.JSON[[]SubmittedRow](),
		cmdline.JSONWith[[]openRow]("dry-run"))}, Settle: once.DefaultSettle},
		func(ctx context.Context, o resumeOptions) error { return resume(ctx, con, o) }, "submission")
}

// resumeOptions are the flags of resume. Args are names of open runs.
type resumeOptions struct {
	jobs.Options
	Executor    target.ExecutorOptions
	Settle      time.Duration `flag:"settle" usage:"if an answer is missing, look for the job for this <DURATION> before assuming that it was not accepted"`
	DryRun      bool          `flag:"dry-run" usage:"list open submissions; change nothing"`
	Drop        bool          `flag:"drop" usage:"close the submissions without submitting the rest; accepted jobs continue"`
	SubmitAgain bool          `flag:"submit-again" usage:"also resubmit jobs so old that AWS Batch may have deleted them"`
}

// resume is batchctl resume: it continues interrupted submissions, or with --drop
// closes them.
func resume(ctx context.Context, con *term.Console, o resumeOptions) error {
	o.Target.Resumes, o.Target.Settle, o.Target.Executor = true, o.Settle, o.Executor
	o.Target.Executor.Runs = true
	dir, err := o.Target.Dir()
	if err != nil {
		return err
	}
	// The ledger is read before the target is known: open runs name their own
	// targets.
	if err := target.CheckStateDir(con, dir, target.ToRead); err != nil {
		return err
	}
	ledger := target.LedgerIn(con, dir)
	if _, err := ledger.Own(); err != nil { // prints damaged lines
		return err
	}
	open, err := ledger.OpenRuns()
	if err != nil {
		return err
	}
	r := &session.Resolver{Con: con, Command: o.Command, Exact: true}
	for i, arg := range o.Args {
		if o.Args[i], err = r.OpenRun(arg, open); err != nil {
			return err
		}
	}
	if open, err = chosen(open, o.Args); err != nil {
		return err
	}
	if o.DryRun {
		return printOpen(con, open, o.Format)
	}
	if len(open) == 0 {
		fmt.Fprintln(con.Err, "nothing to resume: every submission is complete")
		return endResume(con, nil, nil, o.Format, nil)
	}
	in := &input.Input{PlacesNothing: true}
	if err := in.FindPlatform(o.Target); err != nil {
		return err
	}
	t, err := session.OpenTarget(ctx, con, o.Target, in.Platform, target.ToChange)
	if err != nil {
		return err
	}
	defer t.Close()
	t.Client.SubmitAgain = o.SubmitAgain
	jobs, err := resumeEach(ctx, t, o, open)
	return endResume(con, t, jobs, o.Format, err)
}

// chosen returns the open runs with these names, or all of them without names.
func chosen(open []once.OpenRun, names []string) ([]once.OpenRun, error) {
	for _, name := range names {
		if !slices.ContainsFunc(open, func(r once.OpenRun) bool { return r.Name == name }) {
			return nil, exit.Fail(exit.NotDone, "no interrupted submission is named %s", name).
				Try("list them: batchctl resume --dry-run")
		}
	}
	if len(names) == 0 {
		return open, nil
	}
	return slices.DeleteFunc(open, func(r once.OpenRun) bool { return !slices.Contains(names, r.Name) }), nil
}

// resumeEach resumes the runs of this target. Runs of another target are an error
// if their names were given, or if no run is of this target. Damaged runs are
// reported and do not stop the others.
func resumeEach(ctx context.Context, t *target.Target, o resumeOptions,
	open []once.OpenRun) (jobs []once.Submitted, failed error) {
	resumed := 0
	var damaged error
	for _, r := range open {
		if newer, ok := errors.AsType[*once.RunDamageError](r.Damage); ok && newer.Newer {
			damaged = errors.Join(damaged, exit.Fail(exit.NotDone, "%v", r.Damage).
				Try("update batchctl, then: batchctl resume %s%s", r.Name, t.Flags))
			continue
		}
		if r.Damage != nil && !o.Drop {
			damaged = errors.Join(damaged, exit.Fail(exit.NotDone, "%v", r.Damage).
				Try("check what was accepted: batchctl list%[2]s    then set the damaged log aside: batchctl resume --drop %[1]s%[2]s", r.Name, t.Flags))
			continue
		}
		if r.Jobs > 0 && r.Target != t.Submissions.Target {
			failed = errors.Join(failed, elsewhere(r, t))
			continue
		}
		resumed++
		act := t.Client.Resume
		if o.Drop {
			act = func(_ context.Context, name string) ([]once.Submitted, error) { return t.Client.Drop(name) }
		}
		more, err := act(ctx, r.Name)
		jobs = append(jobs, more...)
		if errors.Is(err, fs.ErrNotExist) {
			continue // closed just now
		}
		if err = session.SubmitFailure(ctx, t, err); err != nil {
			return jobs, errors.Join(err, damaged)
		}
	}
	if resumed > 0 && len(o.Args) == 0 {
		failed = nil
	}
	return jobs, errors.Join(damaged, failed)
}

// elsewhere is the error for a run of another target.
func elsewhere(r once.OpenRun, t *target.Target) error {
	hint := "choose that account and Region: --target NAME, or AWS_PROFILE and AWS_REGION"
	if r.Target == target.Local {
		hint = "resume there: batchctl resume --target local " + r.Name
	}
	return exit.Fail(exit.NotDone, "%v", &once.ElsewhereError{Run: r.Name, Target: r.Target,
		Current: t.Submissions.Target}).Try("%s", hint)
}

// endResume prints the jobs that were submitted, or the error.
func endResume(con *term.Console, t *target.Target, jobs []once.Submitted, format string, err error) error {
	if format == "json" {
		if err := con.MaskedJSON(submittedRows(t, jobs)); err != nil {
			return err
		}
	} else if err := printSubmitted(con, jobs); err != nil {
		return err
	}
	if err != nil || len(session.WithID(jobs)) == 0 {
		return err
	}
	nextSteps(con, t, jobs)
	return nil
}

// openRow is an open run in the output of resume --dry-run.
type openRow struct {
	Run       string    `json:"run"`
	Target    string    `json:"target"`
	Began     time.Time `json:"began"`
	Jobs      int       `json:"jobs"`
	Accepted  int       `json:"accepted"`
	Unknown   int       `json:"unknown"`   // jobs whose answer is missing
	Unchecked int       `json:"unchecked"` // jobs that may have duplicates
	Waiting   int       `json:"waiting"`   // jobs that batchctl submits when others have ended
	Damage    string    `json:"damage,omitempty"`
}

// printOpen prints open runs, as a table or JSON.
func printOpen(con *term.Console, open []once.OpenRun, format string) error {
	rows := []openRow{}
	for _, r := range open {
		row := openRow{r.Name, r.Target, r.Began, r.Jobs, r.Accepted, r.Unknown, r.Unchecked, r.Waiting,
			""}
		if r.Damage != nil {
			row.Damage = r.Damage.Error()
		}
		rows = append(rows, row)
	}
	if format == "json" {
		return con.MaskedJSON(rows)
	}
	if len(rows) == 0 {
		fmt.Fprintln(con.Err, "nothing to resume: every submission is complete")
		return nil
	}
	t := con.Table("RUN", "BEGAN", "JOBS", "ACCEPTED", "WAITING", "UNKNOWN", "MAYBE DUPLICATE", "TARGET")
	for _, r := range rows {
		t.Row(r.Run, r.Began.Local().Format(time.DateTime), fmt.Sprint(r.Jobs), fmt.Sprint(r.Accepted),
			fmt.Sprint(r.Waiting), fmt.Sprint(r.Unknown),
			fmt.Sprint(r.Unchecked), cmp.Or(r.Damage, r.Target))
	}
	return t.Flush()
}
