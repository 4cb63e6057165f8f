package web

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"iter"
	"strconv"
	"strings"
	"sync"
	"time"
)

// The pauses before a failed Run is called again.
const (
	firstPause   = time.Second
	longestPause = time.Minute
)

// Topic is something that pages watch.
type Topic struct {
	// Name identifies the topic in its hub, and is the name of its events. The names "problem", "end", "gap" and
	// "reset" are taken. CR and LF become blanks.
	Name string
	// Keep is how many events a new or returning watcher gets: 1 for a state whose latest value is enough, more for
	// a log. A value below 1 means 1.
	Keep int
	// KeepBytes limits the size of the kept events. The newest event is always kept. 0 means no limit.
	KeepBytes int
	// Run observes until ctx ends, and publishes what changes. The hub copies the data. If Run returns nil before
	// that, the topic is complete. If it returns an error, it is called again after a pause that doubles from 1 s
	// to 1 min. The pause starts at 1 s again after a Run that lasted a minute.
	Run func(ctx context.Context, publish func(data []byte)) error
}

// Event is what a watcher gets.
type Event struct {
	// Name is the topic's name, or:
	//	problem  Run failed; the data is {"topic":NAME,"error":TEXT}. TEXT is empty once Run publishes again.
	//	end      the topic is complete; the data is its name
	//	gap      the watcher was too slow for a log, and misses events; the data is {"topic":NAME}
	//	reset    the watcher returns to a log with a position of another run; the data is {"topic":NAME}.
	//	         All kept events follow, and some of them may be known to the watcher.
	Name string
	// Data is shared between watchers: do not change it.
	Data []byte
}

// Hub observes each topic once, however many pages watch it, and stops when none does. Its memory is bounded by
// the Keep and KeepBytes of the watched topics. A slow watcher delays neither Run nor other watchers. Hub is safe
// for concurrent use.
type Hub struct {
	linger time.Duration
	ctx    context.Context
	cancel context.CancelFunc
	runs   sync.WaitGroup

	// mu guards everything below, and all feeds and cursors.
	mu      sync.Mutex
	feeds   map[string]*feed
	streams int
}

// NewHub returns a hub. A topic without watchers continues to run for the time linger, so that a reload of the
// page does not start it again.
func NewHub(linger time.Duration) *Hub {
	ctx, cancel := context.WithCancel(context.Background())
	return &Hub{linger: linger, ctx: ctx, cancel: cancel, feeds: map[string]*feed{}}
}

// Close ends all topics and streams, and waits until all Run functions have returned.
func (h *Hub) Close() {
	h.mu.Lock()
	h.cancel()
	h.mu.Unlock()
	h.runs.Wait()
}

// Watch returns the events of a topic: the kept ones first, then new ones. It ends with ctx, when the hub
// closes, or after the event "end". If the topic is already watched, its other fields have no effect.
func (h *Hub) Watch(ctx context.Context, t Topic) iter.Seq[Event] {
	return func(yield func(Event) bool) {
		w := h.join([]Topic{t}, "")
		if w == nil {
			return
		}
		defer w.leave()
		for {
			for e, ok := w.next(); ok; e, ok = w.next() {
				if ctx.Err() != nil || !yield(e) || e.Name == "end" {
					return
				}
			}
			select {
			case <-ctx.Done():
				return
			case <-h.ctx.Done():
				return
			case <-w.wake:
			}
		}
	}
}

// feed is a topic that runs.
type feed struct {
	topic Topic
	// id is random, so that positions of another feed are recognized, also of another process.
	id     string
	cancel context.CancelFunc

	// events are the kept events; first is the number of the first of them, or of the next event if none is kept.
	events [][]byte
	first  int
	bytes  int
	// problem is the text of Run's last error; empty after it published again.
	problem string
	// complete is true after Run returned nil.
	complete bool

	watchers map[*watcher]bool
	// joins counts the watchers so far. A timer uses it to know whether one came in the meantime.
	joins int
}

// feedOf returns the feed of a topic, and starts it if there is none. The caller has locked h.mu.
func (h *Hub) feedOf(t Topic) *feed {
	t.Name = strings.NewReplacer("\r", " ", "\n", " ").Replace(t.Name)
	t.Keep = max(t.Keep, 1)
	f := h.feeds[t.Name]
	if f == nil {
		ctx, cancel := context.WithCancel(h.ctx)
		f = &feed{topic: t, id: rand.Text()[:12], cancel: cancel, first: 1, watchers: map[*watcher]bool{}}
		h.feeds[t.Name] = f
		h.runs.Go(func() { h.run(ctx, f) })
	}
	return f
}

// run calls a topic's Run until the topic is complete or ctx ends.
func (h *Hub) run(ctx context.Context, f *feed) {
	pause := firstPause
	for {
		began := time.Now()
		err := f.topic.Run(ctx, func(data []byte) { h.publish(f, data) })
		if ctx.Err() != nil {
			return
		}
		h.returned(f, err)
		if err == nil {
			return
		}
		if time.Since(began) >= longestPause {
			pause = firstPause
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		pause = min(2*pause, longestPause)
	}
}

// publish adds an event to a feed.
func (h *Hub) publish(f *feed, data []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if f.topic.Keep == 1 && len(f.events) == 1 && bytes.Equal(f.events[0], data) {
		if f.problem != "" {
			f.problem = ""
			f.wake()
		}
		return
	}
	f.problem = ""
	f.events = append(f.events, bytes.Clone(data))
	f.bytes += len(data)
	for len(f.events) > f.topic.Keep || f.topic.KeepBytes > 0 && f.bytes > f.topic.KeepBytes && len(f.events) > 1 {
		f.bytes -= len(f.events[0])
		f.events[0] = nil // the array behind the slice lives longer
		f.events = f.events[1:]
		f.first++
	}
	f.wake()
}

// returned records that Run returned.
func (h *Hub) returned(f *feed, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f.problem, f.complete = "", err == nil
	if err != nil {
		f.problem = err.Error()
	}
	f.wake()
}

// wake tells all watchers that there may be a new event. It never waits.
func (f *feed) wake() {
	for w := range f.watchers {
		select {
		case w.wake <- struct{}{}:
		default: // it has not handled the last one yet
		}
	}
}

// watcher reads several topics.
type watcher struct {
	hub     *Hub
	wake    chan struct{}
	cursors []*cursor
	// turn is the index of the cursor that is next, so that a busy topic does not delay others.
	turn int
}

// cursor is the place of a watcher in a feed.
type cursor struct {
	feed *feed
	// at is the number of the last event that the watcher got.
	at int
	// problem is the problem that the watcher knows, if it is known.
	problem      string
	problemKnown bool
	// complete is true after the event "end".
	complete bool
	// reset is true if the watcher has to get the event "reset".
	reset bool
}

// join starts to watch topics. last is the Last-Event-ID of a watcher that returns. It returns nil if the hub is
// closed.
func (h *Hub) join(topics []Topic, last string) *watcher {
	w := &watcher{hub: h, wake: make(chan struct{}, 1)}
	known := parsePositions(last)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ctx.Err() != nil {
		return nil
	}
	for _, t := range topics {
		f := h.feedOf(t)
		if f.watchers[w] {
			continue
		}
		f.watchers[w] = true
		f.joins++
		c := &cursor{feed: f, at: f.first - 1, problemKnown: last == ""}
		if at, ok := known[f.id]; ok && at <= f.last() {
			c.at = at
		} else {
			c.reset = last != "" && f.topic.Keep > 1
		}
		w.cursors = append(w.cursors, c)
	}
	return w
}

// leave stops watching. Topics without watchers end after the hub's linger time.
func (w *watcher) leave() {
	h := w.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, c := range w.cursors {
		f := c.feed
		delete(f.watchers, w)
		if len(f.watchers) > 0 {
			continue
		}
		joins := f.joins
		time.AfterFunc(h.linger, func() {
			h.mu.Lock()
			defer h.mu.Unlock()
			if f.joins == joins {
				f.cancel()
				delete(h.feeds, f.topic.Name)
			}
		})
	}
}

// next returns the next event, and false if there is none yet.
func (w *watcher) next() (Event, bool) {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	for range w.cursors {
		c := w.cursors[w.turn]
		w.turn = (w.turn + 1) % len(w.cursors)
		if e, ok := c.next(); ok {
			return e, true
		}
	}
	return Event{}, false
}

func (c *cursor) next() (Event, bool) {
	f := c.feed
	name := f.topic.Name
	switch {
	case c.reset:
		c.reset = false
		return Event{"reset", object("topic", name)}, true
	case c.at < f.first-1 && f.topic.Keep > 1:
		c.at = f.first - 1
		return Event{"gap", object("topic", name)}, true
	case c.at < f.last():
		c.at = max(c.at+1, f.first)
		return Event{name, f.events[c.at-f.first]}, true
	case c.problem != f.problem || !c.problemKnown:
		c.problem, c.problemKnown = f.problem, true
		return Event{"problem", object("topic", name, "error", f.problem)}, true
	case f.complete && !c.complete:
		c.complete = true
		return Event{"end", []byte(name)}, true
	}
	return Event{}, false
}

// last returns the number of the newest event, 0 before the first.
func (f *feed) last() int { return f.first + len(f.events) - 1 }

// object returns a JSON object of names and values.
func object(pairs ...string) []byte {
	members := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		members[pairs[i]] = pairs[i+1]
	}
	text, _ := json.Marshal(members) // a map of strings cannot fail
	return text
}

// positions returns how far a watcher is in each topic, "FEED.NUMBER,FEED.NUMBER": the id of an event.
func (w *watcher) positions() string {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	var text []byte
	for i, c := range w.cursors {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(append(text, c.feed.id...), '.')
		text = strconv.AppendInt(text, int64(c.at), 10)
	}
	return string(text)
}

// parsePositions reads what positions writes. It ignores everything else: browsers send it, and a watcher with
// an unknown position gets all kept events.
func parsePositions(text string) map[string]int {
	known := map[string]int{}
	for part := range strings.SplitSeq(text, ",") {
		id, number, _ := strings.Cut(part, ".")
		if at, err := strconv.Atoi(number); err == nil && at >= 0 {
			known[id] = at
		}
	}
	return known
}
