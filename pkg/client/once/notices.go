package once

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/ladder"
	"github.com/batchctl/batchctl/pkg/notify"
)

// A message is sent when the last job of the run with its receiver has ended, and the jobs that run
// it again. The log has a line after it was sent. A client that is killed in between sends the
// message again with the same id, so it is sent at least once, and never twice knowingly.

// sendNotices sends the messages of a run that are due.
func sendNotices(ctx context.Context, c *Client, r *run, known *ends) error {
	for _, receiver := range receivers(r) {
		e, due := notice(r, receiver, known)
		if !due {
			continue
		}
		failed := errors.New("this command does not send messages")
		if c.Notify != nil {
			failed = c.Notify(ctx, receiver, e)
		}
		if err := ctx.Err(); failed != nil && err != nil {
			return context.Cause(ctx) // a later process sends it
		}
		l := line{Time: stamp(), What: lineNotified, Notify: []string{receiver}}
		if failed != nil {
			l.Reason = failed.Error()
			c.progress("warning: %v", failed)
		}
		if r.log != nil {
			if err := errors.Join(r.log.write(l), r.log.sync()); err != nil {
				return err
			}
		}
		r.markNotified(receiver)
	}
	return nil
}

// receivers returns the receivers of messages that the run has yet to send.
func receivers(r *run) (all []string) {
	for _, t := range r.tasks {
		for _, receiver := range t.notify {
			if !t.left && !slices.Contains(t.notified, receiver) && !slices.Contains(all, receiver) {
				all = append(all, receiver)
			}
		}
	}
	return all
}

// notice returns the message for a receiver, if all of its jobs have ended. A run in which none was
// submitted has no message.
func notice(r *run, receiver string, known *ends) (e notify.Event, due bool) {
	sum := sha256.Sum256([]byte(r.name + "\x00" + receiver))
	e = notify.Event{Type: notify.Type, Version: notify.Version, ID: r.name + "-" + hex.EncodeToString(sum[:8]),
		Time:   stamp(),
		Target: r.target, Submission: r.name, Name: r.title, Status: string(types.JobStatusSucceeded)}
	for _, t := range r.tasks {
		switch {
		case !slices.Contains(t.notify, receiver) || t.phase == jobSkipped || t.phase == jobDropped || t.submit == nil:
			continue
		case !t.isAccepted() || known.outcome(t) == "":
			return e, false
		}
		e.Name = cmp.Or(e.Name, t.name)
		if t.again == nil && known.outcome(t) != types.JobStatusSucceeded {
			e.Status = string(types.JobStatusFailed)
		}
		e.Jobs = append(e.Jobs, t.noticed(known))
	}
	return e, len(e.Jobs) > 0
}

// noticed returns the job of a message.
func (t *plannedJob) noticed(known *ends) notify.Job {
	id := t.result.ID
	j := notify.Job{Name: t.name, ID: id, Queue: t.result.Queue, Status: string(cmp.Or(known.status[id], t.end)),
		ArraySize: t.result.ArraySize, Target: t.target}
	if d := known.over[id]; d != nil {
		ending := batch.EndingOf(d)
		j.Reason, j.ExitCode = aws.ToString(d.StatusReason), ending.Exit
		j.StartedAt, j.StoppedAt = aws.ToInt64(d.StartedAt), aws.ToInt64(d.StoppedAt)
	}
	if j.Status == string(types.JobStatusFailed) && stateMachineClimbs(t.submit) {
		j.Ladder = ladder.ByStateMachine
	}
	if t.again != nil {
		j.Again, j.Cause = t.again.result.ID, string(t.step.Cause)
	}
	return j
}
