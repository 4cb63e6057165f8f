package jobs

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/cli/session"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/client/once"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/explain"
	"github.com/batchctl/batchctl/pkg/target"
)

// follower watches jobs until they finish and tells their story: each change of
// state with its duration, the reason while one waits, the log of plain jobs.
type follower struct {
	*term.LiveOutput
	target *target.Target
	jobs   []once.Submitted
	// asked is what the jobs wait for in the client.
	asked session.Asked
	// UntilStuck ends the watch when a job waits for what this machine will
	// never have.
	UntilStuck bool

	names map[string]once.Submitted // by id
	// labels are what the lines of each job's log begin with.
	labels map[string]string
	last   map[string]types.JobDetail
	since  map[string]time.Time
	// starting is when a job was first seen STARTING, starts how long that lasted.
	starting map[string]time.Time
	starts   map[string]time.Duration
	began    time.Time
	mu       sync.Mutex // guards the maps against the clock of the live block
	logs     sync.WaitGroup
	shown    map[string]chan struct{} // jobs whose log is followed; closed at its end
}

// NewFollower returns a follower of jobs at a target.
func NewFollower(con *term.Console, t *target.Target, jobs []once.Submitted, log io.Writer) *follower {
	f := &follower{
		LiveOutput: con.NewLiveOutput(log), target: t, jobs: jobs, began: time.Now(),
		names: map[string]once.Submitted{}, labels: session.Labels(jobs), last: map[string]types.JobDetail{},
		since: map[string]time.Time{}, starting: map[string]time.Time{}, starts: map[string]time.Duration{}, shown: map[string]chan struct{}{},
	}
	for _, j := range jobs {
		f.names[j.ID] = j
	}
	t.Warn = warnOnce(con, func(text string) { f.Line("%s", text) })
	f.asked = session.ConditionsOf(t, session.IDs(jobs))
	return f
}

// ErrStuck ends a watch because a job can never be placed.
type ErrStuck struct {
	Job once.Submitted
	why string
}

// Reason is what its job, and those that end with it, are told.
func (e *ErrStuck) Reason() string { return "job " + e.Job.Name + explain.Unplaced + ": " + e.why }

func (e *ErrStuck) Error() string { return "this machine can never hold job " + e.Job.Name }

// Run watches until every job has ended and returns the exit code of their
// verdict. The jobs continue when it is interrupted.
func (f *follower) Run(ctx context.Context) (int, error) {
	ids := make([]string, len(f.jobs))
	for i, j := range f.jobs {
		ids[i] = j.ID
	}
	stop := f.Clock(f.liveBlock)
	stopWhy := f.explainWaits(ctx)
	err := f.watch(ctx, ids)
	stopWhy()
	if err == nil {
		f.logs.Wait()
	}
	stop()
	keepEnds(f.target, f.seen()...)
	if err != nil {
		return exit.NotDone, err
	}
	releaseEnded(ctx, f.target, f.seen())
	f.leaveTree()
	return f.verdict(), nil
}

// seen are the jobs as they were seen last, in the order in which they were named.
func (f *follower) seen() (jobs []types.JobDetail) {
	for _, j := range f.jobs {
		if job, ok := f.last[j.ID]; ok {
			jobs = append(jobs, job)
		}
	}
	return jobs
}

func (f *follower) watch(ctx context.Context, ids []string) error {
	for event, err := range f.target.Watch(ctx, ids...) {
		if err != nil {
			return err
		}
		f.printEvent(ctx, event)
		if f.UntilStuck && isStuck(event.Job) {
			return &ErrStuck{f.names[aws.ToString(event.Job.JobId)], Unplaced(event.Job)}
		}
	}
	return ctx.Err()
}

// isStuck reports whether the job, or every child of the array, waits for a
// machine that its queue does not have. Elsewhere this reason also appears for a while during scale-up; on the
// local engine the machine does not grow.
func isStuck(job types.JobDetail) bool {
	return !batch.HasEnded(job.Status) &&
		strings.HasPrefix(aws.ToString(job.StatusReason), "MISCONFIGURATION:JOB_RESOURCE_REQUIREMENT")
}

// printEvent prints one change.
func (f *follower) printEvent(ctx context.Context, event client.Event) {
	id := aws.ToString(event.Job.JobId)
	f.mu.Lock()
	before, seen := f.last[id]
	since := f.since[id]
	if event.Status == types.JobStatusStarting && f.starting[id].IsZero() {
		f.starting[id] = event.Since
	}
	if at := f.starting[id]; !at.IsZero() && f.starts[id] == 0 && event.Status != types.JobStatusStarting {
		f.starts[id] = event.Since.Sub(at)
	}
	f.last[id], f.since[id] = event.Job, event.Since
	f.mu.Unlock()

	f.followLog(ctx, event.Job)
	if seen && before.Status == event.Status && !f.worthTelling(before, event.Job) {
		return
	}
	took := ""
	switch {
	case batch.HasEnded(event.Status):
		if event.Last {
			f.awaitLog(ctx, id)
		}
		took = f.lasted(event.Job)
	case seen && before.Status != event.Status:
		took = strings.ToLower(string(before.Status)) + " for " + term.Short(event.Since.Sub(since))
	}
	what := term.JoinClauses(Outcome(event.Job), session.RollUp(event.Job), took)
	name := term.Columns(diag.Printable(session.JobName(f.names[id].Name, id)), batch.ShortID(id), f.nameWidth())
	f.Put(name + "  " + paint(f.LiveOutput, event.Status) + "  " + diag.Printable(what))
}

// logPatience bounds how long the end of a job is held back for its log.
const logPatience = 15 * time.Second

// lasted is how long an ended job was in its states: by the service's own clock, which
// a slow poll does not blur, but for STARTING, which it does not tell.
func (f *follower) lasted(job types.JobDetail) string {
	text := lasted(job, time.Now())
	f.mu.Lock()
	defer f.mu.Unlock()
	if d := f.starts[aws.ToString(job.JobId)]; d > 0 {
		waited, ran, both := strings.Cut(text, ", ")
		if both {
			return waited + ", started in " + term.Short(d) + ", " + ran
		}
	}
	return text
}

// awaitLog lets the log of the job that ends last be told before its end. The end of
// another job is told at once, for others continue; its last lines come after it.
func (f *follower) awaitLog(ctx context.Context, id string) {
	drained := f.shown[id]
	if drained == nil {
		return
	}
	select {
	case <-drained:
	case <-time.After(logPatience):
	case <-ctx.Done():
	}
}

// worthTelling keeps a pipe short: of an array's many changes within a state,
// only each further quarter of its children and the first failure.
func (f *follower) worthTelling(before, after types.JobDetail) bool {
	if aws.ToString(before.StatusReason) != aws.ToString(after.StatusReason) {
		return true
	}
	if after.ArrayProperties == nil {
		return false
	}
	size := int(aws.ToInt32(after.ArrayProperties.Size))
	quarter := func(job types.JobDetail) int { return batch.EndedChildren(job) * 4 / max(size, 1) }
	failed := string(types.JobStatusFailed)
	return quarter(before) != quarter(after) ||
		before.ArrayProperties.StatusSummary[failed] == 0 && after.ArrayProperties.StatusSummary[failed] > 0
}

// Outcome says how a job ended, or why it waits.
func Outcome(job types.JobDetail) string {
	reason := aws.ToString(job.StatusReason)
	if !batch.HasEnded(job.Status) {
		return reason
	}
	exit := ""
	if job.Container != nil && job.Container.ExitCode != nil {
		exit = fmt.Sprintf("exit code %d", *job.Container.ExitCode)
		if r := aws.ToString(job.Container.Reason); r != "" {
			exit += ", " + r
		}
	} else if job.Container != nil {
		exit = aws.ToString(job.Container.Reason)
	}
	if n := len(job.Attempts); n > 1 {
		exit = term.JoinClauses(exit, fmt.Sprintf("%d attempts", n))
	}
	if job.Status == types.JobStatusSucceeded {
		return exit
	}
	return term.JoinClauses(reason, exit)
}

func (f *follower) nameWidth() int {
	width := 0
	for _, j := range f.jobs {
		width = max(width, len(session.JobName(j.Name, j.ID)))
	}
	return min(width, 40)
}

// liveBlock is what stands below the lasting lines on a terminal: of several jobs
// their tree, and how many are in each state.
func (f *follower) liveBlock() []term.Line {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	if len(f.last) == 0 {
		return []term.Line{term.Text("waiting for the first answer", "")}
	}
	if len(f.jobs) == 1 {
		job := f.last[f.jobs[0].ID]
		head := term.Text(fmt.Sprintf("%s %s %s  ", f.jobs[0].Name, job.Status, term.Short(now.Sub(f.since[f.jobs[0].ID]))), "")
		if chart := arrayChart(job); chart != nil {
			head = append(append(head, chart...), term.Segment{Text: " "})
		}
		return []term.Line{append(head, term.Text(session.RollUp(job), "")...)}
	}
	return append(f.tree(now), f.counts(now))
}

// counts says how many jobs are in each state.
func (f *follower) counts(now time.Time) term.Line {
	counts := map[types.JobStatus]int{}
	for _, job := range f.last {
		counts[job.Status]++
	}
	all := term.Text(term.Short(now.Sub(f.began)), "")
	for _, status := range types.JobStatus("").Values() {
		if counts[status] > 0 {
			all = append(all, term.Text(fmt.Sprintf("  %s %d", status, counts[status]), endStyle(status))...)
		}
	}
	return all
}

// tree draws the jobs as far as they are known.
func (f *follower) tree(now time.Time) []term.Line {
	note := func(job types.JobDetail) string {
		return term.JoinClauses(progress(job), problemOf(job), lasted(job, now))
	}
	width, _ := f.Size()
	return treeLines(treeRows(f.seen(), f.asked, note, true), width-term.EchoWidth)
}

// problemOf is what there is to know of a job beyond its status: why it waits, or how
// it failed.
func problemOf(job types.JobDetail) string {
	if job.Status == types.JobStatusSucceeded {
		return ""
	}
	return Outcome(job)
}

// progress counts the children of an array that have ended, for beside a chart.
func progress(job types.JobDetail) string {
	size := batch.ArraySize(job)
	if size == 0 {
		return ""
	}
	text := fmt.Sprintf("%d/%d", batch.EndedChildren(job), size)
	if n := job.ArrayProperties.StatusSummary["FAILED"]; n > 0 {
		text += fmt.Sprintf(" FAILED %d", n)
	}
	return text
}

// leaveTree leaves the last state of several jobs standing on a terminal. In a pipe
// the lines have said it all.
func (f *follower) leaveTree() {
	if !f.Live || len(f.jobs) < 2 {
		return
	}
	for _, l := range f.tree(time.Now()) {
		f.Put(l.Render(f.Color))
	}
}

// verdict is the exit code that the jobs' ends add up to; a log that could not be written
// does not hide how they ended.
func (f *follower) verdict() int {
	for _, j := range f.jobs {
		if f.last[j.ID].Status != types.JobStatusSucceeded {
			return exit.Problem
		}
	}
	if f.Lost {
		return exit.NotDone
	}
	return exit.OK
}

// Unplaced is why this machine can never hold a job: what follows the reason in
// AWS Batch's own words, which is the same for all.
func Unplaced(job types.JobDetail) string {
	reason := aws.ToString(job.StatusReason)
	if at := strings.LastIndex(reason, ": "); at >= 0 {
		return reason[at+2:]
	}
	return reason
}
