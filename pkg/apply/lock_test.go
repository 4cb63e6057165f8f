package apply

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/batchctl/batchctl/pkg/document"
)

// leftBehind creates the lock of a process that is then killed, and returns what a later state shows.
func leftBehind(t *testing.T, a *Account) *State {
	t.Helper()
	if err := (&Runner{Account: a, Who: "ann@laptop", Process: "boot 1 7 9"}).Lock(t.Context()); err != nil {
		t.Fatal(err)
	}
	state, err := a.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return state
}

// TestLeftover checks what a run without changes does with the lock of an earlier one.
func TestLeftover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, _ := engine(t)
		state := leftBehind(t, a)
		here := func(ended bool) *Runner {
			return &Runner{Account: a, Who: "bob@ci", Process: "boot 1 8 9", Ended: func(process string) bool { return ended && process == "boot 1 7 9" }}
		}
		stale, locked, err := here(false).Leftover(t.Context(), state, true)
		if err != nil || stale != nil || locked == nil || !strings.HasPrefix(locked.Holder, "ann@laptop") {
			t.Errorf("a process that may run: %v, %v, %v", stale, locked, err)
		}
		stale, _, err = here(true).Leftover(t.Context(), state, false)
		if err != nil || stale == nil || !strings.Contains(stale.Error(), "left its lock batchctl-apply-lock behind: its process has ended") {
			t.Errorf("--check: %v, %v", stale, err)
		}
		if h, err := a.holder(t.Context()); err != nil || h.arn == "" {
			t.Errorf("--check removed the lock: %v", err)
		}
		if stale, _, err = here(true).Leftover(t.Context(), state, true); err != nil || stale == nil || !stale.Ended {
			t.Errorf("%v, %v", stale, err)
		}
		if h, err := a.holder(t.Context()); err != nil || h.arn != "" {
			t.Errorf("the lock is left: %v, %v", h, err)
		}
		state = leftBehind(t, a)
		time.Sleep(lockTime)
		if stale, _, err = here(false).Leftover(t.Context(), state, true); err != nil || stale == nil || stale.Ended {
			t.Errorf("an expired lock: %v, %v", stale, err)
		}
		if h, err := a.holder(t.Context()); err != nil || h.arn != "" {
			t.Errorf("the expired lock is left: %v, %v", h, err)
		}
		if state, err = a.Read(t.Context()); err != nil || len(state.of(document.KindSchedulingPolicy)) > 0 {
			t.Errorf("%v, %v", state, err)
		}
	})
}

// TestLockOfKilled checks that the next run does not wait for the lock of a process that has ended on its machine, and
// reports it.
func TestLockOfKilled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, _ := engine(t)
		leftBehind(t, a)
		var warned error
		r := &Runner{Account: a, Who: "ann@laptop", Process: "boot 1 8 9", Ended: func(process string) bool { return process == "boot 1 7 9" }, Warn: func(err error) { warned = err }}
		if err := r.Lock(t.Context()); err != nil {
			t.Fatal(err)
		}
		var stale *StaleLockError
		if !errors.As(warned, &stale) {
			t.Errorf("%v", warned)
		}
		if err := r.Unlock(t.Context()); err != nil {
			t.Error(err)
		}
		if h, err := a.holder(t.Context()); err != nil || h.arn != "" {
			t.Errorf("%v, %v", h, err)
		}
	})
}

// TestLockUnread checks that no lock is left if it was created and the next call fails.
func TestLockUnread(t *testing.T) {
	for call := 1; call <= 3; call++ {
		for _, after := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				a, cut := engine(t)
				cut.in, cut.after = call, after
				r := &Runner{Account: a, Who: "ann@laptop"}
				if r.Lock(t.Context()) == nil {
					if err := r.Unlock(t.Context()); err != nil {
						t.Error(err)
					}
				}
				if h, err := a.holder(t.Context()); err != nil || h.arn != "" {
					t.Errorf("call %d, cut off after it %v: the lock is left: %v, %v", call, after, h, err)
				}
			})
		}
	}
}
