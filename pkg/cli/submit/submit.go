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
	"github.com/urfave/cli/v2"
)

// SubmitCommand is batchctl submit.
func SubmitCommand(con *term.Console) *cli.Command {
	return cmdline.Command(cli.Command{
		Name:      "submit",
		Usage:     "submit a job file",
		UsageText: "batchctl submit [FLAGS] FILE ...",
		Description: cmdline.Help("Prints the target before it sends anything. On the local target, it starts an engine in the background if none is running, so the job continues after "+
			"this command.\n\nEach job is submitted once: batchctl records it before the first call, and checks for the job if an "+
			"answer is missing. If the submission is interrupted, batchctl resume submits the rest.",
			"batchctl submit job.json\nbatchctl submit job.json --wait\nbatchctl submit job.json --target prod --queue gpu --parameters epochs=20"),
	}, SubmitOptions{Settle: once.DefaultSettle, Count: 1, OnFailure: onFailureResume, When: true,
		Output: cmdline.Outputs(cmdline.JSON[[]SubmittedRow](), cmdline.JSONWith[plan.Document]("dry-run")).OrFile()},
		func(ctx context.Context, o SubmitOptions) error { _, err := Submit(ctx, con, o); return err })
}

// SubmitOptions are the flags and arguments of submit.
type SubmitOptions struct {
	preview.Options
	Executor target.ExecutorOptions
	cmdline.Output
	Settle time.Duration `flag:"settle" usage:"if an answer is missing, look for the job for this <DURATION> before assuming that it was not accepted"`
	preview.Pricing
	Count int `flag:"count" usage:"submit the job <N> times, as NAME-1 to NAME-N"`
	// OnFailure is onFailureResume, onFailureStop or "".
	OnFailure string `flag:"on-failure" usage:"the <ACTION> if one of several jobs is rejected: resume keeps the accepted jobs for batchctl resume, stop ends them"`
	Check     string `flag:"check" usage:"send nothing if anything has changed since this <PLAN>, a file of plan --out"`
	DryRun    bool   `flag:"dry-run" usage:"print what would be sent, as plan does; send nothing"`
	When      bool   `flag:"when" usage:"if the jobs will not start within a minute, print when they start; a forecast takes a second at most; --when=false turns it off"`
	Wait      bool   `flag:"wait,w,monitor" usage:"wait until the job finishes; Ctrl-C stops the waiting, not the job"`
	input.Raw
}

// deliverOptions say how a command reports and follows the jobs that it submits.
type deliverOptions struct {
	cmdline.Output
	// wait makes the command follow the jobs until they finish.
	wait bool
	// when makes the command print when the jobs start, if that is known soon.
	when bool
	// prices is for the forecast.
	prices preview.PricesFile
}

// Submit is batchctl submit. It prints the jobs when the target has accepted them, and returns them.
func Submit(ctx context.Context, con *term.Console, o SubmitOptions) ([]SubmittedRow, error) {
	con.RawLog = o.IsRaw
	if o.IsSet("count") && o.Count < 1 {
		return nil, exit.Usage("--count must be at least 1, not %d", o.Count)
	}
	o.Times, o.Target.Settle, o.Target.Executor = o.Count, o.Settle, o.Executor
	o.Target.Executor.Runs = true
	if o.DryRun {
		return nil, dryRun(ctx, con, preview.PlanOptions{Options: o.Options, Output: o.Output, Pricing: o.Pricing})
	}
	if !slices.Contains([]string{"", onFailureResume, onFailureStop}, o.OnFailure) {
		return nil, cmdline.UnknownValue("on-failure", o.OnFailure, "the values are", "resume", "stop")
	}
	in, err := input.Load(con, o.Options.Options)
	if err != nil {
		return nil, err
	}
	planned, err := preview.PlanForTarget(ctx, con, o.Options, in)
	if err != nil {
		return nil, err
	}
	// All checks come before the first request that changes something.
	if err := preview.WithinCost(ctx, con, preview.PlanOptions{Options: o.Options, Pricing: o.Pricing}, in,
		planned); err != nil {
		return nil, err
	}
	file, err := newfile.Begin(o.IDsFile, newfile.ForAll)
	if err != nil {
		return nil, err
	}
	file.Drop() // the file can be written; deliver writes it later
	t, err := session.OpenTarget(ctx, con, o.Target, in.Platform, target.ToChange)
	if err != nil {
		return nil, err
	}
	defer t.Close()
	if err := preview.CheckDefinitions(ctx, con, t, in); err != nil {
		return nil, err
	}
	// The client then ends accepted jobs if a later one is rejected.
	t.Client.StopOnFailure = o.OnFailure == onFailureStop
	if o.Check != "" {
		if err := preview.CheckPlan(ctx, con, t, in, planned, o.Check); err != nil {
			return nil, err
		}
	}
	if err := nameEarlier(con, t); err != nil {
		return nil, err
	}
	return deliver(ctx, con, deliverOptions{o.Output, o.Wait, o.When, o.Prices}, t, planned, in)
}

// printStart prints a forecast of when accepted jobs start, unless stdout is for JSON. It prints nothing if they start
// at once, or if the answer takes longer than whenPatience.
func (o deliverOptions) printStart(ctx context.Context, con *term.Console, t *target.Target, in *input.Input,
	accepted []once.Submitted) {
	if !o.when || o.Format == "json" {
		return
	}
	prices, err := preview.PricesFor(string(o.prices), in)
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
// --wait. It returns the jobs. in has the platform file.
func deliver(ctx context.Context, con *term.Console, o deliverOptions, t *target.Target, planned *plan.Plan,
	in *input.Input) ([]SubmittedRow, error) {
	s := &Sending{con, t, planned}
	d := &delivery{con: con, t: t, format: o.Format, path: o.IDsFile, whole: !o.wait || !s.HoldsBack()}
	err := d.send(ctx, o, s, in)
	return submittedRows(t, d.delivered), err
}

// send submits the plan of s, and follows the jobs with --wait.
func (d *delivery) send(ctx context.Context, o deliverOptions, s *Sending, in *input.Input) error {
	con, t, planned := d.con, d.t, s.Plan
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
func dryRun(ctx context.Context, con *term.Console, o preview.PlanOptions) error {
	err := preview.PlanFiles(ctx, con, o)
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

// SubmittedRow is a submitted job in the JSON output.
type SubmittedRow struct {
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
func submittedRows(t *target.Target, jobs []once.Submitted) []SubmittedRow {
	rows := []SubmittedRow{}
	for _, j := range jobs {
		row := SubmittedRow{Name: j.Name, ID: j.ID, Queue: j.Queue, Definition: j.Definition, ArraySize: j.ArraySize,
			Skipped: j.Skipped, Target: t.Label}
		if j.ID != "" {
			row.ShortID = batch.ShortID(j.ID)
		}
		rows = append(rows, row)
	}
	return rows
}
