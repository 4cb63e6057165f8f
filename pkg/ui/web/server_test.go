package web

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
)

// start serves h on a free port until the test ends. stop ends it and returns what Serve returned.
func start(t *testing.T, h http.Handler) (address string, stop func() error) {
	t.Helper()
	ln, err := Listen(0)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan error, 1)
	go func() { result <- Serve(ctx, ln, h) }()
	return ln.Addr().String(), func() error { cancel(); return <-result }
}

// TestStreamOverHTTP opens the server with a ticket as a browser does, reads a compressed page, then a stream that
// is not compressed, and stops the server while the stream is open.
func TestStreamOverHTTP(t *testing.T) {
	h := NewHub(0)
	defer h.Close()
	s := newSource("log", 10)
	mux := http.NewServeMux()
	mux.HandleFunc("/events", func(w http.ResponseWriter, r *http.Request) { h.Serve(w, r, s.Topic) })
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, strings.Repeat("<p>", 1000))
	})
	var guard *Guard
	address, stop := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { guard.Wrap(Compressed(mux)).ServeHTTP(w, r) }))
	host, port, _ := net.SplitHostPort(address)
	number, _ := strconv.Atoi(port)
	if host != "127.0.0.1" {
		t.Errorf("listens on %s", host)
	}
	guard = NewGuard(number)
	client := &http.Client{}
	get := func(url string, cookies ...*http.Cookie) *http.Response {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), "GET", url, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range cookies {
			r.AddCookie(c)
		}
		answer, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		return answer
	}
	opened := get(guard.Ticket("http://" + address))
	_ = opened.Body.Close()
	cookies := opened.Cookies()
	if opened.StatusCode != 200 || len(cookies) != 1 {
		t.Fatalf("%d, %d cookies", opened.StatusCode, len(cookies))
	}
	page := get("http://"+address+"/", cookies...)
	text, err := io.ReadAll(page.Body)
	if err != nil || !page.Uncompressed || len(text) != 3000 {
		t.Errorf("%d bytes, compressed %v, %v", len(text), page.Uncompressed, err)
	}
	_ = page.Body.Close()

	stream := get("http://"+address+"/events", cookies...)
	if stream.Uncompressed || stream.Header.Get("Content-Type") != "text/event-stream" || stream.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("%s", stream.Header)
	}
	lines := bufio.NewScanner(stream.Body)
	for i := range 3 {
		data := "line " + strconv.Itoa(i)
		s.publish(data)
		for lines.Scan() && lines.Text() != "data: "+data {
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	for lines.Scan() {
	}
	if lines.Err() != nil {
		t.Errorf("the stream did not end properly: %v", lines.Err())
	}
	_ = stream.Body.Close()
	client.CloseIdleConnections()
}

// TestShutdownWithSlowClient stops a server whose client opened a stream and reads nothing.
func TestShutdownWithSlowClient(t *testing.T) {
	h := NewHub(0)
	defer h.Close()
	s := newSource("log", 1000)
	ended := make(chan struct{})
	address, stop := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer close(ended)
		h.Serve(w, r, s.Topic)
	}))
	slow, err := net.Dial("tcp4", address)
	if err != nil {
		t.Fatal(err)
	}
	defer slow.Close()
	if _, err := io.WriteString(slow, "GET /events HTTP/1.1\r\nHost: "+address+"\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	for range 1000 { // 100 MB are more than the buffers of a connection
		s.publish(strings.Repeat("x", 100_000))
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	<-ended
}

func TestServeErrors(t *testing.T) {
	ln, err := Listen(0)
	if err != nil {
		t.Fatal(err)
	}
	if other, err := Listen(ln.Addr().(*net.TCPAddr).Port); err == nil {
		t.Errorf("listens twice on %s", other.Addr())
	}
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Serve(stopped, ln, http.NotFoundHandler()); err != nil {
		t.Error(err)
	}
	if err := Serve(t.Context(), ln, http.NotFoundHandler()); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Serve on a closed listener: %v", err)
	}
}

// TestForeignRequests sends requests that Go's client would not send.
func TestForeignRequests(t *testing.T) {
	var guard *Guard
	var host string
	address, stop := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		guard.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusTeapot) })).ServeHTTP(w, r)
	}))
	defer func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	}()
	host = address
	_, port, _ := net.SplitHostPort(address)
	number, _ := strconv.Atoi(port)
	guard = NewGuard(number)
	cookie := "Cookie: " + guard.cookie + "=" + guard.session + "\r\n"
	for _, c := range []struct {
		name, request string
		want          string
	}{
		{"plain", "GET / HTTP/1.1\r\nHost: " + host + "\r\n", "418"},
		{"complete URL", "GET http://" + host + "/ HTTP/1.1\r\nHost: " + host + "\r\n", "403"},
		{"proxy", "GET http://evil.example/ HTTP/1.1\r\nHost: " + host + "\r\n", "403"},
		{"CONNECT", "CONNECT " + host + " HTTP/1.1\r\nHost: " + host + "\r\n", "403"},
		{"OPTIONS *", "OPTIONS * HTTP/1.1\r\nHost: " + host + "\r\n", "403"},
		{"no host", "GET / HTTP/1.0\r\n", "403"},
		{"two hosts", "GET / HTTP/1.1\r\nHost: " + host + "\r\nHost: evil.example\r\n", "400"},
		{"a header that is too large", "GET / HTTP/1.1\r\nHost: " + host + "\r\nX: " + strings.Repeat("x", 80<<10) + "\r\n", "431"},
		{"two cookie headers", "GET / HTTP/1.1\r\nHost: " + host + "\r\nCookie: " + guard.cookie + "=x\r\n", "418"},
	} {
		conn, err := net.Dial("tcp4", address)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(conn, c.request+cookie+"Connection: close\r\n\r\n")
		line, err := bufio.NewReader(conn).ReadString('\n')
		if _, status, _ := strings.Cut(line, " "); err != nil || !strings.HasPrefix(status, c.want) {
			t.Errorf("%s: %q, %v, want %s", c.name, line, err, c.want)
		}
		_ = conn.Close()
	}
}

func TestCompressed(t *testing.T) {
	long := strings.Repeat("{}\n", 1000)
	for _, c := range []struct {
		name, accept, kind, text string
		status                   int
		want                     bool
	}{
		{"HTML", "gzip", "text/html; charset=utf-8", long, 200, true},
		{"JSON", "deflate, gzip;q=0.5", "application/json", long, 200, true},
		{"SVG", "GZIP", "image/svg+xml", long, 200, true},
		{"CSS", "br, gzip ; q=1", "text/css", long, 404, true},
		{"JavaScript", "gzip", "text/javascript", long, 500, true},
		{"HTML by its text", "gzip", "", "<!doctype html>" + long, 200, true},
		{"plain by its text", "gzip", "", long, 200, false},
		{"1 KiB", "gzip", "text/html", long[:1024], 200, false},
		{"above 1 KiB", "gzip", "text/html", long[:1025], 200, true},
		{"empty", "gzip", "text/html", "", 200, false},
		{"not accepted", "", "text/html", long, 200, false},
		{"refused", "gzip;q=0", "text/html", long, 200, false},
		{"refused with digits", "gzip;q=0.000", "text/html", long, 200, false},
		{"wrong weight", "gzip;q=x", "text/html", long, 200, false},
		{"another name", "xgzip", "text/html", long, 200, false},
		{"event stream", "gzip", "text/event-stream", long, 200, false},
		{"PNG", "gzip", "image/png", long, 200, false},
		{"part", "gzip", "text/html", long, 206, false},
		{"wrong type", "gzip", ";;", long, 200, false},
		{"no content", "gzip", "text/html", "", 204, false},
	} {
		for _, piece := range []int{1, 7, 1024, 1 << 20} {
			h := Compressed(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if c.kind != "" {
					w.Header().Set("Content-Type", c.kind)
				}
				w.Header().Set("Content-Length", strconv.Itoa(len(c.text)))
				if c.status != 200 {
					w.WriteHeader(c.status)
				}
				for text := []byte(c.text); len(text) > 0; {
					n, err := w.Write(text[:min(piece, len(text))])
					if err != nil || n != min(piece, len(text)) {
						t.Fatalf("%s: %d, %v", c.name, n, err)
					}
					text = text[n:]
				}
			}))
			for range 2 { // the second answer uses the writer of the first
				answer := ask(h, request("GET", "/", "Accept-Encoding", c.accept))
				got := answer.Body.Bytes()
				compressed := answer.Header().Get("Content-Encoding") == "gzip"
				if compressed {
					got = unzip(t, got)
				}
				size := answer.Header().Get("Content-Length")
				if compressed != c.want || string(got) != c.text || answer.Code != c.status || (size == "") != compressed {
					t.Errorf("%s in pieces of %d: %d, compressed %v, %d bytes, %v", c.name, piece, answer.Code, compressed, len(got), answer.Header())
				}
				if compressed && (answer.Header().Get("Vary") != "Accept-Encoding" || answer.Header().Get("Content-Type") == "") {
					t.Errorf("%s: %v", c.name, answer.Header())
				}
			}
		}
	}
	head := ask(Compressed(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "3000")
	})), request("HEAD", "/", "Accept-Encoding", "gzip"))
	if head.Header().Get("Content-Length") != "3000" {
		t.Errorf("HEAD: %v", head.Header())
	}
	encoded := ask(Compressed(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/css")
		w.Header().Set("Content-Encoding", "br")
		_, _ = io.WriteString(w, long)
	})), request("GET", "/", "Accept-Encoding", "gzip"))
	if encoded.Body.String() != long {
		t.Errorf("an encoded answer is compressed again: %v", encoded.Header())
	}
}

func unzip(t *testing.T, data []byte) []byte {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestCompressedFlush checks that a flush sends everything: before the first KiB, and after it.
func TestCompressedFlush(t *testing.T) {
	for _, size := range []int{0, 10, 2000} {
		answer := httptest.NewRecorder()
		Compressed(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			if size > 0 {
				_, _ = io.WriteString(w, strings.Repeat("x", size))
			}
			if answer.Flushed || answer.Body.Len() > 0 && size < 1024 {
				t.Errorf("%d bytes are sent before the flush", answer.Body.Len())
			}
			w.(http.Flusher).Flush()
			got := answer.Body.Len()
			if size > 1024 {
				r, err := gzip.NewReader(bytes.NewReader(answer.Body.Bytes()))
				if err != nil {
					t.Fatal(err)
				}
				if got, err = io.ReadFull(r, make([]byte, size)); err != nil {
					t.Error(err)
				}
			}
			if !answer.Flushed || got != size {
				t.Errorf("%d of %d bytes, flushed %v", got, size, answer.Flushed)
			}
			_, _ = io.WriteString(w, "end")
		})).ServeHTTP(answer, request("GET", "/", "Accept-Encoding", "gzip"))
		text := answer.Body.Bytes()
		if size > 1024 {
			text = unzip(t, text)
		}
		if want := strings.Repeat("x", size) + "end"; string(text) != want {
			t.Errorf("%d bytes, want %d", len(text), len(want))
		}
	}
}

// TestCompressedPanic checks that a handler that fails early gives an error page, not an empty answer.
func TestCompressedPanic(t *testing.T) {
	guard := NewGuard(1234)
	h := guard.Wrap(Compressed(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, "[1,")
		panic("secret")
	})))
	r := request("GET", "/", "Accept-Encoding", "gzip")
	r.AddCookie(open(t, h, guard.Address(base)))
	answer := ask(h, r)
	if answer.Code != 500 || strings.Contains(answer.Body.String(), "[1,") || answer.Header().Get("Content-Type") != "text/html; charset=utf-8" {
		t.Errorf("%d %s", answer.Code, answer.Body)
	}
}
