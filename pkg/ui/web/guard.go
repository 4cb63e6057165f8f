package web

import (
	"crypto/rand"
	"crypto/subtle"
	"io"
	"mime"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// maxBody is the most bytes of a request's body that a handler can read.
const maxBody = 4 << 20

// Guard admits the requests of the browser that was given a key. It is safe for concurrent use.
//
// A browser opens the address with the key and gets a cookie; every other request needs the cookie.
// Requests that a page of another site can send are rejected, whatever their cookies.
type Guard struct {
	// hosts are the values of the Host header that name this server.
	hosts []string
	// cookie is the cookie's name. It contains the port, because browsers share cookies between ports.
	cookie string
	// session is the cookie's value, and key the reusable key. They differ, so that an address tells no cookie.
	session, key string

	mu sync.Mutex
	// tickets are the keys that work once and are unused.
	tickets []string
}

// NewGuard returns a guard for a server on a port of 127.0.0.1, with new random keys.
func NewGuard(port int) *Guard {
	number := strconv.Itoa(port)
	g := &Guard{cookie: "batchctl-ui-" + number, session: rand.Text(), key: rand.Text()}
	for _, name := range []string{"127.0.0.1", "::1", "localhost"} {
		// Clients leave out the port if it is the protocol's own.
		g.hosts = append(g.hosts, strings.TrimSuffix(net.JoinHostPort(name, number), ":80"))
	}
	return g
}

// Address returns the address that opens the server at base, such as "http://127.0.0.1:1234". It can be
// opened any number of times, so only the user may see it.
func (g *Guard) Address(base string) string { return base + "/open?key=" + g.key }

// Ticket is like Address, but the address can be opened once. It is for the command line of a browser, which
// other users on this machine can see: if one of them opens it first, the user's browser gets an error.
func (g *Guard) Ticket(base string) string {
	ticket := rand.Text()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.tickets = append(g.tickets, ticket)
	return base + "/open?key=" + ticket
}

// accepts reports whether a key opens the server. A ticket is used up.
func (g *Guard) accepts(key string) bool {
	if equal(key, g.key) {
		return true
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	unused := len(g.tickets)
	g.tickets = slices.DeleteFunc(g.tickets, func(ticket string) bool { return equal(key, ticket) })
	return len(g.tickets) < unused
}

// equal compares secrets in a time that does not depend on where they differ.
func equal(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// Wrap returns a handler that passes admitted requests to h and answers all others with status 403.
// It answers /open on its own. Every answer has the security headers, which h can change.
//
// h gets only GET, HEAD, and POST with a JSON body of at most 4 MiB. A page must call fetch in its default mode
// for a POST: in other modes, browsers replace the Origin by null because of the Referrer-Policy.
// If h panics, the answer has status 500 and tells nothing about the panic.
func (g *Guard) Wrap(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, header := range securityHeaders {
			w.Header().Set(header[0], header[1])
		}
		opens := r.Method == http.MethodGet && r.URL.Path == "/open"
		switch {
		case !g.fromOwnPage(r, opens):
			writePage(w, http.StatusForbidden, refusedPage)
		case opens && g.accepts(r.URL.Query().Get("key")):
			http.SetCookie(w, &http.Cookie{Name: g.cookie, Value: g.session, Path: "/", HttpOnly: true,
				SameSite: http.SameSiteStrictMode})
			writePage(w, http.StatusOK, openedPage)
		case opens:
			writePage(w, http.StatusForbidden, wrongKeyPage)
		case !slices.ContainsFunc(r.CookiesNamed(g.cookie),
			func(c *http.Cookie) bool { return equal(c.Value, g.session) }):
			writePage(w, http.StatusForbidden, refusedPage)
		default:
			r.Body = http.MaxBytesReader(w, r.Body, maxBody)
			serveSafely(h, w, r)
		}
	})
}

var securityHeaders = [][2]string{
	{"Content-Security-Policy",
		"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
			"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"},
	{"X-Content-Type-Options", "nosniff"},
	{"Referrer-Policy", "no-referrer"},
	{"Cross-Origin-Opener-Policy", "same-origin"},
	{"Cross-Origin-Resource-Policy", "same-origin"},
	{"X-Frame-Options", "DENY"},
	{"Cache-Control", "no-store"},
}

// fromOwnPage reports whether a request can come from a page of this server or from the address bar. It rejects
// what pages of other sites can send: another host name (DNS rebinding), another origin, a frame, a preflight.
// A link on another site can open the server, because the key in it is the proof.
func (g *Guard) fromOwnPage(r *http.Request, opens bool) bool {
	// A request with a complete URL is for a proxy.
	if r.URL.Scheme != "" || r.URL.Host != "" || !slices.Contains(g.hosts, r.Host) {
		return false
	}
	origins := r.Header.Values("Origin")
	for _, origin := range origins {
		if origin != "http://"+r.Host {
			return false
		}
	}
	switch r.Method {
	case http.MethodGet, http.MethodHead:
	case http.MethodPost:
		// Forms cannot send JSON, and browsers send an Origin with every POST.
		kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
		if err != nil || kind != "application/json" || len(origins) == 0 {
			return false
		}
	default:
		return false
	}
	dest := r.Header.Get("Sec-Fetch-Dest")
	switch dest {
	case "iframe", "frame", "fencedframe", "embed", "object":
		return false
	}
	if opens && dest == "document" && r.Header.Get("Sec-Fetch-Mode") == "navigate" {
		return true
	}
	site := r.Header.Get("Sec-Fetch-Site")
	return site == "" || site == "none" || site == "same-origin"
}

// The pages that Guard writes. None depends on the request.
const (
	// openedPage leads to the start page. A redirect would not do: after a redirect that began on another site,
	// browsers do not send the cookie.
	openedPage = `<meta http-equiv="refresh" content="0;url=/">
<title>batchctl ui</title>
<p><a href="/">Open batchctl ui</a></p>
`
	wrongKeyPage = `<title>batchctl ui</title>
<p>This address was already used, or its key is wrong.</p>
<p>Open the address that <code>batchctl ui</code> printed in your terminal.</p>
<p>If you did not use this address yourself, stop <code>batchctl ui</code> and start it again.</p>
`
	refusedPage = `<title>batchctl ui</title>
<p>Open the address that <code>batchctl ui</code> printed in your terminal, with the same host and port.</p>
`
	failedPage = `<title>batchctl ui</title>
<p>batchctl ui failed to answer this request. Reload the page.</p>
`
)

// writePage writes one of the pages above.
func writePage(w http.ResponseWriter, status int, page string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"+page)
}

// serveSafely calls h. If h panics before it answers, the client gets status 500; net/http would close the
// connection, which looks to a page as if the server had ended.
func serveSafely(h http.Handler, w http.ResponseWriter, r *http.Request) {
	t := &begun{ResponseWriter: w}
	defer func() {
		switch p := recover(); {
		case p == nil:
		case p == http.ErrAbortHandler || t.wrote:
			// The client must not take a part of an answer for all of it.
			panic(http.ErrAbortHandler)
		default:
			// These describe the answer that h had in mind.
			w.Header().Del("Content-Length")
			w.Header().Del("Content-Encoding")
			writePage(w, http.StatusInternalServerError, failedPage)
		}
	}()
	h.ServeHTTP(t, r)
}

// begun records whether an answer has begun.
type begun struct {
	http.ResponseWriter
	wrote bool
}

func (t *begun) WriteHeader(status int) {
	t.wrote = true
	t.ResponseWriter.WriteHeader(status)
}

func (t *begun) Write(p []byte) (int, error) {
	t.wrote = true
	return t.ResponseWriter.Write(p)
}

// FlushError is for http.ResponseController: a flush begins the answer.
func (t *begun) FlushError() error {
	t.wrote = true
	return http.NewResponseController(t.ResponseWriter).Flush()
}

// Unwrap lets http.ResponseController reach the connection.
func (t *begun) Unwrap() http.ResponseWriter { return t.ResponseWriter }
