package once

import (
	"context"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/rpc"
)

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

// decide marks jobs as due or skipped, from the known outcomes. It reports whether it marked any,
// and which ids to query before it can mark more.
func (c *Client) decide(ctx context.Context, r *run, known *ends) (moved bool, ids []string, err error) {
	var due []*plannedJob
	var undecided error
	moved, ids, err = c.follow(ctx, r, known)
	if err != nil {
		return moved, nil, err
	}
	for _, t := range r.tasks {
		if !t.held() {
			continue
		}
		f, err := r.nextStepOf(t, known)
		switch {
		case err != nil:
			undecided = err
		case f.due:
			due = append(due, t)
		case f.skipped != "":
			if err := r.skip(t, f.skipped); err != nil {
				return moved, nil, err
			}
			c.report(t.result)
			moved = true
		default:
			for _, s := range f.waits {
				if s.ID != "" && known.status[s.ID] == "" && (t.when != "" || r.ladderedID(s.ID)) {
					ids = append(ids, s.ID)
				}
			}
		}
	}
	if moved = moved || len(due) > 0; !moved && len(ids) == 0 {
		return false, nil, undecided
	}
	return moved, client.Distinct(ids), r.begin(due)
}

// awaitDue returns when a job that waits in the client is due or no longer needed, or false when
// none will be. Without wait it checks once.
func (c *Client) awaitDue(ctx context.Context, r *run, known *ends, wait bool) (more bool, err error) {
	pace := client.Pace{Client: c.Client, Served: !r.resumed}
	for checked := false; ; checked = true {
		moved, ids, err := c.decide(ctx, r, known)
		if moved || err != nil || len(ids) == 0 || checked && !wait {
			return moved, err
		}
		news, err := known.query(ctx, ids)
		pause, err := pace.Next(err)
		if err == nil && !news && wait {
			err = rpc.Sleep(ctx, pause)
		}
		if err == nil && c.lastCheckIsDue(r) {
			err = c.endDuplicates(ctx, r)
		}
		if err != nil {
			return false, err
		}
	}
}
