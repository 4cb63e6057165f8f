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

// climber executes rungs of a run's jobs at one target.
type climber struct {
	client  *Client // of the target
	run     *run
	targets *targets
}

// climb decides what follows a failed job and records it. job is nil if AWS Batch has forgotten the
// job.
func (c climber) climb(ctx context.Context, t *plannedJob, job *types.JobDetail) error {
	var steps []*plannedJob
	why := "AWS Batch has deleted the job"
	if job != nil {
		var err error
		steps, why, err = c.stepsAfter(ctx, t, job)
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
		intent, err := s.line()
		if err != nil {
			return err
		}
		l.Steps = append(l.Steps, intent)
	}
	if err := c.run.note(t, l); err != nil {
		return err
	}
	if c.run.log != nil {
		if err := c.run.log.sync(); err != nil {
			return err
		}
	}
	c.run.addSteps(t, why, steps)
	for _, s := range steps {
		c.client.progress("job %s (%s) FAILED: %s; submitting %s", t.name, batch.ShortID(t.result.ID),
			s.step.Cause.Text(), s.describe())
	}
	if why != "" {
		c.client.progress("job %s (%s) FAILED and is not submitted again: %s", t.name, batch.ShortID(t.result.ID), why)
	}
	return nil
}

// stepsAfter returns the jobs that run a failed job again, and why the rest of it does not run
// again; "" if all of it does.
func (c climber) stepsAfter(ctx context.Context, t *plannedJob, job *types.JobDetail) ([]*plannedJob, string, error) {
	need, taken := t.need(job), t.taken()
	again := retrying{client: c.client.Client, definitions: map[string]types.JobDefinition{}}
	name := stepNames(c.run, t)
	replaced, err := c.replaced(t)
	if err != nil {
		return nil, "", err
	}
	if batch.ArraySize(*job) == 0 {
		if replaced[0] {
			return nil, replacedWhy, nil
		}
		step, why := t.rungs.Next(taken, need, job)
		if why != "" {
			return nil, why, nil
		}
		in, err := again.request(ctx, *job)
		if err != nil {
			return nil, "", err
		}
		s, err := c.newStep(ctx, t, &step, name(), in)
		return []*plannedJob{s}, "", err
	}
	failed, err := again.failed(ctx, t.result.ID, nil)
	if err != nil {
		return nil, "", err
	}
	if failed = slices.DeleteFunc(failed, func(index int) bool { return replaced[index] }); len(failed) == 0 &&
		len(replaced) > 0 {
		return nil, replacedWhy, nil
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
			s, err := c.newStep(ctx, t, &g.step, name(), part.Submit)
			if err != nil {
				return nil, "", err
			}
			steps = append(steps, s)
		}
	}
	return steps, why, nil
}

// replacedWhy is why a job that a retry runs again takes no step.
const replacedWhy = "batchctl retry runs it again"

// replaced returns the indexes of a job's children that another submission runs again already, as Retry does; 0 for a
// job that is not an array.
func (c climber) replaced(t *plannedJob) (map[int]bool, error) {
	if c.client.Ledger == nil {
		return nil, nil
	}
	known, err := c.client.Ledger.known()
	if err != nil {
		return nil, err
	}
	pending, err := c.client.Ledger.pending()
	if err != nil {
		return nil, err
	}
	for _, k := range pending {
		if k.ID = k.Submission; k.Run != c.run.name {
			known = append(known, k)
		}
	}
	chains := client.ChainsOf([]client.Known{{ID: t.result.ID}}, known)
	at := slices.IndexFunc(chains[0], func(k client.Known) bool { return k.ID == t.result.ID })
	return chains[0].Replaced()[at], nil
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
func (c climber) stepsOfChildren(ctx context.Context, t *plannedJob, need ladder.Need, taken []ladder.Step,
	failed []int) (groups []*childStep, why string, err error) {
	without := 0
	for chunk := range slices.Chunk(failed, detailsAtOnce) {
		var ids []string
		for _, index := range chunk {
			ids = append(ids, t.result.ID+":"+strconv.Itoa(index))
		}
		details, err := c.client.ByID(ctx, ids)
		if err != nil {
			return nil, "", err
		}
		for i, index := range chunk {
			child, found := details[ids[i]]
			if !found {
				without, why = without+1, cmp.Or(why, "AWS Batch has deleted a failed child")
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

// stepSuffix is between the name of a job and the number of its try.
const stepSuffix = "-try"

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
		suffix := stepSuffix + strconv.Itoa(n)
		n++
		return root.name[:min(len(root.name), client.MaxUserName-len(suffix))] + suffix
	}
}

// newStep returns a job of the run that runs a failed one again.
func (c climber) newStep(ctx context.Context, of *plannedJob, step *ladder.Step, name string,
	in *awsbatch.SubmitJobInput) (*plannedJob, error) {
	in.JobName, in.JobQueue = &name, &step.Queue
	in.DependsOn = nil
	in.ContainerOverrides = cmp.Or(in.ContainerOverrides, &types.ContainerOverrides{})
	if step.Cause == ladder.OutOfMemory {
		setRequirement(in, types.ResourceTypeMemory, strconv.Itoa(step.MemoryMiB))
		if step.Fargate {
			setRequirement(in, types.ResourceTypeVcpu, strconv.FormatFloat(step.VCPUs, 'f', -1, 64))
		}
	}
	s := &plannedJob{state: state{since: time.Now()}, intent: intent{
		name: name, submission: client.NewSubmissionID(), definer: -1,
		rungs: of.rungs, notify: of.notify, again: of, step: step, resource: of.resource, maxParallel: of.maxParallel}}
	if of.resource != "" {
		in.ConsumableResourcePropertiesOverride = of.submit.ConsumableResourcePropertiesOverride
		in.Tags[MaxParallelTag] = of.submit.Tags[MaxParallelTag]
	}
	s.submit = in
	there := c.client
	if of.at != "" {
		s.at, s.target = of.at, of.target
	}
	if step.Target != of.at {
		delete(in.Parameters, batch.DirectoryParameter) // only the local engine's jobs have it
		var err error
		if there, err = c.targets.move(ctx, s, step.Target); err != nil {
			return nil, err
		}
	}
	s.submit = stamped(in, s.submission, true, !there.TakesOnce)
	tagTask(c.run, s)
	return s, s.checkSize(c.run)
}

// giveUpWaiting cancels a job that has waited for capacity for as long as its rungs allow. The
// reason tells climb, in this or another process, why the job failed. CancelJob does nothing for a
// job that has started (API reference), so it may be sent again.
func (c climber) giveUpWaiting(ctx context.Context, t *plannedJob, job *types.JobDetail) error {
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
		why = "for another reason than missing capacity: " + why
	} else if no, err := c.targets.cannotMove(ctx, t, &step); no != "" || err != nil {
		if err != nil {
			no = err.Error()
		}
		why = "and it cannot move to target " + step.Target + ": " + no
	}
	if why != "" {
		if why != t.stays && ctx.Err() == nil {
			t.stays = why
			c.client.progress("job %s (%s) stays in its queue: it has been RUNNABLE for %s, %s", t.name,
				batch.ShortID(t.result.ID), after, why)
		}
		return nil
	}
	reason := ladder.Cancellation(after, saw)
	if err := c.run.note(t, line{What: lineCancelled, ID: t.result.ID, Reason: reason}); err != nil {
		return err
	}
	if _, err := c.client.API.CancelJob(ctx, &awsbatch.CancelJobInput{JobId: &t.result.ID,
		Reason: &reason}); err != nil {
		return client.Failed("CancelJob "+batch.ShortID(t.result.ID), err)
	}
	t.cancelled = time.Now()
	text := "no capacity for " + after.String()
	if saw != "" {
		text += " (" + saw + ")"
	}
	c.client.progress("job %s (%s): %s; cancelled it", t.name, batch.ShortID(t.result.ID), text)
	return nil
}

// askAgain is the shortest pause between two questions why a job waits: an answer takes many requests.
const askAgain = time.Minute

// lacksCapacity returns what a waiting job was seen to wait for, or why that is no lack of capacity.
// Both are "" if the cause is unknown: then the time alone decides.
func (c climber) lacksCapacity(ctx context.Context, job *types.JobDetail) (saw, no string) {
	if reason := aws.ToString(job.StatusReason); batch.IsMisconfigured(reason) {
		return "", reason
	}
	if c.client.WhyWaiting == nil {
		return "", ""
	}
	cause, summary := c.client.WhyWaiting(ctx, aws.ToString(job.JobId))
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
