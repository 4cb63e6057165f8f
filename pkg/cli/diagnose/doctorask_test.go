//go:build unix

package diagnose

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/batchctl/batchctl/pkg/doctor"
	"github.com/batchctl/batchctl/pkg/testtool"
)

// TestMachineRun checks that Run returns the output of both streams with the error, and
// fs.ErrNotExist for a missing program. A program that hangs does not delay doctor, even if
// its child keeps the output open.
func TestMachineRun(t *testing.T) {
	testtool.Need(t, "sh", "sleep", "head")
	out, err := machine{}.Run(t.Context(), "sh", "-c", "echo out; echo err >&2; exit 3")
	if out != "out\nerr\n" || err == nil {
		t.Errorf("%q, %v", out, err)
	}
	if _, err := (machine{}).Run(t.Context(), "no-such-program-anywhere"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing program: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := (machine{}).Run(ctx, "sh", "-c", "trap '' TERM; sleep 5 & wait"); err == nil {
		t.Error("a program that hangs has ended without an error")
	}
	out, err = machine{}.Run(t.Context(), "head", "-c", "20000000", "/dev/zero")
	if err != nil || len(out) != mostPrinted {
		t.Errorf("%d bytes were kept, %v", len(out), err)
	}
}

// TestMachineHTTP: headers go along, redirections are not followed, bodies are bounded.
func TestMachineHTTP(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/away":
			http.Redirect(w, r, "/token", http.StatusFound)
		case "/large":
			_, _ = w.Write(make([]byte, 1<<20))
		default:
			_, _ = w.Write([]byte(r.Method + " " + r.Header.Get("X-Ttl")))
		}
	}))
	defer s.Close()
	ask := func(method, path string) (int, string) {
		status, body, err := machine{}.HTTP(t.Context(), doctor.Request{Method: method, URL: s.URL + path, Header: map[string]string{"X-Ttl": "60"}})
		if err != nil {
			t.Fatal(err)
		}
		return status, body
	}
	if status, body := ask("PUT", "/token"); status != 200 || body != "PUT 60" {
		t.Errorf("%d %q", status, body)
	}
	if status, body := ask("GET", "/away"); status != 302 || strings.Contains(body, "60") {
		t.Errorf("a redirection was followed: %d %q", status, body)
	}
	if _, body := ask("GET", "/large"); len(body) != 64<<10 {
		t.Errorf("%d bytes", len(body))
	}
	if _, _, err := (machine{}).HTTP(t.Context(), doctor.Request{Method: "GET", URL: "http://127.0.0.1:1/"}); err == nil {
		t.Error("got no error from a port without a server")
	}
}
