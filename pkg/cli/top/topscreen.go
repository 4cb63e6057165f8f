package top

import (
	"context"
	"io"
	"time"

	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/exit"
)

// topAnswer is the outcome of one look.
type topAnswer struct {
	snapshot *topSnapshot
	err      error
}

// topLoop is the live view at work: the model, the screen, and one look at a time.
type topLoop struct {
	model  *topModel
	screen *term.Screen
	reader *topReader
	pace   topPace
	say    func(error) string // an error in words for people

	answers chan topAnswer
	looking bool             // an answer is to come
	due     <-chan time.Time // when the next look is
}

// show draws the model as it is now, in the size that the terminal has now.
func (l *topLoop) show(now time.Time) error {
	if width, height := l.screen.Size(); width != l.model.width || height != l.model.height {
		l.screen.Clear()
		l.model.resize(width, height)
	}
	return l.screen.Draw(l.model.frame(now))
}

// run shows the view until it is left. Its error is that of a first look, or why
// ctx has ended.
func (l *topLoop) run(ctx context.Context, in io.Reader) error {
	restore, err := l.screen.Open(in)
	if err != nil {
		return err
	}
	defer restore()
	looks, stop := context.WithCancel(ctx)
	l.answers = make(chan topAnswer)
	defer l.settle(stop)
	keys := make(chan []term.Key)
	go term.ReadKeys(in, keys)
	resized, unwatch := term.WatchSize()
	defer unwatch()
	clock := time.NewTicker(time.Second)
	defer clock.Stop()

	l.look(looks)
	for {
		if err := l.show(time.Now()); err != nil {
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
func leaving(k term.Key) error {
	if k == term.KeyInterrupt {
		return exit.Silent(exit.Interrupted)
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
