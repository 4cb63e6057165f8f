package sweep

import (
	"math/bits"
	"sort"
)

// MaxCells is the most cells of a sweep, and of the product of its axes. One array of AWS Batch has
// at most 10,000 children, so this is a hundred arrays.
const MaxCells = 1_000_000

// Count is the number of cells of the product of axes; 0 without axes, or with an axis without values.
// With more than MaxCells cells n is MaxCells+1, and ok is false.
func Count(axes []Axis) (n int, ok bool) {
	if len(axes) == 0 {
		return 0, true
	}
	n = 1
	for _, a := range axes {
		if len(a.Values) == 0 {
			return 0, true
		}
		if n > MaxCells || len(a.Values) > MaxCells {
			n = MaxCells + 1
			continue
		}
		n *= len(a.Values) // at most MaxCells squared, but on 32 bits
		if n > MaxCells || n < 0 {
			n = MaxCells + 1
		}
	}
	return n, n <= MaxCells
}

// Cell returns the values of cell i, in the order of Names. It panics unless i is from 0 to Len()-1.
// Commands and Plain have no values.
func (s *Sweep) Cell(i int) []string {
	product := s.product()
	if row := i + len(s.Excluded) - product; row >= 0 {
		return s.Rows[row]
	}
	place := i + sort.Search(len(s.Excluded), func(k int) bool { return s.Excluded[k]-k > i })
	cell := make([]string, len(s.Axes))
	for a := len(s.Axes) - 1; a >= 0; a-- {
		values := s.Axes[a].Values
		cell[a] = values[place%len(values)]
		place /= len(values)
	}
	return cell
}

// Slice returns the lines that child i of Commands runs: Lines[from:to]. If List is set, only the child
// knows the number of lines; see the function Slice.
func (s *Sweep) Slice(i int) (from, to int) { return Slice(len(s.Lines), i, s.Size) }

// Slice returns the lines that child i of n runs of a list of total lines: from total*i/n up to
// total*(i+1)/n. So every line runs once, and the children's numbers of lines differ by at most one.
func Slice(total, i, n int) (from, to int) {
	return share(total, i, n), share(total, i+1, n)
}

// share is total*i/n for i <= n; the product may need more than 64 bits.
func share(total, i, n int) int {
	hi, lo := bits.Mul64(uint64(total), uint64(i))
	q, _ := bits.Div64(hi, lo, uint64(n))
	return int(q)
}

// rank returns how many of the ascending places are below place.
func rank(places []int, place int) int { return sort.SearchInts(places, place) }
