package sweep

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

// indexVariable is what AWS Batch sets in the children of an array, from 0.
const indexVariable = "AWS_BATCH_JOB_ARRAY_INDEX"

// Child is what the shell programs are, in Go: it gives a child of an array its cell,
// with the same environment, messages and exit codes. Launcher Binary runs it.
type Child struct {
	// Environ is the container's environment, as os.Environ has it.
	Environ []string
	// Args is the user's command; Commands has none.
	Args []string
	// Open reads what is at an s3:// URL. Paths are opened without it.
	Open func(ctx context.Context, url string) (io.ReadCloser, error)
	// Exec replaces the process by the user's program, as syscall.Exec does.
	Exec func(path string, argv, env []string) error
	// Signals are handed on to the line of a command list that runs. After one, and
	// after the end of the context, which the line gets as SIGTERM, no line is begun.
	Signals <-chan os.Signal
	// Stdout and Stderr are those of the lines; files are passed on unchanged. Messages about
	// the lines go to Stderr.
	Stdout, Stderr io.Writer
}

// Run makes the child's cell and executes the user's program, or the child's lines. It
// returns the exit code that the process is to end with, and the message where the
// child did not come to the user's program: "batchctl: " goes before it.
func (c *Child) Run(ctx context.Context) (exit int, err error) {
	err = c.run(ctx, &exit)
	if e, ok := errors.AsType[*Ending](err); ok {
		return e.Exit, e
	}
	return exit, err
}

func (c *Child) run(ctx context.Context, exit *int) error {
	env := environment(c.Environ)
	cell, err := cellNumber(env)
	if err != nil {
		return err
	}
	s, err := c.document(ctx, env)
	if err != nil {
		return err
	}
	if cell >= s.Len() {
		return end(ExitUsage, "there is no cell %d: the array has %d", cell, s.Len())
	}
	env = env.with(CellVariable, strconv.Itoa(cell)).with(indexVariable, strconv.Itoa(cell))
	if s.Kind == Commands {
		*exit, err = c.commands(ctx, s, cell, env)
		return err
	}
	args := make([]string, len(c.Args))
	for i, arg := range c.Args {
		args[i] = s.Replace(cell, arg)
	}
	return Become(c.Exec, args, env.ofCell(s, cell))
}

// cellNumber is the number of the child's cell: its index, or what CellsVariable has
// for that.
func cellNumber(env environment) (int, error) {
	text := env.get(indexVariable)
	if text == "" {
		text = "0" // a plain job
	}
	index, err := parseNumber(text)
	if err != nil {
		return 0, end(ExitUsage, "%s is no index: %s", indexVariable, text)
	}
	list := env.get(CellsVariable)
	if list == "" {
		return index, nil
	}
	cells, err := ParseCells(list)
	if err != nil {
		return 0, end(ExitUsage, "%s is damaged: %s", CellsVariable, list)
	}
	cell, ok := cells.At(index)
	if !ok {
		return 0, end(ExitUsage, "%s has no cell for index %d", CellsVariable, index)
	}
	return cell, nil
}

// document is the sweep that the environment holds or names.
func (c *Child) document(ctx context.Context, env environment) (*Sweep, error) {
	text, place := env.get(DocumentVariable), DocumentVariable
	if text == "" {
		if place = env.get(URLVariable); place == "" {
			return nil, end(ExitUsage, "neither %s nor %s is set: submit the job with batchctl", DocumentVariable, URLVariable)
		}
		var err error
		if text, err = c.read(ctx, place); err != nil {
			return nil, err
		}
	}
	s, err := Parse(text)
	if err != nil {
		return nil, end(ExitUsage, "%s holds no whole document of version 1: submit the job again", place)
	}
	return s, nil
}

// read is the text at a path or an s3:// URL.
func (c *Child) read(ctx context.Context, place string) (string, error) {
	var from io.ReadCloser
	err := errors.New("neither a path nor an s3:// URL")
	switch {
	case strings.HasPrefix(place, "/"):
		from, err = os.Open(place)
	case strings.HasPrefix(place, "s3:") && c.Open != nil:
		from, err = c.Open(ctx, place)
	}
	if err != nil {
		return "", c.unreadable(place, err)
	}
	defer from.Close()
	var b strings.Builder
	n, err := io.Copy(&b, io.LimitReader(from, MaxDocument+1))
	if err == nil && n > MaxDocument {
		err = fmt.Errorf("longer than %d bytes", MaxDocument)
	}
	if err != nil {
		return "", c.unreadable(place, err)
	}
	return b.String(), nil
}

// unreadable says the cause on its own line, as the shell and aws do.
func (c *Child) unreadable(place string, cause error) error {
	fmt.Fprintf(c.Stderr, "%v\n", cause)
	return end(ExitUsage, "cannot read %s", place)
}

// environment is variables as "NAME=value". Of several of one name the last one holds.
type environment []string

func (e environment) lookup(name string) (string, bool) {
	for i := len(e) - 1; i >= 0; i-- {
		if value, ok := strings.CutPrefix(e[i], name+"="); ok {
			return value, true
		}
	}
	return "", false
}

func (e environment) get(name string) string {
	value, _ := e.lookup(name)
	return value
}

// with is the environment with one more variable, or another value for it.
func (e environment) with(name, value string) environment {
	changed := make(environment, 0, len(e)+1)
	for _, variable := range e {
		if !strings.HasPrefix(variable, name+"=") {
			changed = append(changed, variable)
		}
	}
	return append(changed, name+"="+value)
}

// ofCell is the environment with the cell's values, and with references replaced where
// the sweep names variables that have some.
func (e environment) ofCell(s *Sweep, cell int) environment {
	for _, variable := range s.Templates {
		if value, ok := e.lookup(variable); ok {
			e = e.with(variable, s.Replace(cell, value))
		}
	}
	if len(s.Names) == 0 {
		return e
	}
	values := s.Cell(cell)
	for i, name := range s.Names {
		e = e.with(Variable(name), values[i])
	}
	return e
}
