package local

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// afterEnd is the HTTP client of a Connection. While the engine serves, it answers. Once the
// engine has shut down, the state directory answers, read-only: a command that waits for a job sees how the
// job ended and does not keep asking a closed port.
type afterEnd struct {
	live       *http.Client
	connection Connection
}

// Do sends a request to the serving engine. If that fails because the engine has shut down, it
// answers from the state directory.
func (a afterEnd) Do(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, errors.Join(err, r.Body.Close())
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	answer, err := a.live.Do(r)
	if err == nil || r.Context().Err() != nil || !asksForJob(r) || !a.connection.hasShutDown() {
		return answer, err
	}
	engine, openErr := Open(Options{Dir: a.connection.dir, ReadOnly: true})
	if openErr != nil {
		return nil, err
	}
	defer engine.release()
	engine.key = aws.Credentials{AccessKeyID: a.connection.AccessKeyID, SecretAccessKey: a.connection.SecretAccessKey}
	r.Body = io.NopCloser(bytes.NewReader(body))
	stored, openErr := inProcess{engine.Handler()}.Do(r)
	if openErr != nil {
		return nil, err
	}
	return stored, nil
}

// asksForJob reports whether a request is DescribeJobs or reads a log. Commands that wait for a job
// need these. A command that shows queues must notice that the engine has shut down.
func asksForJob(r *http.Request) bool { return r.URL.Path == "/v1/describejobs" || r.URL.Path == "/" }

// CloseIdleConnections lets the engine end: it waits a little for connected clients.
func (a afterEnd) CloseIdleConnections() { a.live.CloseIdleConnections() }

// WaitClosed returns when the engine of c has ended, even if another one has started on its
// directory, or with ctx's error.
func (c Connection) WaitClosed(ctx context.Context) error {
	for {
		turn, done := context.WithTimeout(ctx, 200*time.Millisecond)
		err := WaitClosed(turn, c.dir)
		done()
		if err == nil {
			return nil
		}
		if now, err := readConnection(c.dir); err == nil && now.PID != c.PID {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// hasShutDown reports whether the engine of c has shut down in order. An engine that was killed
// leaves its connection file: the next engine takes over its address and key, and clients wait for
// that.
func (c Connection) hasShutDown() bool {
	now, err := readConnection(c.dir)
	if err == nil {
		return now.Endpoint != c.Endpoint || now.AccessKeyID != c.AccessKeyID
	}
	if !errors.Is(err, errNoEngine) {
		return false
	}
	root, err := os.OpenRoot(c.dir)
	if err != nil {
		return false
	}
	defer root.Close()
	held, err := isHeld(root)
	return err == nil && !held
}
