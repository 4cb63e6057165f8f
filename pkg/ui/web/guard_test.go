package web

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

const base = "http://127.0.0.1:1234"

// unset is the value of a header that a request does not have.
const unset = "-"

// request returns a request to 127.0.0.1:1234 with headers, given as name and value.
func request(method, path string, headers ...string) *http.Request {
	r := httptest.NewRequest(method, path, nil)
	r.Host = "127.0.0.1:1234"
	for i := 0; i < len(headers); i += 2 {
		if headers[i+1] != unset {
			r.Header.Set(headers[i], headers[i+1])
		}
	}
	return r
}

// ask returns the answer of a handler.
func ask(h http.Handler, r *http.Request) *httptest.ResponseRecorder {
	answer := httptest.NewRecorder()
	h.ServeHTTP(answer, r)
	return answer
}

// open opens an address and returns the cookie, or nil.
func open(t *testing.T, h http.Handler, address string) *http.Cookie {
	t.Helper()
	cookies := ask(h, request("GET", strings.TrimPrefix(address, base))).Result().Cookies()
	if len(cookies) == 0 {
		return nil
	}
	return cookies[0]
}

// TestWhoMayAsk tries every combination of what a request tells about its origin, its method and its cookie.
func TestWhoMayAsk(t *testing.T) {
	guard, other := NewGuard(1234), NewGuard(1234)
	reached := 0
	h := guard.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reached++
		if r.URL.Path != "/" {
			http.NotFound(w, r)
		}
	}))
	good := open(t, h, guard.Address(base))
	anotherPort := *good
	anotherPort.Name = "batchctl-ui-1235"
	key := strings.TrimPrefix(guard.Address(base), base)
	ownHost := map[string]bool{"127.0.0.1:1234": true, "[::1]:1234": true, "localhost:1234": true}
	cookies := map[string]string{
		"none": unset, "good": good.String(), "another port": anotherPort.String(), "wrong": good.Name + "=" + other.session,
		"with a forged one": good.Name + "=x; " + good.String(),
	}
	for name, c := range cookies {
		cookies[name] = strings.ReplaceAll(c, "; Path=/; HttpOnly; SameSite=Strict", "")
	}
	goodCookie := map[string]bool{"good": true, "with a forged one": true}
	tried, passed, opened := 0, 0, 0
	var refusal []byte
	for _, path := range []string{"/", "/missing", key, "/open", "/open?key=" + other.key, "/open/?key=" + guard.key} {
		for _, method := range []string{"GET", "HEAD", "POST", "PUT", "OPTIONS"} {
			for _, host := range []string{"127.0.0.1:1234", "[::1]:1234", "localhost:1234", "127.0.0.1", "localhost:1235",
				"127.0.0.1.evil.example:1234", ""} {
				for _, origin := range []string{unset, "http://" + host, "null", "https://" + host, "http://127.0.0.1:1235", ""} {
					for _, site := range []string{unset, "none", "same-origin", "same-site", "cross-site"} {
						for _, fetch := range [][2]string{{unset, unset}, {"navigate", "document"}, {"navigate", "iframe"}, {"no-cors", "document"}} {
							for cookie, value := range cookies {
								for _, kind := range []string{unset, "application/json", "text/plain"} {
									if method != "POST" && kind != unset && !(origin == unset && fetch[0] == unset) {
										continue // the type matters for POST only; a sample shows that
									}
									r := request(method, path, "Origin", origin, "Sec-Fetch-Site", site, "Sec-Fetch-Mode", fetch[0], "Sec-Fetch-Dest", fetch[1],
										"Cookie", value, "Content-Type", kind)
									r.Host = host
									before := reached
									answer := ask(h, r)
									tried++

									trusted := ownHost[host] && (origin == unset || origin == "http://"+host) && fetch[1] != "iframe"
									ownSite := site == unset || site == "none" || site == "same-origin"
									opens := method == "GET" && (path == key || strings.HasPrefix(path, "/open?") || path == "/open")
									wantOpen := opens && path == key && trusted && (ownSite || fetch == [2]string{"navigate", "document"})
									want := !opens && trusted && ownSite && goodCookie[cookie] &&
										(method == "GET" || method == "HEAD" || method == "POST" && kind == "application/json" && origin != unset)
									report := func(problem string) {
										t.Fatalf("%s: %s %s, host %s, origin %s, site %s, fetch %s, cookie %s, type %s: %d", problem, method, path, host, origin,
											site, fetch, cookie, kind, answer.Code)
									}
									if (reached > before) != want {
										report("wrong decision")
									}
									if set := answer.Header().Get("Set-Cookie") != ""; set != wantOpen {
										report("wrong cookie")
									}
									switch {
									case want:
										passed++
										continue
									case wantOpen:
										opened++
										continue
									case answer.Code != http.StatusForbidden:
										report("not refused")
									case opens && trusted:
										continue // the answer can be that of a wrong key
									}
									if refusal == nil {
										refusal = bytes.Clone(answer.Body.Bytes())
									}
									if !bytes.Equal(answer.Body.Bytes(), refusal) {
										report("refusals differ")
									}
								}
							}
						}
					}
				}
			}
		}
	}
	t.Logf("%d requests: %d admitted, %d open the server", tried, passed, opened)
	if passed == 0 || opened == 0 {
		t.Error("the combinations have no admitted request")
	}
}

func TestOtherRefusals(t *testing.T) {
	guard := NewGuard(1234)
	h := guard.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusTeapot) }))
	cookie := open(t, h, guard.Address(base))
	for _, c := range []struct {
		name string
		edit func(r *http.Request)
		want int
	}{
		{"plain", func(r *http.Request) {}, http.StatusTeapot},
		{"charset", func(r *http.Request) { r.Header.Set("Content-Type", "application/json; charset=utf-8") }, http.StatusTeapot},
		{"complete URL", func(r *http.Request) { r.URL.Scheme, r.URL.Host = "http", "127.0.0.1:1234" }, 403},
		{"second origin", func(r *http.Request) { r.Header.Add("Origin", "http://evil.example") }, 403},
		{"a type that only begins like JSON", func(r *http.Request) { r.Header.Set("Content-Type", "application/json, text/plain") }, 403},
		{"frame", func(r *http.Request) { r.Header.Set("Sec-Fetch-Dest", "frame") }, 403},
		{"embed", func(r *http.Request) { r.Header.Set("Sec-Fetch-Dest", "embed") }, 403},
		{"object", func(r *http.Request) { r.Header.Set("Sec-Fetch-Dest", "object") }, 403},
		{"fenced frame", func(r *http.Request) { r.Header.Set("Sec-Fetch-Dest", "fencedframe") }, 403},
	} {
		r := request("POST", "/", "Origin", base, "Content-Type", "application/json")
		r.AddCookie(cookie)
		c.edit(r)
		if got := ask(h, r).Code; got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}

	// Clients leave out port 80.
	guard = NewGuard(80)
	r := request("GET", "/open?key="+guard.key)
	r.Host = "[::1]"
	if got := ask(guard.Wrap(h), r).Code; got != http.StatusOK {
		t.Errorf("port 80: %d", got)
	}
}

func TestCookie(t *testing.T) {
	guard := NewGuard(1234)
	cookie := open(t, guard.Wrap(http.NotFoundHandler()), guard.Address(base))
	if !cookie.HttpOnly || cookie.SameSite != http.SameSiteStrictMode || cookie.Path != "/" || cookie.Domain != "" || cookie.MaxAge != 0 ||
		!cookie.Expires.IsZero() || !strings.Contains(cookie.Name, "1234") {
		t.Errorf("cookie %s", cookie)
	}
	// rand.Text has at least 128 bits.
	if len(cookie.Value) < 26 || len(guard.key) < 26 || cookie.Value == guard.key {
		t.Errorf("cookie %s, key %s", cookie.Value, guard.key)
	}
}

// TestTicket opens one ticket many times at once: one of them gets the cookie.
func TestTicket(t *testing.T) {
	guard := NewGuard(1234)
	h := guard.Wrap(http.NotFoundHandler())
	for range 50 {
		ticket, unused := guard.Ticket(base), guard.Ticket(base)
		var opened, refused atomic.Int32
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				answer := ask(h, request("GET", strings.TrimPrefix(ticket, base)))
				switch {
				case answer.Code == http.StatusOK && answer.Header().Get("Set-Cookie") != "":
					opened.Add(1)
				case answer.Code == http.StatusForbidden && strings.Contains(answer.Body.String(), "already used"):
					refused.Add(1)
				}
			})
		}
		all.Wait()
		if opened.Load() != 1 || refused.Load() != 7 {
			t.Fatalf("%d opened, %d refused", opened.Load(), refused.Load())
		}
		if open(t, h, unused) == nil {
			t.Fatal("another ticket is used up")
		}
	}
	for range 2 {
		if open(t, h, guard.Address(base)) == nil {
			t.Error("the printed address works once only")
		}
	}
}

// TestAnswers checks the headers of all kinds of answers, and that they tell nothing about a panic.
func TestAnswers(t *testing.T) {
	guard := NewGuard(1234)
	var tooLarge *http.MaxBytesError
	mux := http.NewServeMux()
	mux.HandleFunc("/panic", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "7")
		panic("secret")
	})
	mux.HandleFunc("/halfway", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "half")
		panic("secret")
	})
	mux.HandleFunc("/flushed", func(w http.ResponseWriter, r *http.Request) {
		if err := http.NewResponseController(w).Flush(); err != nil {
			t.Error(err)
		}
		panic("secret")
	})
	mux.HandleFunc("/body", func(w http.ResponseWriter, r *http.Request) {
		n, err := io.Copy(io.Discard, r.Body)
		if n != maxBody || !errors.As(err, &tooLarge) {
			t.Errorf("%d bytes, %v", n, err)
		}
	})
	mux.HandleFunc("/ok", func(w http.ResponseWriter, r *http.Request) { w.Header().Set("Cache-Control", "max-age=1") })
	h := guard.Wrap(mux)
	cookie := open(t, h, guard.Address(base))
	for path, want := range map[string]int{"/ok": 200, "/missing": 404, "/panic": 500, "/body": 200, "/open?key=x": 403, "/open?key=" + guard.key: 200,
		"/halfway": -1, "/flushed": -1} {
		r := request("GET", path)
		r.Body = io.NopCloser(io.LimitReader(zeros{}, maxBody+1))
		r.AddCookie(cookie)
		answer := httptest.NewRecorder()
		aborted := func() (p any) {
			defer func() { p = recover() }()
			h.ServeHTTP(answer, r)
			return nil
		}()
		if (want == -1) != (aborted == http.ErrAbortHandler) || want != -1 && answer.Code != want {
			t.Errorf("%s: %d, panic %v, want %d", path, answer.Code, aborted, want)
		}
		if strings.Contains(answer.Body.String(), "secret") || want == 500 && answer.Header().Get("Content-Length") != "" {
			t.Errorf("%s: %s %s", path, answer.Header(), answer.Body)
		}
		for name, value := range map[string]string{
			"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; " +
				"base-uri 'none'; frame-ancestors 'none'",
			"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cross-Origin-Opener-Policy": "same-origin",
			"Cross-Origin-Resource-Policy": "same-origin", "X-Frame-Options": "DENY", "Cache-Control": "no-store",
			"Access-Control-Allow-Origin": "", "Server": "", "Location": "",
		} {
			if path == "/ok" && name == "Cache-Control" {
				value = "max-age=1"
			}
			if got := strings.Join(answer.Header().Values(name), "\n"); got != value {
				t.Errorf("%s: %s is %q, want %q", path, name, got, value)
			}
		}
	}
}

// zeros is a body without end.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }
