package ui

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"hash/fnv"
	"io"
	"net/http"
	"strings"

	"github.com/batchctl/batchctl/pkg/cli/ui/show"
	"github.com/batchctl/batchctl/pkg/cli/ui/source"
	"github.com/batchctl/batchctl/pkg/rpc"
	"github.com/batchctl/batchctl/pkg/ui/web"
)

const (
	// logKept and logBytes bound the events of a log that are kept for pages which open later.
	logKept  = 2000
	logBytes = 8 << 20
	// mostTopics is how many topics a page watches at most.
	mostTopics = 8
)

// eventStream tells the open pages what changes.
type eventStream struct {
	*source.Source
	hub *web.Hub
}

// serve sends what changes to a page: the values of the query parameter topic.
func (s *eventStream) serve(w http.ResponseWriter, r *http.Request) {
	var topics []web.Topic
	for _, name := range r.URL.Query()["topic"] {
		t, ok := s.topic(name)
		if !ok || len(topics) == mostTopics {
			http.Error(w, "there is no such topic", http.StatusNotFound)
			return
		}
		topics = append(topics, t)
	}
	s.hub.Serve(w, r, topics...)
}

// topic returns the topic with a name.
func (s *eventStream) topic(name string) (web.Topic, bool) {
	kind, id, _ := strings.Cut(name, ":")
	t := web.Topic{Name: name, Keep: 1, KeepBytes: 1 << 16}
	switch {
	case name == "queues":
		t.Run = s.Observer.Watch
	case name == "jobs":
		t.Run = s.Observer.WatchJobs
	case id == "" || strings.HasPrefix(id, "-"):
		return t, false
	case kind == "job":
		t.Run = s.poll("status", id, "--output", "json")
	case kind == "workflow":
		t.Run = s.poll("status", "--submission", id, "--output", "json")
	case kind == "log":
		t.Keep, t.KeepBytes = logKept, logBytes
		t.Run = func(ctx context.Context, publish func([]byte)) error { return s.followLog(ctx, id, publish) }
	default:
		return t, false
	}
	return t, true
}

// poll returns a Run function that publishes a new version whenever a command prints something else.
func (s *eventStream) poll(args ...string) func(context.Context, func([]byte)) error {
	return func(ctx context.Context, publish func([]byte)) error {
		for {
			out, err := s.Commands.Ask(ctx, s.Observer.Live()/2, args...)
			if ctx.Err() != nil {
				return nil
			}
			sum := fnv.New64a()
			_, _ = sum.Write(withoutDurations(out))
			publish(source.EventOf(int64(sum.Sum64()>>1), err))
			if rpc.Sleep(ctx, s.Observer.Live()) != nil {
				return nil
			}
		}
	}
}

// withoutDurations returns the output of status without the durations, which grow while a job runs. Scripts show those.
func withoutDurations(out []byte) []byte {
	var kept [][]byte
	for line := range bytes.Lines(out) {
		name, _, _ := bytes.Cut(bytes.TrimSpace(line), []byte(":"))
		switch string(name) {
		case `"waitedMs"`, `"ranMs"`, `"tookMs"`:
		default:
			kept = append(kept, line)
		}
	}
	return bytes.Join(kept, nil)
}

// followLog publishes the lines of a log, until the job has ended.
func (s *eventStream) followLog(ctx context.Context, id string, publish func([]byte)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	reader, writer := io.Pipe()
	failed := make(chan error, 1)
	go func() {
		_, err := s.Commands.Follow(ctx, strings.NewReader(""), writer, "logs", id, "--follow", "--output", "json")
		_ = writer.Close() // a pipe's writer cannot fail to close
		failed <- err
	}()
	rows := make(chan logRow)
	go readLog(reader, rows)
	collect(rows, func(part logLines) {
		text, err := json.Marshal(part)
		if err == nil {
			publish(text)
		}
	})
	if err := <-failed; err != nil && ctx.Err() == nil {
		return errors.New(show.Text(err.Error()))
	}
	return nil
}
