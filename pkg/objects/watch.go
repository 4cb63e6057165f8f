package objects

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// errStalled ends a connection that transfers nothing. The SDK retries after it.
var errStalled error = &stalled{}

// stalled has the methods by which the SDK and net/http recognise a timeout that may be retried.
type stalled struct{}

func (*stalled) Error() string        { return "the connection transferred no data for too long" }
func (*stalled) RetryableError() bool { return true }
func (*stalled) Timeout() bool        { return true }
func (*stalled) Temporary() bool      { return true }

// watched ends exchanges in which no byte is transferred, in either direction, for a while.
type watched struct {
	inner aws.HTTPClient
	stall time.Duration
}

// Do makes the request. The watch ends when the body of the answer is closed.
func (w *watched) Do(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(r.Context())
	a := &alive{ctx: ctx, cancel: cancel, stall: w.stall}
	// Every byte in either direction resets the timer; see body.
	a.timer = time.AfterFunc(w.stall, func() { cancel(errStalled) })
	r = r.WithContext(ctx)
	if r.Body != nil && r.Body != http.NoBody {
		r.Body = &body{r.Body, a, false}
	}
	answer, err := w.inner.Do(r)
	if err != nil {
		if err = a.why(err); err == errStalled {
			// The form of net/http's own errors, so that messages name the server.
			err = &url.Error{Op: r.Method, URL: r.URL.Scheme + "://" + r.URL.Host, Err: errStalled}
		}
		a.end()
		return answer, err
	}
	a.timer.Reset(w.stall)
	answer.Body = &body{answer.Body, a, true}
	return answer, nil
}

// alive watches one exchange.
type alive struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	timer  *time.Timer
	stall  time.Duration
}

// end stops the watch and releases the context.
func (a *alive) end() {
	a.timer.Stop()
	a.cancel(nil)
}

// why returns the cause of an error, if the watch caused it.
func (a *alive) why(err error) error {
	if errors.Is(context.Cause(a.ctx), errStalled) {
		return errStalled
	}
	return err
}

// body is one direction of an exchange, whose bytes reset the timer. Closing the response's ends the
// watch.
type body struct {
	io.ReadCloser
	*alive
	back bool // whether it is the response
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 {
		b.timer.Reset(b.stall)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		err = b.why(err)
	}
	return n, err
}

func (b *body) Close() error {
	err := b.ReadCloser.Close()
	if b.back {
		b.end()
	}
	return err
}
