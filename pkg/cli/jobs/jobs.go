package jobs

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

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/cli/cmdline"
	"github.com/batchctl/batchctl/pkg/cli/input"
	"github.com/batchctl/batchctl/pkg/cli/session"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/client/once"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/local/api"
	"github.com/batchctl/batchctl/pkg/secret"
	"github.com/batchctl/batchctl/pkg/target"
	"github.com/batchctl/batchctl/pkg/wire"
)

// The commands that name jobs: status, list, logs, wait, stop. A job is named by
// its short id, its name, or its whole id; array children by short:index.

func Flags(more ...cli.Flag) []cli.Flag {
	platform := &cli.StringFlag{Name: "platform", Usage: "the platform `FILE` (default: batchctl.json, found by walking up from here)"}
	return append(append([]cli.Flag{platform}, cmdline.TargetFlags()...), more...)
}

// Call is a command that names jobs, once its words are understood.
type Call struct {
	*target.Target
	Format   string // text or json
	Platform *document.Platform
	Jobs     []once.Submitted
	// Known is what was known of the jobs when the command began.
	Known []once.Recalled
}

// OpenFor opens the target for a command that names jobs and no files.
func OpenFor(con *term.Console, c *cli.Context, why target.Need) (*Call, error) {
	format, err := cmdline.OutputFormat(c)
	if err != nil {
		return nil, err
	}
	in := &input.Input{PlacesNothing: true}
	if err := in.FindPlatform(cmdline.TargetOptions(c)); err != nil {
		return nil, err
	}
	if in.Problems.HasErrors() {
		return nil, input.Complain(con, in.Problems)
	}
	if why == target.ToRead && cmdline.TargetOptions(c).NameFrom(in.Platform) == target.Local {
		if err := wasUsed(c); err != nil {
			return nil, err
		}
	}
	t, err := session.OpenTarget(c.Context, con, cmdline.TargetOptions(c), in.Platform, why)
	if err != nil {
		return nil, err
	}
	return &Call{Target: t, Format: format, Platform: in.Platform}, nil
}

// wasUsed tells a local engine that has never been from one that can be read.
func wasUsed(c *cli.Context) error {
	dir, err := cmdline.TargetOptions(c).Dir()
	if err != nil {
		return err
	}
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return exit.Fail(exit.NotDone, "the local engine was never used: there is no state directory %s", dir).
			Try("run a job first: batchctl run FILE; or name another directory or target: --state-dir, --target")
	}
	return nil
}

// OpenJobs opens the target and finds the jobs that the words name, with the
// ledger's help where Batch has forgotten them.
func OpenJobs(con *term.Console, c *cli.Context, why target.Need) (*Call, error) {
	call, err := OpenFor(con, c, why)
	if err != nil {
		return nil, err
	}
	call.Trouble = troubles(con, func(text string) { fmt.Fprintf(con.Err, "%s\n", diag.Printable(text)) })
	if call.Jobs, err = Resolve(con, c, call.Target, call.Platform); err == nil {
		call.Known, err = call.Recall(c.Context, session.IDs(call.Jobs)...)
	}
	if err != nil {
		return nil, errors.Join(err, call.Close())
	}
	for i, job := range call.Known {
		call.Jobs[i].Name, call.Jobs[i].Queue = aws.ToString(job.JobName), aws.ToString(job.JobQueue)
	}
	keepEnds(call.Target, details(call.Known)...)
	return call, nil
}

// keepEnds writes down how jobs ended. It is for a day when Batch has forgotten them,
// and no reason to fail today.
func keepEnds(t *target.Target, jobs ...types.JobDetail) { _ = t.Keep(jobs...) }

// releaseEnded removes what bounded jobs that have ended. What is left, because others need
// it or a call failed, is gc's.
func releaseEnded(ctx context.Context, t *target.Target, jobs []types.JobDetail) {
	var bounded []string
	for _, job := range jobs {
		if p := job.ConsumableResourceProperties; p != nil && len(p.ConsumableResourceList) > 0 {
			bounded = append(bounded, aws.ToString(job.JobId))
		}
	}
	if len(bounded) > 0 {
		_, _ = t.ReleaseResources(ctx, bounded...)
	}
}

func details(jobs []once.Recalled) []types.JobDetail {
	all := make([]types.JobDetail, len(jobs))
	for i, j := range jobs {
		all[i] = j.JobDetail
	}
	return all
}

// Resolve turns the words of the command line into job ids. Without words it
// takes the last submission.
func Resolve(con *term.Console, c *cli.Context, t *target.Target, platform *document.Platform) ([]once.Submitted, error) {
	words, submission := c.Args().Slice(), c.String("submission")
	switch {
	case submission != "" && len(words) > 0:
		return nil, exit.Usage("--submission names all jobs, and %s is named too", words[0]).Try("say one of them: batchctl %s --submission %s", c.Command.Name, submission)
	case submission != "":
		return session.SubmissionCalled(con, t, submission)
	case len(words) == 0:
		return session.LastSubmission(con, c.Command.Name, t)
	}
	queues := QueueNames(t, platform)
	var jobs []once.Submitted
	for _, word := range words {
		id, err := ResolveFor(t, c, word, queues)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(jobs, func(j once.Submitted) bool { return j.ID == id }) {
			jobs = append(jobs, once.Submitted{ID: id, Name: word})
		}
	}
	return jobs, nil
}

// ResolveFor is Resolve for a command whose argument names a job. It answers a word such as
// train:3#2, an attempt, with the way in which that command takes one.
func ResolveFor(t *target.Target, c *cli.Context, word string, queues []string) (string, error) {
	id, err := t.Client.Resolve(c.Context, word, queues)
	part, ok := errors.AsType[*client.NoSuchPartError](err)
	switch {
	case !ok:
		return id, session.LeadOn(t, err)
	case part.Attempt > 0 && c.Command.Name == "logs":
		return "", exit.Fail(exit.NotDone, "%v", part).Try("read the log of an attempt: batchctl logs %s --attempt %d%s", part.Use, part.Attempt, t.Flags)
	}
	return "", exit.Fail(exit.NotDone, "%v", part).Try("name one that exists: batchctl %s %s%s", c.Command.Name, part.Use, t.Flags)
}

// QueueNames are the queues to look for jobs in: the platform file's; none stands for all.
func QueueNames(t *target.Target, platform *document.Platform) (names []string) {
	if !t.IsLocal() && platform != nil {
		for _, q := range platform.Queues {
			names = append(names, q.Name)
		}
	}
	return names
}

func StatusCommand(con *term.Console) *cli.Command {
	return &cli.Command{
		Name:      "status",
		Usage:     "say how jobs stand: state, durations, attempts, and why one waits or failed",
		UsageText: "batchctl status [FLAGS] [JOB ...]",
		Description: cmdline.Help("A JOB is a short id, a job's name or a whole id. Without one, the last submission is shown; several\n"+
			"jobs as a tree of their dependencies.",
			"batchctl status\nbatchctl status 3f2a91c0\nbatchctl status resnet-train --output json\nbatchctl status --submission workflow.json"),
		Flags:  Flags(append(cmdline.OutputFlags(), cmdline.SubmissionFlag())...),
		Action: func(c *cli.Context) error { return status(con, c) },
	}
}

func status(con *term.Console, c *cli.Context) error {
	call, err := OpenJobs(con, c, target.ToRead)
	if err != nil {
		return err
	}
	defer call.Close()
	now := time.Now()
	if call.Format == "json" {
		return writeJobs(con, call.Known, now)
	}
	if len(call.Known) > 1 {
		fmt.Fprintf(con.Err, "on %s; one job in full: batchctl status %s%s\n", diag.Printable(call.Label), batch.ShortID(call.Jobs[0].ID), call.Flags)
		asked, failed := session.AskedOf(call.Target, call.Known)
		err = errors.Join(failed, printJobTree(con, call.Target, call.Known, asked, call.whys(c.Context, now), now))
		session.TellNext(con, call.Target, session.Live(call.Known))
		return err
	}
	for _, job := range call.Known {
		text := jobText(con, call.Target, job, now)
		if !job.Forgotten {
			text += session.CellLine(c.Context, call.Target, job.JobDetail) + call.whyLine(c.Context, job.JobDetail)
		}
		err = errors.Join(err, con.Print(text))
	}
	session.TellNext(con, call.Target, session.Live(call.Known))
	return err
}

// printJobTree prints jobs as a tree of their dependencies, below the name of their workflow.
// whys says why some jobs wait.
func printJobTree(con *term.Console, t *target.Target, jobs []once.Recalled, asked session.Asked, whys map[string]string, now time.Time) error {
	forgotten := map[string]bool{}
	for _, job := range jobs {
		forgotten[aws.ToString(job.JobId)] = job.Forgotten
	}
	note := func(job types.JobDetail) string {
		if forgotten[aws.ToString(job.JobId)] {
			return fromLedger(job, serviceOf(t), now)
		}
		return term.JoinClauses(session.RollUp(job), trouble(job), lasted(job, now), whys[aws.ToString(job.JobId)])
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

// serviceOf is who runs the target's jobs, as a sentence names it.
func serviceOf(t *target.Target) string {
	if t.IsLocal() {
		return "the local engine"
	}
	return "AWS Batch"
}

// fromLedger says how a job ended that only the ledger remembers. service is the target's.
func fromLedger(job types.JobDetail, service string, now time.Time) string {
	source := "from the ledger; " + service + " no longer has it"
	if job.Status == once.StatusExpired {
		return fmt.Sprintf("submitted %s; how it ended was never seen (%s)", longAgo(job.CreatedAt, now), source)
	}
	how := term.JoinClauses(string(job.Status), Outcome(job))
	return fmt.Sprintf("ended %s: %s (%s)", longAgo(job.StoppedAt, now), how, source)
}

// longAgo is ago for what is days old.
func longAgo(millis *int64, now time.Time) string {
	if aws.ToInt64(millis) == 0 {
		return "long ago"
	}
	if days := int(now.Sub(time.UnixMilli(*millis)).Hours() / 24); days > 1 {
		return fmt.Sprintf("%d days ago", days)
	}
	return term.Ago(millis, now)
}

// lasted says how long a job waited and ran, by the service's own clock.
func lasted(job types.JobDetail, now time.Time) string {
	started := aws.ToInt64(job.StartedAt) > 0
	switch over := batch.HasEnded(job.Status); {
	case aws.ToInt64(job.CreatedAt) == 0 || job.Status == once.StatusExpired || job.Status == api.StatusUnknown:
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

// writeJobs prints jobs under their AWS names, and what batchctl adds under its own.
func writeJobs(con *term.Console, jobs []once.Recalled, now time.Time) error {
	all := []json.RawMessage{}
	for _, job := range jobs {
		shape, err := wire.Marshal(job.JobDetail)
		if err != nil {
			return err
		}
		added, err := json.Marshal(struct {
			Added addedRow `json:"batchctl"`
		}{addedOf(job, now)})
		if err != nil {
			return err
		}
		all = append(all, joinObjects(shape, added))
	}
	return con.JSON(all)
}

// joinObjects puts the members of b behind those of a.
func joinObjects(a, b []byte) json.RawMessage {
	if string(a) == "{}" {
		return b
	}
	return append(append(slices.Clone(a[:len(a)-1]), ','), b[1:]...)
}

// addedRow is what batchctl says of a job beside AWS Batch. Durations are in
// milliseconds; one that has not begun is left out.
type addedRow struct {
	ShortID string `json:"shortId"`
	// WaitedMs is from creation to the start of the last attempt, or until now.
	WaitedMs *int64 `json:"waitedMs,omitempty"`
	RanMs    *int64 `json:"ranMs,omitempty"`
	// TookMs is of an array, from creation to its end.
	TookMs *int64 `json:"tookMs,omitempty"`
	// Forgotten says that all this comes from the ledger.
	Forgotten bool `json:"forgotten,omitempty"`
}

func addedOf(job once.Recalled, now time.Time) addedRow {
	row := addedRow{ShortID: batch.ShortID(aws.ToString(job.JobId)), Forgotten: job.Forgotten}
	switch {
	case job.Status == once.StatusExpired || job.Status == api.StatusUnknown:
	case batch.ArraySize(job.JobDetail) > 0:
		row.TookMs = span64(job.CreatedAt, job.StoppedAt, now)
	default:
		row.WaitedMs = span64(job.CreatedAt, cmp.Or(job.StartedAt, job.StoppedAt), now)
		row.RanMs = span64(job.StartedAt, job.StoppedAt, now)
	}
	return row
}

// span64 is the milliseconds between two stamps, or until now; nil before the first.
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

// jobText is the full view of one job.
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
	if d.Status != once.StatusExpired && d.Status != api.StatusUnknown {
		field("waited", term.Took(d.CreatedAt, cmp.Or(d.StartedAt, d.StoppedAt), now))
		field("ran", term.Took(d.StartedAt, d.StoppedAt, now))
	}
	for i, a := range d.Attempts {
		text := term.Took(a.StartedAt, a.StoppedAt, now)
		if a.Container != nil && a.Container.ExitCode != nil {
			text += fmt.Sprintf(", exit code %d", *a.Container.ExitCode)
		}
		field(fmt.Sprintf("attempt %d", i+1), term.JoinClauses(text, aws.ToString(a.StatusReason)))
	}
	return b.String()
}

func ListCommand(con *term.Console) *cli.Command {
	return &cli.Command{
		Name:      "list",
		Usage:     "list jobs in all states",
		UsageText: "batchctl list [FLAGS]",
		Description: cmdline.Help("Newest first; a job is listed if all that is asked for holds. Array children are listed with --array JOB.\n"+
			"A TIME is a date, a date with a time of day, or a while ago: 2026-03-31, \"2026-03-31 14:00\", 2026-03-31T14:00:00Z, 90m, 7d.",
			"batchctl list\nbatchctl list --status RUNNABLE --queue gpu\nbatchctl list --status FAILED --created-after 24h\n"+
				"batchctl list --name 'resnet*' --output json"),
		Flags: Flags(append(cmdline.OutputFlags(),
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
		Action: func(c *cli.Context) error { return list(con, c) },
	}
}

func list(con *term.Console, c *cli.Context) error {
	if c.Args().Present() {
		return exit.Usage("list takes no operands").Try("did you mean: batchctl status %s", c.Args().First())
	}
	filter, err := parseFilter(c, time.Now())
	if err != nil {
		return err
	}
	call, err := OpenFor(con, c, target.ToRead)
	if err != nil {
		return err
	}
	defer call.Close()
	jobs, err := call.newest(c, filter)
	if err != nil {
		return err
	}
	hidden := 0
	if limit := c.Int("limit"); limit > 0 && len(jobs) > limit {
		hidden, jobs = len(jobs)-limit, jobs[:limit]
	}
	if call.Format == "json" {
		err = WriteShapes(con, jobs)
	} else {
		err = printSummaries(con, jobs)
	}
	if hidden > 0 {
		fmt.Fprintf(con.Err, "%d more; see them all: batchctl list --limit 0%s\n", hidden, call.Flags)
	}
	return err
}

// newest lists the jobs that the flags ask for, the newest first.
func (call *Call) newest(c *cli.Context, filter client.Filter) ([]types.JobSummary, error) {
	filter, err := PlaceFilter(call.Target, c, call.Platform, filter)
	if err != nil {
		return nil, err
	}
	jobs := []types.JobSummary{}
	for job, err := range call.List(c.Context, filter) {
		if err != nil && len(filter.Queues) > 0 && Gone(err) {
			return nil, exit.From(err).Try("see them all: batchctl queues%s", call.Flags)
		}
		if err != nil {
			return nil, err
		}
		jobs = append(jobs, job)
	}
	old, err := call.forgotten(c, filter, jobs)
	if err != nil {
		return nil, err
	}
	jobs = append(jobs, old...)
	slices.SortStableFunc(jobs, func(a, b types.JobSummary) int {
		return cmp.Compare(aws.ToInt64(b.CreatedAt), aws.ToInt64(a.CreatedAt))
	})
	return jobs, nil
}

// mostForgotten is how many jobs that Batch has forgotten a list shows at most.
const mostForgotten = 100

// forgotten are the jobs that only the ledger remembers, as far as it can tell that
// they are asked for. That they are from there stands in the reason.
func (call *Call) forgotten(c *cli.Context, filter client.Filter, listed []types.JobSummary) ([]types.JobSummary, error) {
	if c.String("array") != "" || c.String("share") != "" || len(c.StringSlice("queue")) > 0 {
		return nil, nil
	}
	seen := map[string]bool{}
	for _, job := range listed {
		seen[aws.ToString(job.JobId)] = true
	}
	jobs, err := call.Forgotten(c.Context, func(id string) bool { return seen[id] }, filter.Matches, mostForgotten)
	for i, job := range jobs {
		jobs[i].StatusReason = aws.String(term.JoinClauses(session.LedgerNote(serviceOf(call.Target)), aws.ToString(job.StatusReason)))
	}
	return jobs, err
}

// parseFilter reads the flags that say which jobs to list.
func parseFilter(c *cli.Context, now time.Time) (f client.Filter, err error) {
	f = client.Filter{Name: c.String("name"), Queues: c.StringSlice("queue"), Definition: c.String("definition"), Share: c.String("share")}
	if f.Statuses, err = parseStatuses(c.StringSlice("status")); err != nil {
		return f, err
	}
	if f.CreatedAfter, err = ParseTime(c, "created-after", now); err != nil {
		return f, err
	}
	if f.CreatedBefore, err = ParseTime(c, "created-before", now); err != nil {
		return f, err
	}
	if !f.CreatedBefore.IsZero() && !f.CreatedAfter.Before(f.CreatedBefore) {
		return f, exit.Usage("no job is from after %s and before %s", c.String("created-after"), c.String("created-before")).
			Try("--created-after is the earlier one of the two")
	}
	return f, nil
}

// timeLayouts are how --created-after and --created-before may be written; without
// a zone the time is this machine's.
var timeLayouts = [...]string{time.DateOnly, "2006-01-02 15:04", time.DateTime, "2006-01-02T15:04", "2006-01-02T15:04:05", time.RFC3339}

// ParseTime reads a flag that holds a moment, or how long ago it was; zero for none.
func ParseTime(c *cli.Context, flag string, now time.Time) (time.Time, error) {
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
	return time.Time{}, exit.Usage("--%s %q is no time", flag, word).
		Try("write a date, a date with a time of day, or a while ago: --%s 2026-03-31, --%s 2026-03-31T14:00:00Z, --%s 24h", flag, flag, flag)
}

// PlaceFilter finds the queues and the array that a filter names at the target.
func PlaceFilter(t *target.Target, c *cli.Context, platform *document.Platform, f client.Filter) (client.Filter, error) {
	queues := QueueNames(t, platform)
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
		id, err := session.ResolveWord(c.Context, t, array, queues)
		if err != nil {
			return f, err
		}
		known, err := t.Recall(c.Context, id)
		if err != nil {
			return f, err
		}
		if batch.ArraySize(known[0].JobDetail) == 0 && known[0].Status != once.StatusExpired {
			return f, exit.Fail(exit.NotDone, "list the children of %s: it is not an array", array).Try("show the job: batchctl status %s%s", array, t.Flags)
		}
		f.ArrayOf = id
	}
	return f, nil
}

func printSummaries(con *term.Console, jobs []types.JobSummary) error {
	if len(jobs) == 0 {
		fmt.Fprintln(con.Err, "no jobs")
		return nil
	}
	now := time.Now()
	t := con.Table("ID", "NAME", "STATUS", "CREATED", "RAN", "REASON")
	for _, j := range jobs {
		t.Row(batch.ShortID(aws.ToString(j.JobId)), aws.ToString(j.JobName), string(j.Status), term.Ago(j.CreatedAt, now),
			term.Took(j.StartedAt, j.StoppedAt, now), cmp.Or(session.ListedReason(j), "-"))
	}
	return t.Flush()
}

func parseStatuses(words []string) ([]types.JobStatus, error) {
	known := types.JobStatus("").Values()
	var out []types.JobStatus
	for _, w := range words {
		status := types.JobStatus(strings.ToUpper(w))
		if !slices.Contains(known, status) {
			return nil, exit.Usage("unknown status %q", w).Try("the states are: %v", known)
		}
		out = append(out, status)
	}
	return out, nil
}

// WriteShapes prints SDK shapes under their AWS names, as the aws CLI does.
func WriteShapes(con *term.Console, shapes any) error {
	data, err := wire.Marshal(shapes)
	if err != nil {
		return err
	}
	return con.JSON(json.RawMessage(data))
}

// PrintJobs prints what Batch says of the jobs, as JSON.
func PrintJobs(con *term.Console, t *target.Target, jobs []once.Submitted) error {
	known, err := t.Recall(context.Background(), session.IDs(jobs)...)
	if err != nil {
		return err
	}
	return writeJobs(con, known, time.Now())
}
