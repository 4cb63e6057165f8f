package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
	"github.com/urfave/cli/v2"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/cli/cmdline"
	"github.com/batchctl/batchctl/pkg/cli/session"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/client/once"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/target"
	"github.com/batchctl/batchctl/pkg/text"
)

// StopCommand is batchctl stop.
func StopCommand(con *term.Console) *cli.Command {
	o := DefaultStop()
	o.Output = cmdline.Outputs(cmdline.JSON[[]StopRow]())
	return cmdline.Command(cli.Command{
		Name:      "stop",
		Usage:     "stop jobs in any state",
		UsageText: "batchctl stop [FLAGS] JOB ...",
		Description: cmdline.Help("Write complete names: a prefix stops nothing. A running job gets SIGTERM, then "+
			"SIGKILL after 30 seconds. An array stops with all its children.\n\nstop waits until the jobs have finished, and lists the jobs that it did "+
			"not stop. It exits with status 3 if no job of a JOB runs.",
			"batchctl stop resnet-train --reason \"wrong learning rate\"\nbatchctl stop calibration --dry-run"),
	}, o, func(ctx context.Context, o StopOptions) error { return stop(ctx, con, o) })
}

// DefaultStop are the options of a command without flags.
func DefaultStop() StopOptions {
	return StopOptions{Reason: "stopped with batchctl stop", Timeout: 2 * time.Minute}
}

// StopOptions are the flags of stop.
type StopOptions struct {
	Options
	Reason  string        `flag:"reason" usage:"the reason <TEXT> that AWS Batch stores with the job"`
	DryRun  bool          `flag:"dry-run" usage:"print what would be stopped; change nothing"`
	Timeout time.Duration `flag:"timeout" usage:"wait at most this <DURATION> for the jobs to finish"`
}

// StopRow is what stop did to one job.
type StopRow struct {
	Name    string `json:"name"`
	ID      string `json:"id"`
	ShortID string `json:"shortId"`
	// Call is TerminateJob, or "" for a job that was left alone.
	Call string `json:"call"`
	// Before is the status in which the job was found, Status the last that was seen.
	Before string `json:"before"`
	Status string `json:"status"`
	// LeftAlone is why stop sent no request.
	LeftAlone string `json:"leftAlone,omitempty"`
	// Children is the number of children that were terminated one by one.
	Children int    `json:"children,omitempty"`
	DryRun   bool   `json:"dryRun,omitempty"`
	Error    string `json:"error,omitempty"`
}

// text formats the row as a line.
func (r StopRow) text() string {
	head := r.ShortID + "  " + diag.Printable(r.Name) + "  "
	switch {
	case r.Error != "":
		return head + "not stopped: " + diag.Printable(r.Error)
	case r.LeftAlone != "":
		return head + "not stopped: " + r.LeftAlone
	case r.DryRun:
		return head + fmt.Sprintf("would be sent %s, is %s", r.Call, r.Before)
	case r.Children > 0:
		return head + fmt.Sprintf("%s, was %s (%s, and TerminateJob for %d children that were still running)", r.Status,
			r.Before, r.Call, r.Children)
	}
	return head + fmt.Sprintf("%s, was %s (%s)", r.Status, r.Before, r.Call)
}

// rowOf returns a row with the names of a job.
func rowOf(j once.Submitted) StopRow {
	return StopRow{Name: j.Name, ID: j.ID, ShortID: batch.ShortID(j.ID)}
}

// stop is batchctl stop.
func stop(ctx context.Context, con *term.Console, o StopOptions) error {
	rows, err := Stop(ctx, con, o)
	switch {
	case rows == nil:
		return err
	case o.Format == "json":
		return cmp.Or(con.MaskedJSON(rows), err)
	}
	return cmp.Or(con.Print(StopText(rows)), err)
}

// StopText formats rows as stop prints them.
func StopText(rows []StopRow) string {
	var b strings.Builder
	for _, r := range rows {
		b.WriteString(r.text() + "\n")
	}
	return b.String()
}

// Stop stops jobs. It returns a row for each job that it found, also if the error tells that not all were stopped.
func Stop(ctx context.Context, con *term.Console, o StopOptions) ([]StopRow, error) {
	if len(o.Args) == 0 && o.Submission == "" {
		return nil, exit.Usage("stop needs a job").
			Try("name a job: batchctl stop NAME (batchctl list shows the names); or all jobs of a submission: --submission NAME")
	}
	why := target.ToChange
	if o.DryRun {
		why = target.ToRead
	}
	call, err := OpenJobs(ctx, con, o.Options, why)
	if err != nil {
		return nil, err
	}
	defer call.Close()
	return stopFound(ctx, con, o, call)
}

// stopFound stops the call's jobs and returns what it did.
func stopFound(ctx context.Context, con *term.Console, o StopOptions, call *Call) ([]StopRow, error) {
	rows, err := stopJobs(ctx, o, call)
	if err != nil {
		return nil, err
	}
	// Another job with the same name may be meant.
	namesakes, unchecked := call.namesakes(ctx)
	if unchecked != nil && ctx.Err() == nil {
		fmt.Fprintf(con.Err, "batchctl: could not check for other jobs with these names: %s\n",
			diag.Printable(unchecked.Error()))
	}
	idle := idleHandles(call.resolved, rows)
	rows = append(withoutReplaced(call.Chains, rows), namesakes...)
	for _, k := range call.elsewhere {
		row := rowOf(once.Submitted{ID: k.ID, Name: k.Name})
		row.Error = "it is at another target: " + elsewhereHint("stop", k)
		rows = append(rows, row)
	}
	switch {
	case ctx.Err() != nil:
		return rows, exit.Fail(exit.Interrupted, "interrupted; batchctl cannot undo requests that it already sent").
			Try("check: batchctl status %[1]s    continue: batchctl stop %[1]s",
				session.ArgsFor(call.Target, call.Jobs))
	case slices.ContainsFunc(rows, func(r StopRow) bool { return r.Error != "" }):
		return rows, exit.Fail(exit.NotDone, "not all jobs were stopped").
			Try("check: batchctl status %[1]s    again: batchctl stop %[1]s", session.ArgsFor(call.Target, call.Jobs))
	}
	if err := openFailure(con, call); err != nil {
		return rows, err
	}
	if len(idle) > 0 && len(call.elsewhere) == 0 {
		return rows, exit.Fail(exit.NotDone, "no job of %s is running, so stop changed nothing of it",
			strings.Join(idle, ", ")).
			Try("see how they ended: batchctl status %s", session.ArgsFor(call.Target, call.Jobs))
	}
	return rows, nil
}

// idleHandles returns the handles of which no job was stopped, or would be.
func idleHandles(resolved []session.Resolved, rows []StopRow) (idle []string) {
	called := map[string]bool{}
	for _, r := range rows {
		called[r.ID] = r.Call != ""
	}
	for _, r := range resolved {
		if !slices.ContainsFunc(session.Jobs(r.Chains), func(j once.Submitted) bool { return called[j.ID] }) {
			idle = append(idle, r.Handle)
		}
	}
	return idle
}

// withoutReplaced returns the rows without the jobs that had ended before a newer one of their chain.
func withoutReplaced(chains []client.Chain, rows []StopRow) []StopRow {
	older := map[string]bool{}
	for _, chain := range chains {
		for _, k := range chain[1:] {
			older[k.ID] = true
		}
	}
	return slices.DeleteFunc(rows, func(r StopRow) bool { return older[r.ID] && r.LeftAlone != "" })
}

// openFailure prints which submissions of the jobs can still submit others, and returns an error if the service may
// have accepted some that batchctl does not know.
func openFailure(con *term.Console, call *Call) error {
	open, err := call.Submissions.OpenRuns()
	if err != nil {
		return err
	}
	ids := session.IDs(call.Jobs)
	for _, r := range open {
		// Of a retry no job may have an id yet.
		isTheirs := func(k client.Known) bool {
			return k.ID != "" && slices.Contains(ids, k.ID) || slices.Contains(ids, k.Again)
		}
		if !call.Submissions.Covers(r.Target) || !slices.ContainsFunc(r.Known, isTheirs) {
			continue
		}
		if r.Unknown > 0 {
			return exit.Fail(exit.Unknown,
				"%s of the interrupted submission %s may have been accepted, and batchctl does not know the id",
				text.Count(r.Unknown, "job"), r.Name).
				Try("find out: batchctl resume %[1]s%[2]s    then: batchctl stop %[1]s%[2]s", r.Name, call.Flags)
		}
		if left := r.Jobs - r.Accepted - r.Skipped; left > 0 {
			fmt.Fprintf(con.Err, "note: %s of submission %s are not submitted, and a waiting batchctl may still do it; to give them up: batchctl resume --drop %[2]s%[3]s\n",
				text.Count(left, "job"), r.Name, call.Flags)
		}
	}
	return nil
}

// stopJobs stops the jobs, or returns what would be stopped, in the order in
// which they were named. It waits until they have ended, at most for --timeout.
func stopJobs(ctx context.Context, o StopOptions, call *Call) ([]StopRow, error) {
	rows := make([]StopRow, len(call.Jobs))
	var live []string
	for i, j := range call.Jobs {
		known := call.Known[i]
		rows[i] = rowOf(j)
		rows[i].Before, rows[i].Status, rows[i].DryRun = string(known.Status), string(known.Status), o.DryRun
		switch {
		case known.Forgotten:
			rows[i].LeftAlone = serviceOf(call.Target) + " no longer has it"
		case batch.HasEnded(known.Status):
			rows[i].LeftAlone = string(known.Status) + " already"
		default:
			rows[i].Call = client.StopCall
			live = append(live, j.ID)
		}
	}
	if o.DryRun || len(live) == 0 {
		return rows, nil
	}
	// The limit covers all jobs together.
	ctx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	done := call.Client.StopAll(ctx, live, o.Reason)
	for i := range rows {
		if at := slices.Index(live, rows[i].ID); at >= 0 {
			rows[i].take(done[at])
			keepEnds(call.Target, done[at].Job)
		}
	}
	return rows, nil
}

// take adds the result of a stop to the row.
func (r *StopRow) take(s client.Stopped) {
	r.Call, r.Children = s.Call, s.Children
	r.Before, r.Status = cmp.Or(string(s.Before), r.Before), cmp.Or(string(s.Job.Status), r.Status)
	switch {
	case s.Err != nil:
		r.Error = s.Err.Error()
	case s.Call == "":
		r.LeftAlone = string(s.Before) + " already"
	}
}

// mostNamesakes is the most jobs of the same names that are queried.
const mostNamesakes = 100

// namesakes returns unfinished jobs from the ledger that have the same names as
// the stopped jobs. They were not named, so stop leaves them alone and lists
// them.
func (call *Call) namesakes(ctx context.Context) ([]StopRow, error) {
	entries, err := call.Submissions.Own()
	if err != nil {
		return nil, err
	}
	meant := func(e once.Entry) bool {
		return slices.ContainsFunc(call.Jobs, func(j once.Submitted) bool { return j.ID == e.ID })
	}
	var others []string
	for _, e := range slices.Backward(entries) {
		same := slices.ContainsFunc(call.Jobs, func(j once.Submitted) bool { return j.Name == e.Name })
		if same && !meant(e) && len(others) < mostNamesakes {
			others = append(others, e.ID)
		}
	}
	if len(others) == 0 {
		return nil, nil
	}
	jobs, err := call.Client.Describe(ctx, others...)
	if _, missing := errors.AsType[*client.MissingError](err); err != nil && !missing {
		return nil, err
	}
	var rows []StopRow
	for _, job := range jobs {
		if !batch.HasEnded(job.Status) {
			rows = append(rows, namesake(job))
		}
	}
	return rows, nil
}

// namesake returns the row of such a job.
func namesake(job types.JobDetail) StopRow {
	r := rowOf(once.Submitted{ID: aws.ToString(job.JobId), Name: aws.ToString(job.JobName)})
	r.Before, r.Status, r.LeftAlone = string(job.Status), string(job.Status),
		string(job.Status)+", another job with this name: stop it by its id"
	return r
}
