package web

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// source is a topic that a test publishes to.
type source struct {
	Topic
	publish        func(data string)
	started, ended atomic.Int32
}

// newSource returns a topic whose Run waits for its context. publish can be called once it is watched.
func newSource(name string, keep int) *source {
	s := &source{}
	publishers := make(chan func([]byte), 1)
	s.publish = func(data string) {
		p := <-publishers
		p([]byte(data))
		publishers <- p
	}
	s.Topic = Topic{Name: name, Keep: keep, Run: func(ctx context.Context, publish func([]byte)) error {
		s.started.Add(1)
		select {
		case <-publishers: // of a Run that has ended
		default:
		}
		publishers <- publish
		<-ctx.Done()
		s.ended.Add(1)
		return ctx.Err()
	}}
	return s
}

// stream is the client of a stream in a test.
type stream struct {
	mu     sync.Mutex
	header http.Header
	text   bytes.Buffer
	status int
	leave  func()
	done   chan struct{}
	// limit is the write deadline. After it, writes fail if the client is gone.
	limit time.Time
	gone  bool
}

func (s *stream) Header() http.Header { return s.header }

func (s *stream) WriteHeader(status int) { s.status = status }

func (s *stream) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gone {
		time.Sleep(time.Until(s.limit))
		return 0, os.ErrDeadlineExceeded
	}
	return s.text.Write(p)
}

func (s *stream) SetWriteDeadline(limit time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.limit = limit
	return nil
}

func (s *stream) Flush() {}

// read returns what came since the last read.
func (s *stream) read() string {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	text := s.text.String()
	s.text = bytes.Buffer{}
	return text
}

// connect opens a stream. last is the Last-Event-ID, empty for a new page.
func connect(h *Hub, last string, topics ...Topic) *stream {
	ctx, cancel := context.WithCancel(context.Background())
	r := httptest.NewRequest("GET", "/events", nil).WithContext(ctx)
	if last != "" {
		r.Header.Set("Last-Event-ID", last)
	}
	s := &stream{header: http.Header{}, leave: cancel, done: make(chan struct{})}
	go func() {
		defer close(s.done)
		h.Serve(s, r, topics...)
	}()
	return s
}

// parsed is an event as an EventSource reads it.
type parsed struct{ id, name, data string }

// parse reads a stream as the HTML standard describes it.
func parse(text string) (events []parsed) {
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
	var e parsed
	data, id := "", ""
	for _, line := range strings.Split(text, "\n") {
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "":
			if data != "" {
				events = append(events, parsed{id, e.name, strings.TrimSuffix(data, "\n")})
			}
			e, data = parsed{}, ""
		case name == "id":
			id = value
		case name == "event":
			e.name = value
		case name == "data":
			data += value + "\n"
		}
	}
	return events
}

// brief returns the events as "NAME=DATA NAME=DATA".
func brief(events []parsed) string {
	var all []string
	for _, e := range events {
		all = append(all, e.name+"="+e.data)
	}
	return strings.Join(all, " ")
}

func check(t *testing.T, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestOneRunForAllWatchers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := NewHub(10 * time.Second)
		defer h.Close()
		s := newSource("queues", 1)
		counts := func(started, ended int32) {
			t.Helper()
			synctest.Wait()
			if s.started.Load() != started || s.ended.Load() != ended {
				t.Fatalf("%d started and %d ended, want %d and %d", s.started.Load(), s.ended.Load(), started, ended)
			}
		}
		ctx, leave := context.WithCancel(t.Context())
		var got atomic.Int32
		for range 100 {
			go func() {
				for e := range h.Watch(ctx, s.Topic) {
					if string(e.Data) == "1" {
						got.Add(1)
					}
				}
			}()
		}
		counts(1, 0)
		s.publish("1")
		synctest.Wait()
		if got.Load() != 100 {
			t.Errorf("%d of 100 watchers got the event", got.Load())
		}

		// A reload is shorter than the linger time, and starts it again.
		leave()
		for range 3 {
			time.Sleep(9 * time.Second)
			reload := connect(h, "", s.Topic)
			check(t, brief(parse(reload.read())), "queues=1")
			reload.leave()
			<-reload.done
		}
		counts(1, 0)
		time.Sleep(10*time.Second - time.Nanosecond)
		counts(1, 0)
		time.Sleep(time.Nanosecond)
		counts(1, 1)
		if len(h.feeds) != 0 {
			t.Error("the topic is not removed")
		}

		again := connect(h, "", s.Topic)
		check(t, brief(parse(again.read())), "")
		counts(2, 1)
		again.leave()
	})
}

func TestPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := NewHub(0)
		defer h.Close()
		begin := time.Now()
		var starts []string
		topic := Topic{Name: "a", Keep: 1, Run: func(ctx context.Context, publish func([]byte)) error {
			starts = append(starts, strconv.Itoa(int(time.Since(begin)/time.Second)))
			switch len(starts) {
			case 3:
				publish([]byte("x"))
			case 4:
				publish([]byte("x")) // the same state: the problem is over, and there is no event
				return errors.New("throttled")
			case 11:
				time.Sleep(time.Minute)
			}
			return errors.New("no credentials")
		}}
		s := connect(h, "", topic)
		time.Sleep(7 * time.Minute)
		check(t, brief(parse(s.read())), `problem={"error":"no credentials","topic":"a"} a=x problem={"error":"throttled","topic":"a"} `+
			`problem={"error":"no credentials","topic":"a"}`)
		// 60 s after the start at 303, Run fails, and the pause is 1 s again.
		check(t, strings.Join(starts, " "), "0 1 3 7 15 31 63 123 183 243 303 364 366 370 378 394")
		late := connect(h, "", topic)
		check(t, brief(parse(late.read())), `a=x problem={"error":"no credentials","topic":"a"}`)
	})
}

// TestProblemIsOver checks that watchers learn that Run works again, also those that return after that.
func TestProblemIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := NewHub(time.Minute)
		defer h.Close()
		var works atomic.Bool
		failure := make(chan struct{})
		topic := Topic{Name: "a", Keep: 1, Run: func(ctx context.Context, publish func([]byte)) error {
			if !works.Load() {
				return errors.New("no \"network\"")
			}
			publish([]byte("x"))
			select {
			case <-ctx.Done():
			case <-failure:
			}
			return errors.New("expired")
		}}
		stays, returns := connect(h, "", topic), connect(h, "", topic)
		want := `problem={"error":"no \"network\"","topic":"a"}`
		check(t, brief(parse(stays.read())), want)
		events := parse(returns.read())
		check(t, brief(events), want)
		returns.leave()
		works.Store(true)
		time.Sleep(time.Second)
		want = `a=x problem={"error":"","topic":"a"}`
		check(t, brief(parse(stays.read())), want)
		check(t, brief(parse(connect(h, events[0].id, topic).read())), want)
		check(t, brief(parse(connect(h, "", topic).read())), "a=x")

		// The state is the same after the failure.
		failure <- struct{}{}
		check(t, brief(parse(stays.read())), `problem={"error":"expired","topic":"a"}`)
		time.Sleep(2 * time.Second)
		check(t, brief(parse(stays.read())), `problem={"error":"","topic":"a"}`)
	})
}

func TestHeartbeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := NewHub(0)
		defer h.Close()
		s := connect(h, "", newSource("a", 1).Topic)
		first := s.read()
		if !strings.HasPrefix(first, "retry: 2000\nid: ") || s.header.Get("Content-Type") != "text/event-stream" {
			t.Errorf("%q, %s", first, s.header)
		}
		time.Sleep(15*time.Second - time.Nanosecond)
		check(t, s.read(), "")
		time.Sleep(time.Nanosecond)
		check(t, s.read(), ":\n\n")
		time.Sleep(30 * time.Second)
		check(t, s.read(), ":\n\n:\n\n")
	})
}

// TestStuckClient checks that a stream ends whose client reads nothing for 30 s, and keeps no deadline.
func TestStuckClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := NewHub(0)
		defer h.Close()
		s := newSource("a", 1)
		client := connect(h, "", s.Topic)
		client.read()
		client.mu.Lock()
		client.gone = true
		client.mu.Unlock()
		time.Sleep(time.Second)
		s.publish("x")
		begin := time.Now()
		<-client.done
		if took := time.Since(begin); took != 30*time.Second || !client.limit.IsZero() {
			t.Errorf("ended after %s, deadline %s", took, client.limit)
		}
	})
}

// endless publishes an event with each event that it gets, so that a stream always has a next one.
type endless struct {
	*httptest.ResponseRecorder
	wrote func()
}

func (e endless) Write(p []byte) (int, error) {
	e.wrote()
	return len(p), nil
}

func TestBusyStreamEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := NewHub(0)
		defer h.Close()
		s := newSource("a", 5)
		ctx, leave := context.WithCancel(t.Context())
		n := 0
		h.Serve(endless{httptest.NewRecorder(), func() {
			if n++; n == 100 {
				leave()
			}
			if n <= 1000 {
				s.publish("x")
			}
		}}, httptest.NewRequest("GET", "/events", nil).WithContext(ctx), s.Topic)
		if n != 100 {
			t.Errorf("%d events", n)
		}
	})
}

// TestSlowWatchers lets watchers fall behind: of a state, of a log with few events, and of one with few bytes.
func TestSlowWatchers(t *testing.T) {
	for _, c := range []struct {
		name            string
		keep, keepBytes int
		want            string
	}{
		{"state", 1, 0, "a=0 a=9"},
		{"default", 0, 0, "a=0 a=9"},
		{"log", 3, 0, `a=0 gap={"topic":"a"} a=7 a=8 a=9`},
		{"long log", 9, 0, "a=0 a=1 a=2 a=3 a=4 a=5 a=6 a=7 a=8 a=9"},
		{"bytes", 8, 2, `a=0 gap={"topic":"a"} a=8 a=9`},
		{"a large event", 8, -1, "a=0 a=1 a=2 a=3 a=4 a=5 a=6 a=7 a=8 a=9"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := NewHub(0)
				defer h.Close()
				s := newSource("a", c.keep)
				s.KeepBytes = c.keepBytes
				if c.keepBytes < 0 {
					s.KeepBytes, s.Keep = 0, 10
				}
				gate := make(chan struct{})
				var slow, quick []string
				for _, w := range []struct {
					got *[]string
					at  chan struct{}
				}{{&slow, gate}, {&quick, nil}} {
					go func() {
						for e := range h.Watch(t.Context(), s.Topic) {
							*w.got = append(*w.got, e.Name+"="+string(e.Data))
							if w.at != nil {
								<-w.at
							}
						}
					}()
				}
				synctest.Wait()
				for i := range 10 {
					s.publish(strconv.Itoa(i))
					synctest.Wait()
				}
				check(t, strings.Join(quick, " "), "a=0 a=1 a=2 a=3 a=4 a=5 a=6 a=7 a=8 a=9")
				close(gate)
				synctest.Wait()
				check(t, strings.Join(slow, " "), c.want)
			})
		})
	}
}

func TestLargeEventIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := NewHub(0)
		defer h.Close()
		s := newSource("a", 5)
		s.KeepBytes = 10
		first := connect(h, "", s.Topic)
		first.read()
		for _, data := range []string{"1", "2", strings.Repeat("x", 50)} {
			s.publish(data)
		}
		check(t, brief(parse(connect(h, "", s.Topic).read())), "a="+strings.Repeat("x", 50))
		s.publish("4")
		check(t, brief(parse(connect(h, "", s.Topic).read())), "a=4")
	})
}

// TestSameState checks that a state is sent again only if it differs, and a log line always.
func TestSameState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := NewHub(0)
		defer h.Close()
		state, log := newSource("state", 1), newSource("log", 9)
		s := connect(h, "", state.Topic, log.Topic, state.Topic)
		s.read()
		for _, want := range []string{"state=x", "", ""} {
			state.publish("x")
			check(t, brief(parse(s.read())), want)
			log.publish("x")
			check(t, brief(parse(s.read())), "log=x")
		}
		state.publish("")
		check(t, brief(parse(s.read())), "state=")
		check(t, brief(parse(connect(h, "", log.Topic).read())), "log=x log=x log=x")
	})
}

// TestPublishedDataIsCopied changes a buffer after it was published.
func TestPublishedDataIsCopied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := NewHub(0)
		defer h.Close()
		topic := Topic{Name: "a", Keep: 2, Run: func(ctx context.Context, publish func([]byte)) error {
			buffer := []byte("1")
			publish(buffer)
			buffer[0] = '2'
			publish(buffer)
			return nil
		}}
		check(t, brief(parse(connect(h, "", topic).read())), "a=1 a=2 end=a")
	})
}

func TestReturningWatcher(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := NewHub(time.Minute)
		defer h.Close()
		state, log := newSource("state", 1), newSource("log", 4)
		s := connect(h, "", state.Topic, log.Topic)
		s.read()
		state.publish("a")
		s.read()
		log.publish("1")
		log.publish("2")
		events := parse(s.read())
		s.leave()
		last := events[len(events)-1].id
		quiet := `problem={"error":"","topic":"state"} problem={"error":"","topic":"log"}`
		check(t, brief(parse(connect(h, last, state.Topic, log.Topic).read())), quiet)

		log.publish("3")
		check(t, brief(parse(connect(h, last, state.Topic, log.Topic).read())),
			`problem={"error":"","topic":"state"} log=3 problem={"error":"","topic":"log"}`)
		state.publish("b")
		// Another order of topics, as after a new version of the page.
		check(t, brief(parse(connect(h, last, log.Topic, state.Topic).read())),
			`log=3 state=b problem={"error":"","topic":"log"} problem={"error":"","topic":"state"}`)
		for i := 4; i < 9; i++ {
			log.publish(strconv.Itoa(i))
		}
		check(t, brief(parse(connect(h, last, log.Topic).read())),
			`gap={"topic":"log"} log=5 log=6 log=7 log=8 problem={"error":"","topic":"log"}`)
		check(t, brief(parse(connect(h, "", log.Topic).read())), "log=5 log=6 log=7 log=8")

		// The id before the first event is a position too.
		first, _, _ := strings.Cut(connect(h, "", log.Topic).read(), "\n\n")
		_, id, _ := strings.Cut(first, "id: ")
		check(t, brief(parse(connect(h, id, log.Topic).read())), `log=5 log=6 log=7 log=8 problem={"error":"","topic":"log"}`)

		// Positions of another run, of the future, and texts that are not positions.
		feed := h.feeds["log"].id
		for _, unknown := range []string{"x", "abc.5", feed, feed + ".99", feed + ".-1", feed + ".99999999999999999999", ",.,", strings.ReplaceAll(id, feed, feed+"x")} {
			check(t, brief(parse(connect(h, unknown, log.Topic, state.Topic).read())),
				`reset={"topic":"log"} state=b log=5 problem={"error":"","topic":"state"} log=6 log=7 log=8 problem={"error":"","topic":"log"}`)
		}
	})
}

// TestCompleteTopic checks that a topic whose Run returns nil is not run again while it is watched.
func TestCompleteTopic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := NewHub(time.Second)
		defer h.Close()
		runs := 0
		log := Topic{Name: "log", Keep: 9, Run: func(ctx context.Context, publish func([]byte)) error {
			if runs++; runs == 1 {
				return errors.New("not yet")
			}
			publish([]byte("1"))
			return nil
		}}
		s := connect(h, "", log)
		time.Sleep(time.Hour)
		events := parse(s.read())
		check(t, brief(events), `problem={"error":"not yet","topic":"log"} log=1 problem={"error":"","topic":"log"} end=log`)
		s.leave()
		check(t, brief(parse(connect(h, events[1].id, log).read())), `problem={"error":"","topic":"log"} end=log`)
		var got []string
		for e := range h.Watch(t.Context(), log) {
			got = append(got, e.Name)
		}
		check(t, strings.Join(got, " "), "log end")
		if runs != 2 {
			t.Errorf("%d runs", runs)
		}
	})
}

func TestTooManyStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := NewHub(0)
		topic := newSource("a", 1).Topic
		var streams []*stream
		for range maxStreams {
			streams = append(streams, connect(h, "", topic))
		}
		synctest.Wait()
		rejected := func() *stream {
			t.Helper()
			s := connect(h, "", topic)
			<-s.done
			if s.status != http.StatusServiceUnavailable || s.header.Get("Retry-After") == "" || s.header.Get("Content-Type") == "text/event-stream" {
				t.Errorf("status %d, %s", s.status, s.header)
			}
			return s
		}
		rejected()
		streams[0].leave()
		<-streams[0].done
		next := connect(h, "", topic)
		next.read()
		if next.status != 0 {
			t.Errorf("status %d after a stream has ended", next.status)
		}
		h.Close()
		for _, s := range append(streams, next) {
			<-s.done
		}
		rejected()
		for range h.Watch(t.Context(), topic) {
			t.Error("an event after Close")
		}
		// HEAD has no stream.
		answer := httptest.NewRecorder()
		h.Serve(answer, httptest.NewRequest("HEAD", "/events", nil), topic)
		if answer.Code != 200 {
			t.Errorf("HEAD: %d", answer.Code)
		}
	})
}

// TestClose checks that Close waits for Run, and that a failed topic does not start again.
func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := NewHub(time.Hour)
		var ended atomic.Bool
		slow := Topic{Name: "slow", Run: func(ctx context.Context, publish func([]byte)) error {
			<-ctx.Done()
			time.Sleep(5 * time.Second)
			publish([]byte("too late"))
			ended.Store(true)
			return errors.New("stopped")
		}}
		runs := 0
		fails := Topic{Name: "fails", Run: func(context.Context, func([]byte)) error { runs++; return errors.New("no") }}
		s := connect(h, "", slow, fails)
		s.read()
		h.Close()
		if !ended.Load() {
			t.Error("Close did not wait")
		}
		<-s.done
		h.Close()
		time.Sleep(2 * time.Hour)
		if runs != 1 {
			t.Errorf("%d runs", runs)
		}
	})
}

// TestNothingRemains publishes 10,000 events of 10 KB to a log with many watchers that come and go. After that,
// synctest finds goroutines that remain.
func TestNothingRemains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		heap := func() int {
			var m runtime.MemStats
			runtime.GC()
			runtime.GC()
			runtime.ReadMemStats(&m)
			return int(m.HeapAlloc)
		}
		h := NewHub(time.Second)
		log := newSource("log", 100)
		log.KeepBytes = 500_000
		state := newSource("state", 1)
		before := heap()
		stuck := make(chan struct{})
		first := connect(h, "", log.Topic, state.Topic)
		go func() {
			for range h.Watch(t.Context(), log.Topic) {
				<-stuck
			}
		}()
		first.read()
		data := strings.Repeat("x", 10_000)
		for i := range 10_000 {
			log.publish(data)
			state.publish(strconv.Itoa(i))
			if i%100 == 0 {
				s := connect(h, "", log.Topic, state.Topic, Topic{Name: "own " + strconv.Itoa(i), Run: newSource("", 1).Run})
				s.read()
				s.leave()
				<-s.done
				first.read()
				time.Sleep(50 * time.Millisecond)
			}
		}
		count := func(feeds, streams int) {
			t.Helper()
			synctest.Wait()
			h.mu.Lock()
			defer h.mu.Unlock()
			if len(h.feeds) != feeds || h.streams != streams {
				t.Errorf("%d feeds and %d streams, want %d and %d", len(h.feeds), h.streams, feeds, streams)
			}
		}
		// A stream came each 50 ms, and its own topic ran for another second.
		count(2+19, 1)
		h.mu.Lock()
		if f := h.feeds["log"]; f.bytes > log.KeepBytes || len(f.events) != 50 || len(f.watchers) != 2 {
			t.Errorf("%d bytes, %d events, %d watchers", f.bytes, len(f.events), len(f.watchers))
		}
		h.mu.Unlock()
		log.publish(strings.Repeat("x", 8_000_000))
		first.read()
		log.publish(data)
		first.read()
		time.Sleep(2 * time.Second)
		count(2, 1)
		if grown := heap() - before; grown > 4_000_000 {
			t.Errorf("the heap grew by %d bytes while the topic is watched", grown)
		}
		close(stuck)
		first.leave()
		<-first.done
		time.Sleep(2 * time.Second)
		count(1, 0) // the watcher that was stuck waits for the next event
		h.Close()
		time.Sleep(2 * time.Second)
		count(0, 0)
		if grown := heap() - before; grown > 1_000_000 {
			t.Errorf("the heap grew by %d bytes", grown)
		}
		runtime.KeepAlive(h)
	})
}
