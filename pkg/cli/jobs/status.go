package jobs

import (
	"cmp"
	"context"
	"encoding/json"
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
	"github.com/batchctl/batchctl/pkg/local/api/batchapi"
	"github.com/batchctl/batchctl/pkg/secret"
	"github.com/batchctl/batchctl/pkg/target"
	"github.com/batchctl/batchctl/pkg/wire"
)

// StatusCommand is batchctl status.
func StatusCommand(con *term.Console) *cli.Command {
	return cmdline.Command(cli.Command{
		Name:      "status",
		Usage:     "show the status of jobs",
		UsageText: "batchctl status [FLAGS] [JOB ...]",
		Description: cmdline.Help("A JOB is a job's name, short id, ARN or submission id; name:7 is child 7 of an array. The name of a workflow, its file, or the id of a "+
			"submission means all its jobs. A job includes those that run it again: steps of onFailure and retries, newest first. If several jobs or submissions have the name, status shows the newest and lists the others.\n\nWithout a JOB, "+
			"status shows the last submission. Several jobs are shown as a tree of their dependencies.",
			"batchctl status\nbatchctl status 3f2a91c0\nbatchctl status resnet-train --output json\nbatchctl status calibration.json"),
	}, Options{Output: cmdline.Outputs(cmdline.JSON[[]Row]())},
		func(ctx context.Context, o Options) error { return status(ctx, con, o) })
}

// Status returns the jobs that the options name, with those that run them again.
func Status(ctx context.Context, con *term.Console, o Options) ([]Row, error) {
	call, err := OpenJobs(ctx, con, o, target.ToRead)
	if err != nil {
		return nil, err
	}
	defer call.Close()
	return rowsOf(call.Chains, call.Known, time.Now()), nil
}

// status is batchctl status. Several jobs are a tree; one job has all details.
func status(ctx context.Context, con *term.Console, o Options) error {
	if o.Format == "json" {
		rows, err := Status(ctx, con, o)
		if err != nil {
			return err
		}
		return con.JSON(rows)
	}
	call, err := OpenJobs(ctx, con, o, target.ToRead)
	if err != nil {
		return err
	}
	defer call.Close()
	return showStatus(ctx, con, call)
}

// showStatus prints the status of the call's jobs.
func showStatus(ctx context.Context, con *term.Console, call *Call) (err error) {
	now := time.Now()
	chains := describedChains(call.Chains, call.Known)
	if len(chains) > 1 {
		fmt.Fprintf(con.Err, "on %s; details of one job: batchctl status %s%s\n", diag.Printable(call.Label),
			batch.ShortID(call.Jobs[0].ID), call.Flags)
		asked, failed := session.AskedOf(call.Target, call.Known)
		err = errors.Join(failed, printJobTree(con, call.Target, chains, asked, call.whys(ctx, now), now))
	}
	if len(chains) == 1 {
		err = errors.Join(err, printChain(ctx, con, call, chains[0], now))
	}
	err = errors.Join(err, con.Print(call.machineText(ctx)))
	session.PrintNext(con, call.Target, session.Live(current(chains)))
	return err
}

// printChain prints all details of a job: of its newest one if it ran again, and of the first one of an array, with
// the children of all.
func printChain(ctx context.Context, con *term.Console, call *Call, d described, now time.Time) error {
	job, healed := d.sum()
	if batch.ArraySize(job.JobDetail) == 0 {
		job = d.known[0]
	}
	text := jobText(con, call.Target, job, now)
	if healed > 0 {
		text += fmt.Sprintf("%-11s %s\n", "chain", diag.Printable(d.note()))
	}
	if !job.Forgotten {
		text += session.CellLine(ctx, call.Target, job.JobDetail) + call.whyLine(ctx, job.JobDetail)
	}
	steps, err := stepLines(ctx, call.Target, d.Chain)
	return errors.Join(err, con.Print(text+steps))
}

// machineText returns the line about the machine of a local engine, if a job has not finished.
// At AWS it would need calls whose rate AWS limits.
func (call *Call) machineText(ctx context.Context) string {
	unfinished := slices.ContainsFunc(call.Known, func(j once.Recalled) bool {
		return !j.Forgotten &&
			!batch.HasEnded(j.Status)
	})
	if !call.IsLocal() || !unfinished {
		return ""
	}
	queues, err := call.Described(ctx, nil)
	if err != nil {
		return "" // the status itself has been read
	}
	return machineLines(queues...)
}

// printJobTree prints chains as a tree of their dependencies, below the name of
// their workflow. whys are the reasons why jobs wait, by job id.
func printJobTree(con *term.Console, t *target.Target, chains []described, asked session.Asked, whys map[string]string,
	now time.Time) error {
	forgotten := map[string]bool{}
	jobs, notes := summed(chains)
	for i, d := range chains { // whys has the newest of them
		whys[aws.ToString(jobs[i].JobId)] = whys[d.Chain[0].ID]
	}
	for _, job := range jobs {
		forgotten[aws.ToString(job.JobId)] = job.Forgotten
	}
	note := func(job types.JobDetail) string {
		if forgotten[aws.ToString(job.JobId)] {
			return fromLedger(job, serviceOf(t), now)
		}
		id := aws.ToString(job.JobId)
		return term.JoinClauses(notes[id], session.RollUp(job), problemOf(job), lasted(job, now), whys[id])
	}
	var b strings.Builder
	if title := asked.Title; title != "" {
		b.WriteString(term.Text(secret.Mask("", title), "").Cut(cmp.Or(term.Width(con.Out), len(title))).
			Render(term.Color(con.Out)) + "\n")
	}
	for _, l := range treeLines(treeRows(details(jobs), asked, note, term.IsTerminal(con.Out)), term.Width(con.Out)) {
		b.WriteString(l.Render(term.Color(con.Out)) + "\n")
	}
	return con.Print(b.String())
}

// serviceOf names the service that runs the target's jobs, as the subject of a
// sentence.
func serviceOf(t *target.Target) string {
	if t.IsLocal() {
		return "the local engine"
	}
	return "AWS Batch"
}

// fromLedger describes how a job ended that only the ledger remembers. service
// comes from serviceOf.
func fromLedger(job types.JobDetail, service string, now time.Time) string {
	source := "from the ledger; " + service + " no longer has it"
	if job.Status == once.StatusExpired {
		return fmt.Sprintf("submitted %s; batchctl never saw how it ended (%s)", longAgo(job.CreatedAt, now), source)
	}
	how := term.JoinClauses(string(job.Status), Outcome(job))
	return fmt.Sprintf("ended %s: %s (%s)", longAgo(job.StoppedAt, now), how, source)
}

// longAgo formats the age of a time that may be days ago. It is "long ago" if the
// time is unknown.
func longAgo(millis *int64, now time.Time) string {
	if aws.ToInt64(millis) == 0 {
		return "long ago"
	}
	if days := int(now.Sub(time.UnixMilli(*millis)).Hours() / 24); days > 1 {
		return fmt.Sprintf("%d days ago", days)
	}
	return term.Ago(millis, now)
}

// lasted describes how long a job waited and ran, from the times of the service.
// It is "" if they are unknown.
func lasted(job types.JobDetail, now time.Time) string {
	started := aws.ToInt64(job.StartedAt) > 0
	switch over := batch.HasEnded(job.Status); {
	case aws.ToInt64(job.CreatedAt) == 0 || job.Status == once.StatusExpired || job.Status == batchapi.StatusUnknown:
		return ""
	case batch.ArraySize(job) > 0 && over: // an array itself never starts
		return "took " + term.Took(job.CreatedAt, job.StoppedAt, now)
	case batch.ArraySize(job) > 0:
		return "for " + term.Took(job.CreatedAt, nil, now)
	case over && started:
		return "waited " + term.Took(job.CreatedAt, job.StartedAt, now) + ", ran " +
			term.Took(job.StartedAt, job.StoppedAt, now)
	case over:
		return "waited " + term.Took(job.CreatedAt, job.StoppedAt, now)
	case started && job.Status == types.JobStatusRunning:
		return "waited " + term.Took(job.CreatedAt, job.StartedAt, now) + ", running for " +
			term.Took(job.StartedAt, nil, now)
	default:
		return "waiting for " + term.Took(job.CreatedAt, nil, now)
	}
}

// rowsOf returns jobs with batchctl's additions.
func rowsOf(chains []client.Chain, jobs []once.Recalled, now time.Time) []Row {
	rows, healed, again := []Row{}, healedIDs(describedChains(chains, jobs)), map[string]string{}
	for _, chain := range chains {
		for _, k := range chain {
			again[k.ID] = k.Again
		}
	}
	for _, job := range jobs {
		added, id := addedOf(job, now), aws.ToString(job.JobId)
		added.Again, added.Healed = again[id], slices.Contains(healed, id)
		rows = append(rows, Row{job.JobDetail, added})
	}
	return rows
}

// Row is a job as status shows it: AWS's description with batchctl's additions.
type Row struct {
	types.JobDetail
	Added Added `json:"batchctl"`
}

// MarshalJSON returns the description as the AWS API writes it, with the member batchctl.
func (r Row) MarshalJSON() ([]byte, error) {
	shape, err := wire.Marshal(r.JobDetail)
	if err != nil {
		return nil, err
	}
	added, err := json.Marshal(struct {
		Added Added `json:"batchctl"`
	}{r.Added})
	if err != nil {
		return nil, err
	}
	return joinObjects(shape, added), nil
}

// DescribedForm is the form of the JSON output of commands that call PrintJobs.
func DescribedForm() cmdline.Form { return cmdline.JSON[[]Row]() }

// joinObjects appends the members of the JSON object b to those of a.
func joinObjects(a, b []byte) []byte {
	// Without members of a, there is no comma.
	if string(a) == "{}" {
		return b
	}
	return append(append(slices.Clone(a[:len(a)-1]), ','), b[1:]...)
}

// Added is what batchctl adds to AWS's description of a job. Durations are in
// milliseconds; one that has not begun is left out.
type Added struct {
	ShortID string `json:"shortId"`
	// WaitedMs is from creation to the start of the last attempt, or until now.
	WaitedMs *int64 `json:"waitedMs,omitempty"`
	RanMs    *int64 `json:"ranMs,omitempty"`
	// TookMs is the duration of an array, from creation until it finishes.
	TookMs *int64 `json:"tookMs,omitempty"`
	// Forgotten reports that the description comes from the ledger.
	Forgotten bool `json:"forgotten,omitempty"`
	// Again is the id of the job that this one runs again. Healed reports that the job FAILED, and that newer jobs
	// SUCCEEDED with all that FAILED in it.
	Again  string `json:"again,omitempty"`
	Healed bool   `json:"healed,omitempty"`
}

// addedOf returns batchctl's additions for a job.
func addedOf(job once.Recalled, now time.Time) Added {
	row := Added{ShortID: batch.ShortID(aws.ToString(job.JobId)), Forgotten: job.Forgotten}
	switch {
	case job.Status == once.StatusExpired || job.Status == batchapi.StatusUnknown:
	case batch.ArraySize(job.JobDetail) > 0:
		row.TookMs = span64(job.CreatedAt, job.StoppedAt, now)
	default:
		row.WaitedMs = span64(job.CreatedAt, cmp.Or(job.StartedAt, job.StoppedAt), now)
		row.RanMs = span64(job.StartedAt, job.StoppedAt, now)
	}
	return row
}

// span64 returns the milliseconds between two times, or until now if the second
// is missing; nil if the first is missing.
func span64(from, to *int64, now time.Time) *int64 {
	if aws.ToInt64(from) == 0 {
		return nil
	}
	end := now.UnixMilli()
	if aws.ToInt64(to) > 0 {
		end = *to
	}
	return aws.Int64(max(0, end-*from))
}

// jobText formats all details of one job.
func jobText(con *term.Console, t *target.Target, job once.Recalled, now time.Time) string {
	d := job.JobDetail
	var b strings.Builder
	field := func(name, value string) {
		if value != "" && value != "-" {
			fmt.Fprintf(&b, "%-11s %s\n", name, diag.Printable(con.Redacted(value)))
		}
	}
	field("job", aws.ToString(d.JobName)+"  "+batch.ShortID(aws.ToString(d.JobId)))
	field("status", term.JoinClauses(string(d.Status), session.RollUp(d)))
	if chart := arrayChart(d); chart != nil && term.IsTerminal(con.Out) {
		fmt.Fprintf(&b, "%-11s %s\n", "children", chart.Render(term.Color(con.Out)))
	}
	if job.Forgotten {
		field("remembered", fromLedger(d, serviceOf(t), now))
	} else {
		field("reason", Outcome(d))
	}
	field("queue", batch.Name(aws.ToString(d.JobQueue))+" on "+t.Label)
	field("definition", batch.Name(aws.ToString(d.JobDefinition)))
	field("created", term.Ago(d.CreatedAt, now))
	if d.Status != once.StatusExpired && d.Status != batchapi.StatusUnknown {
		field("waited", term.Took(d.CreatedAt, cmp.Or(d.StartedAt, d.StoppedAt), now))
		field("ran", term.Took(d.StartedAt, d.StoppedAt, now))
	}
	for i, a := range d.Attempts {
		text := term.Took(a.StartedAt, a.StoppedAt, now)
		if a.Container != nil && a.Container.ExitCode != nil {
			text += fmt.Sprintf(", exit code %d", *a.Container.ExitCode)
		}
		field(fmt.Sprintf("attempt %d", i+1), term.JoinClauses(text, taskOutcome(a), aws.ToString(a.StatusReason)))
	}
	for i, a := range d.EksAttempts {
		text := term.JoinClauses(term.Took(a.StartedAt, a.StoppedAt, now), podOutcome(a))
		field(fmt.Sprintf("attempt %d", i+1), term.JoinClauses(text, aws.ToString(a.StatusReason)))
	}
	return b.String()
}

// PrintJobs prints the descriptions of jobs as JSON. It ignores interrupts,
// because the command has ended its work when it prints.
func PrintJobs(con *term.Console, t *target.Target, jobs []once.Submitted) error {
	known, err := t.Client.Recall(context.Background(), session.IDs(jobs)...)
	if err != nil {
		return err
	}
	return con.JSON(rowsOf(chainsOf(known), known, time.Now()))
}
