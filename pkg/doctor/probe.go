package doctor

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"
)

const (
	// mostRead limits the bytes that are read of a file: configurations are far smaller.
	mostRead = 1 << 20
	// mostTail limits the bytes that are read from the end of a log.
	mostTail = 256 << 10
	// askLimit is the time limit of a program or an address. It is below a check's own limit, so
	// that the check can report which one did not answer.
	askLimit = 5 * time.Second
	// metadataLimit is the time limit of services that answer within milliseconds or not at all.
	metadataLimit = 2 * time.Second
)

// probe reads the files of a host, runs its programs and queries its addresses for one check. It
// records the files that it could not read.
type probe struct {
	*Host
	unread
	// ctx ends with the time limit of the check.
	ctx context.Context
}

// fails records why a file could not be read, unless it does not exist.
func (p *probe) fails(name string, err error) {
	var e *fs.PathError
	if errors.As(err, &e) {
		err = e.Err
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case errors.Is(err, fs.ErrPermission):
		p.skipDenied("/"+name, "permission denied")
	default:
		p.skip("/"+name, err.Error())
	}
}

// mayExist reports whether a file that could not be read exists, or may exist.
func (p *probe) mayExist(name string) bool {
	_, err := fs.Stat(p.FS, name)
	return !missing(err)
}

// exists reports whether a path exists.
func (p *probe) exists(name string) bool {
	_, err := fs.Stat(p.FS, name)
	return err == nil
}

// open opens a regular file: anything else could block indefinitely.
func (p *probe) open(name string) (fs.File, fs.FileInfo) {
	// Stat first: opening a pipe without a writer would block.
	info, err := fs.Stat(p.FS, name)
	if err != nil {
		p.fails(name, err)
		return nil, nil
	}
	if !info.Mode().IsRegular() {
		p.skip("/"+name, "not a regular file")
		return nil, nil
	}
	f, err := p.FS.Open(name)
	if err != nil {
		p.fails(name, err)
		return nil, nil
	}
	return f, info
}

// read returns a file's text, and whether it could be read.
func (p *probe) read(name string) (string, bool) {
	f, _ := p.open(name)
	if f == nil {
		return "", false
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, mostRead))
	if err != nil {
		p.fails(name, err)
		return "", false
	}
	return string(text), true
}

// orEmpty returns a file's text; "" if it cannot be read.
func (p *probe) orEmpty(name string) string {
	text, _ := p.read(name)
	return text
}

// tail returns the lines at the end of a log, of which the first may be incomplete.
func (p *probe) tail(name string) []string {
	f, info := p.open(name)
	if f == nil {
		return nil
	}
	defer f.Close()
	if s, ok := f.(io.Seeker); ok && info.Size() > mostTail {
		if _, err := s.Seek(-mostTail, io.SeekEnd); err != nil {
			p.fails(name, err)
			return nil
		}
	}
	text, err := io.ReadAll(io.LimitReader(f, mostRead))
	if err != nil {
		p.fails(name, err)
		return nil
	}
	return lines(string(text))
}

// firstLine returns the text of a file with one line, such as those in /sys.
func (p *probe) firstLine(name string) string {
	text, _ := p.read(name)
	return strings.TrimSpace(text)
}

// glob returns the paths that match, sorted.
func (p *probe) glob(pattern string) []string {
	names, err := fs.Glob(p.FS, pattern)
	if err != nil {
		return nil
	}
	return names
}

// firstOf returns the first of some paths that exists; "" if none does.
func (p *probe) firstOf(names ...string) string {
	for _, name := range names {
		if p.exists(name) {
			return name
		}
	}
	return ""
}

// program returns the path of a program in the usual directories; "" if it is not installed.
func (p *probe) program(name string) string {
	if strings.HasPrefix(name, "/") {
		return p.firstOf(strings.TrimPrefix(path.Clean(name), "/"))
	}
	var names []string
	for _, dir := range []string{"usr/bin", "usr/local/bin", "usr/sbin", "usr/local/sbin", "bin", "sbin",
		"usr/local/nvidia/toolkit", "usr/local/nvidia/bin"} {
		names = append(names, dir+"/"+name)
	}
	return p.firstOf(names...)
}

// canAsk reports whether the host is a running machine that can be queried.
func (p *probe) canAsk() bool { return p.Ask != nil }

// within reduces a limit, so that a check has time left to report what did not answer.
func (p *probe) within(limit time.Duration) time.Duration { return min(limit, p.Limit*3/4) }

// run runs a program for at most askLimit. The error is context.DeadlineExceeded if it did not
// end.
func (p *probe) run(program string, args ...string) (string, error) {
	return p.runFor(askLimit, program, args...)
}

// runFor runs a program for at most limit.
func (p *probe) runFor(limit time.Duration, program string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(p.ctx, p.within(limit))
	defer cancel()
	out, err := p.Ask.Run(ctx, program, args...)
	if err != nil && ctx.Err() != nil {
		err = context.DeadlineExceeded
	}
	return out, err
}

// http sends a request and waits for at most metadataLimit.
func (p *probe) http(method, url string, header map[string]string) (int, string, error) {
	ctx, cancel := context.WithTimeout(p.ctx, min(metadataLimit, p.Limit/4))
	defer cancel()
	status, body, err := p.Ask.HTTP(ctx, Request{method, url, header})
	if err != nil && ctx.Err() != nil {
		err = context.DeadlineExceeded
	}
	return status, body, err
}

// state returns a unit's state from systemd, such as active; "" if it is unknown.
func (p *probe) state(unit string) string {
	if !p.canAsk() {
		return ""
	}
	// The exit status is not 0 for an inactive unit, so only the output counts.
	out, err := p.run("systemctl", "is-active", unit)
	if errors.Is(err, context.DeadlineExceeded) {
		p.skip("systemctl is-active "+unit, "no answer in time")
		return ""
	}
	for _, state := range lines(out) {
		if slices.Contains([]string{"active", "reloading", "inactive", "failed", "activating", "deactivating"}, state) {
			return state
		}
	}
	return ""
}

// lines splits a text and drops blank lines.
func lines(text string) []string {
	all := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	return slices.DeleteFunc(all, func(s string) bool { return strings.TrimSpace(s) == "" })
}

func firstLine(text string) string {
	if all := lines(text); len(all) > 0 {
		return all[0]
	}
	return ""
}

// firstWith returns the first line with a prefix: programs may print warnings before it.
func firstWith(text, prefix string) string {
	for _, line := range lines(text) {
		if strings.HasPrefix(line, prefix) {
			return line
		}
	}
	return ""
}

// missing reports whether an error means that something does not exist.
func missing(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// errorText formats an error for evidence.
func errorText(err error) string {
	if errors.Is(err, context.DeadlineExceeded) {
		return "no answer in time"
	}
	return err.Error()
}
