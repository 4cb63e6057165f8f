package gpu

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"unsafe"

	"github.com/batchctl/batchctl/pkg/text"
)

// Memory is a piece of a card's memory.
type Memory struct {
	Pointer Pointer
	Bytes   int64
	card    *Card
}

// Alloc takes memory of the card. The error says how much was asked for and is free.
func (c *Card) Alloc(size int64) (*Memory, error) {
	if size <= 0 {
		return nil, fmt.Errorf("allocate memory of %s: invalid size of %d bytes", c, size)
	}
	p, err := c.driver.Alloc(size)
	if err != nil {
		return nil, fmt.Errorf("allocate %s of %s: %w", text.Size(size), c.freeMemory(), c.note(err))
	}
	m := &Memory{Pointer: p, Bytes: size, card: c}
	c.hold(m, text.Size(size)+" of memory", func() error { return c.driver.Free(p) })
	return m, nil
}

// freeMemory says what of the card's memory is free.
func (c *Card) freeMemory() string {
	free, total, err := c.driver.MemoryInfo()
	if err != nil {
		return c.String()
	}
	return fmt.Sprintf("%s, which has %s of %s free", c, text.Size(free), text.Size(total))
}

// Free gives the memory back.
func (m *Memory) Free() error { return m.card.release(m, "memory") }

// HostMemory is pinned memory of the host.
type HostMemory struct {
	Data []byte
	card *Card
}

// AllocHost takes pinned memory.
func (c *Card) AllocHost(size int64) (*HostMemory, error) {
	if size <= 0 {
		return nil, fmt.Errorf("allocate pinned memory: invalid size of %d bytes", size)
	}
	p, err := c.driver.AllocHost(size)
	if err != nil {
		return nil, fmt.Errorf("allocate %s of pinned memory of the host: %w", text.Size(size), c.note(err))
	}
	m := &HostMemory{Data: unsafe.Slice((*byte)(p), size), card: c}
	c.hold(m, text.Size(size)+" of pinned memory", func() error { return c.driver.FreeHost(p) })
	return m, nil
}

// Free gives the memory back; Data must not be used any more.
func (m *HostMemory) Free() error {
	m.Data = nil
	return m.card.release(m, "pinned memory")
}

// holding is something that has to be given back to the driver.
type holding struct {
	what, place string
	order       int
	free        func() error
}

// hold is called by what a caller calls to take something, and remembers where that was.
func (c *Card) hold(thing any, what string, free func() error) {
	h := &holding{what: what, order: c.taken, free: free}
	if _, file, line, ok := runtime.Caller(2); ok {
		h.place = fmt.Sprintf(" (%s:%d)", filepath.Base(file), line)
	}
	c.taken++
	c.held[thing] = h
}

// release gives something back, once.
func (c *Card) release(thing any, what string) error {
	h, ok := c.held[thing]
	if !ok {
		return fmt.Errorf("free %s: it was already freed", what)
	}
	delete(c.held, thing)
	if err := h.free(); err != nil {
		return fmt.Errorf("free %s: %w", h.what, c.note(err))
	}
	return nil
}

// freeAll gives back what is still held, the newest first, and names it in its error.
func (c *Card) freeAll() error {
	var left []*holding
	for _, h := range c.held {
		left = append(left, h)
	}
	if len(left) == 0 {
		return nil
	}
	clear(c.held)
	slices.SortFunc(left, func(a, b *holding) int { return b.order - a.order })
	var errs []error
	var names []string
	for _, h := range left {
		names = append(names, h.what+h.place)
		errs = append(errs, c.note(h.free()))
	}
	return errors.Join(append([]error{fmt.Errorf("%s was closed before this was freed: %s", c,
		strings.Join(names, ", "))}, errs...)...)
}
