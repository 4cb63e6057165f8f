package events

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// Destination is where events are delivered to. Destinations are comparable.
type Destination struct {
	kind string // file, unix or http
	name string // the path, absolute, or the URL
}

// sender delivers lines to a destination. It is used by one goroutine.
type sender interface {
	// send delivers lines in order, and returns how many of them were acknowledged. After an error, the rest is sent
	// again.
	send(ctx context.Context, lines [][]byte) (int, error)
	// sync returns when the acknowledged lines survive a power failure, as far as this side can tell.
	sync() error
	close()
}

// ParseDestination parses file:PATH, unix:PATH or http://127.0.0.1:PORT/PATH. A relative path is relative to the current
// directory.
func ParseDestination(text string) (Destination, error) {
	kind, rest, _ := strings.Cut(text, ":")
	switch {
	case kind == "http":
		return parseURL(text)
	case kind == "https":
		return Destination{}, errors.New("https is not supported: events are only delivered on this machine")
	case kind != "file" && kind != "unix":
		return Destination{}, errors.New("unknown kind of destination")
	case rest == "" || strings.HasSuffix(rest, "/"):
		return Destination{}, errors.New("the path has no file name")
	case strings.HasPrefix(rest, "//"):
		return Destination{}, errors.New("a path is expected after the colon, not a URL")
	case strings.ContainsRune(rest, 0):
		return Destination{}, errors.New("the path contains a zero byte")
	}
	path, err := filepath.Abs(rest)
	return Destination{kind, path}, err
}

// parseURL parses an HTTP destination. A host name is rejected, since another name server could redirect it.
func parseURL(text string) (Destination, error) {
	u, err := url.Parse(text)
	if err != nil {
		return Destination{}, errors.New("not a valid URL")
	}
	ip, err := netip.ParseAddr(u.Hostname())
	switch {
	case err != nil || !ip.IsLoopback():
		return Destination{}, errors.New("the host is not a loopback address such as 127.0.0.1")
	case u.Port() == "" || u.Port() == "0":
		return Destination{}, errors.New("the port is missing")
	case u.User != nil || u.Fragment != "":
		return Destination{}, errors.New("the URL has a user or a fragment")
	}
	if u.Path == "" {
		u.Path = "/"
	}
	return Destination{"http", u.String()}, nil
}

// String returns the destination without the query of its URL, which may be a secret.
func (d Destination) String() string {
	if d.kind == "http" {
		name, _, _ := strings.Cut(d.name, "?")
		return name
	}
	return d.kind + ":" + d.name
}

// positionName returns the name of the file with the destination's position, below the state directory.
func (d Destination) positionName() string {
	sum := sha256.Sum256([]byte(d.kind + ":" + d.name))
	return directory + "/" + hex.EncodeToString(sum[:12])
}

// open checks the destination as far as it must exist.
func (d Destination) open(state *os.Root) (sender, error) {
	switch d.kind {
	case "file":
		f := &fileSender{path: d.name, state: state}
		return f, f.open()
	case "unix":
		return &socketSender{path: d.name}, nil
	}
	return newHTTPSender(d.name), nil
}
