package sweep

import (
	"math"
	"reflect"
	"testing"

	"pgregory.net/rapid"
)

func TestCellsAreTheProduct(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawCells(t)
		want := naive(s)
		if s.Len() != len(want) {
			t.Fatalf("%d cells, want %d", s.Len(), len(want))
		}
		for i := range want {
			if got := s.Cell(i); !reflect.DeepEqual(got, want[i]) {
				t.Fatalf("cell %d is %q, want %q", i, got, want[i])
			}
		}
	})
}

func TestSlicesPartition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		total, n := rapid.IntRange(0, 200).Draw(t, "lines"), rapid.IntRange(1, 60).Draw(t, "children")
		s := &Sweep{Kind: Commands, Size: n, Lines: make([]string, total)}
		at, least, most := 0, total, 0
		for i := range n {
			from, to := s.Slice(i)
			if from != at || to < from || from != total*i/n {
				t.Fatalf("child %d has [%d, %d), behind %d", i, from, to, at)
			}
			at, least, most = to, min(least, to-from), max(most, to-from)
		}
		if at != total || most-least > 1 {
			t.Fatalf("%d of %d lines, %d to %d a child", at, total, least, most)
		}
	})
}

func TestSliceDoesNotOverflow(t *testing.T) {
	const n = 1_000_000
	if from, to := Slice(math.MaxInt, n-1, n); to != math.MaxInt || to-from < math.MaxInt/n {
		t.Errorf("[%d, %d)", from, to)
	}
	if from, to := Slice(0, 0, 1); from != 0 || to != 0 {
		t.Errorf("[%d, %d)", from, to)
	}
}

func axesOf(lengths ...int) []Axis {
	var axes []Axis
	for _, n := range lengths {
		axes = append(axes, Axis{Values: make([]string, n)})
	}
	return axes
}

func TestCount(t *testing.T) {
	long := make([]int, 200)
	for i := range long {
		long[i] = 1000
	}
	for _, tt := range []struct {
		lengths []int
		n       int
		ok      bool
	}{
		{nil, 0, true},
		{[]int{7}, 7, true},
		{[]int{2, 3}, 6, true},
		{[]int{2, 0, 3}, 0, true},
		{[]int{1000, 1000}, MaxCells, true},
		{[]int{1000, 1001}, MaxCells + 1, false},
		{[]int{MaxCells + 1}, MaxCells + 1, false},
		{long, MaxCells + 1, false},                    // 1000 to the 200th
		{append(long[:200:200], 0), 0, true},           // but one axis has no value
		{[]int{4096, 4096, 4096}, MaxCells + 1, false}, // 2 to the 36th is 0 in 32 bits
	} {
		if n, ok := Count(axesOf(tt.lengths...)); n != tt.n || ok != tt.ok {
			t.Errorf("%v: %d, %v", tt.lengths, n, ok)
		}
	}
}
