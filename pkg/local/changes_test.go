package local

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/batchctl/batchctl/pkg/local/api"
	"github.com/batchctl/batchctl/pkg/local/model/modeltest"
)

// askForChanges requests the stream of changes, signed with a key; without a signature for the zero key.
func askForChanges(t *testing.T, address string, key aws.Credentials, header http.Header) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+api.ChangesPath, nil)
	if err != nil {
		t.Fatal(err)
	}
	if key.AccessKeyID != "" {
		none := sha256.Sum256(nil)
		if err := v4.NewSigner().SignHTTP(t.Context(), key, r, hex.EncodeToString(none[:]), "batch", "local", time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	for name := range header {
		r.Header.Set(name, header.Get(name))
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { answer.Body.Close() })
	return answer
}

// TestChanges follows the stream of changes of an engine that serves.
func TestChanges(t *testing.T) {
	w := open(t, Options{})
	w.register("work", "1", "64")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- w.engine.Serve(ctx, l, nil) }()

	for name, answer := range map[string]*http.Response{
		"no signature": askForChanges(t, l.Addr().String(), aws.Credentials{}, nil),
		"another key":  askForChanges(t, l.Addr().String(), api.NewKey(), nil),
		"another site": askForChanges(t, l.Addr().String(), w.engine.key, http.Header{"Origin": {"http://evil.example"}}),
	} {
		if answer.StatusCode != http.StatusForbidden {
			t.Errorf("%s: %s", name, answer.Status)
		}
	}

	answer := askForChanges(t, l.Addr().String(), w.engine.key, nil)
	if answer.StatusCode != http.StatusOK || answer.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("%s, %s", answer.Status, answer.Header.Get("Content-Type"))
	}
	lines := bufio.NewReader(answer.Body)
	event := func() {
		t.Helper()
		for _, want := range []string{"event: change\n", "data: {}\n", "\n"} {
			if line, err := lines.ReadString('\n'); line != want || err != nil {
				t.Fatalf("line %q, %v, want %q", line, err, want)
			}
		}
	}
	event() // at the beginning
	w.submit("work", modeltest.Words("exit", "0"))
	event()
	w.idle()

	// A stream does not keep the engine alive.
	if err := w.engine.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	stop()
	<-ended
	// A connection that was cut would be an error.
	if _, err := io.Copy(io.Discard, lines); err != nil {
		t.Errorf("the stream ends with %v", err)
	}
}

// TestChangesWithoutSubscribers checks that a stream which has ended leaves nothing in the engine.
func TestChangesWithoutSubscribers(t *testing.T) {
	w := open(t, Options{})
	changed, cancel := w.engine.subscribers.subscribe()
	w.register("work", "1", "64")
	<-changed
	cancel()
	w.register("work", "1", "128")
	select {
	case <-changed:
		t.Error("a change after the end")
	default:
	}
	if n := len(w.engine.subscribers.channels); n != 0 {
		t.Errorf("%d subscribers are left", n)
	}
}
