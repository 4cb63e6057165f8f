package bench

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// Log is what a job's log holds.
type Log struct {
	Results []Result
	// Damaged are lines that begin as result lines do and cannot be read.
	Damaged []Damage
	// Others is the number of other lines.
	Others int
}

// Damage is a result line that cannot be read.
type Damage struct {
	Line   int    `json:"line"`
	Reason string `json:"reason"`
}

// longestLine is above any result line: a thousand repeats take some 20 KB.
const longestLine = 4 << 20

// ReadLog reads the result lines of a log: JSON objects with a workload, an operation
// and seconds, one on a line, with or without a time stamp before it. Other lines are
// passed over. The error is the reader's.
func ReadLog(r io.Reader) (*Log, error) {
	log := &Log{}
	in := bufio.NewReader(r)
	for number := 1; ; number++ {
		line, whole, err := readLine(in)
		if len(line) > 0 || err == nil {
			log.add(line, whole, number)
		}
		if errors.Is(err, io.EOF) {
			return log, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read log: line %d: %w", number, err)
		}
	}
}

// readLine returns the next line, up to longestLine of it, and whether that is all.
func readLine(in *bufio.Reader) (line []byte, whole bool, err error) {
	for whole = true; ; {
		part, err := in.ReadSlice('\n')
		if space := longestLine - len(line); len(part) > space {
			part, whole = part[:space], false
		}
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return bytes.TrimSpace(line), whole, err
		}
	}
}

// begins is how a result line begins, as the workloads print it.
var begins = []byte(`{"workload":`)

// add adds a line: a result, a damaged one, or another line.
func (l *Log) add(line []byte, whole bool, number int) {
	at := bytes.IndexByte(line, '{')
	if at < 0 {
		l.Others++
		return
	}
	if found := bytes.Index(line, begins); found >= 0 { // a stamp before it may hold braces
		at = found
	}
	result, err := ParseResult(line[at:])
	switch {
	case err == nil:
		result.Line = number
		l.Results = append(l.Results, result)
	case !whole:
		l.damage(number, fmt.Sprintf("longer than %d MiB", longestLine>>20))
	case result.Workload != "":
		l.damage(number, err.Error())
	case bytes.HasPrefix(line[at:], begins) && !errors.Is(err, errNoResult):
		l.damage(number, "truncated, or not JSON")
	default:
		l.Others++
	}
}

// damage records a result line that cannot be read.
func (l *Log) damage(number int, reason string) {
	l.Damaged = append(l.Damaged, Damage{number, reason})
}
