package events

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"time"
)

// socketTimeout is how long a reader may take to read something.
const socketTimeout = 30 * time.Second

// socketSender writes lines to a Unix socket on which another program listens.
type socketSender struct {
	path       string
	connection *net.UnixConn // nil: not connected
}

// connect connects to the socket of this user or of root.
func (s *socketSender) connect(ctx context.Context) error {
	dir, err := filepath.EvalSymlinks(filepath.Dir(s.path))
	if err != nil {
		return err
	}
	path := filepath.Join(dir, filepath.Base(s.path))
	if err := checkSocket(path); err != nil {
		return err
	}
	var dialer net.Dialer
	c, err := dialer.DialContext(ctx, "unix", path)
	if err != nil {
		return err
	}
	s.connection = c.(*net.UnixConn)
	// Another user may have replaced the socket after the check.
	if err := checkPeer(path, s.connection); err != nil {
		s.close()
		return err
	}
	return nil
}

// send writes the lines and waits until the reader has read them, if the system can tell.
func (s *socketSender) send(ctx context.Context, lines [][]byte) (int, error) {
	if s.connection == nil {
		if err := s.connect(ctx); err != nil {
			return 0, err
		}
	}
	c := s.connection
	stop := context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Unix(1, 0)) }) // ends a blocked write
	defer stop()
	if err := s.write(ctx, lines); err != nil {
		s.close() // the next connection begins with a whole line
		return 0, err
	}
	return len(lines), nil
}

func (s *socketSender) write(ctx context.Context, lines [][]byte) error {
	for _, line := range lines {
		if err := s.connection.SetWriteDeadline(time.Now().Add(socketTimeout)); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if _, err := s.connection.Write(line); err != nil {
			if errors.Is(err, os.ErrDeadlineExceeded) {
				return errors.New("the program at the socket is not reading")
			}
			return err
		}
	}
	return s.awaitRead(ctx)
}

// awaitRead returns when the reader has read everything.
func (s *socketSender) awaitRead(ctx context.Context) error {
	left, since := -1, time.Now()
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		n, err := unread(s.connection)
		switch {
		case err != nil:
			return err
		case n == 0 && isClosed(s.connection):
			// The system drops what was not read when the other end closes.
			return errors.New("the program at the socket closed the connection, perhaps before it read all events")
		case n == 0:
			return nil
		case n != left:
			left, since = n, time.Now()
		case time.Since(since) > socketTimeout:
			return errors.New("the program at the socket is not reading")
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (s *socketSender) sync() error { return nil }

func (s *socketSender) close() {
	if s.connection != nil {
		_ = s.connection.Close()
		s.connection = nil
	}
}
