package drivertest

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/batchctl/batchctl/workloads/gpu"
)

// steps computes in Go what the kernel probe_steps does to a number.
func steps(x, add uint32, times int) uint32 {
	for range times {
		x = x*1664525 + add
	}
	return x
}

// testStreams has two queues work on the same numbers in turn. Each round takes longer than starting
// the next, so the result is right only if marks make the queues wait.
func testStreams(t *testing.T, c *gpu.Card) {
	const count, times, rounds = 256, 2000, 6 // numbers, steps in a launch, launches of each queue
	b := newBench(t, c, 4*count)
	other, k := get(c.NewQueue())(t), b.kernel("probe_steps", 0)
	forward, back := get(c.NewMark())(t), get(c.NewMark())(t)
	want := make([]uint32, count)
	for i := range want {
		want[i] = uint32(i)
	}
	b.put(0, want)
	launch := func(q *gpu.Queue, add uint32) {
		must(t, q.Launch(k, gpu.Dim{4, 1, 1}, gpu.Dim{count / 4, 1, 1}, 0, b.device.Pointer, add, int32(times)))
		for i := range want {
			want[i] = steps(want[i], add, times)
		}
	}
	// In each round one queue computes, records a mark, and the other waits for it.
	for round := range uint32(rounds) {
		launch(b.q, 2*round)
		must(t, errors.Join(b.q.Record(forward), other.Wait(forward)))
		launch(other, 2*round+1)
		must(t, errors.Join(other.Record(back), b.q.Wait(back)))
	}
	if got := b.take(0, count); !slices.Equal(got, want) {
		t.Error("the queues did not wait for each other")
	}
	must(t, errors.Join(forward.Close(), back.Close(), other.Close()))
	b.close()
}

// testElapsed checks the time between two marks, and the error for marks that were not recorded.
func testElapsed(t *testing.T, c *gpu.Card) {
	const invalidHandle = 400
	b := newBench(t, c, 4*256)
	start, end := get(c.NewMark())(t), get(c.NewMark())(t)
	// CUDA_ERROR_INVALID_HANDLE is the documented error for events without a record.
	_, err := end.Since(start)
	wantCode(t, "time between marks that were not recorded", err, invalidHandle)
	must(t, b.q.Fill(b.device.Pointer, 1, 4*256))
	must(t, b.q.Record(start))
	must(t, b.q.Launch(b.kernel("probe_steps", 0), gpu.Dim{1, 1, 1}, gpu.Dim{256, 1, 1}, 0, b.device.Pointer, uint32(1),
		int32(1000)))
	must(t, b.q.Record(end))
	must(t, b.q.Synchronize())
	// A wide range: only nonsense is an error here, not a slow device.
	if seconds := get(end.Since(start))(t); seconds < 0 || seconds > 60 {
		t.Errorf("the kernel took %g s", seconds)
	}
	must(t, errors.Join(start.Close(), end.Close()))
	b.close()
}

// testTogether has n devices compute different numbers at the same time. It is skipped on a machine
// with fewer devices.
func testTogether(t *testing.T, d gpu.Driver, n int) {
	t.Run(fmt.Sprintf("Cards%d", n), func(t *testing.T) {
		if count := get(d.DeviceCount())(t); count < n {
			t.Skipf("there are %d devices", count)
		}
		cards := get(gpu.OpenAll(d, n))(t)
		err := cards.Each(func(i int, c *gpu.Card) error {
			if c.Info.Ordinal != i {
				t.Errorf("card %d is device %d", i, c.Info.Ordinal)
			}
			for round := range uint32(3) {
				// A different number for each card and round, so that a mix-up is noticed.
				add := 100*uint32(i) + round
				b := newBench(t, c, 4)
				b.put(0, []uint32{add})
				must(t, b.q.Launch(b.kernel("probe_steps", 0), gpu.Dim{1, 1, 1}, gpu.Dim{1, 1, 1}, 0, b.device.Pointer,
					add, int32(500)))
				if got, want := b.take(0, 1)[0], steps(add, add, 500); got != want {
					t.Errorf("%s: got %d, want %d", c, got, want)
				}
				b.close()
			}
			return nil
		})
		must(t, errors.Join(err, cards.Close()))
	})
}
