package gpu

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
)

// Card is one GPU. It has a goroutine of its own, locked to its thread for as long as the
// card is open, on which the device's primary context is current.
type Card struct {
	Info Info

	driver  Driver
	context Context
	work    chan call
	closed  chan struct{}

	// What follows belongs to the card's goroutine.
	held   map[any]*holding
	taken  int
	lost   error
	ending bool
}

// call is a function on its way to the card's goroutine, and result what became of it.
type call struct {
	f      func() error
	always bool // also on a card that is lost
	answer chan result
}

type result struct {
	err    error
	fault  *fault // f panicked
	exited bool   // f ended its goroutine, as t.Fatal does
}

// fault is a panic on the card's goroutine on its way to the one that called Do.
type fault struct {
	value any
	stack []byte
}

func (f *fault) Error() string {
	return fmt.Sprintf("%v\n\non the goroutine of the GPU:\n%s", f.value, f.stack)
}

func (f *fault) Unwrap() error {
	err, _ := f.value.(error)
	return err
}

var errClosed = errors.New("the GPU is closed")

// Open opens one device.
func Open(d Driver, ordinal int) (*Card, error) {
	info, err := describe(d, ordinal)
	if err != nil {
		return nil, fmt.Errorf("query GPU %d: %w", ordinal, err)
	}
	c := &Card{Info: info, driver: d, work: make(chan call), closed: make(chan struct{}), held: map[any]*holding{}}
	if c.context, err = d.RetainPrimaryContext(ordinal); err != nil {
		return nil, fmt.Errorf("open %s: %w", c, err)
	}
	go c.serve()
	if err := c.Do(func() error { return nil }); err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", c, err), c.Close())
	}
	return c, nil
}

// String is the card in messages, such as GPU 0 (NVIDIA H200).
func (c *Card) String() string { return fmt.Sprintf("GPU %d (%s)", c.Info.Ordinal, c.Info.Name) }

// Driver is the card's.
func (c *Card) Driver() Driver { return c.driver }

// Do runs f on the card's goroutine and waits for it. Everything below is called within
// it, but Do itself is not: it would wait indefinitely. A fault that the device cannot
// recover from, such as ILLEGAL_ADDRESS, is the answer of every later Do as well. A panic
// of f comes out of Do, and so does the end of its goroutine by runtime.Goexit.
func (c *Card) Do(f func() error) error { return c.do(call{f: f}) }

// Close ends the card's goroutine. The error names what was allocated and not freed,
// which Close frees. Closing a second time does nothing.
func (c *Card) Close() error {
	err := c.do(call{f: c.end, always: true})
	if errors.Is(err, errClosed) {
		return nil
	}
	return err
}

func (c *Card) do(t call) error {
	t.answer = make(chan result, 1)
	select {
	case c.work <- t:
	case <-c.closed:
		return errClosed
	}
	r := <-t.answer
	if r.fault != nil {
		panic(r.fault)
	}
	if r.exited {
		runtime.Goexit()
	}
	return r.err
}

// serve is the card's goroutine. It stays locked until it ends, so that its thread, which
// knows the context, ends with it.
func (c *Card) serve() {
	runtime.LockOSThread()
	defer func() {
		if c.ending {
			close(c.closed)
		} else {
			go c.serve() // a task ended the goroutine: the next takes over
		}
	}()
	if err := c.driver.SetCurrent(c.context); err != nil && c.lost == nil {
		c.lost = err
	}
	for !c.ending {
		t := <-c.work
		t.run(c)
	}
}

func (t call) run(c *Card) {
	r := result{exited: true}
	defer func() {
		if value := recover(); value != nil {
			r = result{fault: &fault{value, debug.Stack()}}
		}
		t.answer <- r
	}()
	if c.lost != nil && !t.always {
		r = result{err: fmt.Errorf("the GPU is no longer usable: %w", c.lost)}
		return
	}
	r = result{err: c.note(t.f())}
}

// note remembers a fault that has spoiled the context. Whatever asks the driver passes its
// error through here, because f may keep it to itself.
func (c *Card) note(err error) error {
	if fault, ok := errors.AsType[*Error](err); ok && c.lost == nil && fault.spoils() {
		c.lost = fault
	}
	return err
}

// end frees what is held and lets go of the device. What a lost card answers to that
// means nothing.
func (c *Card) end() error {
	c.ending = true
	lost := c.lost != nil
	err := errors.Join(c.freeAll(), c.driver.SetCurrent(0), c.driver.ReleasePrimaryContext(c.Info.Ordinal))
	if lost {
		return nil
	}
	return err
}
