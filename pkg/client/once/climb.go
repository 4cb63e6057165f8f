package once

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/ladder"
)

// A job with rungs (ladder.Variable) is followed until it ends. If it FAILED, its rungs decide
// which jobs run it again: for an array, one or more arrays of its failed children. One line of the
// log, lineClimbed, has this decision with all requests. It is on disk before the first of them is
// sent. So every failed job is decided on once, by the process that has the log, and each of the
// new jobs is submitted once like any other. Jobs that depend on a job with rungs wait in the
// client: AWS Batch would fail them with the first failure.

// Climbs reports whether this client executes rungs of the job that a request creates.
func Climbs(in *awsbatch.SubmitJobInput) bool { return len(rungsOf(in)) > 0 }

// rungsOf returns the rungs that the client executes; none for a job of the state machine. Rungs
// that cannot be read are ignored: another version of batchctl wrote them.
func rungsOf(in *awsbatch.SubmitJobInput) ladder.Ladder {
	if in == nil || in.Tags[ladder.Tag] == ladder.ByStateMachine {
		return nil
	}
	l, _ := ladder.Parse(rungsText(in))
	return l
}

// stateMachineClimbs reports whether the state machine executes rungs of the job that a request creates.
func stateMachineClimbs(in *awsbatch.SubmitJobInput) bool {
	return in != nil && in.Tags[ladder.Tag] == ladder.ByStateMachine && rungsText(in) != ""
}

// rungsText returns the rungs in a request, as ladder.Variable has them; "" for none.
func rungsText(in *awsbatch.SubmitJobInput) string {
	if in.ContainerOverrides == nil {
		return ""
	}
	for _, v := range in.ContainerOverrides.Environment {
		if aws.ToString(v.Name) == ladder.Variable {
			return aws.ToString(v.Value)
		}
	}
	return ""
}

// laddered reports whether the job has rungs that this client executes.
func (t *plannedJob) laddered() bool { return len(t.rungs) > 0 }

// followed reports whether the client still has to wait for the end of an accepted job: to execute
// its rungs, or to send a message about it.
func (t *plannedJob) followed() bool {
	if !t.done || t.result.ID == "" || t.left {
		return false
	}
	return t.laddered() && !t.decided() || len(t.notify) > len(t.notified)
}

// decided reports whether it is known what follows the job: it has succeeded, or its failure has a
// line in the log.
func (t *plannedJob) decided() bool {
	return t.climbed || t.end == types.JobStatusSucceeded
}

// follows reports whether the client still has to wait for jobs of the run.
func (r *run) follows() bool { return slices.ContainsFunc(r.tasks, (*plannedJob).followed) }

// outcome returns how a job ended, including the jobs that run it again: SUCCEEDED if every failed
// part has succeeded in the end. It is "" until that is known.
func (r *run) outcome(t *plannedJob, known *ends) types.JobStatus {
	if !t.climbed {
		status := cmp.Or(known.status[t.result.ID], t.end)
		if t.laddered() && status != types.JobStatusSucceeded {
			return "" // not decided yet
		}
		return status
	}
	failed := t.why != ""
	for _, s := range t.steps {
		switch {
		case s.dropped:
			failed = true
		case !s.done:
			return ""
		default:
			switch r.outcome(s, known) {
			case "":
				return ""
			case types.JobStatusSucceeded:
			default:
				failed = true
			}
		}
	}
	if failed || len(t.steps) == 0 {
		return types.JobStatusFailed
	}
	return types.JobStatusSucceeded
}

// markHealed marks the failed jobs of which every part has succeeded in the end.
func (r *run) markHealed(known *ends) {
	for _, t := range r.tasks {
		t.result.Healed = t.climbed && r.outcome(t, known) == types.JobStatusSucceeded
	}
}

// taken returns the steps that led to a job, oldest first.
func (t *plannedJob) taken() (steps []ladder.Step) {
	for ; t.again != nil; t = t.again {
		steps = append(steps, *t.step)
	}
	slices.Reverse(steps)
	return steps
}

// root returns the job of the plan that a job runs again; a job of the plan itself.
func (t *plannedJob) root() *plannedJob {
	for t.again != nil {
		t = t.again
	}
	return t
}

// follow advances the followed jobs: it decides what follows the failed ones, and cancels those
// without capacity. It reports whether new jobs are to be sent, and which ids to query.
func (c *Client) follow(ctx context.Context, r *run, known *ends) (moved bool, ids []string, err error) {
	for _, t := range slices.Clone(r.tasks) {
		if !t.followed() {
			continue
		}
		c, err := c.clientOf(ctx, r, t)
		if err != nil {
			return moved, nil, err
		}
		id := t.result.ID
		if t.at != "" {
			known.elsewhere[id] = c
		}
		switch status := known.status[id]; {
		case status == "" && t.end == "":
			ids = append(ids, id)
			if err := c.giveUpWaiting(ctx, r, t, known.waiting[id]); err != nil {
				return moved, nil, err
			}
		case !t.laddered() || t.decided():
		case status == types.JobStatusSucceeded:
			t.end = status
		default:
			if err := c.climb(ctx, r, t, known.over[id]); err != nil {
				return moved, nil, err
			}
			moved = true
		}
	}
	if !moved {
		err = c.notices(ctx, r, known)
	}
	return moved, ids, err
}

// giveUpWaiting cancels a job that has waited for capacity for as long as its rungs allow. The
// reason tells climb, in this or another process, why the job failed. CancelJob does nothing for a
// job that has started (API reference), so it may be sent again.
func (c *Client) giveUpWaiting(ctx context.Context, r *run, t *plannedJob, job *types.JobDetail) error {
	if job == nil || !t.laddered() || !t.cancelled.IsZero() {
		return nil
	}
	if waitsForCapacity(job) && t.seen.IsZero() {
		t.seen = time.Now()
	}
	after, step, ok := t.rungs.Patience(t.taken(), t.need(job))
	since := ladder.RunnableSince(asWaiting(job), t.seen)
	if !ok || since.IsZero() || time.Since(since) < after {
		return nil
	}
	if time.Since(t.asked) < max(askAgain, after/4) {
		return nil
	}
	t.asked = time.Now()
	saw, why := c.lacksCapacity(ctx, job)
	if why != "" {
		why = "not because of missing capacity: " + why
	} else if no, err := c.cannotMove(ctx, r, t, &step); no != "" || err != nil {
		if err != nil {
			no = err.Error()
		}
		why = "and it cannot change to target " + step.Target + ": " + no
	}
	if why != "" {
		if why != t.stays && ctx.Err() == nil {
			t.stays = why
			c.progress("job %s (%s) stays: it has been RUNNABLE for %s, %s", t.name, batch.ShortID(t.result.ID), after, why)
		}
		return nil
	}
	reason := ladder.Cancellation(after, saw)
	if err := r.note(t, line{What: lineCancelled, ID: t.result.ID, Reason: reason}); err != nil {
		return err
	}
	if _, err := c.API.CancelJob(ctx, &awsbatch.CancelJobInput{JobId: &t.result.ID, Reason: &reason}); err != nil {
		return client.Failed("CancelJob "+batch.ShortID(t.result.ID), err)
	}
	t.cancelled = time.Now()
	text := "no capacity for " + after.String()
	if saw != "" {
		text += " (" + saw + ")"
	}
	c.progress("job %s (%s): %s; cancelled it", t.name, batch.ShortID(t.result.ID), text)
	return nil
}

// askAgain is the shortest pause between two questions why a job waits: an answer takes many requests.
const askAgain = time.Minute

// lacksCapacity returns what a waiting job was seen to wait for, or why that is no lack of capacity.
// Both are "" if the cause is unknown: then the time alone decides.
func (c *Client) lacksCapacity(ctx context.Context, job *types.JobDetail) (saw, no string) {
	if ladder.Misconfigured(job) {
		return "", aws.ToString(job.StatusReason)
	}
	if c.WhyWaiting == nil {
		return "", ""
	}
	cause, summary := c.WhyWaiting(ctx, aws.ToString(job.JobId))
	switch {
	case cause == "":
		return "", ""
	case ladder.LacksCapacity(cause):
		return cause, ""
	}
	return "", cause + ", " + summary
}

// waitsForCapacity reports whether a job, or every child of an array, waits in RUNNABLE.
func waitsForCapacity(job *types.JobDetail) bool {
	if batch.ArraySize(*job) == 0 {
		return job.Status == types.JobStatusRunnable
	}
	children := job.ArrayProperties.StatusSummary
	for status, n := range children {
		if n > 0 && !slices.Contains([]string{"SUBMITTED", "PENDING", "RUNNABLE"}, status) {
			return false
		}
	}
	return children["RUNNABLE"] > 0
}

// asWaiting returns an array whose children all wait as a RUNNABLE job. AWS Batch shows the parent
// as PENDING.
func asWaiting(job *types.JobDetail) *types.JobDetail {
	if batch.ArraySize(*job) == 0 || !waitsForCapacity(job) {
		return job
	}
	out := *job
	out.Status = types.JobStatusRunnable
	return &out
}

// climb decides what follows a failed job and records it. job is nil if AWS Batch has forgotten the
// job.
func (c *Client) climb(ctx context.Context, r *run, t *plannedJob, job *types.JobDetail) error {
	var steps []*plannedJob
	why := "AWS Batch has forgotten the job"
	if job != nil {
		var err error
		steps, why, err = c.stepsAfter(ctx, r, t, job)
		if unable, ok := errors.AsType[*RetryError](err); ok {
			steps, why, err = nil, unable.Why, nil
		}
		if err != nil {
			return err
		}
	}
	l := line{What: lineClimbed, Reason: why}
	for _, s := range steps {
		if s.at != "" {
			l.What = lineMoved
		}
		intent, err := s.intent()
		if err != nil {
			return err
		}
		l.Steps = append(l.Steps, intent)
	}
	if err := r.note(t, l); err != nil {
		return err
	}
	if r.log != nil {
		if err := r.log.sync(); err != nil {
			return err
		}
	}
	r.addSteps(t, why, steps)
	for _, s := range steps {
		c.progress("job %s (%s) FAILED: %s; submitting %s", t.name, batch.ShortID(t.result.ID), s.step.Cause.Text(), s.describe())
	}
	if why != "" {
		c.progress("job %s (%s) FAILED and is not submitted again: %s", t.name, batch.ShortID(t.result.ID), why)
	}
	return nil
}

// addSteps adds the jobs that run a failed one again.
func (r *run) addSteps(t *plannedJob, why string, steps []*plannedJob) {
	t.climbed, t.why = true, why
	t.steps, r.tasks = append(t.steps, steps...), append(r.tasks, steps...)
}

// describe names a job that runs another again, with what it requests.
func (t *plannedJob) describe() string {
	text := t.name
	if t.step.MemoryMiB > 0 {
		text += fmt.Sprintf(", %d MiB", t.step.MemoryMiB)
	}
	text += ", queue " + t.step.Queue
	if t.at != "" {
		text += ", target " + t.at
	}
	return text
}

// stepsAfter returns the jobs that run a failed job again, and why the rest of it does not run
// again; "" if all of it does.
func (c *Client) stepsAfter(ctx context.Context, r *run, t *plannedJob, job *types.JobDetail) ([]*plannedJob, string, error) {
	need, taken := t.need(job), t.taken()
	again := retrying{client: c, definitions: map[string]types.JobDefinition{}}
	name := stepNames(r, t)
	if batch.ArraySize(*job) == 0 {
		step, why := t.rungs.Next(taken, need, job)
		if why != "" {
			return nil, why, nil
		}
		in, err := again.request(ctx, *job)
		if err != nil {
			return nil, "", err
		}
		s, err := c.newStep(ctx, r, t, &step, name(), in)
		return []*plannedJob{s}, "", err
	}
	failed, err := again.failed(ctx, t.result.ID, nil)
	if err != nil {
		return nil, "", err
	}
	groups, why, err := c.stepsOfChildren(ctx, t, need, taken, failed)
	if err != nil || len(groups) == 0 {
		return nil, cmp.Or(why, "no child FAILED"), err
	}
	var steps []*plannedJob
	for _, g := range groups {
		in, err := again.request(ctx, *job)
		if err != nil {
			return nil, "", err
		}
		cells, err := cellsOf(*job, g.children)
		if err != nil {
			return nil, "", err
		}
		if err := asSweep(*job, in); err != nil {
			return nil, "", err
		}
		parts, err := again.arrays(*job, in, cells)
		if err != nil {
			return nil, "", err
		}
		for _, part := range parts {
			s, err := c.newStep(ctx, r, t, &g.step, name(), part.Submit)
			if err != nil {
				return nil, "", err
			}
			steps = append(steps, s)
		}
	}
	return steps, why, nil
}

// childStep is a step for some children of an array.
type childStep struct {
	step     ladder.Step
	children []int
}

// detailsAtOnce is how many children are described before the first is decided on.
const detailsAtOnce = 1000

// stepsOfChildren decides on each failed child of an array, and puts those with the same step
// together. why is about the children without a step.
func (c *Client) stepsOfChildren(ctx context.Context, t *plannedJob, need ladder.Need, taken []ladder.Step, failed []int) (groups []*childStep, why string, err error) {
	without := 0
	for chunk := range slices.Chunk(failed, detailsAtOnce) {
		var ids []string
		for _, index := range chunk {
			ids = append(ids, t.result.ID+":"+strconv.Itoa(index))
		}
		details, err := c.ByID(ctx, ids)
		if err != nil {
			return nil, "", err
		}
		for i, index := range chunk {
			child, found := details[ids[i]]
			if !found {
				without, why = without+1, cmp.Or(why, "AWS Batch has forgotten a failed child")
				continue
			}
			step, no := t.rungs.Next(taken, need, &child)
			if no != "" {
				without, why = without+1, cmp.Or(why, fmt.Sprintf("child %d: %s", index, no))
				continue
			}
			at := slices.IndexFunc(groups, func(g *childStep) bool { return g.step == step })
			if at < 0 {
				at, groups = len(groups), append(groups, &childStep{step: step})
			}
			groups[at].children = append(groups[at].children, index)
		}
	}
	if without > 1 {
		why = fmt.Sprintf("%s (and %d more)", why, without-1)
	}
	return groups, why, nil
}

// stepNames returns a function that names the jobs that run a job of the plan again: NAME-try2,
// NAME-try3, and so on.
func stepNames(r *run, t *plannedJob) func() string {
	root := t.root()
	n := 1
	for _, o := range r.tasks {
		if o.root() == root {
			n++
		}
	}
	return func() string {
		suffix := "-try" + strconv.Itoa(n)
		n++
		return root.name[:min(len(root.name), client.MaxUserName-len(suffix))] + suffix
	}
}

// newStep returns a job of the run that runs a failed one again.
func (c *Client) newStep(ctx context.Context, r *run, of *plannedJob, step *ladder.Step, name string, in *awsbatch.SubmitJobInput) (*plannedJob, error) {
	in.JobName, in.JobQueue = &name, &step.Queue
	in.DependsOn = nil
	in.ContainerOverrides = cmp.Or(in.ContainerOverrides, &types.ContainerOverrides{})
	if step.Cause == ladder.OutOfMemory {
		setRequirement(in, types.ResourceTypeMemory, strconv.Itoa(step.MemoryMiB))
		if step.Fargate {
			setRequirement(in, types.ResourceTypeVcpu, strconv.FormatFloat(step.VCPUs, 'f', -1, 64))
		}
	}
	s := &plannedJob{name: name, submission: client.NewSubmissionID(), definer: -1, rungs: of.rungs, notify: of.notify,
		again: of, step: step, due: time.Now(), resource: of.resource, maxParallel: of.maxParallel}
	if of.resource != "" {
		in.ConsumableResourcePropertiesOverride = of.submit.ConsumableResourcePropertiesOverride
		in.Tags[MaxParallelTag] = of.submit.Tags[MaxParallelTag]
	}
	s.submit = in
	there := c
	if of.at != "" {
		s.at, s.target = of.at, of.target
	}
	if step.Target != of.at {
		if err := c.move(ctx, r, s, step.Target); err != nil {
			return nil, err
		}
		there = r.others[step.Target]
	}
	s.submit = stamped(in, s.submission, true, !there.TakesOnce)
	r.tagTask(s)
	return s, s.checkSize()
}

// setRequirement sets a resource requirement of the request.
func setRequirement(in *awsbatch.SubmitJobInput, of types.ResourceType, value string) {
	list := &in.ContainerOverrides.ResourceRequirements
	*list = append(slices.DeleteFunc(slices.Clone(*list), func(q types.ResourceRequirement) bool { return q.Type == of }),
		types.ResourceRequirement{Type: of, Value: &value})
}

// replayClimb applies a decision from the log.
func (r *run) replayClimb(of *plannedJob, l line, byID map[string]*plannedJob) error {
	var steps []*plannedJob
	for _, intent := range l.Steps {
		s, err := taskOf(intent)
		if err != nil {
			return err
		}
		if intent.Step == nil {
			return errors.New("a step has no cause")
		}
		s.again, s.step, s.due = of, intent.Step, l.Time
		byID[intent.Submission] = s
		steps = append(steps, s)
	}
	r.addSteps(of, l.Reason, steps)
	return nil
}

// leaveFollowed gives up what is left to do after the jobs of the run.
func (r *run) leaveFollowed() {
	for _, t := range r.tasks {
		t.left = true
	}
}

// Attempts returns the jobs of the run that ran the same job of the plan, oldest first: the job
// itself, and those that run it again.
func (r Run) Attempts(id string) (jobs []RunJob) {
	root := id
	for range r.Jobs {
		j, ok := r.Job(root)
		if !ok || j.Again == "" {
			break
		}
		root = j.Again
	}
	ids := []string{root}
	for _, j := range r.Jobs {
		if j.ID == root && j.ID != "" || j.Again != "" && slices.Contains(ids, j.Again) {
			jobs, ids = append(jobs, j), append(ids, j.ID)
		}
	}
	return jobs
}
