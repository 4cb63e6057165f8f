package once

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/ladder"
)

// A rung can change the target of a job. The new job stays in the run of the failed one, so one log
// has both, and the rule of climb.go applies: the decision is on disk before the first request to
// the new target. It follows only a job that DescribeJobs has shown as FAILED, cancelled by this run
// before it started. So the old job cannot run, and each of the two is submitted once. Everything
// that the run does with a moved job, it does with the client of that job's target.

// targets are the clients of the targets that jobs of a run go to.
type targets struct {
	own *Client // of the run's target
	run *run

	mu     sync.Mutex
	others map[string]*Client // of the targets that jobs have moved to, by name
}

// newTargets returns the targets of a run that a client carries out.
func newTargets(own *Client, r *run) *targets { return &targets{own: own, run: r} }

// otherTarget returns the client of another target of the platform file, the same one each time.
func (x *targets) otherTarget(ctx context.Context, name string) (*Client, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if known := x.others[name]; known != nil {
		return known, nil
	}
	c := x.own
	if c.Elsewhere == nil {
		return nil, fmt.Errorf("target %s: this command does not support it", name)
	}
	other, err := c.Elsewhere(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("target %s: %w", name, err)
	}
	there := *other
	there.Elsewhere, there.Progress, there.Accepted = c.Elsewhere, c.Progress, c.Accepted
	there.AtOnce, there.SubmitAgain, there.Settle = c.AtOnce, c.SubmitAgain, c.Settle
	if x.others == nil {
		x.others = map[string]*Client{}
	}
	x.others[name] = &there
	return &there, nil
}

// clientOf returns the client of the target that a job goes to. It refuses a target that has become
// another account or Region since the job was moved there.
func (x *targets) clientOf(ctx context.Context, t *plannedJob) (*Client, error) {
	if t.at == "" {
		return x.own, nil
	}
	other, err := x.otherTarget(ctx, t.at)
	if err == nil && other.Ledger.Target != t.target {
		err = &ElsewhereError{x.run.name, t.target, other.Ledger.Target}
	}
	if err != nil {
		return nil, err
	}
	return other, nil
}

// eachTarget calls do for each target that jobs of the run have gone to, with their client. The jobs
// of the run's own target come first.
func (x *targets) eachTarget(ctx context.Context, do func(c *Client, tasks []*plannedJob) error) error {
	var names []string
	tasks := map[string][]*plannedJob{}
	for _, t := range x.run.tasks {
		if tasks[t.at] == nil {
			names = append(names, t.at)
		}
		tasks[t.at] = append(tasks[t.at], t)
	}
	slices.Sort(names) // "" is the run's own target
	for _, name := range names {
		there, err := x.clientOf(ctx, tasks[name][0])
		if err != nil {
			return err
		}
		if err := do(there, tasks[name]); err != nil {
			return err
		}
	}
	return nil
}

// cannotMove returns why a job stays at its target although a rung says that it should change it; ""
// if it can move. It is called before the job is cancelled. err is for a target that does not answer.
func (x *targets) cannotMove(ctx context.Context, t *plannedJob, step *ladder.Step) (why string, err error) {
	if step.Target == "" || step.Target == t.at {
		return "", nil
	}
	switch {
	case x.run.attached:
		return "the jobs of batchctl run end with it; use submit --wait", nil
	case t.root().definer < 0:
		return "its job definition is registered only at its own target", nil
	case slices.ContainsFunc(t.root().staged, func(s staged) bool { return !isS3(s.URL) }):
		return "it reads local files", nil
	}
	there, err := x.otherTarget(ctx, step.Target)
	if err != nil {
		return "", err
	}
	if there.Ledger == nil || there.Ledger.Target == x.run.target {
		return "target " + step.Target + " is the target of the submission", nil
	}
	out, err := there.API.DescribeJobQueues(ctx, &awsbatch.DescribeJobQueuesInput{JobQueues: []string{step.Queue}})
	if err != nil {
		return "", client.Failed("target "+step.Target+": DescribeJobQueues", err)
	}
	if len(out.JobQueues) == 0 {
		return "target " + step.Target + " has no queue " + batch.Name(step.Queue), nil
	}
	if q := out.JobQueues[0]; q.State != types.JQStateEnabled || q.Status != types.JQStatusValid {
		return fmt.Sprintf("queue %s of target %s is %s and %s", batch.Name(step.Queue), step.Target, q.State,
			q.Status), nil
	}
	return "", nil
}

// isS3 reports whether a text is staged where every target can read it.
func isS3(url string) bool { return len(url) > 5 && url[:5] == "s3://" }

// move makes a step a job of another target: with the definition of the run, which is registered
// there, and under the queue's name. It returns the client of that target.
func (x *targets) move(ctx context.Context, s *plannedJob, name string) (*Client, error) {
	root := s.root()
	there, err := x.otherTarget(ctx, name)
	switch {
	case err != nil:
		return nil, err
	case root.definer < 0:
		return nil, errors.New("its job definition is registered only at its own target")
	case there.Ledger == nil:
		return nil, fmt.Errorf("target %s: moving a job needs a ledger", name)
	}
	s.at, s.target, s.definer = name, there.Ledger.Target, root.definer
	s.submit.JobDefinition = aws.String(batch.Name(aws.ToString(x.run.tasks[root.definer].register.JobDefinitionName)))
	return there, nil
}
