package objects

import (
	"crypto/x509"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/batchctl/batchctl/pkg/stage"
)

// site serves a content that breaks off, each time after so many bytes.
type site struct {
	body    []byte
	cut     int
	noRange bool
	etag    atomic.Value
	asked   atomic.Int64
	refuse  int64 // the first so many requests
	stall   bool
}

func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.asked.Add(1) <= s.refuse {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	if r.URL.Path != "/file" {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	tag, _ := s.etag.Load().(string)
	if tag != "" {
		w.Header().Set("ETag", tag)
	}
	body, status := s.body, http.StatusOK
	if first, ok := strings.CutPrefix(r.Header.Get("Range"), "bytes="); ok && !s.noRange && r.Header.Get("If-Range") == tag {
		from, _ := strconv.Atoi(strings.TrimSuffix(first, "-"))
		w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, len(body)-1, len(body)))
		body, status = body[from:], http.StatusPartialContent
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	if s.cut > 0 && s.cut < len(body) {
		_, _ = w.Write(body[:s.cut])
		_ = http.NewResponseController(w).Flush()
		if s.stall {
			<-r.Context().Done()
		}
		panic(http.ErrAbortHandler)
	}
	_, _ = w.Write(body)
}

func webStore(t *testing.T, handler http.Handler) (*httptest.Server, *Store) {
	t.Helper()
	server := httptest.NewTLSServer(handler)
	t.Cleanup(server.Close)
	return server, &Store{Web: server.Client(), Stall: 300 * time.Millisecond}
}

func TestWeb(t *testing.T) {
	t.Parallel() // it waits between its tries
	body := content(big)
	for name, s := range map[string]*site{
		"whole":   {body: body},
		"cut":     {body: body, cut: 100_000},
		"stalled": {body: body, cut: 200_000, stall: true},
		"refused": {body: body, refuse: 2},
	} {
		s.etag.Store(`"one"`)
		server, store := webStore(t, s)
		dir := t.TempDir()
		in := stage.Input{From: server.URL + "/file?signature=secret", To: dir + "/", SHA256: hexOf(body)}
		for i := range 2 {
			moved, err := store.Download(t.Context(), in)
			if err != nil || moved != (stage.Moved{Files: 1, Bytes: big, Kept: i}) {
				t.Errorf("%s, %d: %+v %v", name, i, moved, err)
			}
		}
		same(t, name, files(t, dir), map[string]string{"file": string(body)})
		in.SHA256, in.To = "", dir+"/again"
		if moved, err := store.Download(t.Context(), in); err != nil || moved.Unverified != 1 {
			t.Errorf("%s: %+v %v", name, moved, err)
		}
		in.SHA256, in.To = hexOf(nil), dir+"/third"
		_, err := store.Download(t.Context(), in)
		wants(t, err, "checksum does not match")
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%v", err)
		}
		same(t, name, files(t, dir), map[string]string{"file": string(body), "again": string(body)})
	}
}

func TestWebErrors(t *testing.T) {
	t.Parallel() // it waits between its tries
	changing := &site{body: content(big), cut: 100_000}
	changing.etag.Store(`"one"`)
	for name, test := range map[string]struct {
		handler http.Handler
		path    string
		want    string
	}{
		"gone":     {&site{}, "/gone", "HTTP 404"},
		"no range": {&site{body: content(big), cut: 100_000, noRange: true}, "/file", "the connection was lost"},
		"changed": {http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Range") != "" {
				changing.etag.Store(`"two"`)
			}
			changing.ServeHTTP(w, r)
		}), "/file", "the file has changed or"},
		"downgrade": {http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.1:1/x", http.StatusFound)
		}), "/file", "a URL without TLS"},
	} {
		server, store := webStore(t, test.handler)
		dir := t.TempDir()
		_, err := store.Download(t.Context(), stage.Input{From: server.URL + test.path, To: dir + "/x"})
		wants(t, err, server.URL, test.want)
		same(t, name, files(t, dir), nil)
	}
	_, store := webStore(t, &site{})
	for _, from := range []string{"http://host/x", "ftp://host/x", "relative", "s3://", "s3://a", "s3://b/key", "https://"} {
		if _, err := store.Download(t.Context(), stage.Input{From: from, To: t.TempDir() + "/x"}); err == nil {
			t.Errorf("%s is taken", from)
		}
	}
	// A server that no CA certificate speaks for.
	server, store := webStore(t, &site{body: []byte("x")})
	transport := server.Client().Transport.(*http.Transport).Clone()
	transport.TLSClientConfig.RootCAs = x509.NewCertPool()
	store.Web = &http.Client{Transport: transport}
	_, err := store.Download(t.Context(), stage.Input{From: server.URL + "/file", To: t.TempDir() + "/x"})
	wants(t, err, "SSL_CERT_FILE")
}
