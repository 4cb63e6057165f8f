package sweep

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestFormatCells(t *testing.T) {
	for want, cells := range map[string][]int{
		"":            nil,
		"0":           {0},
		"3 7 9-12":    {3, 7, 9, 10, 11, 12},
		"5-6 4 3 3-4": {5, 6, 4, 3, 3, 4},
	} {
		if got := FormatCells(cells); got != want {
			t.Errorf("%v: %q, want %q", cells, got, want)
		}
	}
}

func TestParseCells(t *testing.T) {
	if c, err := ParseCells("  10000-19999 3\t7\n"); err != nil || c.Len() != 10002 {
		t.Errorf("%d cells, %v", c.Len(), err)
	}
	for _, bad := range []string{"x", "-3", "3-", "3-2", "1-2-3", "01", "+1", "1,2", "1000000", "0-1000000", "99999999999999999999", "3 7 9-", "٣",
		strings.Repeat("0-999999 ", 2), "0-999999 0", "1\u00a02"} {
		if c, err := ParseCells(bad); err == nil {
			t.Errorf("%q: %d cells", bad, c.Len())
		}
	}
}

func TestCellsRoundTrip(t *testing.T) {
	cell := rapid.OneOf(rapid.IntRange(0, 20), rapid.IntRange(0, MaxCells-1))
	rapid.Check(t, func(t *rapid.T) {
		var want []int
		for range rapid.IntRange(0, 10).Draw(t, "runs") {
			from := cell.Draw(t, "from")
			for i := range rapid.IntRange(1, 4).Draw(t, "length") {
				want = append(want, min(from+i, MaxCells-1))
			}
		}
		text := FormatCells(want)
		c, err := ParseCells(text)
		if err != nil || c.Len() != len(want) {
			t.Fatalf("%q: %d cells of %d, %v", text, c.Len(), len(want), err)
		}
		for i := range want {
			if got, ok := c.At(i); !ok || got != want[i] {
				t.Fatalf("%q: index %d is cell %d, %v; want %d", text, i, got, ok, want[i])
			}
		}
		for _, i := range []int{-1, len(want)} {
			if got, ok := c.At(i); ok {
				t.Fatalf("%q: index %d is cell %d", text, i, got)
			}
		}
	})
}

func FuzzParseCells(f *testing.F) {
	for _, seed := range []string{"", "0", "3 7 9-12", "10000-19999", "3-2", "01", "0-999999 0"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := ParseCells(text)
		if err != nil {
			return
		}
		cells := make([]int, c.Len())
		for i := range cells {
			cell, ok := c.At(i)
			if !ok || cell < 0 || cell >= MaxCells {
				t.Fatalf("index %d is cell %d, %v", i, cell, ok)
			}
			cells[i] = cell
		}
		again, err := ParseCells(FormatCells(cells))
		if err != nil || again.Len() != c.Len() {
			t.Fatalf("%q comes back with %d cells, %v", FormatCells(cells), again.Len(), err)
		}
	})
}
