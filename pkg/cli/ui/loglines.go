package ui

import (
	"encoding/json"
	"io"
	"time"

	"github.com/batchctl/batchctl/pkg/secret"
	"github.com/batchctl/batchctl/pkg/ui/logtext"
)

const (
	// logBatch is how many lines go into one event at most, and logPause how long lines are collected.
	logBatch = 200
	logPause = 100 * time.Millisecond
)

// logLine is a line of a log for the page.
type logLine struct {
	// Time is in milliseconds since 1970.
	Time int64 `json:"t"`
	logtext.Line
}

// logRow is a row that `batchctl logs --output json` prints.
type logRow struct {
	Time time.Time `json:"time"`
	Text string    `json:"text"`
}

// readLog reads the rows that logs prints, and closes lines at their end.
func readLog(r *io.PipeReader, lines chan<- logLine) {
	defer close(lines)
	defer r.Close()
	var parser logtext.Parser
	dec := json.NewDecoder(r)
	if _, err := dec.Token(); err != nil { // the bracket
		return
	}
	for dec.More() {
		var row logRow
		if dec.Decode(&row) != nil {
			return
		}
		lines <- logLine{row.Time.UnixMilli(), parser.Line(secret.Mask("", row.Text))}
	}
}

// collect calls publish with several lines at a time: as many as arrive within logPause.
func collect(lines <-chan logLine, publish func([]logLine)) {
	for line := range lines {
		batch := []logLine{line}
		timer := time.NewTimer(logPause)
		for open := true; open && len(batch) < logBatch; {
			select {
			case line, more := <-lines:
				if open = more; more {
					batch = append(batch, line)
				}
			case <-timer.C:
				open = false
			}
		}
		timer.Stop()
		publish(batch)
	}
}
