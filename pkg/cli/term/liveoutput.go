package term

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

	"github.com/mattn/go-runewidth"
	"golang.org/x/term"

	"github.com/batchctl/batchctl/pkg/diag"
)

// LiveOutput writes permanent lines to one stream and, on a terminal, a live block below them
// that it redraws. Log lines may go to another stream of the same terminal. All output passes
// through here, so that lines and block do not mix. It is safe for concurrent use.
type LiveOutput struct {
	mu  sync.Mutex
	err io.Writer
	Log io.Writer
	// batch has the lines of a log that are not written yet.
	batch bytes.Buffer
	// logText formats a line of a log.
	logText func(string) string
	Live    bool
	Color   bool
	Size    func() (width, height int)
	block   []Line // the live block; the spinner is in its last line
	drawn   int    // how many of its lines are on the terminal
	frame   int
	Lost    bool // a line of a log could not be written
	// Unread is called when the reader of the log has closed it, unless it is nil.
	Unread func()
}

// NewLiveOutput returns a LiveOutput that writes to Err, and log lines to log.
func (con *Console) NewLiveOutput(log io.Writer) *LiveOutput {
	return &LiveOutput{err: con.Err, Log: log, logText: con.LogText, Live: IsTerminal(con.Err), Color: Color(con.Err),
		Size: func() (int, int) { return sizeOf(con.Err) }}
}

// sizeOf returns the columns and lines of the terminal behind w; 80 by 24 if it has none.
func sizeOf(w io.Writer) (width, height int) {
	if f, ok := Unmasked(w).(*os.File); ok {
		if width, height, err := term.GetSize(int(f.Fd())); err == nil && width > 0 && height > 0 {
			return width, height
		}
	}
	return 80, 24
}

// Line writes a permanent line. It escapes control characters.
func (s *LiveOutput) Line(format string, args ...any) {
	s.Put(diag.Printable(fmt.Sprintf(format, args...)))
}

// Put writes a permanent line that contains only printable text and our own
// colours.
func (s *LiveOutput) Put(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.erase()
	fmt.Fprintln(s.err, strings.TrimRight(text, " "))
	s.draw()
}

// LogLine writes a line of a job's log. more means that the next line is available; both are
// then written together, because a write per line takes longer than reading it. A line that batchctl itself wrote into
// the log, such as that of an input, is a message: it goes to Err.
func (s *LiveOutput) LogLine(prefix, text string, more bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.erase()
	if strings.HasPrefix(text, "batchctl: ") {
		fmt.Fprintln(s.err, diag.Printable(prefix+text))
	} else {
		s.batch.WriteString(prefix + s.logText(text) + "\n")
	}
	if more && s.batch.Len() < BatchSize {
		return
	}
	_, err := s.Log.Write(s.batch.Bytes())
	if s.batch.Reset(); err != nil && !s.Lost {
		s.Lost = true
		fmt.Fprintf(s.err, "batchctl: %s\n", diag.Printable(err.Error()))
		if s.Unread != nil && errors.Is(err, syscall.EPIPE) {
			s.Unread()
		}
	}
	s.draw()
}

// now replaces the live block, or removes it without arguments. In a pipe it does nothing.
func (s *LiveOutput) now(block ...Line) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.Live {
		return
	}
	s.erase()
	s.block = block
	s.frame++
	s.draw()
}

// erase removes the block from the terminal.
func (s *LiveOutput) erase() {
	if s.drawn == 0 {
		return
	}
	io.WriteString(s.err, "\r\x1b[K"+strings.Repeat("\x1b[A\x1b[K", s.drawn-1))
	s.drawn = 0
}

// draw writes the block to the terminal. It cuts lines, because erase cannot remove wrapped
// ones, and counts the lines that do not fit the height.
func (s *LiveOutput) draw() {
	if !s.Live || len(s.block) == 0 {
		return
	}
	width, height := s.Size()
	block := FitBlock(s.block, height)
	last := append(Line{{Text: string([]rune(`-\|/`)[s.frame%4]) + " "}}, block[len(block)-1]...)
	var b strings.Builder
	for _, l := range block[:len(block)-1] {
		b.WriteString(l.Cut(max(width-EchoWidth, 1)).Render(s.Color) + "\n")
	}
	b.WriteString(last.Cut(max(width-EchoWidth, 1)).Render(s.Color))
	io.WriteString(s.err, b.String())
	s.drawn = len(block)
}

// EchoWidth is the space, in columns, that stays free after the block. A terminal echoes ^C
// there, and must not wrap the line.
const EchoWidth = 3

// FitBlock shortens a block to less than the terminal's height. It keeps the last line.
func FitBlock(block []Line, height int) []Line {
	most := max(height-2, 1)
	if len(block) <= most {
		return block
	}
	last := block[len(block)-1]
	if most == 1 {
		return []Line{last}
	}
	kept := slices.Clone(block[:most-2])
	return append(kept, Text(fmt.Sprintf("… %d more", len(block)-1-len(kept)), StyleFaint), last)
}

// Clock redraws the live block until stop is called.
func (s *LiveOutput) Clock(block func() []Line) (stop func()) {
	if !s.Live {
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

// Columns pads a name and a short id so that the statuses are in one column.
func Columns(name, id string, nameWidth int) string {
	return runewidth.FillRight(name, nameWidth) + "  " + runewidth.FillRight(id, 8)
}

// JoinClauses joins the clauses that are not empty.
func JoinClauses(clauses ...string) string {
	var kept []string
	for _, c := range clauses {
		if c != "" {
			kept = append(kept, c)
		}
	}
	return strings.Join(kept, ", ")
}

// BatchSize is the most bytes of consecutive lines that are written together.
const BatchSize = 64 << 10
