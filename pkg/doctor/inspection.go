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

	"github.com/batchctl/batchctl/pkg/secret"
)

// inspection is one check in progress. Only the check's goroutine uses it.
type inspection struct {
	*Host
	ctx      context.Context
	facts    *facts
	findings []Finding
	unread   []Unread
}

const (
	// mostRead limits the bytes that are read of a file: configurations are far smaller.
	mostRead = 1 << 20
	// mostTail limits the bytes that are read from the end of a log.
	mostTail = 256 << 10
	// mostText limits the bytes of a piece of evidence.
	mostText = 300
	// askLimit is the time limit of a program or an address. It is below a check's own limit, so
	// that the check can report which one did not answer.
	askLimit = 5 * time.Second
	// smiLimit is the time limit of nvidia-smi. Without persistence mode the driver initializes
	// each GPU for it, which takes a second or two, and hosts have up to 16.
	smiLimit = 30 * time.Second
	// metadataLimit is the time limit of services that answer within milliseconds or not at all.
	metadataLimit = 2 * time.Second
)

// found adds a finding. Its topic is added later.
func (l *inspection) found(s Severity, id, summary, why, remedy string, seen ...Evidence) {
	l.findings = append(l.findings, Finding{ID: id, Severity: s, Summary: summary, Why: why, Remedy: remedy, Evidence: seen})
}

func (l *inspection) problem(id, summary, why, remedy string, seen ...Evidence) {
	l.found(Problem, id, summary, why, remedy, seen...)
}

func (l *inspection) warning(id, summary, why, remedy string, seen ...Evidence) {
	l.found(Warning, id, summary, why, remedy, seen...)
}

func (l *inspection) note(id, summary, why, remedy string, seen ...Evidence) {
	l.found(Note, id, summary, why, remedy, seen...)
}

func (l *inspection) ok(id, summary string, seen ...Evidence) {
	l.found(OK, id, summary, "", "", seen...)
}

// skip records something that could not be checked.
func (l *inspection) skip(what, why string) {
	l.unread = append(l.unread, Unread{What: what, Why: why})
}

// seen returns evidence with its text masked and cut.
func seen(from, text string) Evidence { return Evidence{from, clean(text)} }

// at returns evidence from a file.
func at(name, text string) Evidence { return seen("/"+name, text) }

// clean masks credentials and returns one line of limited length.
func clean(text string) string {
	text = strings.ToValidUTF8(strings.Join(strings.Fields(text), " "), "\uFFFD")
	text = secret.Mask("", text)
	if len(text) > mostText {
		text = strings.ToValidUTF8(text[:mostText], "") + "…"
	}
	return text
}

// fails records why a file could not be read, unless it does not exist.
func (l *inspection) fails(name string, err error) {
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case errors.Is(err, fs.ErrPermission):
		l.unread = append(l.unread, Unread{What: "/" + name, Why: "permission denied", Denied: true})
	default:
		l.skip("/"+name, err.Error())
	}
}

// exists reports whether a path exists.
func (l *inspection) exists(name string) bool {
	_, err := fs.Stat(l.FS, name)
	return err == nil
}

// open opens a regular file: anything else could block indefinitely.
func (l *inspection) open(name string) (fs.File, fs.FileInfo) {
	// Stat first: opening a pipe without a writer would block.
	info, err := fs.Stat(l.FS, name)
	if err != nil {
		l.fails(name, err)
		return nil, nil
	}
	if !info.Mode().IsRegular() {
		l.skip("/"+name, "not a regular file")
		return nil, nil
	}
	f, err := l.FS.Open(name)
	if err != nil {
		l.fails(name, err)
		return nil, nil
	}
	return f, info
}

// read returns a file's text, and whether it could be read.
func (l *inspection) read(name string) (string, bool) {
	f, _ := l.open(name)
	if f == nil {
		return "", false
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, mostRead))
	if err != nil {
		l.fails(name, err)
		return "", false
	}
	return string(text), true
}

// tail returns the lines at the end of a log, of which the first may be incomplete.
func (l *inspection) tail(name string) []string {
	f, info := l.open(name)
	if f == nil {
		return nil
	}
	defer f.Close()
	if s, ok := f.(io.Seeker); ok && info.Size() > mostTail {
		if _, err := s.Seek(-mostTail, io.SeekEnd); err != nil {
			l.fails(name, err)
			return nil
		}
	}
	text, err := io.ReadAll(io.LimitReader(f, mostRead))
	if err != nil {
		l.fails(name, err)
		return nil
	}
	return lines(string(text))
}

// lines splits a text and drops blank lines.
func lines(text string) []string {
	all := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	return slices.DeleteFunc(all, func(s string) bool { return strings.TrimSpace(s) == "" })
}

// firstLine returns the text of a file with one line, such as those in /sys.
func (l *inspection) firstLine(name string) string {
	text, _ := l.read(name)
	return strings.TrimSpace(text)
}

// glob returns the paths that match, sorted.
func (l *inspection) glob(pattern string) []string {
	names, err := fs.Glob(l.FS, pattern)
	if err != nil {
		return nil
	}
	return names
}

// firstOf returns the first of some paths that exists; "" if none does.
func (l *inspection) firstOf(names ...string) string {
	for _, name := range names {
		if l.exists(name) {
			return name
		}
	}
	return ""
}

// program returns the path of a program in the usual directories; "" if it is not installed.
func (l *inspection) program(name string) string {
	if strings.HasPrefix(name, "/") {
		return l.firstOf(strings.TrimPrefix(path.Clean(name), "/"))
	}
	var names []string
	for _, dir := range []string{"usr/bin", "usr/local/bin", "usr/sbin", "usr/local/sbin", "bin", "sbin", "usr/local/nvidia/toolkit", "usr/local/nvidia/bin"} {
		names = append(names, dir+"/"+name)
	}
	return l.firstOf(names...)
}

// canAsk reports whether the host is a running machine that can be queried.
func (l *inspection) canAsk() bool { return l.Ask != nil }

// within reduces a limit, so that a check has time left to report what did not answer.
func (l *inspection) within(limit time.Duration) time.Duration { return min(limit, l.Limit*3/4) }

// run runs a program for at most askLimit. The error is context.DeadlineExceeded if it did not
// end.
func (l *inspection) run(program string, args ...string) (string, error) {
	return l.runFor(askLimit, program, args...)
}

// runFor runs a program for at most limit.
func (l *inspection) runFor(limit time.Duration, program string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(l.ctx, l.within(limit))
	defer cancel()
	out, err := l.Ask.Run(ctx, program, args...)
	if err != nil && ctx.Err() != nil {
		err = context.DeadlineExceeded
	}
	return out, err
}

// http sends a request and waits for at most metadataLimit.
func (l *inspection) http(method, url string, header map[string]string) (int, string, error) {
	ctx, cancel := context.WithTimeout(l.ctx, min(metadataLimit, l.Limit/4))
	defer cancel()
	status, body, err := l.Ask.HTTP(ctx, Request{method, url, header})
	if err != nil && ctx.Err() != nil {
		err = context.DeadlineExceeded
	}
	return status, body, err
}

// state returns a unit's state from systemd, such as active; "" if it is unknown.
func (l *inspection) state(unit string) string {
	if !l.canAsk() {
		return ""
	}
	// The exit status is not 0 for an inactive unit, so only the output counts.
	out, err := l.run("systemctl", "is-active", unit)
	if errors.Is(err, context.DeadlineExceeded) {
		l.skip("systemctl is-active "+unit, "no answer in time")
		return ""
	}
	for _, state := range lines(out) {
		if slices.Contains([]string{"active", "reloading", "inactive", "failed", "activating", "deactivating"}, state) {
			return state
		}
	}
	return ""
}
