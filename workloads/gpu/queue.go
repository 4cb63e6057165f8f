package gpu

import (
	"fmt"
	"math"
	"unsafe"
)

// Queue is a stream: what is put on it runs in that order, beside other queues.
type Queue struct {
	Stream Stream

	card *Card
	// The arguments of the launch that is being made. The driver has read them when it
	// returns, so that they are used again.
	cells     []uint64
	arguments []unsafe.Pointer
}

// NewQueue makes a stream.
func (c *Card) NewQueue() (*Queue, error) {
	s, err := c.driver.NewStream()
	if err != nil {
		return nil, fmt.Errorf("create a queue: %w", c.note(err))
	}
	q := &Queue{Stream: s, card: c}
	c.hold(q, "a queue", func() error { return c.driver.DestroyStream(s) })
	return q, nil
}

// Close ends the stream.
func (q *Queue) Close() error { return q.card.release(q, "a queue") }

// CopyIn puts a copy of src, which should be pinned, to dst on the queue.
func (q *Queue) CopyIn(dst Pointer, src []byte) error {
	if len(src) == 0 {
		return nil
	}
	return q.done("copy to the card", q.card.driver.CopyIn(dst, unsafe.Pointer(&src[0]), int64(len(src)), q.Stream))
}

// CopyOut puts a copy from src to dst, which should be pinned, on the queue.
func (q *Queue) CopyOut(dst []byte, src Pointer) error {
	if len(dst) == 0 {
		return nil
	}
	return q.done("copy from the card", q.card.driver.CopyOut(unsafe.Pointer(&dst[0]), src, int64(len(dst)), q.Stream))
}

// CopyIn2D puts a copy of rows of width bytes to dst on the queue. In src, which must be pinned,
// each row begins pitch bytes after the one before; at dst the rows have no gap.
func (q *Queue) CopyIn2D(dst Pointer, src []byte, pitch, width, rows int64) error {
	if width == 0 || rows == 0 {
		return nil
	}
	if err := spans(src, pitch, width, rows); err != nil {
		return fmt.Errorf("copy rows to the card: %w", err)
	}
	return q.done("copy rows to the card", q.card.driver.CopyIn2D(dst, unsafe.Pointer(&src[0]), pitch, width, rows,
		q.Stream))
}

// CopyOut2D puts a copy of rows of width bytes from src on the queue. At src the rows have no gap; in
// dst, which must be pinned, each begins pitch bytes after the one before.
func (q *Queue) CopyOut2D(dst []byte, src Pointer, pitch, width, rows int64) error {
	if width == 0 || rows == 0 {
		return nil
	}
	if err := spans(dst, pitch, width, rows); err != nil {
		return fmt.Errorf("copy rows from the card: %w", err)
	}
	return q.done("copy rows from the card", q.card.driver.CopyOut2D(unsafe.Pointer(&dst[0]), src, pitch, width, rows,
		q.Stream))
}

// spans is an error unless the memory has the rows: the driver would copy beyond it.
func spans(memory []byte, pitch, width, rows int64) error {
	if width < 0 || rows < 0 || pitch < width || int64(len(memory)) < (rows-1)*pitch+width {
		return fmt.Errorf("%d bytes are too few for %d rows of %d bytes, %d bytes apart", len(memory), rows, width,
			pitch)
	}
	return nil
}

// CopyOver puts a copy within the card on the queue.
func (q *Queue) CopyOver(dst, src Pointer, size int64) error {
	return q.done("copy within the card", q.card.driver.CopyOver(dst, src, size, q.Stream))
}

// Fill puts the setting of all bytes on the queue.
func (q *Queue) Fill(dst Pointer, value byte, size int64) error {
	return q.done("fill memory of the card", q.card.driver.Fill(dst, value, size, q.Stream))
}

// Launch puts a kernel on the queue. Arguments are a Pointer, int32, uint32, int64,
// float32 or float64, as the kernel's parameters are.
func (q *Queue) Launch(k *Kernel, grid, block Dim, shared int, args ...any) error {
	q.cells, q.arguments = q.cells[:0], q.arguments[:0]
	for i, arg := range args {
		bits, ok := cell(arg)
		if !ok {
			return fmt.Errorf("launch %s: argument %d is a %T: want a gpu.Pointer, int32, uint32, int64, float32 or float64", k.Name, i, arg)
		}
		q.cells = append(q.cells, bits)
	}
	for i := range q.cells {
		q.arguments = append(q.arguments, unsafe.Pointer(&q.cells[i]))
	}
	if err := q.card.driver.Launch(k.Function, grid, block, shared, q.Stream, q.arguments); err != nil {
		return fmt.Errorf("launch %s with %s blocks of %s threads and %d bytes of shared memory: %w", k.Name, grid,
			block, shared, q.card.note(err))
	}
	return nil
}

// cell is an argument as the driver reads it: its bytes, lowest first, which a cell of 8
// holds for each type because all the systems with a driver are little-endian.
func cell(arg any) (bits uint64, ok bool) {
	switch arg := arg.(type) {
	case Pointer:
		return uint64(arg), true
	case int32:
		return uint64(uint32(arg)), true
	case uint32:
		return uint64(arg), true
	case int64:
		return uint64(arg), true
	case float32:
		return uint64(math.Float32bits(arg)), true
	case float64:
		return math.Float64bits(arg), true
	}
	return 0, false
}

// Record puts the mark on the queue.
func (q *Queue) Record(m *Mark) error {
	return q.done("record a mark", q.card.driver.Record(m.Event, q.Stream))
}

// Wait holds what is put on the queue next until the mark has passed.
func (q *Queue) Wait(m *Mark) error {
	return q.done("wait for a mark", q.card.driver.WaitEvent(q.Stream, m.Event))
}

// Synchronize waits until all that was put on the queue is done.
func (q *Queue) Synchronize() error {
	return q.done("wait for the queue", q.card.driver.Synchronize(q.Stream))
}

func (q *Queue) done(what string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", what, q.card.note(err))
	}
	return nil
}

// Mark is an event: a moment in the work of a queue.
type Mark struct {
	Event Event
	card  *Card
}

// NewMark makes an event.
func (c *Card) NewMark() (*Mark, error) {
	e, err := c.driver.NewEvent()
	if err != nil {
		return nil, fmt.Errorf("create a mark: %w", c.note(err))
	}
	m := &Mark{Event: e, card: c}
	c.hold(m, "a mark", func() error { return c.driver.DestroyEvent(e) })
	return m, nil
}

// Since is the seconds from the mark start to m. Both have passed.
func (m *Mark) Since(start *Mark) (float64, error) {
	milliseconds, err := m.card.driver.Elapsed(start.Event, m.Event)
	if err != nil {
		return 0, fmt.Errorf("read the time between two marks: %w", m.card.note(err))
	}
	return float64(milliseconds) / 1000, nil
}

// Close frees the event.
func (m *Mark) Close() error { return m.card.release(m, "a mark") }
