package api

import (
	"fmt"
	"net/http"
	"time"

	"github.com/batchctl/batchctl/pkg/wire"
)

const (
	// ChangesPath is the path of the stream of changes. AWS Batch has no such operation; its paths begin with a version.
	ChangesPath = "/batchctl/changes"
	// changesApart is the shortest time between two events. An array changes thousands of times a second.
	changesApart = 100 * time.Millisecond
	// heartbeat is the time after which a stream without events sends a comment, so that both sides notice a broken
	// connection.
	heartbeat = 15 * time.Second
)

// CloseStreams ends the streams of changes and the live tails, also those that begin later, and cancels all queries. It
// is called once.
func (a *API) CloseStreams() {
	close(a.closing)
	a.logs.Close()
}

// streamChanges sends a server-sent event "change" after changes of jobs, queues and everything else: the client asks
// for what it shows. The first event comes at once. The stream ends with the engine, the client's connection or
// CloseStreams. It does not count as a client, so it does not keep an engine alive.
func (a *API) streamChanges(w http.ResponseWriter, r *http.Request) {
	err := fromHere(r)
	if err == nil {
		err = a.verifier.verify(r, nil, "batch")
	}
	if err == nil && r.ContentLength != 0 {
		err = wire.ClientException("GET %s has no body.", ChangesPath)
	}
	if err != nil {
		_ = wire.WriteError(w, err) // a client that has disconnected needs no answer
		return
	}
	changed, cancel := a.backend.Subscribe()
	defer cancel()
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Time{}) // the server's limit is for requests
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	for text := "event: change\ndata: {}\n\n"; ; {
		if _, err := fmt.Fprint(w, text); err != nil {
			return
		}
		if control.Flush() != nil {
			return
		}
		select {
		case <-changed:
			text = "event: change\ndata: {}\n\n"
			if !a.pause(r, changesApart) {
				return
			}
		case <-beat.C:
			text = ": the engine runs\n\n"
		case <-a.closing:
			return
		case <-r.Context().Done():
			return
		}
	}
}

// pause waits. It reports false if the stream must end.
func (a *API) pause(r *http.Request, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-a.closing:
	case <-r.Context().Done():
	}
	return false
}
