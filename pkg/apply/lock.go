package apply

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"time"

	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/rpc"
)

// lockName is a scheduling policy that exists while files are applied. AWS Batch has no conditional updates, but
// two resources of a kind cannot have the same name, so only one of two creations succeeds. The policy costs nothing
// and no queue uses it.
const lockName = "batchctl-apply-lock"

// The tags of the lock. The process is the one that holds it, so that the next apply on the same machine knows that it
// has ended.
const (
	holderTag  = "batchctl:holder"
	untilTag   = "batchctl:until"
	processTag = "batchctl:process"
)

const (
	// lockTime is how long a lock counts after its holder was last seen.
	lockTime = 2 * time.Minute
	// mostTakes is how often take tries to create a lock that others release or leave behind meanwhile.
	mostTakes = 5
	// firstPause and longestPause are the pauses between two calls that wait for something.
	firstPause   = time.Second
	longestPause = 16 * time.Second
)

// lock is the lock that this process holds.
type lock struct {
	a               *Account
	arn             string
	holder, process string
	until           time.Time
}

// held describes the lock in the account.
type held struct {
	arn, holder, process string
	until                time.Time
}

// StaleLockError reports that an apply ended without releasing the lock, for example because it was killed.
type StaleLockError struct {
	Holder string
	// Ended is true if the process is known to have ended; else its lock has expired.
	Ended bool
}

// Error names the holder and why the lock counts no more.
func (e *StaleLockError) Error() string {
	if e.Ended {
		return fmt.Sprintf("an earlier apply (%s) left its lock %s behind: its process has ended", e.Holder, lockName)
	}
	return fmt.Sprintf("an earlier apply (%s) left its lock %s behind: it has expired", e.Holder, lockName)
}

// stale returns why a lock counts no more; nil if it counts.
func (r *Runner) stale(h held) *StaleLockError {
	switch {
	case h.process != "" && r.Ended != nil && r.Ended(h.process):
		return &StaleLockError{h.holder, true}
	case !time.Now().Before(h.until):
		return &StaleLockError{h.holder, false}
	}
	return nil
}

// Leftover returns the lock that the state shows, for a run that changes nothing: a *StaleLockError for one that an
// apply left behind, which it removes if remove is true, and a *LockedError for one that counts. Both are nil without
// a lock.
func (r *Runner) Leftover(ctx context.Context, state *State,
	remove bool) (stale *StaleLockError, locked *LockedError, err error) {
	if !state.locked {
		return nil, nil, nil
	}
	h, err := r.holder(ctx)
	if err != nil || h.holder == "" {
		return nil, nil, err
	}
	if stale = r.stale(h); stale == nil {
		return nil, &LockedError{h.holder, h.until}, nil
	}
	if remove {
		err = r.removeStale(ctx, h)
	}
	return stale, nil, err
}

// removeStale deletes a lock that counts no more. Another process may have been faster, and what there is now is its
// lock.
func (r *Runner) removeStale(ctx context.Context, h held) error {
	if now, err := r.holder(ctx); err != nil || now.holder != h.holder {
		return err
	}
	return r.call(ctx, "DeleteSchedulingPolicy", object{"arn": h.arn}, &object{})
}

// LockedError reports that another apply works in the account.
type LockedError struct {
	Holder string
	Until  time.Time
}

// Error names the holder.
func (e *LockedError) Error() string {
	return fmt.Sprintf("another apply is running on these resources (%s)", e.Holder)
}

// LostLockError reports that another apply took the lock over, because this one was silent for too long.
type LostLockError struct{ Holder string }

// Error names the new holder.
func (e *LostLockError) Error() string {
	return fmt.Sprintf("another apply (%s) took over because this one had stopped responding", e.Holder)
}

// take takes the lock. A *LockedError says that another process holds it. After an error, no lock of this process is
// left.
func (r *Runner) take(ctx context.Context) (l *lock, err error) {
	l = &lock{a: r.Account, holder: r.Who + " " + rand.Text()[:8], process: r.Process, until: time.Now().Add(lockTime)}
	defer func() {
		if err != nil {
			_ = l.release(ctx) // the first error is the one that counts
		}
	}()
	var rejected error
	for range mostTakes {
		var out object
		if rejected = r.call(ctx, "CreateSchedulingPolicy", object{"name": lockName, "tags": l.tags()},
			&out); rejected == nil {
			l.arn, _ = out["arn"].(string)
		}
		h, err := r.holder(ctx)
		switch {
		case err != nil:
			return l, err
		case h.holder == l.holder: // also where the answer to the creation was lost
			l.arn = h.arn
			return l, nil
		case rpc.Denied(rejected) || isUnknown(rejected):
			return l, rejected
		}
		l.arn = "" // another process holds it
		switch stale := r.stale(h); {
		case h.holder == "": // released since
		case stale == nil:
			return l, &LockedError{h.holder, h.until}
		default:
			// If two processes delete it, one of them creates the next.
			r.warn(stale)
			_ = r.removeStale(ctx, h)
		}
	}
	if rejected != nil {
		return l, rejected
	}
	return l, &LockedError{"an unknown process", time.Now().Add(lockTime)}
}

// tags are those of the lock.
func (l *lock) tags() map[string]string {
	tags := map[string]string{holderTag: l.holder, untilTag: l.until.UTC().Format(time.RFC3339)}
	if l.process != "" {
		tags[processTag] = l.process
	}
	return tags
}

// holder returns who holds the lock; nothing without one.
func (a *Account) holder(ctx context.Context) (h held, err error) {
	err = a.pages(ctx, "ListSchedulingPolicies", object{}, func(page object) error {
		for _, p := range objectsOf(page["schedulingPolicies"]) {
			if batch.Name(fmt.Sprint(p["arn"])) == lockName {
				h.arn, _ = p["arn"].(string)
			}
		}
		return nil
	})
	if err != nil || h.arn == "" {
		return held{}, err
	}
	var out object
	if err := a.call(ctx, "DescribeSchedulingPolicies", object{"arns": []string{h.arn}}, &out); err != nil {
		return held{}, err
	}
	for _, p := range objectsOf(out["schedulingPolicies"]) {
		tags, _ := p["tags"].(object)
		h.holder = "an unknown process" // another program created a policy of this name
		if text, ok := tags[holderTag].(string); ok {
			h.holder = text
		}
		h.process, _ = tags[processTag].(string)
		text, _ := tags[untilTag].(string)
		h.until, _ = time.Parse(time.RFC3339, text) // an unreadable time has passed
	}
	return h, nil // the policy may have been deleted since
}

// keep checks before a change that the lock is still this process's, and extends it.
func (l *lock) keep(ctx context.Context) error {
	if l == nil || time.Until(l.until) > lockTime/2 {
		return nil
	}
	h, err := l.a.holder(ctx)
	switch {
	case err != nil:
		return err
	case h.holder != l.holder:
		return &LostLockError{h.holder}
	}
	l.until = time.Now().Add(lockTime)
	_, err = l.a.API.TagResource(ctx, &awsbatch.TagResourceInput{ResourceArn: &l.arn, Tags: l.tags()})
	return err
}

// release gives the lock back, also after an interruption. Until it expires, it is this process's, even if nothing can
// read that.
func (l *lock) release(ctx context.Context) error {
	if l == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lockTime/4)
	defer cancel()
	h, err := l.a.holder(ctx)
	if err == nil && h.holder != l.holder || err != nil && (l.arn == "" || !time.Now().Before(l.until)) {
		return err
	}
	return l.a.call(ctx, "DeleteSchedulingPolicy", object{"arn": cmp.Or(l.arn, h.arn)}, &object{})
}
