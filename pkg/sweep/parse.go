package sweep

import (
	"errors"
	"fmt"
	"strings"
)

// MaxDocument is the longest Document that is read, in bytes: a table of MaxCells rows
// of 256 bytes each.
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
	// Numbers and ranges could be written in other ways, and the words that follow from
	// the rest could differ from it.
	if again := s.Document(); again[:len(again)-1] != body {
		return nil, errors.New("not written by batchctl")
	}
	return s, nil
}

// reader hands out the lines of a document.
type reader struct {
	left   string
	number int // of the line that was handed out last, from 1
	done   bool
}

// next is the next line; "" behind the last one, which no line of a document is.
func (r *reader) next() string {
	line, left, more := strings.Cut(r.left, "\n")
	r.left, r.done = left, !more
	r.number++
	return line
}

// take is what follows a prefix, if the next line begins with it; else the line stays.
func (r *reader) take(prefix string) (rest string, ok bool) {
	if !strings.HasPrefix(r.left, prefix) {
		return "", false
	}
	return r.next()[len(prefix):], true
}

// sweep reads all behind the first line.
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
	for word, ok := r.take("-"); ok; word, ok = r.take("-") {
		from, n, err := parseRange(word)
		if err != nil {
			return err
		}
		// So that no two ranges can name one place, and all of them together are bounded.
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

// rows reads the rows of a table, those that a matrix includes, or the lines of a
// command list.
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
		// Here, not in Check: with many names, many short rows would take much room.
		if len(row) != len(s.Names) {
			return fmt.Errorf("a row has %d values for %d names", len(row), len(s.Names))
		}
		s.Rows = append(s.Rows, row)
	}
	return nil
}
