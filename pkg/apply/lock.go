package apply

import (
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

// The tags of the lock.
const (
	holderTag = "batchctl:holder"
	untilTag  = "batchctl:until"
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
	a      *Account
	arn    string
	holder string
	until  time.Time
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

// take takes the lock. A *LockedError says that another process holds it.
func (a *Account) take(ctx context.Context, who string) (*lock, error) {
	l := &lock{a: a, holder: who + " " + rand.Text()[:8], until: time.Now().Add(lockTime)}
	var rejected error
	for range mostTakes {
		var out object
		rejected = a.call(ctx, "CreateSchedulingPolicy", object{"name": lockName, "tags": l.tags()}, &out)
		holder, until, arn, err := a.holder(ctx)
		switch {
		case err != nil:
			return nil, err
		case holder == l.holder: // also where the answer to the creation was lost
			l.arn = arn
			return l, nil
		case rpc.Denied(rejected) || isUnknown(rejected):
			return nil, rejected
		case holder == "": // released since
		case time.Now().Before(until):
			return nil, &LockedError{holder, until}
		default:
			// Its holder ended without releasing it. If two processes delete it, one of them creates the next. Another
			// process may have been faster, and what there is now is its lock.
			if now, _, _, err := a.holder(ctx); err != nil || now != holder {
				continue
			}
			_ = a.call(ctx, "DeleteSchedulingPolicy", object{"arn": arn}, &object{})
		}
	}
	if rejected != nil {
		return nil, rejected
	}
	return nil, &LockedError{"an unknown process", time.Now().Add(lockTime)}
}

// tags are those of the lock.
func (l *lock) tags() map[string]string {
	return map[string]string{holderTag: l.holder, untilTag: l.until.UTC().Format(time.RFC3339)}
}

// holder returns who holds the lock; "" without one.
func (a *Account) holder(ctx context.Context) (holder string, until time.Time, arn string, err error) {
	err = a.pages(ctx, "ListSchedulingPolicies", object{}, func(page object) error {
		for _, p := range listOf(page["schedulingPolicies"]) {
			if p, ok := p.(object); ok && batch.Name(fmt.Sprint(p["arn"])) == lockName {
				arn, _ = p["arn"].(string)
			}
		}
		return nil
	})
	if err != nil || arn == "" {
		return "", until, "", err
	}
	var out object
	if err := a.call(ctx, "DescribeSchedulingPolicies", object{"arns": []string{arn}}, &out); err != nil {
		return "", until, "", err
	}
	for _, p := range listOf(out["schedulingPolicies"]) {
		p, _ := p.(object)
		tags, _ := p["tags"].(object)
		holder = "an unknown process" // another program created a policy of this name
		if text, ok := tags[holderTag].(string); ok {
			holder = text
		}
		text, _ := tags[untilTag].(string)
		until, _ = time.Parse(time.RFC3339, text) // an unreadable time has passed
	}
	return holder, until, arn, nil // the policy may have been deleted since
}

// keep checks before a change that the lock is still this process's, and extends it.
func (l *lock) keep(ctx context.Context) error {
	if l == nil || time.Until(l.until) > lockTime/2 {
		return nil
	}
	holder, _, _, err := l.a.holder(ctx)
	switch {
	case err != nil:
		return err
	case holder != l.holder:
		return &LostLockError{holder}
	}
	l.until = time.Now().Add(lockTime)
	_, err = l.a.API.TagResource(ctx, &awsbatch.TagResourceInput{ResourceArn: &l.arn, Tags: l.tags()})
	return err
}

// release gives the lock back, also after an interruption.
func (l *lock) release(ctx context.Context) error {
	if l == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lockTime/4)
	defer cancel()
	if holder, _, _, err := l.a.holder(ctx); err != nil || holder != l.holder {
		return err
	}
	return l.a.call(ctx, "DeleteSchedulingPolicy", object{"arn": l.arn}, &object{})
}
