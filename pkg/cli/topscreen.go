package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"
)

// What is written to a terminal: the alternate screen, without a cursor and without
// wrapping, since a terminal may find a character wider than we do.
const (
	screenEnter = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J"
	screenLeave = "\x1b[?7h\x1b[?25h\x1b[?1049l"
)

// screen draws frames on a terminal.
type screen struct {
	out   *os.File
	drawn []string // what stands there, a line each
}

// open takes over the terminals that are written to and read from (which may be no
// terminal); the returned function gives them back as they were.
func (s *screen) open(in io.Reader) (restore func(), err error) {
	raw := func() {}
	if f, ok := in.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		before, err := term.MakeRaw(int(f.Fd()))
		if err != nil {
			return nil, fail(ExitNotDone, "read keys from the terminal: %v", err).try("print one snapshot instead: batchctl top | cat")
		}
		raw = func() { _ = term.Restore(int(f.Fd()), before) }
	}
	_, err = s.out.WriteString(screenEnter)
	return func() {
		_, _ = s.out.WriteString(screenLeave)
		raw()
	}, err
}

// size returns the terminal's columns and lines; 80 by 24 where it does not say.
func (s *screen) size() (width, height int) {
	width, height, err := term.GetSize(int(s.out.Fd()))
	if err != nil || width < 1 || height < 1 {
		return 80, 24
	}
	return width, height
}

// show draws the model as it is now, in the size that the terminal has now.
func (s *screen) show(m *topModel, now time.Time) error {
	if width, height := s.size(); width != m.width || height != m.height {
		s.drawn = nil
		m.resize(width, height)
	}
	return s.draw(m.frame(now))
}

// draw writes the lines that have changed.
func (s *screen) draw(frame []string) error {
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
	_, err := s.out.WriteString(text)
	return err
}

// topAnswer is the outcome of one look.
type topAnswer struct {
	snapshot *topSnapshot
	err      error
}

// topLoop is the live view at work: the model, the screen, and one look at a time.
type topLoop struct {
	model  *topModel
	screen *screen
	reader *topReader
	pace   topPace
	say    func(error) string // an error in words for people

	answers chan topAnswer
	looking bool             // an answer is to come
	due     <-chan time.Time // when the next look is
}

// run shows the view until it is left. Its error is that of a first look, or why
// ctx has ended.
func (l *topLoop) run(ctx context.Context, in io.Reader) error {
	restore, err := l.screen.open(in)
	if err != nil {
		return err
	}
	defer restore()
	looks, stop := context.WithCancel(ctx)
	l.answers = make(chan topAnswer)
	defer l.settle(stop)
	keys := make(chan []key)
	go readKeys(in, keys)
	resized, unwatch := watchSize()
	defer unwatch()
	clock := time.NewTicker(time.Second)
	defer clock.Stop()

	l.look(looks)
	for {
		if err := l.screen.show(l.model, time.Now()); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-clock.C:
		case <-resized:
		case <-l.due:
			l.look(looks)
		case answer := <-l.answers:
			if err := l.take(answer); err != nil {
				return err
			}
		case pressed, open := <-keys:
			if !open {
				keys = nil // no keys any more; Ctrl-C is a signal then
			}
			for _, k := range pressed {
				if l.model.press(k) {
					return leaving(k)
				}
			}
		}
	}
}

// leaving is how the program ends after a key: Ctrl-C is the same interruption as in
// any command, and needs no words here.
func leaving(k key) error {
	if k == keyInterrupt {
		return quiet(ExitInterrupted)
	}
	return nil
}

// look starts one.
func (l *topLoop) look(ctx context.Context) {
	l.looking = true
	wanted := l.model.visible()
	go func() {
		snapshot, err := l.reader.look(ctx, wanted)
		l.answers <- topAnswer{snapshot, err}
	}()
}

// settle ends a look that is under way, so that the reader is nobody's but ours.
func (l *topLoop) settle(stop func()) {
	stop()
	if l.looking {
		<-l.answers
	}
}

// take shows an answer and plans the next look. The error of a target that never
// answered ends the view: there is nothing to show.
func (l *topLoop) take(a topAnswer) error {
	l.looking = false
	if a.err != nil && l.model.snapshot == nil {
		return a.err
	}
	pause := l.pace.next(a.err)
	l.due = time.After(pause)
	if a.err != nil {
		l.model.fail(l.say(a.err), time.Now().Add(pause))
		return nil
	}
	l.model.take(a.snapshot)
	return nil
}
