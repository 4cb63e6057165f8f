package web

import (
	"compress/gzip"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// smallest is the size in bytes up to which an answer is sent without compression.
const smallest = 1 << 10

// compressible are the media types that shrink and are sent as a whole. Event streams are not among them.
var compressible = map[string]bool{
	"text/html": true, "text/css": true, "text/javascript": true, "application/javascript": true,
	"application/json": true, "image/svg+xml": true,
}

// Compressed returns a handler that answers like h, with gzip if the client accepts it: HTML, JSON, SVG, CSS and
// JavaScript above 1 KiB. All other answers, event streams among them, are sent unchanged and without delay.
func Compressed(h http.Handler) http.Handler {
	writers := &sync.Pool{New: func() any { return gzip.NewWriter(nil) }}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead || !acceptsGzip(r.Header.Get("Accept-Encoding")) {
			h.ServeHTTP(w, r)
			return
		}
		c := &compressor{ResponseWriter: w, writers: writers}
		h.ServeHTTP(c, r)
		// This is not deferred: after a panic, an answer that has not begun can still become an error.
		c.finish()
	})
}

// acceptsGzip reads an Accept-Encoding header such as "gzip, deflate;q=0.5".
func acceptsGzip(header string) bool {
	for part := range strings.SplitSeq(header, ",") {
		name, parameter, _ := strings.Cut(part, ";")
		if !strings.EqualFold(strings.TrimSpace(name), "gzip") {
			continue
		}
		weight, weighted := strings.CutPrefix(strings.TrimSpace(parameter), "q=")
		q, err := strconv.ParseFloat(weight, 64)
		return !weighted || err == nil && q > 0
	}
	return false
}

// compressor keeps the first KiB of an answer back, and then decides how to send it.
type compressor struct {
	http.ResponseWriter
	writers *sync.Pool
	// status is 0 before the handler sets it.
	status int
	// head is the text that is kept back.
	head []byte
	// sent is true after the header was sent.
	sent bool
	// gzip is nil if the answer is sent unchanged.
	gzip *gzip.Writer
}

// WriteHeader sends the header at once if the answer cannot be compressed.
func (c *compressor) WriteHeader(status int) {
	if c.status == 0 {
		c.status = status
		if !c.fits() {
			_ = c.send(false)
		}
	}
}

// fits reports whether the answer can be compressed, if it becomes large enough.
func (c *compressor) fits() bool {
	h := c.Header()
	if c.status == http.StatusPartialContent || h.Get("Content-Encoding") != "" {
		return false
	}
	// Without a type, the answer's text decides, as in net/http. An unreadable type is not in the list.
	if h.Get("Content-Type") == "" {
		return true
	}
	kind, _, _ := mime.ParseMediaType(h.Get("Content-Type"))
	return compressible[kind]
}

// Write keeps text back until it is clear how to send it.
func (c *compressor) Write(p []byte) (int, error) {
	if c.status == 0 {
		c.WriteHeader(http.StatusOK)
	}
	if !c.sent {
		if len(c.head)+len(p) <= smallest {
			c.head = append(c.head, p...)
			return len(p), nil
		}
		if c.Header().Get("Content-Type") == "" {
			c.Header().Set("Content-Type", http.DetectContentType(append(c.head, p[:min(len(p), smallest)]...)))
		}
		if err := c.send(c.fits()); err != nil {
			return 0, err
		}
	}
	if c.gzip != nil {
		return c.gzip.Write(p)
	}
	return c.ResponseWriter.Write(p)
}

// send sends the header, and the text that was kept back.
func (c *compressor) send(compressed bool) error {
	c.sent = true
	h := c.Header()
	if c.fits() {
		h.Add("Vary", "Accept-Encoding")
	}
	if compressed {
		h.Set("Content-Encoding", "gzip")
		h.Del("Content-Length")
		h.Del("Accept-Ranges")
		c.gzip = c.writers.Get().(*gzip.Writer)
		c.gzip.Reset(c.ResponseWriter)
	}
	c.ResponseWriter.WriteHeader(c.status)
	if len(c.head) == 0 {
		return nil
	}
	head := c.head
	c.head = nil
	if c.gzip != nil {
		_, err := c.gzip.Write(head)
		return err
	}
	_, err := c.ResponseWriter.Write(head)
	return err
}

// FlushError sends everything that was written so far. It is for http.ResponseController.
func (c *compressor) FlushError() error {
	if c.status == 0 {
		c.WriteHeader(http.StatusOK)
	}
	if !c.sent {
		if err := c.send(false); err != nil {
			return err
		}
	}
	if c.gzip != nil {
		if err := c.gzip.Flush(); err != nil {
			return err
		}
	}
	return http.NewResponseController(c.ResponseWriter).Flush()
}

// Flush implements http.Flusher.
func (c *compressor) Flush() { _ = c.FlushError() }

// Unwrap lets http.ResponseController reach the connection.
func (c *compressor) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// finish sends the rest of the answer.
func (c *compressor) finish() {
	switch {
	case c.gzip != nil:
		if c.gzip.Close() == nil {
			c.writers.Put(c.gzip)
		}
	case c.status != 0 && !c.sent:
		_ = c.send(false)
	}
}
