package objects

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"time"
)

// breaks is how many times in a row a connection may break without a byte before the transfer
// fails.
const breaks = 6

// errAgain marks an error after which a retry is useful.
type errAgain struct{ error }

// Unwrap returns the error itself.
func (e errAgain) Unwrap() error { return e.error }

// reader reads a range of a content over as many connections as necessary.
type reader struct {
	ctx   context.Context
	store *Store
	// connect requests the content from an offset on, and returns where it ends; -1 if unknown.
	connect func(ctx context.Context, off int64) (body io.ReadCloser, end int64, err error)
	off     int64

	body   io.ReadCloser // nil while not connected
	end    int64         // -1: unknown
	asked  bool          // whether end is set
	broken int           // failures in a row without a byte
}

// Read reads the next bytes, and reconnects if the connection breaks.
func (r *reader) Read(p []byte) (int, error) {
	for {
		if r.asked && r.end >= 0 && r.off == r.end {
			return 0, io.EOF
		}
		err := r.open()
		n := 0
		if err == nil {
			if r.end >= 0 {
				p = p[:min(int64(len(p)), r.end-r.off)]
			}
			n, err = r.body.Read(p)
		}
		// Bytes before an error count; the next call meets the error again.
		if n > 0 {
			r.off += int64(n)
			r.store.carried.Add(int64(n))
			r.broken = 0
			return n, nil
		}
		if err == nil {
			continue
		}
		if again := r.failed(err); again != nil {
			return 0, again
		}
	}
}

// open connects, if necessary.
func (r *reader) open() error {
	if r.body != nil {
		return nil
	}
	body, end, err := r.connect(r.ctx, r.off)
	if err != nil {
		return err
	}
	if r.asked && end != r.end {
		body.Close()
		return errors.New("the length of the content has changed")
	}
	r.body, r.end, r.asked = body, end, true
	return nil
}

// failed closes a broken connection and waits before the next attempt: 0.1 s, doubled for each failure
// in a row, with jitter. It returns an error if there is no next attempt.
func (r *reader) failed(err error) error {
	connected := r.body != nil
	r.Close()
	if r.ctx.Err() != nil {
		return context.Cause(r.ctx)
	}
	if connected && r.end < 0 && errors.Is(err, io.EOF) {
		return io.EOF // of a content of unknown length
	}
	if connected && r.off == r.end { // all bytes arrived before the error
		return nil
	}
	again, retryable := errors.AsType[errAgain](err)
	if !connected && !retryable {
		return err
	}
	if retryable {
		err = again.error
	}
	if r.broken++; r.broken >= breaks {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			err = errors.New("the connection ended early")
		}
		return fmt.Errorf("after %d bytes, %d times in a row: %w", r.off, r.broken, err)
	}
	pause := time.NewTimer(time.Duration(float64(100*time.Millisecond<<r.broken) * (0.5 + rand.Float64())))
	defer pause.Stop()
	select {
	case <-r.ctx.Done():
		return context.Cause(r.ctx)
	case <-pause.C:
		return nil
	}
}

// Close ends the connection.
func (r *reader) Close() error {
	if r.body == nil {
		return nil
	}
	err := r.body.Close()
	r.body = nil
	return err
}
