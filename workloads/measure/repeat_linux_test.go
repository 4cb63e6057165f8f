package measure

import (
	"context"
	"syscall"
	"testing"
)

// All that a repeat on the processor does with one thread it does on one thread of
// the system, and nothing else runs there.
func TestRepeatStaysOnItsThread(t *testing.T) {
	threads := map[int]bool{}
	note := func() { threads[syscall.Gettid()] = true }
	var others []int
	_, err := Repeat(t.Context(), Options{Device: CPU, Threads: 1, Repeats: 20}, Task{
		Spoil: note,
		Work: func(ctx context.Context) error {
			return Parallel(ctx, 1, 10, 1, func(int, int) { note() })
		},
		Check: func(context.Context) error {
			// The scheduler hands a goroutine that is waited for to the thread that waits, if it may.
			other := make(chan int)
			go func() { other <- syscall.Gettid() }()
			others = append(others, <-other)
			return nil
		},
	})
	if err != nil || len(threads) != 1 {
		t.Errorf("the repeats ran on %d threads, %v", len(threads), err)
	}
	for _, id := range others {
		if threads[id] {
			t.Fatal("another goroutine ran on the repeats' thread")
		}
	}
}
