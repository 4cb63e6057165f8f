package events

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

// Limits of a request.
const (
	httpTimeout = 30 * time.Second
	httpAnswer  = 64 << 10 // how much of an answer is read, so that the connection can be used again
)

// httpSender posts each event to an HTTP server.
type httpSender struct {
	url    string
	client *http.Client
}

// newHTTPSender returns a sender that uses no proxy and follows no redirect: the events must not leave this machine.
func newHTTPSender(url string) *httpSender {
	return &httpSender{url, &http.Client{
		Timeout:       httpTimeout,
		Transport:     &http.Transport{MaxIdleConnsPerHost: 1, IdleConnTimeout: time.Minute},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// send posts the events one after the other.
func (s *httpSender) send(ctx context.Context, lines [][]byte) (int, error) {
	for i, line := range lines {
		if err := s.post(ctx, bytes.TrimSuffix(line, []byte("\n"))); err != nil {
			return i, err
		}
	}
	return len(lines), nil
}

// post sends one event. Every answer but 2xx is an error.
func (s *httpSender) post(ctx context.Context, body []byte) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "batchctl")
	answer, err := s.client.Do(r)
	if failed, ok := errors.AsType[*url.Error](err); ok {
		return failed.Err // without the URL, whose query may be a secret
	}
	if err != nil {
		return err
	}
	_, _ = io.CopyN(io.Discard, answer.Body, httpAnswer)
	_ = answer.Body.Close()
	if answer.StatusCode < 200 || answer.StatusCode > 299 {
		return fmt.Errorf("the server answered %s", answer.Status)
	}
	return nil
}

func (s *httpSender) sync() error { return nil }

func (s *httpSender) close() { s.client.CloseIdleConnections() }
