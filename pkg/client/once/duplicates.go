package once

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/rpc"
)

// Duplicates of a job are other jobs from the same intent. There are two causes:
//
//  - An answer was missing for longer than the listing lags behind. The job was sent again, and
//    both appear.
//  - Something between batchctl and the service, such as a proxy, delivered a request twice
//    (Client.Replayable).
//
// The job whose id batchctl reported stays, because its user and dependent jobs refer to it. If no
// id was reported, the oldest stays.

const (
	// secondCheck is the pause between the two checks after clear answers.
	secondCheck = time.Second
	// duplicateReason begins the status reason of a duplicate that batchctl ended. endedHere
	// recognises it, also in jobs of earlier versions, so it must not change. The state machine, which
	// sends no message about a duplicate, has the same text (templates/infra/ladder.json).
	duplicateReason = "batchctl: twin of "
)

// twiceError names the jobs that ran twice; nil if there are none.
func (r *run) twiceError() error {
	if len(r.twice) == 0 {
		return nil
	}
	return &TwiceError{r.twice}
}

// checker checks jobs of a run at one target for duplicates, and stops those.
type checker struct {
	client *Client // of the target
	finder finder
	run    *run
}

// checker returns the checker of a run's jobs at the client's target.
func (c *Client) checker(r *run) checker { return checker{c, c.finder(), r} }

// endVisible stops the duplicates of jobs that are visible now. A job is marked as checked once lateCheck
// has passed: by then every duplicate is visible.
func (k checker) endVisible(ctx context.Context, tasks []*plannedJob) error {
	if k.client.Replayable && !k.client.TakesOnce {
		if err := k.checkReplays(ctx, tasks); err != nil {
			return err
		}
	}
	var suspects, due []*plannedJob
	for _, t := range tasks {
		if !t.doubtful() {
			continue
		}
		suspects = append(suspects, t)
		if k.client.TakesOnce || time.Since(t.lastRequest()) >= lateCheck {
			due = append(due, t)
		}
	}
	if _, err := k.check(ctx, suspects, false); err != nil {
		return err
	}
	for _, t := range due {
		t.doubt = pastDoubt
		if err := k.run.note(t, line{What: lineChecked}); err != nil {
			return err
		}
	}
	return nil
}

// checkReplays checks jobs with clear answers for duplicates. If the listing shows every job and
// did not lag recently, a second check a moment later sees the duplicates. Otherwise the late check
// does. See also RecheckDuplicates.
//
// The pause of secondCheck stays, although it is most of the time of a small submission: status 0 promises that no
// duplicate runs, and only time shows a request that something on the way delivers again. There is nothing left to
// overlap it with, since every request is answered by then. AWS's own endpoints and the engine need no pause.
func (k checker) checkReplays(ctx context.Context, tasks []*plannedJob) error {
	clear := clearOf(tasks)
	if len(clear) == 0 {
		return nil
	}
	why := ""
	var seen checkResult
	lagging, err := false, error(nil)
	if k.run.log != nil { // otherwise it is unknown
		lagging, err = listingsLag(k.client.Ledger)
	}
	if err == nil && !lagging {
		seen, err = k.check(ctx, clear, true)
	}
	if err == nil && !lagging && seen.unlisted == 0 && seen.duplicates == 0 {
		if err = rpc.Sleep(ctx, secondCheck); err == nil {
			seen, err = k.check(ctx, clear, true)
		}
	}
	if err == nil && seen.unlisted > 0 {
		lagging, err = true, recordLag(k.client.Ledger)
	}
	switch {
	case err != nil:
		why = "the check for duplicates failed: " + err.Error()
	case lagging:
		why = "lists of jobs lag behind, so a duplicate may not be listed yet"
	case seen.duplicates > 0:
		why = "requests were delivered twice, so another duplicate may not be listed yet"
	}
	for _, t := range clear {
		if why == "" {
			t.doubt = pastDoubt
		} else if noteErr := k.run.doubt(t, t.lastRequest(), why); noteErr != nil {
			return errors.Join(err, noteErr)
		}
	}
	return err
}

// clearOf returns the accepted jobs with clear answers that were not checked.
func clearOf(tasks []*plannedJob) (clear []*plannedJob) {
	for _, t := range tasks {
		if t.isAccepted() && t.result.ID != "" && t.submit != nil && t.doubt == noDoubt {
			clear = append(clear, t)
		}
	}
	return clear
}

// checkResult is the result of a check for duplicates.
type checkResult struct {
	// unlisted is the number of accepted jobs that are not listed, duplicates the number of
	// listed duplicates.
	unlisted, duplicates int
}

// check leaves one listed job of each submission alive. It adds jobs that ran twice until
// they finished to the run. With untilHidden it stops at the first job that is not listed, since
// another check is needed then.
func (k checker) check(ctx context.Context, tasks []*plannedJob, untilHidden bool) (seen checkResult, err error) {
	known := k.finder.findMany(ctx, k.run, tasks)
	var mu sync.Mutex
	enough := func() bool {
		mu.Lock()
		defer mu.Unlock()
		return untilHidden && seen.unlisted > 0
	}
	err = eachJob(ctx, tasks, k.client.atOnce(), func(t *plannedJob) error {
		found, listed := known[t]
		if !listed && enough() {
			return nil
		}
		if !listed {
			var err error
			if found, err = k.finder.findPatiently(ctx, t, time.Now().Add(searchPatience)); err != nil {
				return fmt.Errorf("search for duplicates of job %s: %w", t.name, err)
			}
		}
		own, duplicates := false, 0
		for _, s := range found {
			if s.id == t.result.ID {
				own = true
				continue
			}
			duplicates++
			twice, err := k.endDuplicate(ctx, t, s)
			if err != nil {
				return err
			}
			if twice {
				mu.Lock()
				k.run.twice = append(k.run.twice, Duplicate{t.name, t.result.ID, s.id, string(s.status)})
				mu.Unlock()
			}
		}
		mu.Lock()
		defer mu.Unlock()
		seen.duplicates += duplicates
		if !own {
			seen.unlisted++
		}
		return nil
	}, func(*plannedJob, int) []int { return nil })
	return seen, err
}

// endDuplicate stops one duplicate, and reports whether it had run before batchctl stopped it. It
// reports a duplicate once.
func (k checker) endDuplicate(ctx context.Context, t *plannedJob, duplicate sighting) (twice bool, err error) {
	if t.ended[duplicate.id] {
		return false, nil
	}
	if batch.HasEnded(duplicate.status) {
		t.markEnded(duplicate.id)
		return duplicate.ran() && !t.endedHere(duplicate), nil
	}
	// Recorded before the call, so that no later process counts the duplicate as one that ran.
	if err := k.run.note(t, line{What: lineDuplicate, ID: duplicate.id}); err != nil {
		return false, err
	}
	done, err := k.client.Stop(ctx, duplicate.id, duplicateReason+t.result.ID+
		", which was accepted twice because an answer was missing or a request was repeated")
	if err != nil {
		return false, fmt.Errorf("stop the duplicate %s of job %s: %w", batch.ShortID(duplicate.id), t.name, err)
	}
	t.markEnded(duplicate.id)
	if batch.HasEnded(done.Before) {
		return done.Before == types.JobStatusSucceeded || done.Job.StartedAt != nil, nil
	}
	started := ""
	if done.Job.StartedAt != nil {
		started = "; it had started"
	}
	k.client.progress("job %s was accepted twice: stopped its duplicate %s, which was %s%s; %s counts",
		t.name, batch.ShortID(duplicate.id), done.Before, started, batch.ShortID(t.result.ID))
	return false, nil
}

// endedHere reports whether batchctl stopped a duplicate. Not every service keeps the reason.
func (t *plannedJob) endedHere(duplicate sighting) bool {
	return strings.HasPrefix(duplicate.reason, duplicateReason) || t.ending[duplicate.id] &&
		duplicate.status == types.JobStatusFailed
}
