package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
	"github.com/urfave/cli/v2"

	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/spec"
	"github.com/batchctl/batchctl/pkg/wire"
)

// The commands that name jobs: status, list, logs, wait, stop. A job is named by
// its short id, its name, or its whole id; array children by short:index.

func jobFlags(more ...cli.Flag) []cli.Flag {
	platform := &cli.StringFlag{Name: "platform", Usage: "the platform `FILE` (default: batchctl.json, found by walking up from here)"}
	return append(append([]cli.Flag{platform}, targetFlags()...), more...)
}

// jobCall is a command that names jobs, once its words are understood.
type jobCall struct {
	*target
	format   string // text or json
	platform *spec.Platform
	jobs     []client.Submitted
}

// openFor opens the target for a command that names jobs and no files.
func (p *program) openFor(c *cli.Context, why need) (*jobCall, error) {
	format, err := outputFormat(c)
	if err != nil {
		return nil, err
	}
	in := &input{placesNothing: true}
	if err := in.findPlatform(c, "."); err != nil {
		return nil, err
	}
	if in.problems.HasErrors() {
		return nil, p.complain(in.problems)
	}
	if why == toRead && targetName(c, in.platform) == localTarget {
		if err := wasUsed(c); err != nil {
			return nil, err
		}
	}
	t, err := p.open(c.Context, c, in.platform, why)
	if err != nil {
		return nil, err
	}
	return &jobCall{target: t, format: format, platform: in.platform}, nil
}

// wasUsed tells a local engine that has never been from one that can be read.
func wasUsed(c *cli.Context) error {
	dir, err := stateDir(c)
	if err != nil {
		return err
	}
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return fail(ExitNotDone, "the local engine was never used: there is no state directory %s", dir).
			try("run a job first: batchctl run FILE; or name another directory or target: --state-dir, --target")
	}
	return nil
}

// openJobs opens the target and finds the jobs that the words name.
func (p *program) openJobs(c *cli.Context, why need) (*jobCall, error) {
	call, err := p.openFor(c, why)
	if err != nil {
		return nil, err
	}
	if call.jobs, err = p.resolve(c, call.target, call.platform); err != nil {
		return nil, errors.Join(err, call.close())
	}
	return call, nil
}

// resolve turns the words of the command line into job ids. Without words it
// takes the last submission.
func (p *program) resolve(c *cli.Context, t *target, platform *spec.Platform) ([]client.Submitted, error) {
	words := c.Args().Slice()
	if len(words) == 0 {
		return p.lastSubmission(c, t)
	}
	queues, err := t.queueNames(c.Context, platform)
	if err != nil {
		return nil, err
	}
	var jobs []client.Submitted
	for _, word := range words {
		id, err := t.Resolve(c.Context, word, queues)
		if err != nil {
			return nil, err
		}
		jobs = append(jobs, client.Submitted{ID: id, Name: word})
	}
	return t.named(c.Context, jobs)
}

// lastSubmission returns the newest entry of the ledger for this target.
func (p *program) lastSubmission(c *cli.Context, t *target) ([]client.Submitted, error) {
	entries, err := t.ledger.Entries()
	var damage *client.DamageError
	if errors.As(err, &damage) {
		fmt.Fprintf(p.Err, "batchctl: %s\n", diag.Printable(damage.Error()))
	} else if err != nil {
		return nil, err
	}
	for _, e := range slices.Backward(entries) {
		if e.Target == t.ledger.Target {
			return []client.Submitted{{ID: e.ID, Name: e.Name, Queue: e.Queue, ArraySize: e.ArraySize}}, nil
		}
	}
	return nil, usage("%s needs a job", c.Command.Name).try("name one: batchctl %s NAME; batchctl list shows them", c.Command.Name)
}

// named fills in names and queues that the words did not give.
func (t *target) named(ctx context.Context, jobs []client.Submitted) ([]client.Submitted, error) {
	details, err := t.Describe(ctx, ids(jobs)...)
	if err != nil {
		return nil, err
	}
	for i, d := range details {
		jobs[i].Name, jobs[i].Queue = aws.ToString(d.JobName), aws.ToString(d.JobQueue)
	}
	return jobs, nil
}

// queueNames lists the queues to look for jobs in: the platform file's, or all.
func (t *target) queueNames(ctx context.Context, platform *spec.Platform) ([]string, error) {
	if !t.isLocal() && platform != nil && len(platform.Queues) > 0 {
		var names []string
		for _, q := range platform.Queues {
			names = append(names, q.Name)
		}
		return names, nil
	}
	queues, err := t.Queues(ctx)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, q := range queues {
		names = append(names, aws.ToString(q.JobQueueName))
	}
	return names, nil
}

func (p *program) statusCommand() *cli.Command {
	return &cli.Command{
		Name:      "status",
		Usage:     "say how jobs stand: state, durations, attempts, and why one waits or failed",
		UsageText: "batchctl status [FLAGS] [JOB ...]",
		Description: help("A JOB is a short id, a job's name or a whole id. Without one, the last submission is shown.",
			"batchctl status\nbatchctl status 3f2a91c0\nbatchctl status resnet-train --output json"),
		Flags:  jobFlags(outputFlags()...),
		Action: p.status,
	}
}

func (p *program) status(c *cli.Context) error {
	call, err := p.openJobs(c, toRead)
	if err != nil {
		return err
	}
	defer call.close()
	details, err := call.Describe(c.Context, ids(call.jobs)...)
	if err != nil {
		return err
	}
	if call.format == "json" {
		return p.writeShapes(details)
	}
	var text []string
	for _, d := range details {
		text = append(text, jobText(d, call.label, time.Now())+call.whyLine(c.Context, d))
	}
	return p.printText(strings.Join(text, "\n"))
}

// jobText is the full view of one job.
func jobText(d types.JobDetail, label string, now time.Time) string {
	var b strings.Builder
	field := func(name, value string) {
		if value != "" && value != "-" {
			fmt.Fprintf(&b, "%-11s %s\n", name, diag.Printable(value))
		}
	}
	field("job", aws.ToString(d.JobName)+"  "+client.ShortID(aws.ToString(d.JobId)))
	field("status", joinClauses(string(d.Status), rollUp(d)))
	field("reason", outcome(d))
	field("queue", lastPart(aws.ToString(d.JobQueue))+" on "+label)
	field("definition", lastPart(aws.ToString(d.JobDefinition)))
	field("created", ago(d.CreatedAt, now))
	field("waited", took(d.CreatedAt, cmp.Or(d.StartedAt, d.StoppedAt), now))
	field("ran", took(d.StartedAt, d.StoppedAt, now))
	for i, a := range d.Attempts {
		text := took(a.StartedAt, a.StoppedAt, now)
		if a.Container != nil && a.Container.ExitCode != nil {
			text += fmt.Sprintf(", exit code %d", *a.Container.ExitCode)
		}
		field(fmt.Sprintf("attempt %d", i+1), joinClauses(text, aws.ToString(a.StatusReason)))
	}
	return b.String()
}

// lastPart shortens an ARN to the name at its end.
func lastPart(arn string) string { return arn[strings.LastIndexByte(arn, '/')+1:] }

func (p *program) listCommand() *cli.Command {
	return &cli.Command{
		Name:      "list",
		Usage:     "list jobs in all states",
		UsageText: "batchctl list [FLAGS]",
		Description: help("Newest first; a job is listed if all that is asked for holds. Array children are listed with --array JOB.\n"+
			"A TIME is a date, a date with a time of day, or a while ago: 2026-03-31, \"2026-03-31 14:00\", 2026-03-31T14:00:00Z, 90m, 7d.",
			"batchctl list\nbatchctl list --status RUNNABLE --queue gpu\nbatchctl list --status FAILED --created-after 24h\n"+
				"batchctl list --name 'resnet*' --output json"),
		Flags: jobFlags(append(outputFlags(),
			&cli.StringSliceFlag{Name: "status", Usage: "only jobs in this `STATUS`; may be repeated"},
			&cli.StringSliceFlag{Name: "queue", Usage: "only this `QUEUE`; may be repeated"},
			&cli.StringFlag{Name: "name", Usage: "only jobs of this `NAME`; a trailing * matches the rest"},
			&cli.StringFlag{Name: "definition", Usage: "only jobs of this job `DEFINITION`: name, name:revision or ARN; a name's trailing * matches the rest"},
			&cli.StringFlag{Name: "share", Usage: "only jobs of this fair-share `IDENTIFIER`"},
			&cli.StringFlag{Name: "created-after", Usage: "only jobs from this `TIME` on"},
			&cli.StringFlag{Name: "created-before", Usage: "only jobs from before this `TIME`"},
			&cli.StringFlag{Name: "array", Usage: "the children of this array `JOB`"},
			&cli.IntFlag{Name: "limit", Value: 50, Usage: "at most `N` jobs; 0 lists all"},
		)...),
		Action: p.list,
	}
}

func (p *program) list(c *cli.Context) error {
	if c.Args().Present() {
		return usage("list takes no operands").try("did you mean: batchctl status %s", c.Args().First())
	}
	filter, err := parseFilter(c, time.Now())
	if err != nil {
		return err
	}
	call, err := p.openFor(c, toRead)
	if err != nil {
		return err
	}
	defer call.close()
	jobs, err := call.newest(c, filter)
	if err != nil {
		return err
	}
	hidden := 0
	if limit := c.Int("limit"); limit > 0 && len(jobs) > limit {
		hidden, jobs = len(jobs)-limit, jobs[:limit]
	}
	if call.format == "json" {
		err = p.writeShapes(jobs)
	} else {
		err = p.printSummaries(jobs)
	}
	if hidden > 0 {
		fmt.Fprintf(p.Err, "%d more; see them all: batchctl list --limit 0\n", hidden)
	}
	return err
}

// newest lists the jobs that the flags ask for, the newest first.
func (call *jobCall) newest(c *cli.Context, filter client.Filter) ([]types.JobSummary, error) {
	filter, err := call.place(c, call.platform, filter)
	if err != nil {
		return nil, err
	}
	jobs := []types.JobSummary{}
	for job, err := range call.List(c.Context, filter) {
		if err != nil {
			return nil, err
		}
		jobs = append(jobs, job)
	}
	slices.SortStableFunc(jobs, func(a, b types.JobSummary) int {
		return cmp.Compare(aws.ToInt64(b.CreatedAt), aws.ToInt64(a.CreatedAt))
	})
	return jobs, nil
}

// parseFilter reads the flags that say which jobs to list.
func parseFilter(c *cli.Context, now time.Time) (f client.Filter, err error) {
	f = client.Filter{Name: c.String("name"), Queues: c.StringSlice("queue"), Definition: c.String("definition"), Share: c.String("share")}
	if f.Statuses, err = parseStatuses(c.StringSlice("status")); err != nil {
		return f, err
	}
	if f.CreatedAfter, err = parseTime(c, "created-after", now); err != nil {
		return f, err
	}
	if f.CreatedBefore, err = parseTime(c, "created-before", now); err != nil {
		return f, err
	}
	if !f.CreatedBefore.IsZero() && !f.CreatedAfter.Before(f.CreatedBefore) {
		return f, usage("no job is from after %s and before %s", c.String("created-after"), c.String("created-before")).
			try("--created-after is the earlier one of the two")
	}
	return f, nil
}

// timeLayouts are how --created-after and --created-before may be written; without
// a zone the time is this machine's.
var timeLayouts = [...]string{time.DateOnly, "2006-01-02 15:04", time.DateTime, "2006-01-02T15:04", "2006-01-02T15:04:05", time.RFC3339}

// parseTime reads a flag that holds a moment, or how long ago it was; zero for none.
func parseTime(c *cli.Context, flag string, now time.Time) (time.Time, error) {
	word := c.String(flag)
	if word == "" {
		return time.Time{}, nil
	}
	if days, ok := strings.CutSuffix(word, "d"); ok {
		if n, err := strconv.ParseUint(days, 10, 16); err == nil {
			return now.AddDate(0, 0, -int(n)), nil
		}
	}
	if d, err := time.ParseDuration(word); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	for _, layout := range timeLayouts {
		if at, err := time.ParseInLocation(layout, word, time.Local); err == nil {
			return at, nil
		}
	}
	return time.Time{}, usage("--%s %q is no time", flag, word).
		try("write a date, a date with a time of day, or a while ago: --%s 2026-03-31, --%s 2026-03-31T14:00:00Z, --%s 24h", flag, flag, flag)
}

// place finds the queues and the array that a filter names at the target.
func (t *target) place(c *cli.Context, platform *spec.Platform, f client.Filter) (client.Filter, error) {
	queues, err := t.queueNames(c.Context, platform)
	if err != nil {
		return f, err
	}
	if platform != nil {
		for i, word := range f.Queues {
			if q, ok := platform.Queue(word); ok {
				f.Queues[i] = q.Name
			}
		}
	}
	if len(f.Queues) == 0 {
		f.Queues = queues
	}
	if array := c.String("array"); array != "" {
		if f.ArrayOf, err = t.Resolve(c.Context, array, queues); err != nil {
			return f, err
		}
	}
	return f, nil
}

func (p *program) printSummaries(jobs []types.JobSummary) error {
	if len(jobs) == 0 {
		fmt.Fprintln(p.Err, "no jobs")
		return nil
	}
	now := time.Now()
	t := p.table("ID", "NAME", "STATUS", "CREATED", "RAN", "REASON")
	for _, j := range jobs {
		t.row(client.ShortID(aws.ToString(j.JobId)), aws.ToString(j.JobName), string(j.Status), ago(j.CreatedAt, now),
			took(j.StartedAt, j.StoppedAt, now), joinClauses(aws.ToString(j.StatusReason), summaryRollUp(j)))
	}
	return t.flush()
}

// summaryRollUp counts an array's children by state, where the list knows them.
func summaryRollUp(j types.JobSummary) string {
	a := j.ArrayProperties
	if a == nil || a.StatusSummary == nil {
		return ""
	}
	return rollUp(types.JobDetail{ArrayProperties: &types.ArrayPropertiesDetail{Index: a.Index, Size: a.Size, StatusSummary: a.StatusSummary}})
}

func parseStatuses(words []string) ([]types.JobStatus, error) {
	known := types.JobStatus("").Values()
	var out []types.JobStatus
	for _, w := range words {
		status := types.JobStatus(strings.ToUpper(w))
		if !slices.Contains(known, status) {
			return nil, usage("unknown status %q", w).try("the states are: %v", known)
		}
		out = append(out, status)
	}
	return out, nil
}

// writeShapes prints SDK shapes under their AWS names, as the aws CLI does.
func (p *program) writeShapes(shapes any) error {
	data, err := wire.Marshal(shapes)
	if err != nil {
		return err
	}
	return p.writeJSON(json.RawMessage(data))
}

func (p *program) printText(s string) error {
	_, err := fmt.Fprint(p.Out, s)
	return err
}
