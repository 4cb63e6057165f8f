package logsapi

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/local/insights"
	"github.com/batchctl/batchctl/pkg/local/model"
)

// maxScanned is the engine's own limit on the work for one page, in bytes.
const maxScanned = 8 << 20

// scan is a pass over the events of log groups.
type scan struct {
	groups   []string
	from, to int64 // epoch milliseconds, inclusive
	each     func(*insights.Event) error
	// page is called after each page with what it added. It reports false to end the pass.
	page func(events, bytes int64) bool
}

// scan reads the streams one after the other, in the order of their starts. It holds the engine's lock only to list and
// find them, and has one page of a log in memory.
func (s *service) scan(ctx context.Context, p scan) error {
	var streams []model.LogStream
	m, done := s.state.View()
	for _, stream := range m.LogStreams {
		if !slices.Contains(p.groups, stream.Group) {
			continue
		}
		if stream.Task != nil {
			// The times of lines are recorded a moment after the attempt begins, and can be as much after its end.
			at := stream.Task.Attempts[stream.Attempt]
			if at.StoppedAt > 0 && at.StoppedAt+1000 < p.from || at.StartedAt > p.to {
				continue
			}
		}
		streams = append(streams, stream)
	}
	done()
	for _, stream := range streams {
		if more, err := s.scanStream(ctx, p, stream.Group, stream.Name); err != nil || !more {
			return err
		}
	}
	return nil
}

// scanStream reads one stream.
func (s *service) scanStream(ctx context.Context, p scan, group, name string) (more bool, err error) {
	log, err := s.openStream(group, name)
	if errors.Is(err, errNoStream) || errors.Is(err, errNoGroup) {
		return true, ctx.Err() // deleted meanwhile, or the attempt ended before it had a log
	}
	if err != nil {
		return false, err
	}
	defer log.Close()
	at, err := log.FirstSince(p.from)
	if err != nil {
		return false, fmt.Errorf("read log: %w", err)
	}
	e := insights.Event{Group: group, Stream: name}
	for {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		lines, next, err := log.Forward(at, maxEvents)
		if err != nil {
			return false, fmt.Errorf("read log: %w", err)
		}
		var events, bytes int64
		late := false
		for _, l := range lines {
			if e.Timestamp = log.Time(l.End); e.Timestamp < p.from || e.Timestamp > p.to {
				late = late || e.Timestamp > p.to
				continue
			}
			e.Ingestion, e.Position, e.Message = log.Ingested(l.End), l.Start,
				strings.ToValidUTF8(string(l.Text), "\uFFFD")
			events, bytes = events+1, bytes+int64(len(l.Text))
			if err := p.each(&e); err != nil {
				return false, err
			}
		}
		if !p.page(events, bytes) {
			return false, nil
		}
		if at = next; len(lines) == 0 || late && !log.IsPut() {
			return true, nil
		}
	}
}
