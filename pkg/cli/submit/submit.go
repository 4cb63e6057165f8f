package submit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/cli/input"
	"github.com/batchctl/batchctl/pkg/cli/jobs"
	"github.com/batchctl/batchctl/pkg/cli/preview"
	"github.com/batchctl/batchctl/pkg/cli/session"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/client/once"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/newfile"
	"github.com/batchctl/batchctl/pkg/plan"
	"github.com/batchctl/batchctl/pkg/target"
)

// submitOptions are those of batchctl submit.
type submitOptions struct {
	preview.Options
	deliverOptions
	// onFailure is onFailureResume or onFailureStop.
	onFailure string
	// check is the path of a plan that must still hold; "" for none.
	check  string
	dryRun bool
}

// deliverOptions say how the jobs that are submitted are told.
type deliverOptions struct {
	format string
	// idsFile is the path of a file for them; "" for none.
	idsFile string
	// wait follows them until they finish.
	wait bool
}

func submit(ctx context.Context, con *term.Console, o submitOptions) error {
	if o.dryRun {
		return dryRun(ctx, con, o.Options)
	}
	if o.onFailure != onFailureResume && o.onFailure != onFailureStop {
		return exit.Usage("unknown --on-failure %s", o.onFailure).Try("use one of: resume stop")
	}
	in, err := input.Load(con, o.Options.Options)
	if err != nil {
		return err
	}
	made, err := preview.PlanForTarget(ctx, con, o.Options, in)
	if err != nil {
		return err
	}
	if err := preview.WithinCost(ctx, con, o.Options, in, made); err != nil {
		return err
	}
	file, err := newfile.Begin(o.idsFile, newfile.ForAll)
	if err != nil {
		return err
	}
	file.Drop() // it can be written
	t, err := session.OpenTarget(ctx, con, o.Target, in.Platform, target.ToChange)
	if err != nil {
		return err
	}
	defer t.Close()
	t.StopOnFailure = o.onFailure == onFailureStop
	if o.check != "" {
		if err := preview.CheckPlan(ctx, con, t, in, made, o.check); err != nil {
			return err
		}
	}
	if err := nameEarlier(con, t); err != nil {
		return err
	}
	return deliver(ctx, con, o.deliverOptions, t, made)
}

// deliver submits the plan, says what came of it and follows it if that is asked for.
func deliver(ctx context.Context, con *term.Console, o deliverOptions, t *target.Target, made *plan.Plan) error {
	s := &Sending{con, t, made}
	d := &delivery{con: con, t: t, format: o.format, path: o.idsFile, whole: !o.wait || !s.HoldsBack()}
	t.LeaveCheck = d.whole // the ids are printed before the wait for that
	if !o.wait {
		jobs, err := s.Now(ctx)
		if err = errors.Join(err, d.deliver(jobs)); err != nil || len(session.WithID(jobs)) == 0 {
			return err
		}
		if err := lateLook(ctx, con, t, jobs)(); err != nil {
			return err
		}
		nextSteps(con, t, jobs)
		printOutputs(con, made, batch.ShortID(session.WithID(jobs)[0].ID)+t.Flags)
		return nil
	}
	look := func() error { return nil }
	jobs, code, err := s.Following(ctx, func(some []once.Submitted) (int, error) {
		if err := d.deliver(some); err != nil {
			return 0, err
		}
		if d.whole {
			look = lateLook(ctx, con, t, some)
		}
		return jobs.WaitFor(ctx, con, t, some, d.log())
	})
	if err == nil && code != exit.OK {
		session.PrintNextOf(ctx, con, t, jobs)
	}
	err = errors.Join(err, d.end(jobs), exit.Silent(code))
	if some := session.WithID(jobs); len(some) > 0 {
		printOutputs(con, made, batch.ShortID(some[0].ID)+t.Flags)
	}
	looked := look()
	if looked == nil {
		return err
	}
	if err != nil {
		con.Explain(exit.From(err))
	}
	return looked
}

// delivery tells what was submitted: on stdout, and in the file of --output.
type delivery struct {
	con          *term.Console
	t            *target.Target
	format, path string
	whole        bool // tell is called once, with all jobs
	delivered    []once.Submitted
}

// log is where the logs of jobs go that are followed.
func (d *delivery) log() io.Writer {
	if d.format == "json" {
		return d.con.Err
	}
	return d.con.Out
}

// deliver prints jobs, and notes all so far in the file.
func (d *delivery) deliver(jobs []once.Submitted) error {
	d.delivered = append(d.delivered, jobs...)
	rows := submittedRows(d.t, d.delivered)
	var err error
	switch {
	case d.format != "json":
		err = printSubmitted(d.con, jobs)
	case d.whole:
		err = d.con.MaskedJSON(rows)
	}
	if d.path == "" {
		return err
	}
	text, encodeErr := term.JSONText(rows)
	return errors.Join(err, encodeErr, newfile.Write(d.path, newfile.ForAll, newfile.Bytes(text)))
}

// end tells what has not been told: all jobs of JSON that came one after the other, and
// those of a submission that no one could follow.
func (d *delivery) end(jobs []once.Submitted) error {
	if d.format == "json" && !d.whole {
		return d.con.MaskedJSON(submittedRows(d.t, jobs))
	}
	if len(d.delivered) == 0 {
		return d.deliver(jobs)
	}
	return nil
}

// What becomes of a submission of several jobs of which one is refused.
const (
	onFailureResume = "resume"
	onFailureStop   = "stop"
)

// dryRun is plan, to which something to send is no news.
func dryRun(ctx context.Context, con *term.Console, o preview.Options) error {
	err := preview.PlanFiles(ctx, con, o, preview.Print{})
	if f, ok := errors.AsType[*exit.Failure](err); err != nil && (!ok || f.Code != exit.Change) {
		return err
	}
	fmt.Fprintln(con.Err, "dry run: nothing was sent")
	return nil
}

// openOf are the open runs of this target that the jobs belong to and of which a job may
// be there twice.
func openOf(t *target.Target, jobs []once.Submitted) ([]once.OpenRun, error) {
	all, err := t.Submissions.OpenRuns()
	return slices.DeleteFunc(all, func(r once.OpenRun) bool {
		return r.Target != t.Submissions.Target || r.Unchecked+r.Unknown == 0 || !slices.ContainsFunc(jobs, func(j once.Submitted) bool { return slices.Contains(r.IDs, j.ID) })
	}), err
}

// nameEarlier names earlier submissions that were interrupted: who
// repeats one of them in place of resuming it has its jobs twice.
func nameEarlier(con *term.Console, t *target.Target) error {
	open, err := t.Submissions.OpenRuns()
	if err != nil {
		return err
	}
	for _, r := range open {
		if r.Damage != nil {
			fmt.Fprintf(con.Err, "note: the log of a submission is damaged: %s; what was accepted: batchctl list%s\n", diag.Printable(r.Damage.Error()), t.Flags)
		}
		if r.Target == t.Submissions.Target && r.Accepted+r.Waiting+r.Skipped < r.Jobs {
			fmt.Fprintf(con.Err, "note: the submission of %s was interrupted, and this is a new one; to finish it: batchctl resume %s%s\n",
				r.Began.Local().Format(time.DateTime), r.Name, t.Flags)
		}
	}
	return nil
}

// lateLook makes the last look for duplicates of jobs in the background, if it is due for any.
// The function that it returns waits for that.
func lateLook(ctx context.Context, con *term.Console, t *target.Target, jobs []once.Submitted) func() error {
	open, err := openOf(t, jobs)
	if err != nil || len(open) == 0 {
		return func() error { return err }
	}
	done := make(chan error, 1)
	go func() {
		var failed []error
		for _, r := range open {
			failed = append(failed, session.SubmitFailure(ctx, t, t.CheckDuplicates(ctx, r.Name)))
		}
		done <- errors.Join(failed...)
	}()
	return func() error { return <-done }
}

// printSubmitted prints a line per job on stdout: short id, name, queue.
func printSubmitted(con *term.Console, jobs []once.Submitted) error {
	var b strings.Builder
	for _, j := range jobs {
		if j.Skipped != "" {
			continue
		}
		if j.ID == "" {
			fmt.Fprintf(&b, "registered  %s\n", diag.Printable(j.Definition))
			continue
		}
		fmt.Fprintf(&b, "%s  %s  %s\n", batch.ShortID(j.ID), diag.Printable(j.Name), diag.Printable(j.Queue))
	}
	return con.Print(b.String())
}

// nextSteps ends the story with the commands that continue from here.
func nextSteps(con *term.Console, t *target.Target, jobs []once.Submitted) {
	id := batch.ShortID(session.WithID(jobs)[0].ID) + t.Flags
	fmt.Fprintf(con.Err, "next: batchctl wait %[1]s    batchctl logs %[1]s --follow    batchctl stop %[1]s\n", id)
}

type submittedRow struct {
	Name       string `json:"name"`
	ID         string `json:"id,omitempty"`
	ShortID    string `json:"shortId,omitempty"`
	Queue      string `json:"queue,omitempty"`
	Definition string `json:"definition"`
	ArraySize  int    `json:"arraySize,omitempty"`
	Skipped    string `json:"skipped,omitempty"`
	Target     string `json:"target"`
}

func submittedRows(t *target.Target, jobs []once.Submitted) []submittedRow {
	rows := []submittedRow{}
	for _, j := range jobs {
		row := submittedRow{Name: j.Name, ID: j.ID, Queue: j.Queue, Definition: j.Definition, ArraySize: j.ArraySize, Skipped: j.Skipped, Target: t.Label}
		if j.ID != "" {
			row.ShortID = batch.ShortID(j.ID)
		}
		rows = append(rows, row)
	}
	return rows
}
