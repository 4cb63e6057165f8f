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
	// historyListed bounds the jobs of a definition that are listed, historyJobs those of
	// them whose times count, and historyRuns their children.
	historyListed, historyJobs, historyRuns = 1000, 20, 1000
)

// history looks up how long jobs like those of a plan took.
type history struct {
	ctx context.Context
	// t is nil where no one can be asked; why says why.
	t   *target.Target
	why string
	// target is what people are told of it.
	target string
	// known is by queue and definition.
	known map[string]cost.History
	close func()
}

// openHistory opens the target for a look at earlier runs, if it can be reached.
func openHistory(whole context.Context, con *term.Console, o target.Options, in *input.Input, w *plan.TargetState) (*history, error) {
	h := &history{target: w.Target, known: map[string]cost.History{}, close: func() {}}
	switch {
	case w.Unreached != "":
		h.why = "earlier runs are unknown: " + w.Unreached
		return h, nil
	case w.Local && neverRan(o):
		h.why = "no run of it SUCCEEDED yet: the local engine was never used"
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

// of is how long the last SUCCEEDED runs of a job's definition took in its queue.
func (h *history) of(j plan.JobReview) cost.History {
	if h.t == nil {
		return cost.History{Unknown: h.why}
	}
	definition := batch.Name(aws.ToString(j.Submit.JobDefinition))
	if j.Register != nil {
		definition = aws.ToString(j.Register.JobDefinitionName)
	}
	definition, _ = batch.SplitRevision(definition)
	queue := aws.ToString(j.Submit.JobQueue)
	none := fmt.Sprintf("no run of definition %s SUCCEEDED in queue %s, as far as %s knows", definition, batch.Name(queue), h.target)
	if j.QueueThere.Asked && !j.QueueThere.Found {
		return cost.History{Unknown: none}
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
			found.Unknown = none
		}
		h.known[key] = found
	}
	return found
}

// seconds are those of the last attempts of the last jobs; of arrays, of their children.
func (h *history) seconds(queue, definition string) (seconds []float64, err error) {
	succeeded := []types.JobStatus{types.JobStatusSucceeded}
	var jobs []types.JobSummary
	for job, err := range h.t.List(h.ctx, client.Filter{Queues: []string{queue}, Definition: definition, Statuses: succeeded}) {
		if err != nil {
			return nil, err
		}
		if jobs = append(jobs, job); len(jobs) == historyListed {
			break
		}
	}
	slices.SortStableFunc(jobs, func(a, b types.JobSummary) int {
		return cmp.Compare(aws.ToInt64(b.CreatedAt), aws.ToInt64(a.CreatedAt))
	})
	for _, job := range jobs[:min(len(jobs), historyJobs)] {
		if job.ArrayProperties == nil || aws.ToInt32(job.ArrayProperties.Size) == 0 {
			seconds = appendRun(seconds, job)
			continue
		}
		for child, err := range h.t.List(h.ctx, client.Filter{ArrayOf: aws.ToString(job.JobId), Statuses: succeeded}) {
			if err != nil {
				return nil, err
			}
			if seconds = appendRun(seconds, child); len(seconds) >= historyRuns {
				return seconds, nil
			}
		}
	}
	return seconds, nil
}

func appendRun(seconds []float64, job types.JobSummary) []float64 {
	from, to := aws.ToInt64(job.StartedAt), aws.ToInt64(job.StoppedAt)
	if from == 0 || to < from {
		return seconds
	}
	return append(seconds, float64(to-from)/1000)
}
