package sweep

import (
	"strconv"
)

// Lines of a document without a value; see the package's documentation.
const (
	firstLine = "batchctl array 1"
	lastLine  = "end"
	keepLine  = "keep going"
)

// Document returns the text from which a child computes its cell; see the package's documentation for
// the format. Parse reads it if the sweep passes Check.
func (s *Sweep) Document() string {
	w := writer{b: make([]byte, 0, s.documentSize())}
	w.line(firstLine, "")
	w.count(string(s.Kind), s.Len())
	if s.KeepGoing {
		w.line(keepLine, "")
	}
	if s.List != "" {
		w.line("list ", s.List)
	}
	for _, variable := range s.Templates {
		w.line("env ", variable)
	}
	for _, name := range s.Names {
		w.line("name ", name, "=", Variable(name))
	}
	if len(s.Axes) > 0 {
		w.product(s)
	}
	for _, row := range s.Rows {
		for i, value := range row {
			w.line(rowPrefix(i), value)
		}
	}
	for _, line := range s.Lines {
		w.line("+", line)
	}
	w.line(lastLine, "")
	return string(w.b)
}

// documentSize estimates the length of the Document in bytes.
func (s *Sweep) documentSize() int {
	n := 200 + 8*len(s.Excluded)/4
	for _, a := range s.Axes {
		n += len(a.Name)*2 + 40
		for _, value := range a.Values {
			n += len(value) + 2
		}
	}
	for _, row := range s.Rows {
		for _, value := range row {
			n += len(value) + 2
		}
	}
	for _, line := range s.Lines {
		n += len(line) + 2
	}
	return n
}

// rowPrefix returns the first character of the line with a row's value in column i.
func rowPrefix(i int) string {
	if i == 0 {
		return "+"
	}
	return "&"
}

// writer appends the lines of a document.
type writer struct{ b []byte }

func (w *writer) line(parts ...string) {
	for _, part := range parts {
		w.b = append(w.b, part...)
	}
	w.b = append(w.b, '\n')
}

func (w *writer) count(name string, n int) { w.line(name, " ", strconv.Itoa(n)) }

// product writes the axes, and the places that are excluded.
func (w *writer) product(s *Sweep) {
	w.count("product", s.product())
	for left := s.Excluded; len(left) > 0; {
		n := run(left)
		w.b = append(w.b, '-')
		w.b = appendRange(w.b, left[0], n)
		w.b = append(w.b, '\n')
		left = left[n:]
	}
	for _, a := range s.Axes {
		w.count("axis", len(a.Values))
		for _, value := range a.Values {
			w.line("=", value)
		}
	}
}
