// Package results makes a table of what the children of an array printed: one row for
// each child, with its cell's values, its status and the members of the JSON object
// that it printed last. It is pure: no I/O but the writers', no clock.
package results

import (
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
)

const (
	// maxHeld bounds the text that a table or an Output keeps, in bytes. It is far more
	// than results have, and what a small machine can hold.
	maxHeld = 256 << 20
	// cellCost is about what a value takes beside its text, in bytes.
	cellCost = 32
)

// MaxKeys bounds the columns that children may add: a key that changes from child to child, such as one with a
// step's number, would make a table that nothing reads.
const MaxKeys = 2000

// The columns that every table may have. A prefix distinguishes a key or an axis of the same
// name.
const (
	indexColumn    = "index"
	cellColumn     = "cell"
	statusColumn   = "status"
	exitCodeColumn = "exitCode"
	jobColumn      = "job"
)

// Prefixes of names that something else has already: of an axis that is called as one
// of the table's own columns, and of a key that is called as any column before it.
const (
	axisPrefix = "matrix."
	keyPrefix  = "result."
)

// Child is one child of an array, without what it printed.
type Child struct {
	// Index is the child's place in its array, AWS_BATCH_JOB_ARRAY_INDEX as Batch sets
	// it; Cell the number of its cell, which differs from Index in the second array of a
	// sweep that was split and in one that repeats some cells.
	Index, Cell int
	// Values are the cell's, in the order of the names that New was given.
	Values []string
	// Status is Batch's word: SUCCEEDED, FAILED, and so on.
	Status string
	// ExitCode is nil without an exit code.
	ExitCode *int
	// Job is the job's name, for a table of Options.Jobs.
	Job string
}

// Options say what a table has. The zero value has what people need.
type Options struct {
	// Jobs makes the first column the job's name in place of the index: the rows are jobs, not children of an array.
	Jobs bool
	// ExitCode adds a column for the exit code.
	ExitCode bool
	// Mask returns the value of a column without credentials, for text and Markdown; nil: they stay. The
	// whole value is masked, before it is escaped or cut.
	Mask func(column, value string) string
}

// Table is a table that grows by Add. It holds the values that children printed, not
// their logs. Rows are in the order of Add, columns in this order: index, cell (where
// one differs from its index), the axes, status, exitCode (if asked for), then the
// keys in the order in which they were first seen. Names are unique.
type Table struct {
	options Options
	axes    []string
	keys    []string       // their columns' names
	keyAt   map[string]int // by the key, a dotted path
	taken   map[string]bool
	rows    []row
	split   bool // a cell differs from its index
	held    int
	without int
	crowded []string
}

// row is a child and one object of those that it printed.
type row struct {
	Child
	values []keyed
}

// keyed is the value of the key with that number.
type keyed struct {
	key int
	Value
}

// New returns an empty table for children whose cells have values of these names.
func New(axes []string, o Options) *Table {
	t := &Table{options: o, keyAt: map[string]int{}, taken: map[string]bool{}}
	for _, own := range []string{indexColumn, cellColumn, statusColumn, exitCodeColumn} {
		t.taken[own] = true
	}
	t.taken[jobColumn] = o.Jobs
	for _, name := range axes {
		t.axes = append(t.axes, t.free(name, axisPrefix))
	}
	return t
}

// free makes a name unique, and takes it.
func (t *Table) free(name, prefix string) string {
	for name == "" || t.taken[name] {
		name = prefix + name
	}
	t.taken[name] = true
	return name
}

// Add adds a child with what it printed; nil stands for nothing. It gets a row for
// each object that the Output found, and one without results where it found none. A row
// that would bring more keys than a table can have is without results too, and Crowded
// names its child. An error says that the table would grow beyond what it may hold; the
// child has no row then, though its keys may have columns.
func (t *Table) Add(c Child, printed *Output) error {
	if len(c.Values) != len(t.axes) {
		return fmt.Errorf("child %d: its cell has %d values for %d axes", c.Index, len(c.Values), len(t.axes))
	}
	objects, err := printed.Objects()
	if err != nil {
		return fmt.Errorf("%s: %w", t.name(c), err)
	}
	if len(objects) == 0 {
		t.without++
		objects = []string{"{}"}
	}
	rows := make([]row, 0, len(objects))
	for _, text := range objects {
		r := row{Child: c}
		if !t.takeKeys(text) {
			if name := t.name(c); !slices.Contains(t.crowded, name) {
				t.crowded = append(t.crowded, name)
			}
		} else if err := t.read(&r, text); err != nil {
			return fmt.Errorf("%s: %w", t.name(c), err)
		}
		rows = append(rows, r)
	}
	t.rows = append(t.rows, rows...)
	t.split = t.split || c.Cell != c.Index && !t.options.Jobs
	return nil
}

// takeKeys makes columns for the keys of an object that have none. It reports false, and makes none, if the table
// would have more than MaxKeys.
func (t *Table) takeKeys(object string) bool {
	var fresh []string
	for path := range members(object) {
		if _, known := t.keyAt[path]; known {
			continue
		}
		if len(t.keys) == MaxKeys {
			for _, path := range fresh {
				delete(t.keyAt, path)
			}
			t.keys = t.keys[:len(t.keys)-len(fresh)]
			return false
		}
		t.keyAt[path] = len(t.keys)
		t.keys = append(t.keys, path)
		fresh = append(fresh, path)
	}
	for i, path := range fresh {
		t.keys[len(t.keys)-len(fresh)+i] = t.free(path, keyPrefix)
	}
	return true
}

// read adds the values of an object to a row.
func (t *Table) read(r *row, object string) error {
	at := map[int]int{} // of this row, by key
	for path, v := range members(object) {
		if t.held += len(v.Text) + cellCost; t.held > maxHeld {
			return fmt.Errorf("the results are longer than %d MiB: print less, or collect fewer children at once",
				maxHeld>>20)
		}
		key := t.keyAt[path]
		if i, twice := at[key]; twice {
			r.values[i].Value = v // as JSON's readers do: the last member of a name counts
			continue
		}
		at[key] = len(r.values)
		r.values = append(r.values, keyed{key, v})
	}
	return nil
}

// Len is the number of rows.
func (t *Table) Len() int { return len(t.rows) }

// Without is the number of children that printed neither an object nor a metric.
func (t *Table) Without() int { return t.without }

// Crowded names the children, or jobs, whose results are left out, because the table would have more than MaxKeys.
func (t *Table) Crowded() []string { return t.crowded }

// name is what a message calls a child.
func (t *Table) name(c Child) string {
	if t.options.Jobs {
		return c.Job
	}
	return fmt.Sprintf("child %d", c.Index)
}

// Columns are the names of the columns, in their order.
func (t *Table) Columns() []string {
	names := []string{indexColumn}
	if t.options.Jobs {
		names[0] = jobColumn
	}
	if t.split {
		names = append(names, cellColumn)
	}
	names = append(append(names, t.axes...), statusColumn)
	if t.options.ExitCode {
		names = append(names, exitCodeColumn)
	}
	return append(names, t.keys...)
}

// Axes returns the names of the axes' columns.
func (t *Table) Axes() []string { return t.axes }

// Rows yields the rows, each with a value for every column. The values of an axis are
// numbers if all of them are written as JSON writes numbers, booleans if all are true
// or false, and else strings.
func (t *Table) Rows() iter.Seq[[]Value] {
	return func(yield func([]Value) bool) {
		kinds := t.axisKinds()
		width := len(t.Columns())
		for _, r := range t.rows {
			if !yield(t.line(r, kinds, width)) {
				return
			}
		}
	}
}

// forPeople are the Rows with their credentials masked.
func (t *Table) forPeople() iter.Seq[[]Value] {
	if t.options.Mask == nil {
		return t.Rows()
	}
	columns := t.Columns()
	return func(yield func([]Value) bool) {
		for line := range t.Rows() {
			for i := range line {
				line[i].Text = t.options.Mask(columns[i], line[i].Text)
			}
			if !yield(line) {
				return
			}
		}
	}
}

func (t *Table) line(r row, kinds []Kind, width int) []Value {
	line := append(make([]Value, 0, width), whole(r.Index))
	if t.options.Jobs {
		line[0] = Value{String, r.Job}
	}
	if t.split {
		line = append(line, whole(r.Cell))
	}
	for i, text := range r.Child.Values {
		line = append(line, Value{kinds[i], text})
	}
	line = append(line, Value{String, r.Status})
	if t.options.ExitCode {
		code := Value{Kind: Absent}
		if r.ExitCode != nil {
			code = whole(*r.ExitCode)
		}
		line = append(line, code)
	}
	keys := line[len(line):width]
	for _, v := range r.values {
		keys[v.key] = v.Value
	}
	return line[:width]
}

func whole(n int) Value { return Value{Number, strconv.Itoa(n)} }

// axisKinds finds what the values of each axis are, all rows together: a column of
// which half is numbers is one of names.
func (t *Table) axisKinds() []Kind {
	kinds := make([]Kind, len(t.axes))
	for i := range kinds {
		for _, r := range t.rows {
			k := kindOf(r.Child.Values[i])
			if kinds[i] != Absent && kinds[i] != k {
				k = String
			}
			if kinds[i] = k; k == String {
				break
			}
		}
	}
	return kinds
}

func kindOf(text string) Kind {
	switch {
	case text == "true" || text == "false":
		return Bool
	case isNumber(text):
		return Number
	}
	return String
}

// isNumber reports whether text is a number as JSON writes it.
func isNumber(text string) bool {
	digits := strings.TrimPrefix(text, "-")
	return digits != "" && isDigit(digits[0]) && isDigit(digits[len(digits)-1]) && valid(text)
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
