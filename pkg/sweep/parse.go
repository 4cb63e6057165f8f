package sweep

import (
	"errors"
	"fmt"
	"strings"
)

// MaxDocument is the longest Document that Parse reads, in bytes: a table of MaxCells rows of 256 bytes
// each.
const MaxDocument = 256 << 20

// Parse reads a Document. It is strict: any text that Document would not write is an error,
// except for a missing line break at the end. A Document does not contain Launcher and
// MaxParallel.
func Parse(document string) (*Sweep, error) {
	if len(document) > MaxDocument {
		return nil, fmt.Errorf("longer than %d bytes", MaxDocument)
	}
	body := strings.TrimSuffix(document, "\n")
	r := reader{left: body}
	if line := r.next(); line != firstLine {
		return nil, fmt.Errorf("line 1 is %.40q, want %q", line, firstLine)
	}
	s, err := r.sweep()
	if err != nil {
		return nil, fmt.Errorf("line %d: %w", r.number, err)
	}
	if err := s.Check(); err != nil {
		return nil, err
	}
	// Numbers and ranges have other spellings, and redundant values could contradict the others.
	if again := s.Document(); again[:len(again)-1] != body {
		return nil, errors.New("not written by batchctl")
	}
	return s, nil
}

// reader returns the lines of a document one by one.
type reader struct {
	left   string
	number int // of the last returned line, from 1
	done   bool
}

// next returns the next line; "" after the last one, because a document has no empty line.
func (r *reader) next() string {
	line, left, more := strings.Cut(r.left, "\n")
	r.left, r.done = left, !more
	r.number++
	return line
}

// take returns the text after the prefix if the next line begins with it; otherwise the line stays.
func (r *reader) take(prefix string) (rest string, ok bool) {
	if !strings.HasPrefix(r.left, prefix) {
		return "", false
	}
	return r.next()[len(prefix):], true
}

// sweep reads all lines after the first.
func (r *reader) sweep() (*Sweep, error) {
	kind, number, _ := strings.Cut(r.next(), " ")
	n, err := parseNumber(number)
	if err != nil {
		return nil, err
	}
	s := &Sweep{Kind: Kind(kind)}
	if s.Kind == Commands || s.Kind == Plain {
		s.Size = n
	}
	_, s.KeepGoing = r.take(keepLine)
	s.List, _ = r.take("list ")
	for variable, ok := r.take("env "); ok; variable, ok = r.take("env ") {
		s.Templates = append(s.Templates, variable)
	}
	for name, ok := r.take("name "); ok; name, ok = r.take("name ") {
		name, _, _ = strings.Cut(name, "=")
		s.Names = append(s.Names, name)
	}
	if err := r.product(s); err != nil {
		return nil, err
	}
	if err := r.rows(s); err != nil {
		return nil, err
	}
	if line := r.next(); line != lastLine || !r.done {
		return nil, fmt.Errorf("unexpected %.40q", line)
	}
	return s, nil
}

// product reads the places without a cell, and the axes.
func (r *reader) product(s *Sweep) error {
	if _, ok := r.take("product "); !ok {
		return nil
	}
	for places, ok := r.take("-"); ok; places, ok = r.take("-") {
		from, n, err := parseRange(places)
		if err != nil {
			return err
		}
		// No two ranges may contain the same place, which also bounds their total.
		if k := len(s.Excluded); k > 0 && from <= s.Excluded[k-1] {
			return errors.New("the excluded places do not ascend")
		}
		for i := range n {
			s.Excluded = append(s.Excluded, from+i)
		}
	}
	for _, name := range s.Names {
		if _, ok := r.take("axis "); !ok {
			return errors.New("there are fewer axes than names")
		}
		axis := Axis{Name: name}
		for value, ok := r.take("="); ok; value, ok = r.take("=") {
			axis.Values = append(axis.Values, value)
		}
		s.Axes = append(s.Axes, axis)
	}
	return nil
}

// rows reads the rows of a table, the included cells of a matrix, or the lines of a command list.
func (r *reader) rows(s *Sweep) error {
	for first, ok := r.take("+"); ok; first, ok = r.take("+") {
		if s.Kind == Commands {
			s.Lines = append(s.Lines, first)
			continue
		}
		row := append(make([]string, 0, len(s.Names)), first)
		for value, ok := r.take("&"); ok; value, ok = r.take("&") {
			row = append(row, value)
		}
		// Here and not in Check: with many names, many short rows would take much memory.
		if len(row) != len(s.Names) {
			return fmt.Errorf("a row has %d values for %d names", len(row), len(s.Names))
		}
		s.Rows = append(s.Rows, row)
	}
	return nil
}
