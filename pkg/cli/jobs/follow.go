package jobs

import (
	"cmp"
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
	"github.com/batchctl/batchctl/pkg/text"
)

// follower watches jobs until they finish. It prints each change of status with
// its duration, the reason while a job waits, and the log of the jobs.
type follower struct {
	*term.LiveOutput
	target *target.Target
	jobs   []once.Submitted
	// asked are the conditions that batchctl itself waits for before it submits steps.
	asked session.Asked
	// UntilStuck ends the watch when a job needs more than this machine has.
	UntilStuck bool

	names map[string]once.Submitted // by id
	// labels are the prefixes of each job's log lines, by job id.
	labels map[string]string
	// last is the latest answer about each job, since the time of its status change.
	last  map[string]types.JobDetail
	since map[string]time.Time
	// starting is when a job was first STARTING, starts how long it was in that status.
	starting map[string]time.Time
	starts   map[string]time.Duration
	began    time.Time
	mu       sync.Mutex // guards the maps; the live block reads them from another goroutine
	logs     sync.WaitGroup
	shown    map[string]chan struct{} // jobs whose log is followed; closed when the log has been printed
}

// NewFollower returns a follower of jobs at a target. It writes the lines of
// their logs to log; nil prints no logs.
func NewFollower(con *term.Console, t *target.Target, jobs []once.Submitted, log io.Writer) *follower {
	f := &follower{
		LiveOutput: con.NewLiveOutput(log), target: t, jobs: jobs, began: time.Now(),
		names: map[string]once.Submitted{}, labels: session.Labels(jobs), last: map[string]types.JobDetail{},
		since: map[string]time.Time{}, starting: map[string]time.Time{}, starts: map[string]time.Duration{},
		shown: map[string]chan struct{}{},
	}
	for _, j := range jobs {
		f.names[j.ID] = j
	}
	// Messages must pass through the live output, or they would destroy its
	// block.
	t.Client.Warn = warnOnce(con, func(text string) { f.Line("%s", text) })
	f.asked = session.ConditionsOf(t, session.IDs(jobs))
	return f
}

// ErrStuck is the error of a watch that ended because this machine can never run
// a job.
type ErrStuck struct {
	Job once.Submitted
	// Why is the last part of the engine's reason: see Unplaced.
	Why string
	// Remedy says what to do; "" for the usual: request less.
	Remedy string
}

// Reason is the reason with which batchctl terminates the job and the jobs that
// end with it.
func (e *ErrStuck) Reason() string { return "job " + e.Job.Name + explain.Unplaced + ": " + e.Why }

// Error names the job.
func (e *ErrStuck) Error() string { return "this machine can never run job " + e.Job.Name }

// Failure returns the error of a command.
func (e *ErrStuck) Failure() error {
	return exit.Fail(exit.Unplaceable, "%v", e).
		Try("%s", cmp.Or(e.Remedy,
			"request less, or run it where its queue has larger machines: batchctl submit FILE --target NAME"))
}

// Run watches until every job has ended, and returns exit.OK, exit.Problem or
// exit.NotDone. An interrupt ends the watch, not the jobs. Run may be called
// once.
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
	// Also after an interrupt: AWS Batch may have forgotten the jobs next time.
	keepEnds(f.target, f.seen()...)
	if err != nil {
		return exit.NotDone, err
	}
	releaseEnded(ctx, f.target, f.seen())
	f.leaveTree()
	return f.verdict(), nil
}

// seen returns the latest answer about each job, in the order in which the jobs
// were named.
func (f *follower) seen() (jobs []types.JobDetail) {
	for _, j := range f.jobs {
		if job, ok := f.last[j.ID]; ok {
			jobs = append(jobs, job)
		}
	}
	return jobs
}

// watch prints the events of the jobs until all have ended, or until one is
// stuck.
func (f *follower) watch(ctx context.Context, ids []string) error {
	for event, err := range f.target.Client.Watch(ctx, ids...) {
		if err != nil {
			return err
		}
		f.printEvent(ctx, event)
		if f.UntilStuck && isStuck(event.Job) {
			return &ErrStuck{Job: f.names[aws.ToString(event.Job.JobId)],
				Why: Unplaced(aws.ToString(event.Job.StatusReason))}
		}
	}
	return ctx.Err()
}

// isStuck reports whether the job, or every child of the array, waits until a
// setting changes. At AWS Batch such a reason also appears for a while
// during scale-up. On the local engine it is final, because the machine does not
// grow.
func isStuck(job types.JobDetail) bool {
	return !batch.HasEnded(job.Status) && batch.IsMisconfigured(aws.ToString(job.StatusReason))
}

// printEvent prints one change of a job, unless it is one of an array's many
// small changes.
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

	// The log begins before the line of the status, so that no line is missed.
	f.followLog(ctx, event.Job)
	if seen && before.Status == event.Status && !f.worthPrinting(before, event.Job) {
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
		took = strings.ToLower(string(before.Status)) + " for " + text.Duration(event.Since.Sub(since))
	}
	what := term.JoinClauses(Outcome(event.Job), session.RollUp(event.Job), took)
	name := term.Columns(diag.Printable(session.JobName(f.names[id].Name, id)), batch.ShortID(id), f.nameWidth())
	f.Put(name + "  " + paint(f.LiveOutput, event.Status) + "  " + diag.Printable(what))
}

// logPatience limits how long the line of a job's end waits for its log.
const logPatience = 15 * time.Second

// lasted describes how long an ended job waited and ran. The service's own times
// are exact despite slow polls. Only the duration of STARTING comes from the
// polls, because the service does not report it.
func (f *follower) lasted(job types.JobDetail) string {
	phases := lasted(job, time.Now())
	f.mu.Lock()
	defer f.mu.Unlock()
	if d := f.starts[aws.ToString(job.JobId)]; d > 0 {
		waited, ran, both := strings.Cut(phases, ", ")
		if both {
			return waited + ", started in " + text.Duration(d) + ", " + ran
		}
	}
	return phases
}

// awaitLog waits until the log of the last job is printed, so that its end is the
// last line. The end of an earlier job is printed at once; its last log lines may
// follow it.
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

// worthPrinting reports whether a change within a status is printed. For an
// array, that is each further quarter of its children, and the first failure.
func (f *follower) worthPrinting(before, after types.JobDetail) bool {
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

// Outcome returns how a job ended, or why it waits.
func Outcome(job types.JobDetail) string {
	reason := aws.ToString(job.StatusReason)
	if !batch.HasEnded(job.Status) {
		return batch.ShortReason(reason)
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
	if n := len(job.Attempts); n > 0 {
		exit = cmp.Or(taskOutcome(job.Attempts[n-1]), exit)
	}
	if n := len(job.EksAttempts); n > 0 {
		exit = podOutcome(job.EksAttempts[n-1])
	}
	if n := batch.Attempts(job); n > 1 {
		exit = term.JoinClauses(exit, fmt.Sprintf("%d attempts", n))
	}
	if job.Status == types.JobStatusSucceeded {
		return exit
	}
	return term.JoinClauses(reason, exit)
}

// taskOutcome returns how each container of an ECS task with several ended; "" for another attempt.
func taskOutcome(a types.AttemptDetail) string {
	var clauses []string
	for _, task := range a.TaskProperties {
		for _, c := range task.Containers {
			of := ""
			if len(task.Containers) > 1 {
				of = " of container " + aws.ToString(c.Name)
			}
			if c.ExitCode != nil {
				clauses = append(clauses, fmt.Sprintf("exit code %d%s", *c.ExitCode, of))
			}
			if reason := aws.ToString(c.Reason); reason != "" {
				clauses = append(clauses, reason+of)
			}
		}
	}
	return term.JoinClauses(clauses...)
}

// podOutcome returns how the containers of a pod ended.
func podOutcome(a types.EksAttemptDetail) string {
	end := batch.PodEnd(a)
	if end.ExitCode == nil {
		return aws.ToString(end.Reason)
	}
	text := fmt.Sprintf("exit code %d", *end.ExitCode)
	if *end.ExitCode != 0 && len(a.InitContainers)+len(a.Containers) > 1 {
		text += " of container " + batch.PodContainer(end.Name)
	}
	return term.JoinClauses(text, aws.ToString(end.Reason))
}

// nameWidth returns the width of the name column.
func (f *follower) nameWidth() int {
	width := 0
	for _, j := range f.jobs {
		width = max(width, len(session.JobName(j.Name, j.ID)))
	}
	return min(width, 40)
}

// liveBlock returns the lines below the log on a terminal. For several jobs it is
// their tree and the number of jobs in each status.
func (f *follower) liveBlock() []term.Line {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	if len(f.last) == 0 {
		return []term.Line{term.Text("waiting for the first answer", "")}
	}
	if len(f.jobs) == 1 {
		job := f.last[f.jobs[0].ID]
		head := term.Text(fmt.Sprintf("%s %s %s  ", f.jobs[0].Name, job.Status,
			text.Duration(now.Sub(f.since[f.jobs[0].ID]))), "")
		if chart := arrayChart(job); chart != nil {
			head = append(append(head, chart...), term.Segment{Text: " "})
		}
		return []term.Line{append(head, term.Text(session.RollUp(job), "")...)}
	}
	return append(f.tree(now), f.counts(now))
}

// counts returns the line with the elapsed time and the number of jobs in each
// status.
func (f *follower) counts(now time.Time) term.Line {
	counts := map[types.JobStatus]int{}
	for _, job := range f.last {
		counts[job.Status]++
	}
	all := term.Text(text.Duration(now.Sub(f.began)), "")
	for _, status := range types.JobStatus("").Values() {
		if counts[status] > 0 {
			all = append(all, term.Text(fmt.Sprintf("  %s %d", status, counts[status]), endStyle(status))...)
		}
	}
	return all
}

// tree draws the jobs that the service has answered about, and the steps that are
// not submitted yet.
func (f *follower) tree(now time.Time) []term.Line {
	note := func(job types.JobDetail) string {
		return term.JoinClauses(progress(job), problemOf(job), lasted(job, now))
	}
	width, _ := f.Size()
	return treeLines(treeRows(f.seen(), f.asked, note, true), width-term.EchoWidth)
}

// problemOf returns why a job waits, or how it failed; "" if it SUCCEEDED.
func problemOf(job types.JobDetail) string {
	if job.Status == types.JobStatusSucceeded {
		return ""
	}
	return Outcome(job)
}

// progress counts the ended children of an array, for the text after its chart.
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

// leaveTree prints the final tree of several jobs on a terminal, where the live
// block disappears. A pipe has a line for every change already.
func (f *follower) leaveTree() {
	if !f.Live || len(f.jobs) < 2 {
		return
	}
	for _, l := range f.tree(time.Now()) {
		f.Put(l.Render(f.Color))
	}
}

// verdict returns the exit status of all jobs. A log that could not be written
// matters only if all jobs SUCCEEDED.
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

// Unplaced returns why this machine can never run a job. It is the last part of
// the status reason, after the text that AWS Batch uses for all such jobs.
func Unplaced(reason string) string {
	_, detail := batch.SplitReason(reason)
	return detail
}
