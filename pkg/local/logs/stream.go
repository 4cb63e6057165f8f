package logs

import (
	"bytes"
	"errors"
	"io"
	"os"
	"slices"
	"sort"
	"strconv"
	"time"
)

// CloudWatch's limits.
const (
	MaxEventsBytes = 1 << 20      // of the events of one answer
	maxEventBytes  = 256<<10 - 26 // of the message of one event, without CloudWatch's overhead
)

// Stream is the log of one attempt, or a stream that clients put events into, open to read.
type Stream struct {
	file  *os.File // nil: nothing was written yet
	End   int64    // end of the last event that may be shown
	times []sample
	last  int64 // epoch milliseconds for the lines after the last sample
	// isPut is true for a stream that clients put events into. Then events has all of them, and
	// positions count events.
	isPut  bool
	events []entry
}

// sample records that the log was size bytes long at some time.
type sample struct{ size, ms int64 }

// Line is one event: its text and its position in the stream.
type Line struct {
	Text       []byte
	Start, End int64 // bytes in the file of an attempt, else a number of events; End is that of the next event
}

// Close closes the log.
func (s *Stream) Close() {
	if s.file != nil {
		_ = s.file.Close()
	}
}

// measure finds the end of what may be shown (whole events only, for a live log) and the time of
// the lines after the last sample. That is the time of the last write, which is not after the end
// of the attempt.
func (s *Stream) measure(live bool, stopped, limit int64) error {
	info, err := s.file.Stat()
	if err != nil {
		return err
	}
	if live {
		stopped = time.Now().UnixMilli()
	}
	s.End, s.last = info.Size(), min(info.ModTime().UnixMilli(), stopped)
	if live && limit > 0 && s.End > limit { // the rest will be cut off
		s.End, err = s.keptOf(limit)
		return err
	}
	if live {
		var start int64
		start, err = s.lineStart(s.End)
		s.End = start + (s.End-start)/maxEventBytes*maxEventBytes
	}
	return err
}

// keptOf returns the end of the kept part of a live log over its limit: the end of the notice, if
// the log has it.
func (s *Stream) keptOf(limit int64) (int64, error) {
	notice := []byte(limitNotice(limit))
	data := make([]byte, len(notice))
	if n, err := s.file.ReadAt(data, limit); err != nil && !errors.Is(err, io.EOF) {
		return limit, err
	} else if bytes.Equal(data[:n], notice) {
		return limit + int64(n), nil
	}
	return limit, nil
}

// lineStart returns the position after the last line break before at.
func (s *Stream) lineStart(at int64) (int64, error) {
	buffer := make([]byte, 32<<10)
	for at > 0 {
		n := min(at, int64(len(buffer)))
		if _, err := s.file.ReadAt(buffer[:n], at-n); err != nil {
			return 0, err
		}
		// IndexByte is several times faster, which counts in a line of 100 MB.
		if bytes.IndexByte(buffer[:n], '\n') >= 0 {
			return at - n + int64(bytes.LastIndexByte(buffer[:n], '\n')) + 1, nil
		}
		at -= n
	}
	return 0, nil
}

// FirstSince returns where the first event at or after a time begins; End if there is no such
// event.
func (s *Stream) FirstSince(ms int64) (int64, error) {
	if s.isPut {
		if i := slices.IndexFunc(s.events, func(e entry) bool { return e.time >= ms }); i >= 0 {
			return int64(i), nil
		}
		return s.End, nil
	}
	i := slices.IndexFunc(s.times, func(v sample) bool { return v.ms >= ms })
	if i < 0 && s.last < ms {
		return s.End, nil
	}
	if i < 0 {
		i = len(s.times)
	}
	if i == 0 {
		return 0, nil
	}
	at := s.times[i-1].size
	if at >= s.End {
		return s.End, nil // the last line may have no line break
	}
	return s.lineStart(at)
}

// Forward returns at most limit events from a position, and the position after them.
func (s *Stream) Forward(at int64, limit int) ([]Line, int64, error) {
	if s.isPut {
		return s.forwardEvents(at, limit)
	}
	data, err := s.read(at, min(s.End, at+MaxEventsBytes+maxEventBytes))
	if err != nil {
		return nil, at, err
	}
	lines := split(data, at, at+int64(len(data)) == s.End)
	lines = lines[:min(limit, len(lines))]
	for i, l := range lines {
		if at = l.End; l.End-lines[0].Start >= MaxEventsBytes {
			return lines[:i+1], at, nil
		}
	}
	return lines, at, nil
}

// Backward returns at most limit events that end at a position, and where the first of them begins.
func (s *Stream) Backward(at int64, limit int) ([]Line, int64, error) {
	if s.isPut {
		return s.backwardEvents(at, limit)
	}
	from, err := s.boundary(max(0, at-MaxEventsBytes), at)
	if err != nil {
		return nil, at, err
	}
	data, err := s.read(from, at)
	if err != nil {
		return nil, at, err
	}
	lines := split(data, from, true)
	lines = lines[max(0, len(lines)-limit):]
	if len(lines) > 0 {
		at = lines[0].Start
	}
	return lines, at, nil
}

// boundary returns the first position from near on, and before at, where an event begins.
func (s *Stream) boundary(near, at int64) (int64, error) {
	if near == 0 {
		return 0, nil
	}
	data, err := s.read(near, at)
	if err != nil {
		return 0, err
	}
	if i := int64(bytes.IndexByte(data, '\n')) + 1; i > 0 && near+i < at {
		return near + i, nil
	}
	if at < s.End && data[len(data)-1] != '\n' { // an event ends here, so all before it are of full length
		return at - int64(len(data))/maxEventBytes*maxEventBytes, nil
	}
	start, err := s.lineStart(at - 1)
	return start + (at-1-start)/maxEventBytes*maxEventBytes, err
}

// read returns the bytes from one position to another.
func (s *Stream) read(from, to int64) ([]byte, error) {
	if s.file == nil || from >= to {
		return nil, nil
	}
	data := make([]byte, to-from)
	_, err := s.file.ReadAt(data, from)
	return data, err
}

// split cuts data, which begins at a position of the file, into events: lines, and pieces of lines
// that are longer than an event may be. The rest at the end is an event only if the data is
// complete.
func split(data []byte, at int64, whole bool) []Line {
	var lines []Line
	for len(data) > 0 {
		n := bytes.IndexByte(data[:min(len(data), maxEventBytes)], '\n') + 1
		switch {
		case n > 0:
		case len(data) >= maxEventBytes:
			n = maxEventBytes
		case whole:
			n = len(data)
		default:
			return lines
		}
		end := at + int64(n)
		lines = append(lines, Line{Text: bytes.TrimSuffix(data[:n], []byte("\n")), Start: at, End: end})
		data, at = data[n:], end
	}
	return lines
}

// Time returns when the log was first recorded as longer than end, or the client's time of the event
// that ends there.
func (s *Stream) Time(end int64) int64 {
	if s.isPut {
		return s.events[end-1].time
	}
	i := sort.Search(len(s.times), func(i int) bool { return s.times[i].size >= end })
	if i < len(s.times) {
		return s.times[i].ms
	}
	return s.last
}

// parseSamples reads the lines of a times file: size and time. It stops at an incomplete line.
func parseSamples(text []byte) []sample {
	all := make([]sample, 0, bytes.Count(text, []byte("\n")))
	for line := range bytes.Lines(text) {
		size, ms, _ := bytes.Cut(bytes.TrimSuffix(line, []byte("\n")), []byte(" "))
		n, noSize := strconv.ParseInt(string(size), 10, 64)
		at, noTime := strconv.ParseInt(string(ms), 10, 64)
		if noSize == nil && noTime == nil {
			all = append(all, sample{n, at})
		}
	}
	return all
}
