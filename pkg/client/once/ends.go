package once

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/client"
)

// ends holds the outcomes, by id, of jobs that others wait for. A job that both the service and the
// ledger have forgotten has StatusExpired.
type ends struct {
	client *Client
	status map[string]types.JobStatus
	asked  map[string]time.Time // when each job was first queried
	// elsewhere are the clients of the jobs that have moved to another target.
	elsewhere map[string]*Client
	// waiting are the jobs that have not ended, and over those that have, as last seen. over has no
	// job that the service has forgotten.
	waiting, over map[string]*types.JobDetail
}

// newEnds returns an empty record of outcomes.
func newEnds(c *Client) *ends {
	return &ends{c, map[string]types.JobStatus{}, map[string]time.Time{}, map[string]*Client{},
		map[string]*types.JobDetail{}, map[string]*types.JobDetail{}}
}

// query queries the jobs and reports whether any has ended since the last call.
func (e *ends) query(ctx context.Context, ids []string) (news bool, err error) {
	for _, id := range ids {
		if e.asked[id].IsZero() {
			e.asked[id] = time.Now()
		}
	}
	clients := map[*Client][]string{}
	for _, id := range ids {
		c := cmp.Or(e.elsewhere[id], e.client)
		clients[c] = append(clients[c], id)
	}
	for c, ids := range clients {
		more, err := e.queryAt(ctx, c, ids)
		news = news || more
		if err != nil {
			return false, err
		}
	}
	return news, nil
}

// queryAt queries jobs of one target.
func (e *ends) queryAt(ctx context.Context, c *Client, ids []string) (news bool, err error) {
	jobs, err := c.Recall(ctx, ids...)
	if missing, ok := errors.AsType[*client.MissingError](err); ok {
		err = e.missing(missing.IDs)
	}
	if err != nil {
		return false, err
	}
	var ended []types.JobDetail
	for _, job := range jobs {
		id := aws.ToString(job.JobId)
		if !batch.HasEnded(job.Status) && job.Status != StatusExpired {
			e.waiting[id] = &job.JobDetail
			continue
		}
		delete(e.waiting, id)
		if !job.Forgotten {
			e.over[id] = &job.JobDetail
		}
		e.status[id], news = job.Status, true
		if !job.Forgotten {
			ended = append(ended, job.JobDetail)
		}
	}
	return news, c.Keep(ended...)
}

// missing returns an error for ids that have been missing for longer than DescribeJobs lags behind
// SubmitJob.
func (e *ends) missing(ids []string) error {
	ids = slices.DeleteFunc(ids, func(id string) bool { return time.Since(e.asked[id]) < client.JustNow })
	if len(ids) == 0 {
		return nil
	}
	return &client.MissingError{IDs: ids}
}

// outcome returns how a job ended, including the jobs that run it again: SUCCEEDED if every failed
// part has succeeded in the end. It is "" until that is known.
func (e *ends) outcome(t *plannedJob) types.JobStatus {
	if !t.climbed() {
		status := cmp.Or(e.status[t.result.ID], t.end)
		if t.laddered() && status != types.JobStatusSucceeded {
			return "" // not decided yet
		}
		return status
	}
	failed := t.why != ""
	for _, s := range t.steps {
		switch {
		case s.phase == jobDropped:
			failed = true
		case !s.isAccepted():
			return ""
		default:
			switch e.outcome(s) {
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
func (e *ends) markHealed(tasks []*plannedJob) {
	for _, t := range tasks {
		t.result.Healed = t.climbed() && e.outcome(t) == types.JobStatusSucceeded
	}
}
