package cli

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/batch/types"
	"github.com/mattn/go-runewidth"

	"github.com/batchctl/batchctl/pkg/diag"
)

// story tells on one stream what happens: lasting lines, and on a terminal one
// live line below them that is redrawn. Log lines may go to another stream of
// the same terminal, so everything passes through here and never tears.
type story struct {
	mu    sync.Mutex
	err   io.Writer
	log   io.Writer
	live  bool
	color bool
	width int
	text  string // the live line as it stands; "" when there is none
	frame int
}

func (p *program) newStory(log io.Writer) *story {
	return &story{err: p.Err, log: log, live: isTerminal(p.Err), color: color(p.Err), width: width(p.Err)}
}

// line writes a lasting line of the story.
func (s *story) line(format string, args ...any) {
	s.put(diag.Printable(fmt.Sprintf(format, args...)))
}

// put writes a lasting line that holds nothing but printable text and our own
// colours.
func (s *story) put(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.erase()
	fmt.Fprintln(s.err, strings.TrimRight(text, " "))
	s.draw()
}

// logLine writes a line of a job's log.
func (s *story) logLine(prefix, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.erase()
	if isTerminal(s.log) {
		text = diag.Printable(text)
	}
	fmt.Fprintln(s.log, prefix+text)
	s.draw()
}

// now replaces the live line; "" removes it. In a pipe it does nothing.
func (s *story) now(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.live {
		return
	}
	s.erase()
	s.text = diag.Printable(text)
	s.frame++
	s.draw()
}

func (s *story) erase() {
	if s.live && s.text != "" {
		io.WriteString(s.err, "\r\x1b[K")
	}
}

func (s *story) draw() {
	if !s.live || s.text == "" {
		return
	}
	line := string([]rune(`-\|/`)[s.frame%4]) + " " + s.text
	if s.width > 1 {
		line = runewidth.Truncate(line, s.width-1, "…")
	}
	io.WriteString(s.err, line)
}

// paint colours a status on a terminal.
func (s *story) paint(status types.JobStatus) string {
	code := map[types.JobStatus]string{
		types.JobStatusSucceeded: "32", types.JobStatusFailed: "31", types.JobStatusRunning: "36",
	}[status]
	text := fmt.Sprintf("%-9s", status)
	if !s.color || code == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// clock redraws the live line until stop is called.
func (s *story) clock(text func() string) (stop func()) {
	if !s.live {
		return func() {}
	}
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				s.now(text())
			}
		}
	})
	return func() {
		close(done)
		wg.Wait()
		s.now("")
	}
}

// columns pads a name and short id so that states stand below one another.
func columns(name, id string, nameWidth int) string {
	return runewidth.FillRight(name, nameWidth) + "  " + runewidth.FillRight(id, 8)
}

func joinClauses(clauses ...string) string {
	var kept []string
	for _, c := range clauses {
		if c != "" {
			kept = append(kept, c)
		}
	}
	return strings.Join(kept, ", ")
}
