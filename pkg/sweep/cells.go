package sweep

import (
	"errors"
	"fmt"
	"sort"
	"strconv"
	"strings"
)

// Cells is the cells of the children of one array, in the order of their indices: what
// CellsVariable lists.
type Cells struct {
	from []int // of each range
	end  []int // the indices before the end of each range
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

// run is how many of the numbers, from the first one on, are each one more than the
// one before.
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

// ParseCells reads the text of CellsVariable. It has at most MaxCells cells, each below
// MaxCells.
func ParseCells(text string) (Cells, error) {
	var c Cells
	total := 0
	for word := range strings.FieldsFuncSeq(text, isBlank) {
		from, n, err := parseRange(word)
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

// isBlank tells what a shell splits words at.
func isBlank(r rune) bool { return r == ' ' || r == '\t' || r == '\n' }

// parseRange reads "3" or "3-5": the first number, and how many there are. All are
// below MaxCells.
func parseRange(word string) (from, n int, err error) {
	first, last, ranged := strings.Cut(word, "-")
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
		return 0, 0, fmt.Errorf("invalid range of cells %q", word)
	}
	return from, to - from + 1, nil
}

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

// At is the cell of the child with index i; not ok where i is not from 0 to Len()-1.
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
