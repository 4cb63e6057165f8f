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

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/cli/cmdline"
	"github.com/batchctl/batchctl/pkg/cli/session"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/client/once"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/local/api/batchapi"
	"github.com/batchctl/batchctl/pkg/secret"
	"github.com/batchctl/batchctl/pkg/target"
	"github.com/batchctl/batchctl/pkg/wire"
)

// status is batchctl status. Several jobs are a tree; one job has all details.
func status(ctx context.Context, con *term.Console, o Options) error {
	call, err := OpenJobs(ctx, con, o, target.ToRead)
	if err != nil {
		return err
	}
	defer call.Close()
	now := time.Now()
	if call.Format == "json" {
		return writeJobs(con, call.Known, now)
	}
	if len(call.Known) > 1 {
		fmt.Fprintf(con.Err, "on %s; details of one job: batchctl status %s%s\n", diag.Printable(call.Label), batch.ShortID(call.Jobs[0].ID), call.Flags)
		asked, failed := session.AskedOf(call.Target, call.Known)
		err = errors.Join(failed, printJobTree(con, call.Target, call.Known, asked, call.whys(ctx, now), now))
		session.PrintNext(con, call.Target, session.Live(call.Known))
		return err
	}
	for _, job := range call.Known {
		text := jobText(con, call.Target, job, now)
		if !job.Forgotten {
			text += session.CellLine(ctx, call.Target, job.JobDetail) + call.whyLine(ctx, job.JobDetail)
		}
		steps, failed := stepLines(ctx, call.Target, aws.ToString(job.JobId))
		text, err = text+steps, errors.Join(err, failed)
		err = errors.Join(err, con.Print(text))
	}
	session.PrintNext(con, call.Target, session.Live(call.Known))
	return err
}

// printJobTree prints jobs as a tree of their dependencies, below the name of
// their workflow. whys are the reasons why jobs wait, by job id.
func printJobTree(con *term.Console, t *target.Target, jobs []once.Recalled, asked session.Asked, whys map[string]string, now time.Time) error {
	forgotten := map[string]bool{}
	for _, job := range jobs {
		forgotten[aws.ToString(job.JobId)] = job.Forgotten
	}
	note := func(job types.JobDetail) string {
		if forgotten[aws.ToString(job.JobId)] {
			return fromLedger(job, serviceOf(t), now)
		}
		return term.JoinClauses(session.RollUp(job), problemOf(job), lasted(job, now), whys[aws.ToString(job.JobId)])
	}
	var b strings.Builder
	if title := asked.Title; title != "" {
		b.WriteString(term.Text(secret.Mask("", title), "").Cut(cmp.Or(term.Width(con.Out), len(title))).Render(term.Color(con.Out)) + "\n")
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
		return "waited " + term.Took(job.CreatedAt, job.StartedAt, now) + ", ran " + term.Took(job.StartedAt, job.StoppedAt, now)
	case over:
		return "waited " + term.Took(job.CreatedAt, job.StoppedAt, now)
	case started && job.Status == types.JobStatusRunning:
		return "waited " + term.Took(job.CreatedAt, job.StartedAt, now) + ", running for " + term.Took(job.StartedAt, nil, now)
	default:
		return "waiting for " + term.Took(job.CreatedAt, nil, now)
	}
}

// writeJobs prints jobs with the member names of the AWS API. The member batchctl
// has batchctl's additions.
func writeJobs(con *term.Console, jobs []once.Recalled, now time.Time) error {
	rows := []jobRow{}
	for _, job := range jobs {
		rows = append(rows, jobRow{job.JobDetail, addedOf(job, now)})
	}
	return con.JSON(rows)
}

// jobRow is a job in the JSON output: AWS's description with batchctl's additions.
type jobRow struct {
	types.JobDetail
	Added addedRow `json:"batchctl"`
}

// MarshalJSON returns the description as the AWS API writes it, with the member batchctl.
func (r jobRow) MarshalJSON() ([]byte, error) {
	shape, err := wire.Marshal(r.JobDetail)
	if err != nil {
		return nil, err
	}
	added, err := json.Marshal(struct {
		Added addedRow `json:"batchctl"`
	}{r.Added})
	if err != nil {
		return nil, err
	}
	return joinObjects(shape, added), nil
}

// DescribedForm is the form of the JSON output of commands that call PrintJobs.
func DescribedForm() cmdline.Form { return cmdline.JSON[[]jobRow]() }

// joinObjects appends the members of the JSON object b to those of a.
func joinObjects(a, b []byte) []byte {
	// Without members of a, there is no comma.
	if string(a) == "{}" {
		return b
	}
	return append(append(slices.Clone(a[:len(a)-1]), ','), b[1:]...)
}

// addedRow is what batchctl adds to AWS's description of a job. Durations are in
// milliseconds; one that has not begun is left out.
type addedRow struct {
	ShortID string `json:"shortId"`
	// WaitedMs is from creation to the start of the last attempt, or until now.
	WaitedMs *int64 `json:"waitedMs,omitempty"`
	RanMs    *int64 `json:"ranMs,omitempty"`
	// TookMs is the duration of an array, from creation until it finishes.
	TookMs *int64 `json:"tookMs,omitempty"`
	// Forgotten reports that the description comes from the ledger.
	Forgotten bool `json:"forgotten,omitempty"`
}

// addedOf returns batchctl's additions for a job.
func addedOf(job once.Recalled, now time.Time) addedRow {
	row := addedRow{ShortID: batch.ShortID(aws.ToString(job.JobId)), Forgotten: job.Forgotten}
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
	known, err := t.Recall(context.Background(), session.IDs(jobs)...)
	if err != nil {
		return err
	}
	return writeJobs(con, known, time.Now())
}
