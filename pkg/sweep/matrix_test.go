package sweep

import (
	"reflect"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

func axis(name string, n int) Axis {
	a := Axis{Name: name}
	for v := range n {
		a.Values = append(a.Values, strconv.Itoa(v))
	}
	return a
}

func TestNewMatrix(t *testing.T) {
	ab := []Axis{axis("a", 2), axis("b", 3)}
	for name, tt := range map[string]struct {
		axes    []Axis
		exclude []Match
		include [][]string
		length  int
		slips   []Slip
	}{
		"plain":              {ab, nil, nil, 6, nil},
		"less one cell":      {ab, []Match{{0: "0", 1: "2"}}, nil, 5, nil},
		"less one value":     {ab, []Match{{1: "2"}}, nil, 4, nil},
		"twice the same":     {ab, []Match{{1: "2"}, {1: "2"}}, nil, 4, nil},
		"overlapping":        {ab, []Match{{1: "2"}, {0: "1"}}, nil, 2, nil},
		"and one more":       {ab, []Match{{1: "2"}}, [][]string{{"7", "0"}}, 5, nil},
		"excluded, included": {ab, []Match{{1: "2"}}, [][]string{{"0", "2"}}, 5, nil},

		"no such value":      {ab, []Match{{1: "2"}, {0: "9", 1: "1"}, {0: "8", 1: "8"}}, nil, 4, []Slip{{Kind: NoSuchValue, Entry: 1}, {Kind: NoSuchValue, Entry: 2}}},
		"nor on the second":  {ab, []Match{{0: "1", 1: "9"}}, nil, 6, []Slip{{Kind: NoSuchValue, Value: 1}}},
		"there already":      {ab, []Match{{0: "0", 1: "0"}}, [][]string{{"7", "7"}, {"1", "0"}}, 7, []Slip{{Kind: SameCell, Entry: 1, Cell: 2}}},
		"included twice":     {ab, nil, [][]string{{"7", "7"}, {"8", "8"}, {"7", "7"}}, 9, []Slip{{Kind: SameCell, Entry: 2, Cell: 6}}},
		"not the same":       {ab, nil, [][]string{{"7", "78"}, {"77", "8"}}, 8, nil},
		"too short":          {ab, nil, [][]string{{"7"}}, 7, []Slip{{Kind: WrongLength}}},
		"nothing left":       {ab, []Match{{}}, nil, 0, []Slip{{Kind: NoCells}}},
		"only what is added": {ab, []Match{{}}, [][]string{{"1", "1"}}, 1, nil},
		"an empty axis":      {[]Axis{axis("a", 2), {Name: "b"}}, nil, nil, -1, []Slip{{Kind: NoValues, Entry: 1}}},
		"a value twice":      {[]Axis{{Name: "a", Values: []string{"1", "2", "1"}}}, nil, nil, -1, []Slip{{Kind: SameValue, Value: 2}}},
		"too many":           {[]Axis{axis("a", 1001), axis("b", 1000)}, nil, nil, -1, []Slip{{Kind: TooMany}}},
		"too many with rows": {[]Axis{axis("a", 1000), axis("b", 1000)}, nil, [][]string{{"x", "y"}}, -1, []Slip{{Kind: TooMany}}},
		"no axes":            {nil, nil, nil, 0, []Slip{{Kind: NoCells}}},
	} {
		s, slips := NewMatrix(tt.axes, tt.exclude, tt.include)
		if !reflect.DeepEqual(slips, tt.slips) {
			t.Errorf("%s: slips %+v, want %+v", name, slips, tt.slips)
		}
		if length := -1; s != nil {
			if length = s.Len(); length != tt.length {
				t.Errorf("%s: %d cells, want %d", name, length, tt.length)
			}
		} else if tt.length != -1 {
			t.Errorf("%s: no sweep", name)
		}
	}
}

// TestNewMatrixAgainstNaive compares the excluded places and the slips of included cells with a check of
// every cell.
func TestNewMatrixAgainstNaive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var axes []Axis
		for a := range rapid.IntRange(1, 4).Draw(t, "axes") {
			axes = append(axes, axis("n"+strconv.Itoa(a), rapid.IntRange(1, 5).Draw(t, "values")))
		}
		value := rapid.Map(rapid.IntRange(0, 5), strconv.Itoa)
		exclude := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Match {
			m := Match{}
			for a := range axes {
				if rapid.Bool().Draw(t, "named") {
					m[a] = value.Draw(t, "value")
				}
			}
			return m
		}), 0, 4).Draw(t, "exclude")
		include := rapid.SliceOfN(rapid.SliceOfN(value, len(axes), len(axes)), 0, 4).Draw(t, "include")

		s, slips := NewMatrix(axes, exclude, include)
		full := naive(&Sweep{Axes: axes})
		var excluded []int
		matched := make([]bool, len(exclude))
		for place, cell := range full {
			gone := false
			for e, m := range exclude {
				hit := true
				for a, v := range m {
					hit = hit && cell[a] == v
				}
				matched[e] = matched[e] || hit
				gone = gone || hit
			}
			if gone {
				excluded = append(excluded, place)
			}
		}
		if !slices.Equal(s.Excluded, excluded) {
			t.Fatalf("excluded %v, want %v", s.Excluded, excluded)
		}
		for e := range exclude {
			if reported := slices.ContainsFunc(slips, func(p Slip) bool { return p.Kind == NoSuchValue && p.Entry == e }); reported == matched[e] {
				t.Fatalf("entry %d matches something: %v, reported to match nothing: %v", e, matched[e], reported)
			}
		}
		cells := naive(s)
		for r, row := range include {
			number := len(cells) - len(include) + r
			first := slices.IndexFunc(cells[:number], func(cell []string) bool { return slices.Equal(cell, row) })
			i := slices.IndexFunc(slips, func(p Slip) bool { return p.Kind == SameCell && p.Entry == r })
			if (i >= 0) != (first >= 0) || i >= 0 && slips[i].Cell != first {
				t.Fatalf("row %d is cell %d already; slips %+v", r, first, slips)
			}
		}
	})
}
