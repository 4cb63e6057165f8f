package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/batch/types"
	"github.com/mattn/go-runewidth"

	"github.com/batchctl/batchctl/pkg/diag"
)

// story tells on one stream what happens: lasting lines, and on a terminal a live
// block below them that is redrawn. Log lines may go to another stream of the same
// terminal, so everything passes through here and never tears.
type story struct {
	mu  sync.Mutex
	err io.Writer
	log io.Writer
	// batch holds lines of a log that are not written yet.
	batch bytes.Buffer
	// logText returns a line of a log as it is printed.
	logText func(string) string
	live    bool
	color   bool
	size    func() (width, height int)
	block   []line // the live block; its last line begins with what turns
	drawn   int    // how many lines of it stand on the terminal
	frame   int
	lost    bool // a line of a log could not be written
	// unread, if there is one, is told that nobody reads the log any more.
	unread func()
}

func (con *program) newStory(log io.Writer) *story {
	return &story{err: con.Err, log: log, logText: con.logText, live: isTerminal(con.Err), color: color(con.Err), size: func() (int, int) { return sizeOf(con.Err) }}
}

// sizeOf returns the columns and lines of the terminal behind w; 80 by 24 where it
// does not say.
func sizeOf(w io.Writer) (width, height int) {
	if f, ok := unmasked(w).(*os.File); ok {
		return (&screen{out: f}).size()
	}
	return 80, 24
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

// logLine writes a line of a job's log. With more, the next line follows at once, and both are written together: to write
// each on its own takes longer than to read it.
func (s *story) logLine(prefix, text string, more bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.erase()
	s.batch.WriteString(prefix + s.logText(text) + "\n")
	if more && s.batch.Len() < batchSize {
		return
	}
	_, err := s.log.Write(s.batch.Bytes())
	if s.batch.Reset(); err != nil && !s.lost {
		s.lost = true
		fmt.Fprintf(s.err, "batchctl: %s\n", diag.Printable(err.Error()))
		if s.unread != nil && errors.Is(err, syscall.EPIPE) {
			s.unread()
		}
	}
	s.draw()
}

// now replaces the live block; none removes it. In a pipe it does nothing.
func (s *story) now(block ...line) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.live {
		return
	}
	s.erase()
	s.block = block
	s.frame++
	s.draw()
}

// erase takes the block off the terminal.
func (s *story) erase() {
	if s.drawn == 0 {
		return
	}
	io.WriteString(s.err, "\r\x1b[K"+strings.Repeat("\x1b[A\x1b[K", s.drawn-1))
	s.drawn = 0
}

// draw puts the block on the terminal as it is now. It never wraps, or it could not
// be erased; what does not fit in height is counted.
func (s *story) draw() {
	if !s.live || len(s.block) == 0 {
		return
	}
	width, height := s.size()
	block := fitBlock(s.block, height)
	last := append(line{{text: string([]rune(`-\|/`)[s.frame%4]) + " "}}, block[len(block)-1]...)
	var b strings.Builder
	for _, l := range block[:len(block)-1] {
		b.WriteString(l.cut(max(width-echoWidth, 1)).render(s.color) + "\n")
	}
	b.WriteString(last.cut(max(width-echoWidth, 1)).render(s.color))
	io.WriteString(s.err, b.String())
	s.drawn = len(block)
}

// echoWidth is left free behind the block: a terminal writes ^C there, and must not
// wrap for it.
const echoWidth = 3

// fitBlock keeps a block lower than the terminal: its last line always stays.
func fitBlock(block []line, height int) []line {
	most := max(height-2, 1)
	if len(block) <= most {
		return block
	}
	last := block[len(block)-1]
	if most == 1 {
		return []line{last}
	}
	kept := slices.Clone(block[:most-2])
	return append(kept, text(fmt.Sprintf("… %d more", len(block)-1-len(kept)), styleFaint), last)
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

// clock redraws the live block until stop is called.
func (s *story) clock(block func() []line) (stop func()) {
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
				s.now(block()...)
			}
		}
	})
	return func() {
		close(done)
		wg.Wait()
		s.now()
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
