package ui

import (
	"context"
	"slices"
	"time"

	"github.com/batchctl/batchctl/pkg/cli/jobs"
	"github.com/batchctl/batchctl/pkg/cli/ui/source"
	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/secret"
	"github.com/batchctl/batchctl/pkg/ui/logtext"
)

const (
	// logBatch is how many lines go into one event at most, and logPause how long lines are collected.
	logBatch = 200
	logPause = 100 * time.Millisecond
	// logShown is how many lines a page shows at most; log.js has the same number. logHeld bounds the bytes that are
	// collected for it.
	logShown = 20000
	logHeld  = 64 << 20
)

// logLines are consecutive lines of a log.
type logLines struct {
	// From is how many lines of the log precede the first.
	From int `json:"from"`
	// Lines may be the last of all lines since the previous event: a page could not show more.
	Lines []logLine `json:"lines"`
}

// logLine is a line of a log for the page.
type logLine struct {
	// Time is in milliseconds since 1970.
	Time int64 `json:"t"`
	logtext.Line
}

// readLog sends the lines of a job's log, until ctx ends.
func readLog(ctx context.Context, s *source.Source, id string, follow bool, lines chan<- client.Line) error {
	words := []string{"logs", id}
	if follow {
		words = append(words, "--follow")
	}
	o := jobs.LogOptions{Options: s.About("logs", id), Follow: follow, Limit: jobs.MostLogs}
	return source.FollowLog(ctx, s.Commands, words, o, func(line client.Line) error {
		select {
		case lines <- line:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	})
}

// logEnd holds the last rows of a log.
type logEnd struct {
	most        int // rows
	rows        []client.Line
	from, bytes int // the rows before the first, and the bytes of the texts
}

// add appends a row, and drops the first ones if there are too many.
func (e *logEnd) add(row client.Line) {
	e.rows = append(e.rows, row)
	for e.bytes += len(row.Text); len(e.rows) > 1 && (len(e.rows) > e.most || e.bytes > logHeld); {
		e.bytes -= len(e.rows[0].Text)
		e.rows[0] = client.Line{}
		e.rows, e.from = e.rows[1:], e.from+1
	}
}

// take returns the rows as lines, and forgets them.
func (e *logEnd) take(parser *logtext.Parser) logLines {
	taken := logLines{From: e.from, Lines: []logLine{}}
	for _, row := range e.rows {
		taken.Lines = append(taken.Lines, logLine{row.Time.UnixMilli(), parser.Line(secret.Mask("", row.Text))})
	}
	e.rows, e.from, e.bytes = nil, e.from+len(e.rows), 0
	return taken
}

// collect calls publish with several lines at a time: as many as arrive within logPause, at most logShown.
func collect(rows <-chan client.Line, publish func(logLines)) {
	var parser logtext.Parser
	end := logEnd{most: logShown}
	for row := range rows {
		end.add(row)
		timer := time.NewTimer(logPause)
		for open := true; open; {
			select {
			case row, more := <-rows:
				if open = more; more {
					end.add(row)
				}
			case <-timer.C:
				open = false
			}
		}
		timer.Stop()
		all := end.take(&parser)
		for part := range slices.Chunk(all.Lines, logBatch) {
			publish(logLines{all.From, part})
			all.From += len(part)
		}
	}
}
