package objects

import (
	"context"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"net/url"
	"strings"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
)

// httpClient is Web or a client of its own; the caller limits its redirects.
func (t *download) httpClient() *http.Client {
	if t.Web != nil {
		return t.Web
	}
	transport := awshttp.NewBuildableClient().GetTransport()
	return &http.Client{Transport: transport}
}

// web downloads one file over HTTPS.
func (t *download) web(ctx context.Context, from location) error {
	if u, err := url.Parse(from.url); err != nil || u.Host == "" {
		return fmt.Errorf("%s is not a URL", from)
	}
	d, name, err := t.one(from, openDest)
	if err != nil {
		return err
	}
	defer d.Close()
	if size := d.size(name); size >= 0 && t.pinned != nil {
		if kept, err := t.keep(d, name, size, t.pinned, t.mode()); kept || err != nil {
			return err
		}
	}
	release, err := t.slot(ctx)
	if err != nil {
		return err
	}
	defer release()
	// A copy of the client, because CheckRedirect is this download's own.
	w := &web{client: *t.httpClient(), stall: &watched{stall: t.stall()}, from: from}
	w.client.CheckRedirect = func(r *http.Request, via []*http.Request) error {
		if r.URL.Scheme != "https" {
			return errors.New("it redirects to a URL without TLS")
		}
		if len(via) >= 10 {
			return errors.New("it redirects too many times")
		}
		return nil
	}
	w.stall.inner = &w.client
	r := &reader{ctx: ctx, store: t.Store, connect: w.connect}
	defer r.Close()
	if err := opened(r); err != nil {
		return withName(err, from.String())
	}
	if r.end >= 0 { // the server reports the size
		if err := t.fits(d.Name(), r.end, from.String()); err != nil {
			return err
		}
	}
	f, err := d.create(name, t.mode())
	if err != nil {
		return err
	}
	defer f.drop()
	var h hash.Hash
	v := unverified
	if t.pinned != nil {
		h = t.pinned.hash()
	}
	if err := t.copy(f, 0, r.end, r, h, from.String()); err != nil {
		return err
	}
	if h != nil {
		v = t.pinned.judge(h.Sum(nil))
	}
	return t.finish(f, from.String(), r.off, v)
}

// web is a file at a URL, of the version that was seen first.
type web struct {
	client  http.Client
	stall   *watched
	from    location
	etag    string
	changed string // Last-Modified
}

// connect requests the file from off on, of the same version as before; see reader.
func (w *web) connect(ctx context.Context, off int64) (io.ReadCloser, int64, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, w.from.url, nil)
	if err != nil {
		return nil, 0, fmt.Errorf("%s is not a URL", w.from)
	}
	r.Header.Set("Accept-Encoding", "identity") // otherwise the transport would decompress a compressed file
	if off > 0 {
		r.Header.Set("Range", fmt.Sprintf("bytes=%d-", off))
		switch {
		case w.etag != "":
			r.Header.Set("If-Range", w.etag)
		case w.changed != "":
			r.Header.Set("If-Range", w.changed)
		default:
			return nil, 0, errors.New("the connection was lost, and the server does not identify versions, so the download cannot continue")
		}
	}
	answer, err := w.stall.Do(r)
	if err != nil {
		if without := untrusted(err); without != "" {
			return nil, 0, errors.New(without)
		}
		if u, ok := errors.AsType[*url.Error](err); ok {
			err = u.Err // without the URL, which may contain a secret
		}
		return nil, 0, errAgain{err}
	}
	return w.answered(answer, off)
}

// answered returns the body of a usable answer, and where it ends. For others it is an error, errAgain
// if a retry may help.
func (w *web) answered(answer *http.Response, off int64) (io.ReadCloser, int64, error) {
	switch {
	case off == 0 && answer.StatusCode == http.StatusOK:
		// A weak ETag cannot be used in If-Range (RFC 9110, 13.1.5).
		if tag := answer.Header.Get("ETag"); !strings.HasPrefix(tag, "W/") {
			w.etag = tag
		}
		w.changed = answer.Header.Get("Last-Modified")
		return answer.Body, answer.ContentLength, nil
	case off > 0 && answer.StatusCode == http.StatusPartialContent &&
		strings.HasPrefix(answer.Header.Get("Content-Range"), fmt.Sprintf("bytes %d-", off)) &&
		answer.ContentLength >= 0:
		return answer.Body, off + answer.ContentLength, nil
	}
	answer.Body.Close()
	switch code := answer.StatusCode; {
	case off > 0 && code == http.StatusOK:
		return nil, 0, errors.New("the connection was lost, and the file has changed or the server cannot resume a download")
	case code == http.StatusTooManyRequests || code >= 500:
		return nil, 0, errAgain{fmt.Errorf("HTTP %d %s", code, http.StatusText(code))}
	case code == http.StatusNotFound:
		return nil, 0, errors.New("HTTP 404 Not Found: no file at this URL")
	default:
		return nil, 0, fmt.Errorf("HTTP %d %s", code, http.StatusText(code))
	}
}
