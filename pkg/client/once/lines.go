package once

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/batchctl/batchctl/pkg/buildinfo"
	"github.com/batchctl/batchctl/pkg/ladder"
)

// The files of the ledger have one JSON object per line. Its last member is "sum": the first 16
// digits of the sha256 of the line before it. A line without one, as you
// may write it by hand, is read, but changes to it go unnoticed. Only the log of a run rejects it.

// LedgerFormat is the version of the ledger's files. Their lines have no version, because later versions only add
// members. A line of a version that cannot be read like this one would have the member "format".
const LedgerFormat = 1

// newerFormat explains that a newer batchctl wrote a file or a line.
func newerFormat(format, known int) string {
	return fmt.Sprintf("written by a newer batchctl (format %d; this one reads %d): use that version", format, known)
}

// DamageError names damaged lines of the ledger that were skipped.
type DamageError struct {
	Path  string
	Lines []int // from 1
	// Newer is the format of these lines if a newer batchctl wrote them; 0 if one of them is damaged.
	Newer int
}

// Error names the file and the lines.
func (e *DamageError) Error() string {
	lines := strings.ReplaceAll(strings.Trim(fmt.Sprint(e.Lines), "[]"), " ", ", ")
	if e.Newer > 0 {
		return fmt.Sprintf("%s: line %s was skipped: %s", e.Path, lines, newerFormat(e.Newer, LedgerFormat))
	}
	return fmt.Sprintf("%s: line %s cannot be read and was skipped", e.Path, lines)
}

const (
	sumMember = `,"sum":"`
	sumDigits = 16
	sumEnd    = `"}`
	sumLen    = len(sumMember) + sumDigits + len(sumEnd)
)

// jsonLines writes values as sealed lines.
func jsonLines[T any](values []T) ([]byte, error) {
	var text, one bytes.Buffer
	enc := json.NewEncoder(&one)
	enc.SetEscapeHTML(false)
	for _, v := range values {
		one.Reset()
		if err := enc.Encode(v); err != nil {
			return nil, err
		}
		text.Write(seal(bytes.TrimSuffix(one.Bytes(), []byte("\n"))))
		text.WriteByte('\n')
	}
	return text.Bytes(), nil
}

// seal adds the checksum to an object that has members.
func seal(object []byte) []byte {
	body := bytes.TrimSuffix(object, []byte("}"))
	return append(append(append(bytes.Clone(body), sumMember...), sumOf(body)...), sumEnd...)
}

// sumOf returns the checksum of a line.
func sumOf(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])[:sumDigits]
}

// checkSeal reports whether a line has a checksum, and whether the line matches it. A line without
// one counts as unchanged.
func checkSeal(text []byte) (sealed, unchanged bool) {
	cut := len(text) - sumLen
	if cut < 0 || !bytes.HasPrefix(text[cut:], []byte(sumMember)) || !bytes.HasSuffix(text, []byte(sumEnd)) {
		return false, true
	}
	body, sum := text[:cut], text[cut+len(sumMember):cut+len(sumMember)+sumDigits]
	return true, sumOf(body) == string(sum)
}

// eachLine calls take for each complete line of a text, without its line end. It returns an
// incomplete last line, as a crash leaves it.
func eachLine(from io.Reader, take func(text []byte)) (torn []byte, err error) {
	r := bufio.NewReader(from)
	for {
		text, err := r.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return text, nil
		}
		if err != nil {
			return nil, err
		}
		take(bytes.TrimSuffix(text, []byte("\n")))
	}
}

// creation bounds the time between creating a file and writing its first line.
const creation = time.Minute

// readRecords calls take for each record of a file; take reports whether the record is valid. A
// file that does not exist has no records, and an incomplete last line is ignored. Damaged lines
// are skipped and reported by a *DamageError together with the rest. A last line of zeros, as file
// systems leave after a power failure, counts as damaged. So does line 1 of an empty file, unless
// another process is just creating it.
func readRecords[T any](path string, take func(T) bool) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	var damaged []int
	n, newer, broken := 0, 0, false
	torn, err := eachLine(f, func(text []byte) {
		n++
		if len(bytes.TrimSpace(text)) == 0 {
			return
		}
		if format := formatOf(text); format > LedgerFormat {
			newer, damaged = max(newer, format), append(damaged, n)
			return
		}
		var record T
		if _, unchanged := checkSeal(text); !unchanged || json.Unmarshal(text, &record) != nil || !take(record) {
			broken, damaged = true, append(damaged, n)
		}
	})
	if info, statErr := f.Stat(); statErr == nil && info.Size() == 0 && time.Since(info.ModTime()) > creation ||
		bytes.IndexByte(torn, 0) >= 0 {
		broken, damaged = true, append(damaged, n+1)
	}
	if broken {
		newer = 0
	}
	if err == nil && damaged != nil {
		err = &DamageError{path, damaged, newer}
	}
	return err
}

// formatOf returns the format of an unchanged line that names one; 0 for others.
func formatOf(text []byte) int {
	if !bytes.Contains(text, []byte(`"format":`)) {
		return 0
	}
	var line struct {
		Format int `json:"format"`
	}
	if _, unchanged := checkSeal(text); !unchanged || json.Unmarshal(text, &line) != nil {
		return 0
	}
	return line.Format
}

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

// What a line of a run's log records.
const (
	lineRun       = "run"      // the first line: where to, and how many intents follow
	lineResumed   = "resumed"  // another process continues
	lineIntent    = "intent"   // a job that will be submitted
	lineUnclear   = "unclear"  // it was sent, without a clear answer
	lineAccepted  = "accepted" // it has an id
	lineRefused   = "refused"  // it was certainly not accepted
	lineChecked   = "checked"  // no duplicate can appear any more
	lineDuplicate = "twin"     // its duplicate ID is about to be stopped
	lineDropped   = "dropped"  // the user gave it up
	lineDue       = "due"      // its dependencies in the client have ended: it is about to be sent
	lineSkipped   = "skipped"  // the job is not needed
	lineResource  = "resource" // a consumable resource of the run is about to be created
	lineStopping  = "stopping" // a rejection: the accepted jobs are stopped, the rest is given up
	lineClimbed   = "climbed"  // it FAILED: what its rungs decide, with the jobs that are about to be sent
	lineMoved     = "moved"    // a climbed job of which a step goes to another target; older versions refuse the log
	lineCancelled = "cancel"   // it has no capacity and is about to be cancelled
	lineNotified  = "notified" // a message about its end was sent, or given up
)

// knownLines are all lines that this version can act on.
var knownLines = []string{lineRun, lineResumed, lineIntent, lineUnclear, lineAccepted, lineRefused, lineChecked,
	lineDuplicate, lineDropped, lineDue, lineSkipped,
	lineResource, lineStopping, lineClimbed, lineMoved, lineCancelled, lineNotified}

// line is a line of a run's log. Its What determines which members are set.
type line struct {
	Time time.Time `json:"time"`
	What string    `json:"what"`

	// Of the run and the process that works on it. Name is the workflow's name.
	Run      string `json:"run,omitempty"`
	Target   string `json:"target,omitempty"`
	Host     string `json:"host,omitempty"`
	PID      int    `json:"pid,omitempty"`
	Jobs     int    `json:"jobs,omitempty"`
	Attached bool   `json:"attached,omitempty"`
	// Batchctl is the version of that process, and Format is LogFormat.
	Batchctl      string `json:"batchctl,omitempty"`
	Format        int    `json:"format,omitempty"`
	StopOnFailure bool   `json:"stopOnFailure,omitempty"`

	// Of a job.
	Name       string          `json:"name,omitempty"`
	Submission string          `json:"submission,omitempty"`
	Queue      string          `json:"queue,omitempty"`
	ID         string          `json:"id,omitempty"`
	Definition string          `json:"definition,omitempty"`
	ArraySize  int             `json:"arraySize,omitempty"`
	Reason     string          `json:"reason,omitempty"`
	After      []edge          `json:"after,omitempty"`
	Definer    *int            `json:"definer,omitempty"`
	SHA256     string          `json:"sha256,omitempty"` // of submit
	Submit     json.RawMessage `json:"submit,omitempty"`
	Register   json.RawMessage `json:"register,omitempty"`
	Earlier    []earlier       `json:"earlier,omitempty"`
	When       string          `json:"when,omitempty"`
	Staged     []staged        `json:"staged,omitempty"`

	// Again, File and Cells are those of the job's Entry. Again is "" for a step of the run.
	Again string `json:"again,omitempty"`
	File  string `json:"file,omitempty"`
	Cells string `json:"cells,omitempty"`

	// Of a failed job: the intents of the jobs that run it again. Each of those has its Step.
	Steps []line       `json:"steps,omitempty"`
	Step  *ladder.Step `json:"step,omitempty"`
	// At is the name of the target of such a job if it is not that of the run; Target is then its
	// account and Region.
	At string `json:"at,omitempty"`
	// Notify are the receivers of messages about the end of a job.
	Notify []string `json:"notify,omitempty"`

	// Of a job whose children share a consumable resource, and of the resource.
	Resource    string `json:"resource,omitempty"`
	MaxParallel int    `json:"maxParallel,omitempty"`
}

// edge is a dependency on a job of the same run.
type edge struct {
	Job  int    `json:"job"` // index in the run's intents, from 0
	Type string `json:"type,omitempty"`
}

// earlier is a dependency on a job of an earlier submission. It is resolved before the run is
// written to disk, so that a resume uses the same job.
type earlier struct {
	Name string `json:"name"` // as in the plan
	ID   string `json:"id"`
	Type string `json:"type,omitempty"`
}

// staged is a text that has to be written to a location before a job is submitted. The log has the
// location and the text's hash; the text is a file next to the log.
type staged struct {
	URL    string `json:"url"`
	SHA256 string `json:"sha256"`

	text *string // nil: the text is in the file
}

// LogFormat is the version of the logs of unfinished runs, in which each line has a checksum. Logs of version 1 have
// neither a format nor checksums.
const LogFormat = 2

// worker returns a log line about this process.
func worker(what string) line {
	host, _ := os.Hostname() // for people; "" is harmless
	return line{Time: stamp(), What: what, Host: host, PID: os.Getpid(), Batchctl: buildinfo.Own().String()}
}

// stamp returns the time in the form of the ledger.
func stamp() time.Time { return time.Now().UTC().Truncate(time.Millisecond) }
