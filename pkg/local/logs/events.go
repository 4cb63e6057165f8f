package logs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
)

// Event is an event that a client put into a stream.
type Event struct {
	Time     int64  `json:"time"`     // epoch milliseconds, from the client
	Ingested int64  `json:"ingested"` // epoch milliseconds, when it was put
	Message  string `json:"message"`
}

// A stream that clients put events into is a file with a line of JSON for each event, in the order
// in which they were put. The events are here and not in the journal because an engine reads its
// whole journal when it starts, and keeps it in memory. Put syncs the file before it returns, so a
// kill loses no event that a client knows to be stored. It can leave an incomplete last line, which
// readers ignore and the next Put cuts off.

// putFile is the index of the file of such a stream. It grows with the file.
type putFile struct {
	mu     sync.Mutex
	events []entry
	end    int64 // of the last whole line
}

// entry is where an event is in the file, and its times.
type entry struct {
	start, end     int64
	time, ingested int64
}

// putFile returns the index of a stream.
func (s *Store) putFile(id string) *putFile {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.put == nil {
		s.put = map[string]*putFile{}
	}
	if s.put[id] == nil {
		s.put[id] = &putFile{}
	}
	return s.put[id]
}

// ErrFull is the error of Put for events that would exceed the limit of the stream's size.
var ErrFull = errors.New("the log stream is full")

// Put appends events to a stream, which it creates if it has none yet. It returns when they are on
// disk, with the number of events in the stream. After an error, none of them is in the stream.
func (s *Store) Put(id string, events []Event) (count int, err error) {
	p := s.putFile(id)
	p.mu.Lock()
	defer p.mu.Unlock()
	_, missing := s.root.Lstat(eventsFile(id))
	file, err := s.root.OpenFile(eventsFile(id), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return 0, fmt.Errorf("put log events: %w", err)
	}
	defer file.Close()
	if err := p.update(file); err != nil {
		return 0, fmt.Errorf("put log events: %w", err)
	}
	var text []byte
	for _, e := range events {
		line, err := json.Marshal(e)
		if err != nil {
			return 0, fmt.Errorf("put log events: %w", err)
		}
		text = append(append(text, line...), '\n')
	}
	if s.limit > 0 && p.end+int64(len(text)) > s.limit {
		return 0, ErrFull
	}
	err = file.Truncate(p.end)
	if err == nil {
		_, err = file.WriteAt(text, p.end)
	}
	if err == nil {
		err = file.Sync()
	}
	if err == nil && missing != nil {
		s.syncDirectory()
	}
	if err != nil {
		return 0, errors.Join(fmt.Errorf("put log events: %w", err), file.Truncate(p.end))
	}
	p.add(text)
	return len(p.events), nil
}

// syncDirectory syncs the directory of the logs, so that a new file is still there after the
// machine stops. Some systems cannot sync a directory; their file systems do not need it.
func (s *Store) syncDirectory() {
	if dir, err := s.root.Open("logs"); err == nil {
		_ = dir.Sync()
		_ = dir.Close()
	}
}

// update indexes the lines that the file has after p.end. Another engine may write them while this
// one is read-only. The caller holds p.mu.
func (p *putFile) update(file *os.File) error {
	text, err := io.ReadAll(io.NewSectionReader(file, p.end, 1<<62))
	if err != nil {
		return err
	}
	p.add(text[:bytes.LastIndexByte(text, '\n')+1])
	return nil
}

// add indexes whole lines at p.end. It skips a line that is not an event: only a write that was
// never acknowledged can leave one.
func (p *putFile) add(text []byte) {
	for line := range bytes.Lines(text) {
		var e Event
		start := p.end
		p.end += int64(len(line))
		if json.Unmarshal(line, &e) == nil {
			p.events = append(p.events, entry{start, p.end, e.Time, e.Ingested})
		}
	}
}

// OpenPut opens a stream that clients put events into. It has no events before the first Put.
// Positions in it count events.
func (s *Store) OpenPut(id string) (*Stream, error) {
	p := s.putFile(id)
	p.mu.Lock()
	defer p.mu.Unlock()
	file, err := s.root.Open(eventsFile(id))
	if errors.Is(err, fs.ErrNotExist) {
		return &Stream{isPut: true}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	if err := p.update(file); err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("read log: %w", err)
	}
	return &Stream{file: file, isPut: true, events: p.events, End: int64(len(p.events))}, nil
}

// RemovePut removes the events of a stream.
func (s *Store) RemovePut(id string) error {
	s.mu.Lock()
	delete(s.put, id)
	s.mu.Unlock()
	if err := s.root.Remove(eventsFile(id)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove log: %w", err)
	}
	return nil
}

// readEvents reads the events from one position to another.
func (s *Stream) readEvents(from, to int64) ([]Line, error) {
	if from >= to {
		return nil, nil
	}
	at := s.events[from].start
	text, err := s.read(at, s.events[to-1].end)
	if err != nil {
		return nil, err
	}
	lines := make([]Line, 0, to-from)
	for i := from; i < to; i++ {
		var e Event
		if err := json.Unmarshal(text[s.events[i].start-at:s.events[i].end-at], &e); err != nil {
			return nil, err
		}
		lines = append(lines, Line{Text: []byte(e.Message), Start: i, End: i + 1})
	}
	return lines, nil
}

// forwardEvents is Forward for events that were put.
func (s *Stream) forwardEvents(at int64, limit int) ([]Line, int64, error) {
	at = min(at, s.End)
	to := at
	for to < s.End && to-at < int64(limit) && (to == at || s.events[to].end-s.events[at].start <= MaxEventsBytes) {
		to++
	}
	lines, err := s.readEvents(at, to)
	return lines, to, err
}

// backwardEvents is Backward for events that were put.
func (s *Stream) backwardEvents(at int64, limit int) ([]Line, int64, error) {
	at = min(at, s.End)
	from := at
	for from > 0 && at-from < int64(limit) &&
		(from == at || s.events[at-1].end-s.events[from-1].start <= MaxEventsBytes) {
		from--
	}
	lines, err := s.readEvents(from, at)
	return lines, from, err
}

// Until returns the position after the last event before a time.
func (s *Stream) Until(ms int64) (int64, error) {
	if !s.isPut {
		return s.FirstSince(ms)
	}
	at := s.End
	for at > 0 && s.events[at-1].time >= ms {
		at--
	}
	return at, nil
}

// IsPut reports whether clients put the events of the stream. Then they are in the order in which
// they were put, and their times can be in another order.
func (s *Stream) IsPut() bool { return s.isPut }

// Ingested returns when the event that ends at a position was stored, in epoch milliseconds.
func (s *Stream) Ingested(end int64) int64 {
	if s.isPut {
		return s.events[end-1].ingested
	}
	return s.Time(end)
}

// Range returns the earliest and the latest time of an event, in epoch milliseconds, and when the last
// event was stored; ok is false for a stream without events.
func (s *Stream) Range() (first, last, ingested int64, ok bool, err error) {
	if s.isPut {
		for i, e := range s.events {
			if i == 0 || e.time < first {
				first = e.time
			}
			last, ingested = max(last, e.time), max(ingested, e.ingested)
		}
		return first, last, ingested, len(s.events) > 0, nil
	}
	lines, _, err := s.Forward(0, 1)
	if err != nil || len(lines) == 0 {
		return 0, 0, 0, false, err
	}
	last = s.Time(s.End)
	return s.Time(lines[0].End), last, last, true, nil
}

// eventsFile returns the name of the file with the events that were put into a stream.
func eventsFile(id string) string { return "logs/" + id + ".events" }
