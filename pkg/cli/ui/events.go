package ui

import (
	"context"
	"encoding/json"
	"errors"
	"hash/fnv"
	"net/http"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/cli/jobs"
	"github.com/batchctl/batchctl/pkg/cli/ui/show"
	"github.com/batchctl/batchctl/pkg/cli/ui/source"
	"github.com/batchctl/batchctl/pkg/client"
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
		t.Run = s.poll(s.Status(id))
	case kind == "workflow":
		t.Run = s.poll(s.StatusOf(id))
	case kind == "log":
		t.Keep, t.KeepBytes = logKept, logBytes
		t.Run = func(ctx context.Context, publish func([]byte)) error { return s.followLog(ctx, id, publish) }
	default:
		return t, false
	}
	return t, true
}

// poll returns a Run function that publishes a new version whenever the jobs have changed.
func (s *eventStream) poll(q source.Question[[]jobs.Row]) func(context.Context, func([]byte)) error {
	return func(ctx context.Context, publish func([]byte)) error {
		for {
			rows, err := source.Ask(ctx, s.Commands, s.Observer.Live()/2, q)
			if ctx.Err() != nil {
				return nil
			}
			publish(source.EventOf(versionOf(rows), err))
			if rpc.Sleep(ctx, s.Observer.Live()) != nil {
				return nil
			}
		}
	}
}

// versionOf returns a number that changes with the jobs. Their durations, which grow while they run, do not count:
// scripts show those.
func versionOf(rows []jobs.Row) int64 {
	rows = slices.Clone(rows)
	for i := range rows {
		rows[i].Added.WaitedMs, rows[i].Added.RanMs, rows[i].Added.TookMs = nil, nil, nil
	}
	sum := fnv.New64a()
	text, _ := json.Marshal(rows) // they have been masked as JSON
	_, _ = sum.Write(text)
	return int64(sum.Sum64() >> 1)
}

// followLog publishes the lines of a log, until the job has ended.
func (s *eventStream) followLog(ctx context.Context, id string, publish func([]byte)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	failed := make(chan error, 1)
	lines := make(chan client.Line)
	go func() {
		defer close(lines)
		failed <- readLog(ctx, s.Source, id, true, lines)
	}()
	collect(lines, func(part logLines) {
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
