package local

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
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
	if err != nil && a.connection.hasSuccessor() {
		answer, err = a.doNext(r, body)
	}
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

// successionTime limits how long a client waits for the engine after one that made way, and successionPoll is how
// often it tries.
const (
	successionTime = 10 * time.Second
	successionPoll = 20 * time.Millisecond
)

// doNext sends a request, which the engine that made way did not receive, to the next engine.
func (a afterEnd) doNext(r *http.Request, body []byte) (answer *http.Response, err error) {
	limit, poll := time.NewTimer(cmp.Or(a.connection.patience, successionTime)), time.NewTicker(successionPoll)
	defer limit.Stop()
	defer poll.Stop()
	for {
		if r.Body != nil {
			r.Body = io.NopCloser(bytes.NewReader(body))
		}
		if answer, err = a.live.Do(r); err == nil || !a.connection.hasSuccessor() {
			return answer, err
		}
		select {
		case <-poll.C:
		case <-limit.C:
			return nil, err
		case <-r.Context().Done():
			return nil, context.Cause(r.Context())
		}
	}
}

// hasSuccessor reports whether another engine is about to take over the address and key of c: its engine made way, or
// one has locked the directory and has not written its connection file yet.
func (c Connection) hasSuccessor() bool {
	if c.dir == "" {
		return false
	}
	root, err := os.OpenRoot(c.dir)
	if err != nil {
		return false
	}
	defer root.Close()
	text, err := root.ReadFile(connectionFile)
	if errors.Is(err, fs.ErrNotExist) {
		held, err := isHeld(root)
		return err == nil && held
	}
	var left Connection
	return err == nil && json.Unmarshal(text, &left) == nil && left.MakesWay && left.sameEngine(c)
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
