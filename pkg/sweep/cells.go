package sweep

import (
	"errors"
	"fmt"
	"sort"
	"strconv"
	"strings"
)

// Cells is the list of CellsVariable: the cells of the children of one array, in the order of their
// indices.
type Cells struct {
	from []int // the first cell of each range
	end  []int // the number of cells up to the end of each range
}

// FormatCells is the text of CellsVariable for cells, in their order: "3 7 9-12".
func FormatCells(cells []int) string {
	var b []byte
	for i := 0; i < len(cells); {
		n := run(cells[i:])
		if i > 0 {
			b = append(b, ' ')
		}
		b = appendRange(b, cells[i], n)
		i += n
	}
	return string(b)
}

// run returns the length of the sequence of consecutive numbers at the beginning.
func run(numbers []int) int {
	n := 1
	for n < len(numbers) && numbers[n] == numbers[0]+n {
		n++
	}
	return n
}

// appendRange writes n numbers from from on: "3", "3-5".
func appendRange(b []byte, from, n int) []byte {
	b = strconv.AppendInt(b, int64(from), 10)
	if n > 1 {
		b = append(b, '-')
		b = strconv.AppendInt(b, int64(from+n-1), 10)
	}
	return b
}

// ParseCells parses the text of CellsVariable. More than MaxCells cells, or a cell that is not below
// MaxCells, is an error.
func ParseCells(text string) (Cells, error) {
	var c Cells
	total := 0
	for field := range strings.FieldsFuncSeq(text, isBlank) {
		from, n, err := parseRange(field)
		if err != nil {
			return Cells{}, err
		}
		if total += n; total > MaxCells {
			return Cells{}, fmt.Errorf("more than %d cells", MaxCells)
		}
		c.from = append(c.from, from)
		c.end = append(c.end, total)
	}
	return c, nil
}

// isBlank reports whether a shell splits fields at the character.
func isBlank(r rune) bool { return r == ' ' || r == '\t' || r == '\n' }

// parseRange parses "3" or "3-5". It returns the first number and the count. All numbers are below
// MaxCells.
func parseRange(text string) (from, n int, err error) {
	first, last, ranged := strings.Cut(text, "-")
	if from, err = parseNumber(first); err != nil {
		return 0, 0, err
	}
	to := from
	if ranged {
		if to, err = parseNumber(last); err != nil {
			return 0, 0, err
		}
	}
	if to < from || to >= MaxCells {
		return 0, 0, fmt.Errorf("invalid range of cells %q", text)
	}
	return from, to - from + 1, nil
}

// errNumber ends the message of parseNumber's errors.
var errNumber = errors.New("is not a number of at most 7 digits")

// parseNumber reads a number as a document writes it: digits without a sign and without
// leading zeros, which a shell would read as octal; at most 7 digits, enough for MaxCells.
func parseNumber(text string) (int, error) {
	if text == "" || len(text) > 7 || len(text) > 1 && text[0] == '0' {
		return 0, fmt.Errorf("%.20q %w", text, errNumber)
	}
	n := 0
	for _, c := range []byte(text) {
		if !isDigit(c) {
			return 0, fmt.Errorf("%.20q %w", text, errNumber)
		}
		n = n*10 + int(c-'0')
	}
	return n, nil
}

// Len is the number of cells.
func (c Cells) Len() int {
	if len(c.end) == 0 {
		return 0
	}
	return c.end[len(c.end)-1]
}

// At returns the cell of the child with index i. ok is false unless i is from 0 to Len()-1.
func (c Cells) At(i int) (cell int, ok bool) {
	if i < 0 || i >= c.Len() {
		return 0, false
	}
	r := sort.SearchInts(c.end, i+1)
	before := 0
	if r > 0 {
		before = c.end[r-1]
	}
	return c.from[r] + i - before, true
}
