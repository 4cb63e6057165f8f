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
	"github.com/batchctl/batchctl/pkg/cli/cmdline"
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

// submitOptions are the flags and arguments of submit.
type submitOptions struct {
	preview.Options
	deliverOptions
	// onFailure is onFailureResume or onFailureStop.
	onFailure string
	// check is the path of a plan that must still be valid; "" for none.
	check  string
	dryRun bool
}

// deliverOptions say how a command reports and follows the jobs that it submits.
type deliverOptions struct {
	format string
	// idsFile is the path of a file for the jobs' ids; "" for none.
	idsFile string
	// wait makes the command follow the jobs until they finish.
	wait bool
	// when makes the command print when the jobs start, if that is known soon.
	when bool
	// prices is the path of a price list for the forecast; "" for batchctl's own.
	prices string
}

// submit is batchctl submit.
func submit(ctx context.Context, con *term.Console, o submitOptions) error {
	if o.dryRun {
		return dryRun(ctx, con, o.Options)
	}
	if o.onFailure != onFailureResume && o.onFailure != onFailureStop {
		return cmdline.UnknownValue("on-failure", o.onFailure, "the values are", "resume", "stop")
	}
	in, err := input.Load(con, o.Options.Options)
	if err != nil {
		return err
	}
	planned, err := preview.PlanForTarget(ctx, con, o.Options, in)
	if err != nil {
		return err
	}
	// All checks come before the first request that changes something.
	if err := preview.WithinCost(ctx, con, o.Options, in, planned); err != nil {
		return err
	}
	file, err := newfile.Begin(o.idsFile, newfile.ForAll)
	if err != nil {
		return err
	}
	file.Drop() // the file can be written; deliver writes it later
	t, err := session.OpenTarget(ctx, con, o.Target, in.Platform, target.ToChange)
	if err != nil {
		return err
	}
	defer t.Close()
	if err := preview.CheckDefinitions(ctx, con, t, in); err != nil {
		return err
	}
	// The client then ends accepted jobs if a later one is rejected.
	t.Client.StopOnFailure = o.onFailure == onFailureStop
	if o.check != "" {
		if err := preview.CheckPlan(ctx, con, t, in, planned, o.check); err != nil {
			return err
		}
	}
	if err := nameEarlier(con, t); err != nil {
		return err
	}
	o.prices = o.Prices
	return deliver(ctx, con, o.deliverOptions, t, planned, in)
}

// printStart prints a forecast of when accepted jobs start, unless stdout is for JSON. It prints nothing if they start
// at once, or if the answer takes longer than whenPatience.
func (o deliverOptions) printStart(ctx context.Context, con *term.Console, t *target.Target, in *input.Input,
	accepted []once.Submitted) {
	if !o.when || o.format == "json" {
		return
	}
	prices, err := preview.PricesFor(o.prices, in)
	if err != nil {
		return // plan --when reports it
	}
	if line := preview.WhenAccepted(ctx, t, preview.CatalogOf(in), prices, session.WithID(accepted),
		whenPatience); line != "" {
		fmt.Fprintln(con.Err, diag.Printable(line))
	}
}

// whenPatience is how long submit waits for the queue before it leaves out the forecast.
const whenPatience = time.Second

// deliver submits the plan, prints and records the jobs, and follows them with
// --wait. in has the platform file.
func deliver(ctx context.Context, con *term.Console, o deliverOptions, t *target.Target, planned *plan.Plan,
	in *input.Input) error {
	s := &Sending{con, t, planned}
	d := &delivery{con: con, t: t, format: o.format, path: o.idsFile, whole: !o.wait || !s.HoldsBack()}
	// Print the ids first; the check for duplicates waits.
	t.Client.LeaveCheck = d.whole
	if !o.wait {
		jobs, err := s.Now(ctx)
		if err = errors.Join(stuckFailure(err), d.deliver(jobs)); err != nil || len(session.WithID(jobs)) == 0 {
			return err
		}
		if err := checkLate(ctx, con, t, jobs)(); err != nil {
			return err
		}
		o.printStart(ctx, con, t, in, jobs)
		nextSteps(con, t, jobs)
		printOutputs(con, planned, batch.ShortID(session.WithID(jobs)[0].ID)+t.Flags, false, nil)
		return nil
	}
	check := func() error { return nil }
	list, code, err := s.Following(ctx, func(accepted []once.Submitted) (int, error) {
		if err := d.deliver(accepted); err != nil {
			return 0, err
		}
		if d.whole {
			check = checkLate(ctx, con, t, accepted)
		}
		o.printStart(ctx, con, t, in, accepted)
		return jobs.WaitFor(ctx, con, t, accepted, d.log())
	})
	if err == nil && code != exit.OK {
		jobs.PrintNext(ctx, con, t, list)
	}
	err = errors.Join(stuckFailure(err), d.end(list), exit.Silent(code))
	if list := session.WithID(list); len(list) > 0 {
		printOutputs(con, planned, batch.ShortID(list[0].ID)+t.Flags, true, err)
	}
	duplicates := check()
	if duplicates == nil {
		return err
	}
	if err != nil {
		con.Explain(exit.From(err))
	}
	return duplicates
}

// stuckFailure replaces the error about a job that this machine can never run by that of the command.
func stuckFailure(err error) error {
	if stuck, ok := errors.AsType[*jobs.ErrStuck](err); ok {
		return stuck.Failure()
	}
	return err
}

// delivery reports submitted jobs: on stdout, and in the file of --output.
type delivery struct {
	con          *term.Console
	t            *target.Target
	format, path string
	whole        bool // deliver is called once, with all jobs
	delivered    []once.Submitted
}

// log returns the writer for the logs of followed jobs. It is stderr if stdout is
// for JSON.
func (d *delivery) log() io.Writer {
	if d.format == "json" {
		return d.con.Err
	}
	return d.con.Out
}

// deliver prints jobs, and writes all jobs so far to the file.
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

// end prints what deliver could not: one JSON array of jobs that were accepted in
// several waves, or the jobs of a submission that was never followed.
func (d *delivery) end(jobs []once.Submitted) error {
	if d.format == "json" && !d.whole {
		return d.con.MaskedJSON(submittedRows(d.t, jobs))
	}
	if len(d.delivered) == 0 {
		return d.deliver(jobs)
	}
	return nil
}

// Values of --on-failure, for a submission of several jobs of which one is rejected.
const (
	onFailureResume = "resume"
	onFailureStop   = "stop"
)

// dryRun is submit --dry-run. It prints the plan, but exits with 0 if the plan
// would change something.
func dryRun(ctx context.Context, con *term.Console, o preview.Options) error {
	err := preview.PlanFiles(ctx, con, o, preview.Print{})
	if f, ok := errors.AsType[*exit.Failure](err); err != nil && (!ok || f.Code != exit.Change) {
		return err
	}
	fmt.Fprintln(con.Err, "dry run: nothing was sent")
	return nil
}

// openOf returns the open runs of this target that contain the jobs, and in which
// a job may have a duplicate.
func openOf(t *target.Target, jobs []once.Submitted) ([]once.OpenRun, error) {
	all, err := t.Submissions.OpenRuns()
	return slices.DeleteFunc(all, func(r once.OpenRun) bool {
		return r.Target != t.Submissions.Target || r.Unchecked+r.Unknown == 0 ||
			!slices.ContainsFunc(jobs, func(j once.Submitted) bool { return slices.Contains(r.IDs, j.ID) })
	}), err
}

// nameEarlier prints damaged lines of the ledger, and earlier submissions that were interrupted. If you repeat
// such a submission instead of resuming it, its jobs run twice.
func nameEarlier(con *term.Console, t *target.Target) error {
	if _, err := t.Submissions.Own(); err != nil { // prints damaged lines
		return err
	}
	open, err := t.Submissions.OpenRuns()
	if err != nil {
		return err
	}
	for _, r := range open {
		if newer, ok := errors.AsType[*once.RunDamageError](r.Damage); ok && newer.Newer {
			fmt.Fprintf(con.Err, "note: an interrupted submission needs a newer batchctl: %s\n",
				diag.Printable(newer.Error()))
		} else if r.Damage != nil {
			fmt.Fprintf(con.Err, "note: the log of a submission is damaged: %s; to list the accepted jobs: batchctl list%s\n", diag.Printable(r.Damage.Error()), t.Flags)
		}
		if r.Target == t.Submissions.Target && r.Accepted+r.Waiting+r.Skipped < r.Jobs {
			fmt.Fprintf(con.Err, "note: the submission of %s was interrupted, and this is a new one; to finish it: batchctl resume %s%s\n",
				r.Began.Local().Format(time.DateTime), r.Name, t.Flags)
		}
	}
	return nil
}

// checkLate checks the jobs for late duplicates in the background, if such a
// check is due. The returned function waits for the result.
func checkLate(ctx context.Context, con *term.Console, t *target.Target, jobs []once.Submitted) func() error {
	open, err := openOf(t, jobs)
	if err != nil || len(open) == 0 {
		return func() error { return err }
	}
	done := make(chan error, 1)
	go func() {
		var failed []error
		for _, r := range open {
			failed = append(failed, session.SubmitFailure(ctx, t, t.Client.CheckDuplicates(ctx, r.Name)))
		}
		done <- errors.Join(failed...)
	}()
	return func() error { return <-done }
}

// printSubmitted prints one line per job on stdout: short id, name, queue.
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

// nextSteps prints the commands that continue from here.
func nextSteps(con *term.Console, t *target.Target, jobs []once.Submitted) {
	id := batch.ShortID(session.WithID(jobs)[0].ID) + t.Flags
	fmt.Fprintf(con.Err, "next: batchctl wait %[1]s    batchctl logs %[1]s --follow    batchctl stop %[1]s\n", id)
}

// submittedRow is a submitted job in the JSON output.
type submittedRow struct {
	Name       string `json:"name"`
	ID         string `json:"id,omitempty"`
	ShortID    string `json:"shortId,omitempty"`
	Queue      string `json:"queue,omitempty"`
	Definition string `json:"definition"`
	ArraySize  int    `json:"arraySize,omitempty"`
	Skipped    string `json:"skipped,omitempty"` // why the step was not needed
	Target     string `json:"target"`
}

// submittedRows returns the JSON rows of jobs. It is never nil.
func submittedRows(t *target.Target, jobs []once.Submitted) []submittedRow {
	rows := []submittedRow{}
	for _, j := range jobs {
		row := submittedRow{Name: j.Name, ID: j.ID, Queue: j.Queue, Definition: j.Definition, ArraySize: j.ArraySize,
			Skipped: j.Skipped, Target: t.Label}
		if j.ID != "" {
			row.ShortID = batch.ShortID(j.ID)
		}
		rows = append(rows, row)
	}
	return rows
}
