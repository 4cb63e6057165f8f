package once

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/buildinfo"
)

// logText is the text of a run's log.
type logText struct {
	path string
	// lines are the readable lines, numbers their line numbers from 1.
	lines   []line
	numbers []int
	// damaged are the line numbers of damaged lines.
	damaged []int
	// size is the number of lines, without an incomplete last one.
	size int
	torn bool
}

// RunDamageError reports that the first lines of a run's log, which contain the intents, are
// damaged.
type RunDamageError struct {
	// Path is the log, and Line the first damaged line, from 1.
	Path string
	Line int
	Why  string
	// Newer means that the log is not damaged, but written by a newer batchctl.
	Newer bool
}

// Error has the position and the cause.
func (e *RunDamageError) Error() string { return fmt.Sprintf("%s:%d: %s", e.Path, e.Line, e.Why) }

// newer returns the error for a line that this version cannot act on.
func (t *logText) newer(i int, writer, format string, args ...any) error {
	if writer != "" {
		writer = "batchctl " + writer
	}
	why := fmt.Sprintf("written by %s (%s): use that version; nothing was changed", cmp.Or(writer, "a newer batchctl"),
		fmt.Sprintf(format, args...))
	return &RunDamageError{t.path, t.numbers[i], why, true}
}

// checkKnown returns a *RunDamageError if a newer batchctl wrote the log in another format, or wrote
// an unknown line. This version cannot tell what is left to do then.
func (t *logText) checkKnown() error {
	writer := ""
	for i, l := range t.lines {
		writer = cmp.Or(l.Batchctl, writer)
		switch {
		case l.Format > LogFormat:
			return t.newer(i, writer, "format %d; this one reads %d", l.Format, LogFormat)
		case !slices.Contains(knownLines, l.What):
			return t.newer(i, writer, "unknown line %q; this one is %s", l.What, buildinfo.Own())
		}
	}
	return nil
}

// readLog reads a run's log.
func readLog(path string, from io.Reader) (*logText, error) {
	t := &logText{path: path}
	newer := false
	torn, err := eachLine(from, func(text []byte) {
		t.size++
		if len(bytes.TrimSpace(text)) == 0 {
			return
		}
		var l line
		sealed, unchanged := checkSeal(text)
		readable := unchanged && json.Unmarshal(text, &l) == nil && l.What != ""
		newer = newer || readable && l.Format > LogFormat
		if !readable || !sealed && !newer { // a newer format may do without checksums
			t.damaged = append(t.damaged, t.size)
			return
		}
		t.lines, t.numbers = append(t.lines, l), append(t.numbers, t.size)
	})
	t.torn = len(torn) > 0
	return t, err
}

// isNew reports whether the log is of a run that sent nothing yet (see runLog).
func (t *logText) isNew() bool { return strings.HasSuffix(t.path, newSuffix) }

// damage returns a *RunDamageError for a line.
func (t *logText) damage(number int, format string, args ...any) error {
	return &RunDamageError{Path: t.path, Line: number, Why: fmt.Sprintf(format, args...)}
}

// checkIntents returns an error if the first lines are not a run with all its intents. Only damage
// causes that.
func (t *logText) checkIntents() error {
	changed := "the line is damaged: it does not match its checksum, or is not valid"
	switch {
	case t.size == 0:
		return t.damage(1, "the log has no complete line")
	case len(t.lines) == 0 || t.numbers[0] != 1 || t.lines[0].What != lineRun:
		return t.damage(1, "%s", changed)
	}
	jobs, intents := t.lines[0].Jobs, 0
	for i, l := range t.lines[1:] {
		switch {
		case l.What != lineIntent && intents < jobs:
			return t.damage(2+intents, "%s", changed)
		case l.What == lineIntent && intents == jobs:
			return t.damage(t.numbers[1+i], "the run has %d jobs, but this line adds another", jobs)
		case l.What == lineIntent && t.numbers[1+i] != 2+intents:
			return t.damage(2+intents, "%s", changed)
		case l.What == lineIntent:
			intents++
		}
	}
	if intents < jobs && 2+intents <= t.size {
		return t.damage(2+intents, "%s", changed)
	}
	if intents < jobs || jobs == 0 {
		return t.damage(2+intents, "the log ends after %d of the run's %d jobs", intents, jobs)
	}
	return nil
}

// where names the damaged outcomes, as in `PATH: line 7, 9`.
func (t *logText) where() string {
	numbers := strings.Trim(fmt.Sprint(t.damaged), "[]")
	return t.path + ": line " + strings.ReplaceAll(numbers, " ", ", ")
}

const (
	logSuffix = ".jsonl"
	newSuffix = logSuffix + ".new"
)
