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

// LiveOutput tells on one stream what happens: lasting lines, and on a terminal a live
// block below them that is redrawn. Log lines may go to another stream of the same
// terminal, so everything passes through here and never tears.
type LiveOutput struct {
	mu  sync.Mutex
	err io.Writer
	Log io.Writer
	// batch holds lines of a log that are not written yet.
	batch bytes.Buffer
	// logText returns a line of a log as it is printed.
	logText func(string) string
	Live    bool
	Color   bool
	Size    func() (width, height int)
	block   []Line // the live block; its last line begins with what turns
	drawn   int    // how many lines of it stand on the terminal
	frame   int
	Lost    bool // a line of a log could not be written
	// Unread, if there is one, is told that no one reads the log any more.
	Unread func()
}

// NewLiveOutput returns a story on Err whose log lines go to log.
func (con *Console) NewLiveOutput(log io.Writer) *LiveOutput {
	return &LiveOutput{err: con.Err, Log: log, logText: con.LogText, Live: IsTerminal(con.Err), Color: Color(con.Err), Size: func() (int, int) { return sizeOf(con.Err) }}
}

// sizeOf returns the columns and lines of the terminal behind w; 80 by 24 where it
// does not say.
func sizeOf(w io.Writer) (width, height int) {
	if f, ok := Unmasked(w).(*os.File); ok {
		if width, height, err := term.GetSize(int(f.Fd())); err == nil && width > 0 && height > 0 {
			return width, height
		}
	}
	return 80, 24
}

// Line writes a lasting line of the story.
func (s *LiveOutput) Line(format string, args ...any) {
	s.Put(diag.Printable(fmt.Sprintf(format, args...)))
}

// Put writes a lasting line that holds nothing but printable text and our own
// colours.
func (s *LiveOutput) Put(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.erase()
	fmt.Fprintln(s.err, strings.TrimRight(text, " "))
	s.draw()
}

// LogLine writes a line of a job's log. With more, the next line follows at once, and both are written together: to write
// each on its own takes longer than to read it.
func (s *LiveOutput) LogLine(prefix, text string, more bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.erase()
	s.batch.WriteString(prefix + s.logText(text) + "\n")
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

// now replaces the live block; none removes it. In a pipe it does nothing.
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

// erase takes the block off the terminal.
func (s *LiveOutput) erase() {
	if s.drawn == 0 {
		return
	}
	io.WriteString(s.err, "\r\x1b[K"+strings.Repeat("\x1b[A\x1b[K", s.drawn-1))
	s.drawn = 0
}

// draw puts the block on the terminal as it is now. It never wraps, or it could not
// be erased; what does not fit in height is counted.
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

// EchoWidth is left free behind the block: a terminal writes ^C there, and must not
// wrap for it.
const EchoWidth = 3

// FitBlock keeps a block lower than the terminal: its last line always stays.
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

// Columns pads a name and short id so that states stand below one another.
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

// BatchSize is how many bytes of lines that follow at once are written together.
const BatchSize = 64 << 10
