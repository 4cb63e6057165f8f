package sweep

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Check returns an error for an invalid sweep: a name, value or line that a Document cannot contain,
// members that its kind does not have, no cells or too many. A sweep of NewMatrix without slips and
// with valid names and values passes.
func (s *Sweep) Check() error {
	var err error
	switch s.Kind {
	case Matrix:
		err = s.checkMatrix()
	case Table:
		err = s.checkTable()
	case Commands:
		err = s.checkCommands()
	case Plain:
		if len(s.Lines) > 0 || s.List != "" || s.KeepGoing {
			err = errors.New("only a command list has lines")
		}
	default:
		err = fmt.Errorf("kind %q: want %q, %q, %q or %q", s.Kind, Matrix, Table, Commands, Plain)
	}
	if err == nil && s.Size != 0 && (s.Kind == Matrix || s.Kind == Table) {
		err = fmt.Errorf("the cells of a %s give its size", s.Kind)
	}
	if err == nil && len(s.Names) == 0 && (len(s.Axes) > 0 || len(s.Excluded) > 0 || len(s.Rows) > 0 ||
		len(s.Templates) > 0) {
		err = fmt.Errorf("a sweep of kind %q has no names, so it cannot have values", s.Kind)
	}
	if err != nil {
		return err
	}
	return s.checkCells()
}

// checkMatrix checks the members of a matrix: its axes, their values, and the excluded places.
func (s *Sweep) checkMatrix() error {
	if len(s.Lines) > 0 || s.List != "" || s.KeepGoing {
		return errors.New("only a command list has lines")
	}
	if len(s.Axes) == 0 || len(s.Axes) != len(s.Names) {
		return fmt.Errorf("a matrix has one name for each axis, not %d for %d", len(s.Names), len(s.Axes))
	}
	product, ok := Count(s.Axes)
	if !ok {
		return fmt.Errorf("the axes have more than %d cells", MaxCells)
	}
	for i, a := range s.Axes {
		if a.Name != s.Names[i] {
			return fmt.Errorf("axis %q has the name %q", a.Name, s.Names[i])
		}
		if err := checkValues(a.Name, a.Values); err != nil {
			return err
		}
	}
	for i, place := range s.Excluded {
		if place < 0 || place >= product || i > 0 && place <= s.Excluded[i-1] {
			return fmt.Errorf("excluded place %d: places must ascend from 0 to %d", place, product-1)
		}
	}
	return s.checkNames()
}

// checkTable checks the members of a table.
func (s *Sweep) checkTable() error {
	if len(s.Lines) > 0 || s.List != "" || s.KeepGoing {
		return errors.New("only a command list has lines")
	}
	if len(s.Names) == 0 || len(s.Axes) > 0 || len(s.Excluded) > 0 {
		return errors.New("a table has columns and rows, not axes")
	}
	return s.checkNames()
}

// checkNames checks the names, the variables and the rows of a matrix or a table.
func (s *Sweep) checkNames() error {
	for _, name := range s.Names {
		if !ValidName(name) {
			return fmt.Errorf("name %q: want a letter or _, then letters, digits, _ and -", name)
		}
	}
	if i, j, clash := Clash(s.Names); clash {
		return fmt.Errorf("names %q and %q both become the variable %s", s.Names[i], s.Names[j], Variable(s.Names[i]))
	}
	for i, variable := range s.Templates {
		if !ValidVariable(variable) {
			return fmt.Errorf("environment variable %q: a shell cannot set it; use letters, digits and _", variable)
		}
		if slices.Contains(s.Templates[:i], variable) {
			return fmt.Errorf("environment variable %s is named twice", variable)
		}
		if slices.ContainsFunc(s.Names, func(name string) bool { return Variable(name) == variable }) {
			return fmt.Errorf("environment variable %s contains a value of the cell: use another name", variable)
		}
	}
	for i, row := range s.Rows {
		if len(row) != len(s.Names) {
			return fmt.Errorf("row %d has %d values for %d names", i, len(row), len(s.Names))
		}
		for c, value := range row {
			if !ValidValue(value) {
				return fmt.Errorf("row %d: the value of %s has a line break, NUL or bytes that are not UTF-8", i,
					s.Names[c])
			}
		}
	}
	return nil
}

// checkValues checks the values of an axis.
func checkValues(name string, values []string) error {
	if len(values) == 0 {
		return fmt.Errorf("axis %q has no values", name)
	}
	for _, value := range values {
		if !ValidValue(value) {
			return fmt.Errorf("axis %q: value %.40q has a line break, NUL or bytes that are not UTF-8", name, value)
		}
	}
	return nil
}

// checkCommands checks the lines, or the location, of a command list.
func (s *Sweep) checkCommands() error {
	if len(s.Lines) > 0 && s.List != "" {
		return errors.New("a command list has either lines or a URL, not both")
	}
	if s.List != "" && (!ValidValue(s.List) || !strings.HasPrefix(s.List, "s3://") && !strings.HasPrefix(s.List, "/")) {
		return fmt.Errorf("list %q: want an s3:// URL or an absolute path", s.List)
	}
	for i, line := range s.Lines {
		if !utf8.ValidString(line) || strings.ContainsAny(line, "\n\x00") || strings.HasSuffix(line, "\r") {
			return fmt.Errorf("line %d of the command list has a line break, NUL or bytes that are not UTF-8", i+1)
		}
	}
	return nil
}

// checkCells checks the number of children.
func (s *Sweep) checkCells() error {
	if s.Kind != Matrix && s.Kind != Table && (s.Size < 1 || s.Size > MaxCells) {
		return fmt.Errorf("size %d: want 1 to %d", s.Size, MaxCells)
	}
	if n := s.Len(); n < 1 || n > MaxCells {
		return fmt.Errorf("%d cells: want 1 to %d", n, MaxCells)
	}
	return nil
}
