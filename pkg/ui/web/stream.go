package web

import (
	"bytes"
	"net/http"
	"time"
)

const (
	// maxStreams is how many streams a hub serves at the same time.
	maxStreams = 64
	// heartbeat is the time between comments in a stream. They show that the connection works.
	heartbeat = 15 * time.Second
	// writeLimit is how long the client may take for one event. A client that is slower has to connect again.
	writeLimit = 30 * time.Second
)

// Serve sends the events of topics as server-sent events, until the client leaves or the hub closes. Each event
// has the position of every topic as its id, so an EventSource that reconnects continues where it was. It answers
// with status 503 if the hub has 64 streams or is closed.
func (h *Hub) Serve(w http.ResponseWriter, r *http.Request, topics ...Topic) {
	if r.Method == http.MethodHead {
		w.Header().Set("Content-Type", "text/event-stream")
		return
	}
	if !h.enter() {
		unavailable(w)
		return
	}
	defer h.exit()
	watcher := h.join(topics, r.Header.Get("Last-Event-ID"))
	if watcher == nil {
		unavailable(w)
		return
	}
	defer watcher.leave()

	w.Header().Set("Content-Type", "text/event-stream")
	stream := http.NewResponseController(w)
	// The next request on the connection has no limit. Test writers have no deadlines, so errors do not matter here.
	defer func() { _ = stream.SetWriteDeadline(time.Time{}) }()
	write := func(text []byte) bool {
		_ = stream.SetWriteDeadline(time.Now().Add(writeLimit))
		_, err := w.Write(text)
		return err == nil
	}
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	// The id comes before the first event: a client that reconnects before that must be known as returning.
	text := []byte("retry: 2000\nid: " + watcher.positions() + "\n\n")
	for {
		if !write(text) {
			return
		}
		for e, ok := watcher.next(); ok; e, ok = watcher.next() {
			if r.Context().Err() != nil || !write(appendEvent(nil, watcher.positions(), e)) {
				return
			}
		}
		if stream.Flush() != nil {
			return
		}
		text = nil
		select {
		case <-r.Context().Done():
			return
		case <-h.ctx.Done():
			return
		case <-watcher.wake:
		case <-beat.C:
			text = []byte(":\n\n")
		}
	}
}

// enter counts a stream, and returns false if there are too many.
func (h *Hub) enter() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.streams == maxStreams {
		return false
	}
	h.streams++
	return true
}

func (h *Hub) exit() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.streams--
}

func unavailable(w http.ResponseWriter) {
	w.Header().Set("Retry-After", "5")
	http.Error(w, "Too many pages are open, or batchctl ui is stopping. Close a page and try again.",
		http.StatusServiceUnavailable)
}

// appendEvent appends an event in the format of server-sent events. Clients read CR and CR LF as LF.
func appendEvent(text []byte, id string, e Event) []byte {
	text = append(append(text, "id: "...), id...)
	text = append(append(text, "\nevent: "...), e.Name...)
	data := bytes.ReplaceAll(e.Data, []byte("\r\n"), []byte("\n"))
	data = bytes.ReplaceAll(data, []byte("\r"), []byte("\n"))
	for line := range bytes.SplitSeq(data, []byte("\n")) {
		text = append(append(text, "\ndata: "...), line...)
	}
	return append(text, "\n\n"...)
}
