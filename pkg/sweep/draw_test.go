package sweep

import (
	"fmt"
	"slices"
	"strings"

	"pgregory.net/rapid"
)

// pieces are the parts of drawn values and arguments: characters that shells treat specially, bytes that
// dash and bash use internally (0x81 to 0x88, 0x01, 0x7f), and texts that look like references.
var pieces = []string{"a", "B", "0", " ", "  ", "'", `"`, `\`, `\n`, "*", "?", "[", "]", "{", "}", "$", "$1", "$(x)", "`", "=", "-", "~", "#", "!", "&", "|",
	";", "(", ")", "<", ">", "%", "%s", "\t", "é", "Á", "ā", "€", "𝄞", "\u0081", "\x01", "\x7f", "/", "//", "+", "end", opener, closer, "${{", "}}",
	Reference("lr"), Reference("seed"), Reference("nobody"), opener + "lr", opener + "lr}}", opener + " lr }}", "matrix.lr", "lr }}", "seed }}"}

// text draws a text without line breaks.
func text(most int) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, most).Draw(t, "pieces"), "")
	})
}

var names = []string{"lr", "seed", "learning-rate", "X_1", "_a", "data-set", "MATRIX_LR", "l", "Batch"}

func drawNames(t *rapid.T, most int) []string {
	return rapid.Permutation(names).Draw(t, "names")[:rapid.IntRange(1, most).Draw(t, "number of names")]
}

func drawRows(t *rapid.T, columns, least, most int) [][]string {
	return rapid.SliceOfN(rapid.SliceOfN(text(4), columns, columns), least, most).Draw(t, "rows")
}

// drawCells draws a matrix or a table.
func drawCells(t *rapid.T) *Sweep {
	s := &Sweep{Kind: Table, Names: drawNames(t, 3)}
	if rapid.Bool().Draw(t, "matrix") {
		s.Kind = Matrix
		for _, name := range s.Names {
			s.Axes = append(s.Axes, Axis{Name: name, Values: rapid.SliceOfN(text(4), 1, 4).Draw(t, name)})
		}
		for place := range s.product() {
			if rapid.IntRange(0, 3).Draw(t, "excluded") == 0 {
				s.Excluded = append(s.Excluded, place)
			}
		}
	}
	least := 0
	if s.Len() == 0 {
		least = 1
	}
	if rows := drawRows(t, len(s.Names), least, 4); len(rows) > 0 {
		s.Rows = rows
	}
	for i := range rapid.IntRange(0, 3).Draw(t, "templates") {
		s.Templates = append(s.Templates, fmt.Sprintf("T%d", i))
	}
	return s
}

// drawSweep draws a sweep of any kind.
func drawSweep(t *rapid.T) *Sweep {
	switch rapid.IntRange(0, 3).Draw(t, "kind") {
	case 0:
		return &Sweep{Kind: Plain, Size: rapid.IntRange(1, MaxCells).Draw(t, "size")}
	case 1:
		s := &Sweep{Kind: Commands, Size: rapid.IntRange(1, 20).Draw(t, "size"), KeepGoing: rapid.Bool().Draw(t, "keepGoing")}
		if rapid.Bool().Draw(t, "elsewhere") {
			s.List = "s3://bucket/" + text(3).Draw(t, "key")
		} else if lines := rapid.SliceOf(text(6)).Draw(t, "lines"); len(lines) > 0 {
			s.Lines = lines
		}
		return s
	}
	return drawCells(t)
}

// naive lists all cells of a sweep, computed one after the other.
func naive(s *Sweep) [][]string {
	product := [][]string{nil}
	for _, a := range s.Axes {
		var longer [][]string
		for _, cell := range product {
			for _, value := range a.Values {
				longer = append(longer, append(slices.Clone(cell), value))
			}
		}
		product = longer
	}
	var cells [][]string
	for place, cell := range product {
		if len(s.Axes) > 0 && !slices.Contains(s.Excluded, place) {
			cells = append(cells, cell)
		}
	}
	return append(cells, s.Rows...)
}
