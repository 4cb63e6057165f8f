package sweep

import "strings"

// Kind is the source of the differences between the children.
type Kind string

// The kinds of sweeps.
const (
	// Matrix is the cartesian product of axes, minus the excluded cells, plus the included
	// cells at the end.
	Matrix Kind = "matrix"
	// Table is one cell for each row of a table.
	Table Kind = "table"
	// Commands is a list of command lines, of which each child runs a slice.
	Commands Kind = "commands"
	// Plain is an array whose children differ only in their index.
	Plain Kind = "plain"
)

// Launcher is the program in the container that turns an index into a cell.
type Launcher string

// The launchers.
const (
	// Shell is a POSIX shell, sh, in the image. It is the default.
	Shell Launcher = "sh"
	// Binary is batchctl, copied into the image and found by that name.
	Binary Launcher = "batchctl"
	// Image is the image's own program: the job's command stays unchanged, and the program
	// reads its environment.
	Image Launcher = "image"
)

// The environment variables of a child.
const (
	// DocumentVariable has the sweep's Document.
	DocumentVariable = "BATCHCTL_ARRAY"
	// URLVariable is the location of a Document that is too long for a request: an s3:// URL, or
	// the absolute path of a file.
	URLVariable = "BATCHCTL_ARRAY_URL"
	// CellsVariable lists the cells of the children of one array, in the order of their indices, if
	// cell and index differ: "10000-19999", "3 7 9-12".
	CellsVariable = "BATCHCTL_CELLS"
	// CellVariable is set by the launcher: the number of the child's cell, from 0.
	CellVariable = "BATCHCTL_CELL"
	// SizeVariable and ListVariable are set with a command list: the number of children that share
	// it, and its location if it is not in the Document.
	SizeVariable = "ARRAY_SIZE"
	ListVariable = "LIST_FILE_S3_PATH"
	// KeepGoingVariable is 1 if a child runs the remaining lines after a failed one.
	KeepGoingVariable = "BATCHCTL_KEEP_GOING"
)

// Axis is one axis of a matrix: a name and its values, in the order of the file.
type Axis struct {
	Name   string
	Values []string
}

// Sweep is the differences between the children of one array, or of several. Cells are
// numbered from 0: first those of the product, the last axis varying fastest, without the
// excluded ones; then Rows.
type Sweep struct {
	Kind Kind
	// Axes are those of a matrix. Names are the columns of every cell: the axes' names, or the table's
	// header.
	Axes  []Axis
	Names []string
	// Excluded are the places in the full product that have no cell, ascending.
	Excluded []int
	// Rows are those of a table, or the included cells of a matrix, in the order of Names.
	Rows [][]string
	// Lines are those of a command list. If the child reads the list on its own, List is its
	// location (s3://bucket/key), and Lines is nil.
	Lines []string
	List  string
	// Size is the number of children of Commands and Plain.
	Size int
	// Templates are the environment variables whose values name a cell's value.
	Templates []string
	Launcher  Launcher
	// MaxParallel is the most children that may run at the same time; 0 means no limit.
	MaxParallel int
	// KeepGoing is for Commands: a child runs the remaining lines after a failed one.
	KeepGoing bool
}

// VariablePrefix is the prefix of the environment variables with a cell's values.
const VariablePrefix = "MATRIX_"

// Variable returns the environment variable with the value of an axis or a column: learning-rate is
// MATRIX_LEARNING_RATE.
func Variable(name string) string {
	return VariablePrefix + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
}

// Reference returns the text by which a command or an environment variable refers to the value of an axis
// or column: ${{ matrix.lr }}.
func Reference(name string) string { return "${{ matrix." + name + " }}" }

// Len is the number of children: the cells, or Size.
func (s *Sweep) Len() int {
	if s.Kind == Commands || s.Kind == Plain {
		return s.Size
	}
	return s.product() - len(s.Excluded) + len(s.Rows)
}

// product is the number of cells of the axes, with those that are excluded.
func (s *Sweep) product() int {
	n, _ := Count(s.Axes)
	return n
}
