package top

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/exit"
)

// topProgram runs the live view with Bubble Tea. It takes one snapshot at a time,
// and passes keys, sizes and snapshots to the model.
type topProgram struct {
	model  *topModel
	reader *topReader
	pace   topPace
	say    func(error) string // formats an error

	reading context.Context // its end cancels the running snapshot
	readMu  sync.Mutex      // held during a snapshot
	err     error           // why the view ended; nil after q
}

// The messages of the view, besides keys and sizes.
type (
	topAnswer struct { // the result of one snapshot
		snapshot *Snapshot
		err      error
	}
	topDue   struct{} // the next snapshot is due
	topClock struct{} // a second has passed
)

// run shows the view on out until you leave it. It returns the error of the first
// snapshot if that fails, or the cause of the end of ctx.
func (p *topProgram) run(ctx context.Context, in io.Reader, out *os.File) error {
	if !term.IsTerminal(in) {
		// Ctrl-C is a signal then: the library must not change how the keyboard sends it.
		in = nil
	}
	reading, stop := context.WithCancel(ctx)
	p.reading = reading
	// Signals end ctx, so the library handles none. The model decides about colours, and
	// uses no others than the 16 of ANSI.
	_, err := tea.NewProgram(p, tea.WithContext(ctx), tea.WithInput(in), tea.WithOutput(quietTerminal{out}),
		tea.WithoutSignalHandler(), tea.WithColorProfile(colorprofile.ANSI)).Run()
	stop()
	p.readMu.Lock() // waits for the running snapshot
	defer p.readMu.Unlock()
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil && !errors.Is(err, tea.ErrProgramPanic):
		return exit.Fail(exit.NotDone, "use the terminal: %v", err).
			Try("print one snapshot instead: batchctl top | cat")
	case err != nil:
		return err
	}
	return p.err
}

// quietTerminal drops the library's queries to the terminal. Over a slow connection, an
// answer can arrive after the program has ended, and the shell would read it as input.
type quietTerminal struct{ *os.File }

// queries removes those control sequences.
var queries = strings.NewReplacer(ansi.RequestModeSynchronizedOutput, "", ansi.RequestModeUnicodeCore, "",
	ansi.RequestKittyKeyboard, "")

// Write writes text without queries. The library writes each query in one piece.
func (t quietTerminal) Write(text []byte) (int, error) {
	if _, err := queries.WriteString(t.File, string(text)); err != nil {
		return 0, err
	}
	return len(text), nil
}

// Init starts the first snapshot and the clock.
func (p *topProgram) Init() tea.Cmd { return tea.Batch(p.takeSnapshot(), clock()) }

// clock redraws the view every second, for the times in it.
func clock() tea.Cmd {
	return tea.Tick(time.Second, func(time.Time) tea.Msg { return topClock{} })
}

// Update handles a message.
func (p *topProgram) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		p.model.resize(msg.Width, msg.Height)
	case tea.KeyPressMsg:
		if p.model.press(msg) {
			return p, p.leave(leaving(msg))
		}
	case topClock:
		return p, clock()
	case topDue:
		return p, p.takeSnapshot()
	case topAnswer:
		return p, p.take(msg)
	}
	return p, nil
}

// View draws the model on the alternate screen.
func (p *topProgram) View() tea.View {
	v := tea.NewView(strings.Join(p.model.frame(time.Now()), "\n"))
	v.AltScreen, v.DisableBracketedPasteMode = true, true
	return v
}

// leave ends the view with err.
func (p *topProgram) leave(err error) tea.Cmd {
	p.err = err
	return tea.Quit
}

// leaving returns the error with which a key ends the program: Ctrl-C is the same
// interruption as in any command, without a message.
func leaving(k tea.KeyPressMsg) error {
	if k.String() == keyInterrupt {
		return exit.Silent(exit.Interrupted)
	}
	return nil
}

// takeSnapshot takes one snapshot.
func (p *topProgram) takeSnapshot() tea.Cmd {
	wanted := p.model.visible()
	return func() tea.Msg {
		p.readMu.Lock()
		defer p.readMu.Unlock()
		if p.reading.Err() != nil {
			return nil
		}
		snapshot, err := p.reader.read(p.reading, wanted)
		return topAnswer{snapshot, err}
	}
}

// take shows a result and plans the next snapshot. If the target has never
// answered, its error ends the view.
func (p *topProgram) take(a topAnswer) tea.Cmd {
	if a.err != nil && p.model.snapshot == nil {
		return p.leave(a.err)
	}
	pause := p.pace.next(a.err)
	if a.err != nil {
		p.model.fail(p.say(a.err), time.Now().Add(pause))
	} else {
		p.model.take(a.snapshot)
	}
	return tea.Tick(pause, func(time.Time) tea.Msg { return topDue{} })
}
