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

// indexVariable is the variable that AWS Batch sets in the children of an array, from 0.
const indexVariable = "AWS_BATCH_JOB_ARRAY_INDEX"

// Child does in Go what the shell programs do: it gives a child of an array its cell, with the same
// environment, messages and exit codes. The launcher Binary runs it.
type Child struct {
	// Environ is the container's environment, in the form of os.Environ.
	Environ []string
	// Args is the user's command; Commands has none.
	Args []string
	// Open opens the object at an s3:// URL. Child opens paths itself.
	Open func(ctx context.Context, url string) (io.ReadCloser, error)
	// Exec replaces the process by the user's program, as syscall.Exec does.
	Exec func(path string, argv, env []string) error
	// Signals are forwarded to the running line of a command list. After a signal no other line
	// starts. The end of the context has the same effect as SIGTERM.
	Signals <-chan os.Signal
	// Stdout and Stderr are those of the lines; files are passed on unchanged. Messages about
	// the lines go to Stderr.
	Stdout, Stderr io.Writer
}

// Run computes the child's cell and executes the user's program, or the child's lines. It returns the
// exit code for the process, and an error if the user's program did not start; the caller prints it
// after "batchctl: ".
func (c *Child) Run(ctx context.Context) (exit int, err error) {
	err = c.run(ctx, &exit)
	if e, ok := errors.AsType[*Ending](err); ok {
		return e.Exit, e
	}
	return exit, err
}

// run is Run with all failures as errors; exit is that of a command list.
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

// cellNumber returns the number of the child's cell: its index, or the index's entry in CellsVariable.
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

// document returns the sweep from the environment: its Document, or the one at its URL.
func (c *Child) document(ctx context.Context, env environment) (*Sweep, error) {
	text, source := env.get(DocumentVariable), DocumentVariable
	if text == "" {
		if source = env.get(URLVariable); source == "" {
			return nil, end(ExitUsage, "neither %s nor %s is set: submit the job with batchctl", DocumentVariable,
				URLVariable)
		}
		var err error
		if text, err = c.read(ctx, source); err != nil {
			return nil, err
		}
	}
	s, err := Parse(text)
	if err != nil {
		return nil, end(ExitUsage, "%s holds no whole document of version 1: submit the job again", source)
	}
	return s, nil
}

// read returns the text at a path or an s3:// URL. More than MaxDocument bytes are an error.
func (c *Child) read(ctx context.Context, location string) (string, error) {
	var from io.ReadCloser
	err := errors.New("neither a path nor an s3:// URL")
	switch {
	case strings.HasPrefix(location, "/"):
		from, err = os.Open(location)
	case strings.HasPrefix(location, "s3:") && c.Open != nil:
		from, err = c.Open(ctx, location)
	}
	if err != nil {
		return "", c.unreadable(location, err)
	}
	defer from.Close()
	var b strings.Builder
	n, err := io.Copy(&b, io.LimitReader(from, MaxDocument+1))
	if err == nil && n > MaxDocument {
		err = fmt.Errorf("longer than %d bytes", MaxDocument)
	}
	if err != nil {
		return "", c.unreadable(location, err)
	}
	return b.String(), nil
}

// unreadable prints the cause on its own line, as the shell and aws do.
func (c *Child) unreadable(location string, cause error) error {
	fmt.Fprintf(c.Stderr, "%v\n", cause)
	return end(ExitUsage, "cannot read %s", location)
}

// environment is variables as "NAME=value". If a name occurs several times, the last one counts.
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

// with returns a copy of the environment in which a variable has the value.
func (e environment) with(name, value string) environment {
	changed := make(environment, 0, len(e)+1)
	for _, variable := range e {
		if !strings.HasPrefix(variable, name+"=") {
			changed = append(changed, variable)
		}
	}
	return append(changed, name+"="+value)
}

// ofCell returns the environment with the cell's values as variables, and with the references in
// Templates replaced.
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
