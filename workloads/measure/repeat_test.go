package measure

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestRepeatTimesOnlyTheWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var order strings.Builder
		run := 0
		times, err := Repeat(t.Context(), Options{Warmup: 1, Repeats: 2}, Task{
			Spoil: func() { order.WriteString("s"); time.Sleep(time.Hour) },
			Work: func(context.Context) error {
				run++
				order.WriteString("w")
				time.Sleep(time.Duration(run) * time.Second)
				return nil
			},
			Check: func(context.Context) error { order.WriteString("c"); time.Sleep(time.Hour); return nil },
			Split: func() Split { return Split{Kernel: float64(run)} },
		})
		if err != nil || order.String() != "swcswcswc" {
			t.Errorf("order %s, %v", order.String(), err)
		}
		if diff := cmp.Diff(Times{First: 1, Seconds: []float64{2, 3}, Splits: []Split{{Kernel: 2}, {Kernel: 3}}}, times); diff != "" {
			t.Error(diff)
		}
	})
}

// The processor's repeats leave no core idle that they could move to; a GPU's have the host.
func TestRepeatHasAsManyProcessorsAsThreads(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(3))
	wrong := errors.New("wrong result")
	for _, test := range []struct {
		device  DeviceKind
		threads int
		want    int
		err     error
	}{{CPU, 1, 1, nil}, {CPU, 2, 2, wrong}, {CPU, 3, 3, nil}, {CPU, 8, 3, nil}, {CUDA, 1, 3, nil}} {
		var seen []int
		look := func() { seen = append(seen, runtime.GOMAXPROCS(0)) }
		_, err := Repeat(t.Context(), Options{Device: test.device, Threads: test.threads, Repeats: 1}, Task{
			Spoil: look,
			Work:  func(context.Context) error { look(); return nil },
			Check: func(context.Context) error { look(); return test.err },
		})
		want := []int{test.want, test.want, test.want}
		if diff := cmp.Diff(want, seen); diff != "" || !errors.Is(err, test.err) {
			t.Errorf("%+v: %v\n%s", test, err, diff)
		}
		if now := runtime.GOMAXPROCS(0); now != 3 {
			t.Errorf("%+v leaves %d processors", test, now)
		}
	}
}

func TestRepeatEnds(t *testing.T) {
	wrong := errors.New("wrong result")
	stopped, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("terminated signal received"))
	fine := func(context.Context) error { return nil }
	fails := func(context.Context) error { return wrong }
	for _, test := range []struct {
		name        string
		ctx         context.Context
		work, check func(context.Context) error
		want        string
	}{
		{"work fails", t.Context(), fails, fine, "wrong result"},
		{"check fails", t.Context(), fine, fails, "wrong result"},
		{"signal", stopped, fails, fails, "stopped before it finished: terminated signal received"},
	} {
		times, err := Repeat(test.ctx, Options{Repeats: 2}, Task{Spoil: func() {}, Work: test.work, Check: test.check})
		if err == nil || err.Error() != test.want || times.Seconds != nil {
			t.Errorf("%s: got %v, %v", test.name, times, err)
		}
	}
}

func TestParallelCoversOnce(t *testing.T) {
	for _, n := range []int{0, 1, 7, 64, 1000} {
		for _, threads := range []int{1, 3, 50} {
			for _, band := range []int{1, 6, 2000} {
				seen := make([]atomic.Int32, n)
				err := Parallel(t.Context(), threads, n, band, func(low, high int) {
					for i := low; i < high; i++ {
						seen[i].Add(1)
					}
				})
				for i := range seen {
					if seen[i].Load() != 1 || err != nil {
						t.Fatalf("n %d, threads %d, band %d: element %d seen %d times, %v", n, threads, band, i, seen[i].Load(), err)
					}
				}
			}
		}
	}
}

func TestParallelStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var calls atomic.Int32
	err := Parallel(ctx, 2, 1000, 1, func(int, int) { calls.Add(1); cancel() })
	if !errors.Is(err, context.Canceled) || calls.Load() > 2 {
		t.Errorf("%d calls, %v", calls.Load(), err)
	}
}
