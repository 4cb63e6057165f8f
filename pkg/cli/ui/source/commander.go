package source

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/cli/ui/show"
	"github.com/batchctl/batchctl/pkg/target"
)

// forget drops the oldest answer if there are too many. The caller holds the lock.
func (c *Commander) forget() {
	if len(c.known) < answersKept {
		return
	}
	oldest, at := "", time.Now()
	for key, a := range c.known {
		if a.begun.Before(at) {
			oldest, at = key, a.begun
		}
	}
	delete(c.known, oldest)
}

const (
	// commandsAtOnce limits the commands that run at one time. A cloud target has one request rate for all of them.
	commandsAtOnce = 4
	// CommandPatience limits a command that only reads.
	CommandPatience = 2 * time.Minute
	// answersKept is how many answers are kept for the next request.
	answersKept = 64
)

// Commander runs commands for pages. It is safe for concurrent use.
type Commander struct {
	flags [][2]string // of the target: names and values
	// Instead answers in place of the functions of the commands; nil outside of tests.
	Instead Instead
	// Base ends with the server. A command does not end with the request that began it, because others wait for
	// the same answer.
	Base context.Context
	turn chan struct{}

	mu    sync.Mutex
	known map[string]*answer
}

// Instead answers a command with these words: it fills the document that a pointer points to, or passes the lines of a
// log to a function.
type Instead func(ctx context.Context, con *term.Console, words []string, document any) error

// answer is the document of a command.
type answer struct {
	document any
	begun    time.Time
	done     chan struct{} // closed when the other members are set
	err      error
}

// newCommander returns a commander for the target of these options.
func newCommander(base context.Context, o target.Options) *Commander {
	return &Commander{flags: targetFlags(o), Base: base, turn: make(chan struct{}, commandsAtOnce),
		known: map[string]*answer{}}
}

// targetFlags returns the flags that select a target.
func targetFlags(o target.Options) (flags [][2]string) {
	for _, f := range [][2]string{{"platform", o.Platform}, {"target", o.Name}, {"state-dir", o.StateDir},
		{"profile", o.Profile},
		{"region", o.Region}, {"endpoint-url", o.EndpointURL}} {
		if f[1] != "" {
			flags = append(flags, f)
		}
	}
	return flags
}

// flagsFor returns the flags of the target that a command has. validate asks no target.
func (c *Commander) flagsFor(command string) (line []string) {
	for _, f := range c.flags {
		if command != "validate" || f[0] == "platform" {
			line = append(line, "--"+f[0], f[1])
		}
	}
	return line
}

// Line returns a command as users type it.
func (c *Commander) Line(args ...string) string {
	words := []string{"batchctl"}
	for _, arg := range slices.Concat(args, c.flagsFor(args[0])) {
		words = append(words, term.Quoted(arg))
	}
	return strings.Join(words, " ")
}

// Equivalent returns a command for a terminal: with a file in place of standard input.
func Equivalent(c *Commander, args ...string) string {
	line := slices.Clone(args)
	for i, arg := range line {
		if arg == "-" {
			line[i] = "job.json"
		}
	}
	return show.Text(c.Line(line...))
}
