package preview

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/cli/input"
	"github.com/batchctl/batchctl/pkg/cli/session"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/cost"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/plan"
	"github.com/batchctl/batchctl/pkg/target"
)

const (
	// historyListed limits how many jobs of a definition are listed. The times of the
	// latest historyJobs of them count, with at most historyRuns children.
	historyListed, historyJobs, historyRuns = 1000, 20, 1000
)

// earlierRuns finds how long earlier jobs with the definitions of a plan took. It
// caches the answers; it is not safe for concurrent use.
type earlierRuns struct {
	ctx context.Context
	// t is nil if no target can be queried; why is the reason.
	t   *target.Target
	why string
	// target names the target in messages.
	target string
	// known caches the answers, by queue and definition.
	known map[string]cost.History
	close func()
}

// openHistory opens the target to query earlier runs. If the target is not
// reachable, the result answers with the reason. The caller calls close. The
// queries of the whole plan share one time limit.
func openHistory(whole context.Context, con *term.Console, o target.Options, in *input.Input,
	w *plan.TargetState) (*earlierRuns, error) {
	h := &earlierRuns{target: w.Target, known: map[string]cost.History{}, close: func() {}}
	switch {
	case w.Unreached != "":
		h.why = "earlier runs are unknown: " + w.Unreached
		return h, nil
	// Without a state directory there is no history to open.
	case w.Local && neverRan(o):
		h.why = "no run of it has SUCCEEDED yet: the local engine was never used"
		return h, nil
	}
	t, err := session.OpenTarget(whole, con, o, in.Platform, target.ToRead)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(whole, 2*queryTimeout)
	h.ctx, h.t, h.close = ctx, t, func() { cancel(); _ = t.Close() }
	return h, nil
}

// of returns how long the last SUCCEEDED runs of a job's definition took in its
// queue. Failures are part of the answer, because an estimate without a lower
// bound is still useful.
func (h *earlierRuns) of(j plan.JobReview) cost.History {
	if h.t == nil {
		return cost.History{Unknown: h.why}
	}
	definition := batch.Name(aws.ToString(j.Submit.JobDefinition))
	if j.Register != nil {
		definition = aws.ToString(j.Register.JobDefinitionName)
	}
	definition, _ = batch.SplitRevision(definition)
	queue := aws.ToString(j.Submit.JobQueue)
	noRun := fmt.Sprintf("no run of definition %s is known to have SUCCEEDED in queue %s at %s", definition,
		batch.Name(queue), h.target)
	if j.QueueReview.Asked && !j.QueueReview.Found {
		return cost.History{Unknown: noRun}
	}
	key := queue + " " + definition
	found, ok := h.known[key]
	if !ok {
		seconds, err := h.seconds(queue, definition)
		switch found = cost.HistoryOf(seconds); {
		case errors.Is(err, context.DeadlineExceeded):
			found = cost.History{Unknown: "earlier runs are unknown: no answer in time"}
		case err != nil:
			found = cost.History{Unknown: "earlier runs are unknown: " + exit.From(err).Message}
		case found.Runs == 0:
			found.Unknown = noRun
		}
		h.known[key] = found
	}
	return found
}

// seconds returns the duration of the last attempt of each of the latest jobs,
// and of the children of arrays among them.
func (h *earlierRuns) seconds(queue, definition string) (seconds []float64, err error) {
	succeeded := []types.JobStatus{types.JobStatusSucceeded}
	var jobs []types.JobSummary
	for job, err := range h.t.Client.List(h.ctx, client.Filter{Queues: []string{queue}, Definition: definition,
		Statuses: succeeded}) {
		if err != nil {
			return nil, err
		}
		if jobs = append(jobs, job); len(jobs) == historyListed {
			break
		}
	}
	// The newest jobs are the best estimate.
	slices.SortStableFunc(jobs, func(a, b types.JobSummary) int {
		return cmp.Compare(aws.ToInt64(b.CreatedAt), aws.ToInt64(a.CreatedAt))
	})
	for _, job := range jobs[:min(len(jobs), historyJobs)] {
		if job.ArrayProperties == nil || aws.ToInt32(job.ArrayProperties.Size) == 0 {
			if took, ok := cost.Ran(job); ok {
				seconds = append(seconds, took)
			}
			continue
		}
		for child, err := range h.t.Client.List(h.ctx, client.Filter{ArrayOf: aws.ToString(job.JobId),
			Statuses: succeeded}) {
			if err != nil {
				return nil, err
			}
			if took, ok := cost.Ran(child); ok {
				seconds = append(seconds, took)
			}
			if len(seconds) >= historyRuns {
				return seconds, nil
			}
		}
	}
	return seconds, nil
}
