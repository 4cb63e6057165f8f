package web

import (
	"context"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestManyAtOnce publishes to and watches several topics from many goroutines. Every watcher of a log gets
// ascending numbers, without a hole unless there was a gap.
func TestManyAtOnce(t *testing.T) {
	h := NewHub(0)
	defer h.Close()
	var topics []Topic
	for i := range 3 {
		var number atomic.Int32 // of all runs
		topics = append(topics, Topic{Name: "log " + strconv.Itoa(i), Keep: 20, Run: func(ctx context.Context, publish func([]byte)) error {
			for ctx.Err() == nil {
				publish([]byte(strconv.Itoa(int(number.Add(1)))))
				runtime.Gosched()
			}
			return ctx.Err()
		}})
	}
	var all sync.WaitGroup
	for i := range 12 {
		all.Go(func() {
			for range 20 {
				last, gap, n := 0, true, 0
				for e := range h.Watch(t.Context(), topics[i%3]) {
					if e.Name == "gap" {
						gap = true
						continue
					}
					number, err := strconv.Atoi(string(e.Data))
					if err != nil || number <= last || !gap && number != last+1 {
						t.Errorf("%s after %d, gap %v", e.Data, last, gap)
					}
					last, gap = number, false
					if n++; n == 50 {
						break
					}
				}
			}
		})
	}
	all.Wait()
}

// TestStreamFormat writes events with any names and data, and reads them as an EventSource does.
func TestStreamFormat(t *testing.T) {
	lines := strings.NewReplacer("\r\n", "\n", "\r", "\n")
	text := rapid.StringMatching(`[ :a\r\nä{}]{0,12}`)
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[ a-z:\r\n]{0,9}x`).Draw(t, "name")
		data := rapid.SliceOfN(text, 1, 4).Draw(t, "data")
		h := NewHub(0)
		defer h.Close()
		w := h.join([]Topic{{Name: name, Keep: 4, Run: func(ctx context.Context, publish func([]byte)) error {
			for _, d := range data {
				publish([]byte(d))
			}
			return nil
		}}}, "")
		defer w.leave()
		h.runs.Wait()
		var stream []byte
		want := ""
		name = strings.NewReplacer("\r", " ", "\n", " ").Replace(name)
		for e, ok := w.next(); ok; e, ok = w.next() {
			stream = appendEvent(stream, w.positions(), e)
		}
		for _, d := range data {
			want += fmt.Sprintf("%q %q\n", name, lines.Replace(d))
		}
		want += fmt.Sprintf("%q %q\n", "end", name)
		got := ""
		for _, e := range parse(string(stream)) {
			got += fmt.Sprintf("%q %q\n", e.name, e.data)
			if len(parsePositions(e.id)) != 1 {
				t.Errorf("id %q", e.id)
			}
		}
		if got != want {
			t.Errorf("got\n%swant\n%sstream\n%s", got, want, stream)
		}
	})
}

// TestHubModel publishes and reads in any order, with watchers that come, leave and return. A model knows what
// each of them has to get.
func TestHubModel(t *testing.T) {
	type client struct {
		w    *watcher
		seen int
		id   string
	}
	rapid.Check(t, func(t *rapid.T) {
		h := NewHub(time.Hour)
		defer h.Close()
		s := newSource("log", rapid.IntRange(1, 4).Draw(t, "keep"))
		s.KeepBytes = rapid.SampledFrom([]int{0, 12}).Draw(t, "bytes")
		var sizes []int // of all events so far
		oldest := func() int {
			kept, size := 0, 0
			for _, n := range slices.Backward(sizes) {
				if kept == s.Keep || kept > 0 && s.KeepBytes > 0 && size+n > s.KeepBytes {
					break
				}
				kept, size = kept+1, size+n
			}
			return len(sizes) - kept + 1
		}
		first := h.join([]Topic{s.Topic}, "")
		s.publish("1 ")
		sizes = append(sizes, 2)
		var clients []*client
		t.Repeat(map[string]func(*rapid.T){
			"publish": func(t *rapid.T) {
				data := strconv.Itoa(len(sizes)+1) + " " + strings.Repeat("x", rapid.IntRange(0, 9).Draw(t, "size"))
				s.publish(data)
				sizes = append(sizes, len(data))
			},
			"come": func(t *rapid.T) {
				clients = append(clients, &client{w: h.join([]Topic{s.Topic}, ""), seen: oldest() - 1})
			},
			"leave": func(t *rapid.T) {
				if len(clients) > 0 {
					c := rapid.SampledFrom(clients).Draw(t, "client")
					c.id = c.w.positions()
					c.w.leave()
					c.w = h.join([]Topic{s.Topic}, c.id)
				}
			},
			"read": func(t *rapid.T) {
				if len(clients) == 0 {
					return
				}
				c := rapid.SampledFrom(clients).Draw(t, "client")
				want, seen := "", c.seen
				switch {
				case c.seen == len(sizes):
				case c.seen+1 >= oldest():
					seen++
					want = "log " + strconv.Itoa(seen)
				case s.Keep == 1:
					seen = len(sizes)
					want = "log " + strconv.Itoa(seen)
				default:
					seen = oldest() - 1
					want = `gap {"topic":"log"}`
				}
				got := ""
				for e, ok := c.w.next(); ok && got == ""; {
					if e.Name == "problem" { // a watcher that returns gets the state of problems
						e, ok = c.w.next()
						continue
					}
					number, _, _ := strings.Cut(string(e.Data), " ")
					got = e.Name + " " + number
				}
				if got != want {
					t.Fatalf("got %q, want %q, after %d of %d, oldest %d", got, want, c.seen, len(sizes), oldest())
				}
				c.seen = seen
			},
		})
		first.leave()
	})
}

// FuzzPositions checks that no Last-Event-ID disturbs a stream: a watcher gets kept events only, in order.
func FuzzPositions(f *testing.F) {
	h := NewHub(time.Hour)
	f.Cleanup(h.Close)
	s := newSource("log", 3)
	keeper := h.join([]Topic{s.Topic}, "")
	for i := range 5 {
		s.publish(strconv.Itoa(i + 1))
	}
	id := keeper.cursors[0].feed.id
	for _, seed := range []string{"", "x", ",", ".", "X.0", "X.4", "X.5", "X.6", "X.-1", "X.4,X.9", "X.+3", "X.4.4", "y.1,X.3"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, last string) {
		w := h.join([]Topic{s.Topic}, strings.ReplaceAll(last, "X", id))
		defer w.leave()
		next := func() (Event, bool) { return w.next() }
		before := 0
		for e := range events(next) {
			if e.Name != "log" {
				continue
			}
			number, err := strconv.Atoi(string(e.Data))
			if err != nil || number < 3 || number <= before {
				t.Errorf("%s after %d", e.Data, before)
			}
			before = number
		}
		if at := w.positions(); at != id+".5" {
			t.Errorf("position %s at the end", at)
		}
	})
}

// events is the sequence of the events that next returns.
func events(next func() (Event, bool)) iter.Seq[Event] {
	return func(yield func(Event) bool) {
		for e, ok := next(); ok && yield(e); e, ok = next() {
		}
	}
}
