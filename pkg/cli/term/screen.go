package term

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/term"

	"github.com/batchctl/batchctl/pkg/exit"
)

// What is written to a terminal: the alternate screen, without a cursor and without
// wrapping, since a terminal may find a character wider than we do.
const (
	screenEnter = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J"
	screenLeave = "\x1b[?7h\x1b[?25h\x1b[?1049l"
)

// Screen draws frames on a terminal.
type Screen struct {
	Out   *os.File
	drawn []string // what stands there, a line each
}

// Open takes over the terminals that are written to and read from (which may be no
// terminal); the returned function gives them back as they were.
func (s *Screen) Open(in io.Reader) (restore func(), err error) {
	raw := func() {}
	if f, ok := in.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		before, err := term.MakeRaw(int(f.Fd()))
		if err != nil {
			return nil, exit.Fail(exit.NotDone, "read keys from the terminal: %v", err).Try("print one snapshot instead: batchctl top | cat")
		}
		raw = func() { _ = term.Restore(int(f.Fd()), before) }
	}
	_, err = s.Out.WriteString(screenEnter)
	return func() {
		_, _ = s.Out.WriteString(screenLeave)
		raw()
	}, err
}

// Size returns the terminal's columns and lines; 80 by 24 where it does not say.
func (s *Screen) Size() (width, height int) {
	width, height, err := term.GetSize(int(s.Out.Fd()))
	if err != nil || width < 1 || height < 1 {
		return 80, 24
	}
	return width, height
}

// Draw writes the lines that have changed.
func (s *Screen) Draw(frame []string) error {
	text := ""
	if len(frame) != len(s.drawn) {
		text, s.drawn = "\x1b[2J", make([]string, len(frame))
	}
	for i, line := range frame {
		if line != s.drawn[i] {
			// Erased first: behind a full line the cursor is still on its last column.
			text += fmt.Sprintf("\x1b[%d;1H\x1b[K%s", i+1, line)
		}
	}
	copy(s.drawn, frame)
	if text == "" {
		return nil
	}
	_, err := s.Out.WriteString(text)
	return err
}

// Clear has the next frame drawn whole.
func (s *Screen) Clear() { s.drawn = nil }
