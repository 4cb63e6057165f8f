package once

import (
	"context"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/rpc"
)

// follower waits for jobs of a run: for those that it follows, and for those that others wait for.
type follower struct {
	client  *Client
	run     *run
	targets *targets
	known   *ends
	checks  duplicateChecks
}

// follow advances the followed jobs: it decides what follows the failed ones, and cancels those
// without capacity. It reports whether new jobs are to be sent, and which ids to query.
func (f follower) follow(ctx context.Context) (moved bool, ids []string, err error) {
	for _, t := range slices.Clone(f.run.tasks) {
		if !t.followed() {
			continue
		}
		c, err := f.targets.clientOf(ctx, t)
		if err != nil {
			return moved, nil, err
		}
		at := climber{c, f.run, f.targets}
		id := t.result.ID
		if t.at != "" {
			f.known.elsewhere[id] = c
		}
		switch status := f.known.status[id]; {
		case status == "" && t.end != types.JobStatusSucceeded:
			ids = append(ids, id)
			if err := at.giveUpWaiting(ctx, t, f.known.waiting[id]); err != nil {
				return moved, nil, err
			}
		case !t.laddered() || t.decided():
		case status == types.JobStatusSucceeded:
			t.end = status
		default:
			if err := at.climb(ctx, t, f.known.over[id]); err != nil {
				return moved, nil, err
			}
			moved = true
		}
	}
	if !moved {
		err = sendNotices(ctx, f.client, f.run, f.known)
	}
	return moved, ids, err
}

// decide marks jobs as due or skipped, from the known outcomes. It reports whether it marked any,
// and which ids to query before it can mark more.
func (f follower) decide(ctx context.Context) (moved bool, ids []string, err error) {
	var due []*plannedJob
	var undecided error
	moved, ids, err = f.follow(ctx)
	if err != nil {
		return moved, nil, err
	}
	for _, t := range f.run.tasks {
		if !t.held() {
			continue
		}
		next, err := nextStepOf(f.run, t, f.known)
		switch {
		case err != nil:
			undecided = err
		case next.due:
			due = append(due, t)
		case next.skipped != "":
			if err := f.run.skip(t, next.skipped); err != nil {
				return moved, nil, err
			}
			f.client.report(t.result)
			moved = true
		default:
			for _, s := range next.waits {
				if s.ID != "" && f.known.status[s.ID] == "" && (t.when != "" || ladderedID(f.run, s.ID)) {
					ids = append(ids, s.ID)
				}
			}
		}
	}
	if moved = moved || len(due) > 0; !moved && len(ids) == 0 {
		return false, nil, undecided
	}
	return moved, client.Distinct(ids), f.run.recordDue(due)
}

// awaitDue returns when a job that waits in the client is due or no longer needed, or false when
// none will be. Without wait it checks once.
func (f follower) awaitDue(ctx context.Context, wait bool) (more bool, err error) {
	pace := client.Pace{Polling: f.client.Polling, Served: !f.run.resumed()}
	for checked := false; ; checked = true {
		moved, ids, err := f.decide(ctx)
		if moved || err != nil || len(ids) == 0 || checked && !wait {
			return moved, err
		}
		news, err := f.known.query(ctx, ids)
		pause, err := pace.Next(err)
		if err == nil && !news && wait {
			err = rpc.Sleep(ctx, pause)
		}
		if err == nil && f.checks.lastCheckIsDue() {
			err = f.checks.endDuplicates(ctx)
		}
		if err != nil {
			return false, err
		}
	}
}
