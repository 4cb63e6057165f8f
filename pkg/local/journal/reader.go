package journal

import (
	"fmt"
	"io"
	"os"
)

// readAhead is how much a Reader reads at once.
const readAhead = 256 << 10

// Reader reads the records of a journal while a Journal appends to it. It keeps its position.
type Reader struct {
	file *os.File
	// at is the position in the file of the first byte of data.
	at   int64
	data []byte
}

// NewReader opens the journal with this name below root for reading from its first record.
func NewReader(root *os.Root, name string) (*Reader, error) {
	file, err := root.Open(name)
	if err != nil {
		return nil, fmt.Errorf("read journal: %w", err)
	}
	return &Reader{file: file, at: int64(len(Header))}, nil
}

// Next returns the next record before a position that InFile returned; io.EOF if there is none. The record is valid
// until the next call.
func (r *Reader) Next(end int64) ([]byte, error) {
	for r.at < end {
		if _, n := readMark(r.data); n > 0 {
			r.skip(n)
			continue
		}
		payload, n, bad := unframe(r.data)
		if bad == nil {
			r.skip(n)
			return payload, nil
		}
		missing := end - r.at - int64(len(r.data))
		if missing <= 0 {
			return nil, fmt.Errorf("read journal: damaged at byte %d: %w", r.at, bad)
		}
		more := make([]byte, len(r.data)+int(min(missing, readAhead)))
		n = copy(more, r.data)
		if _, err := r.file.ReadAt(more[n:], r.at+int64(n)); err != nil {
			return nil, fmt.Errorf("read journal: %w", err)
		}
		r.data = more
	}
	return nil, io.EOF
}

// skip removes n bytes from the data.
func (r *Reader) skip(n int) { r.at, r.data = r.at+int64(n), r.data[n:] }

// Close closes the file.
func (r *Reader) Close() error { return r.file.Close() }
