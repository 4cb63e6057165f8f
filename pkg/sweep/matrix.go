package sweep

import (
	"encoding/binary"
	"math/bits"
	"strings"
)

// Match is an exclude entry of a matrix: values by the index of their axis. It matches every cell that
// has all of them, so an empty one matches all cells.
type Match map[int]string

// Slip is a probable mistake in the entries of a matrix.
type Slip struct {
	Kind SlipKind
	// Entry is the index of the axis, or of the exclude or include entry.
	Entry int
	// Value is the index of the second of two equal values (SameValue), or of the axis that does
	// not have the value (NoSuchValue).
	Value int
	// Cell is the number of the existing cell (SameCell).
	Cell int
}

// SlipKind is the kind of a Slip.
type SlipKind int

// The slips of a matrix.
const (
	// TooMany: the axes, or the axes and the included cells, have more than MaxCells cells. Entry
	// is 0, and nothing else was checked.
	TooMany SlipKind = iota
	// NoValues: the axis at Entry has no values.
	NoValues
	// SameValue: the axis at Entry has a value twice, so all its cells come twice.
	SameValue
	// NoSuchValue: the exclude entry matches no cell of the product, since an axis does
	// not have the value. In a product that is the only way to match nothing.
	NoSuchValue
	// SameCell: the matrix already has the included cell.
	SameCell
	// WrongLength: the include entry does not have one value for each axis.
	WrongLength
	// NoCells: nothing is left; Entry is 0.
	NoCells
)

// NewMatrix builds a Matrix from axes, entries of cells to exclude, and cells to include with
// their values in the order of the axes. Slips are in the order of the entries. The sweep is
// valid only without slips, and nil if it could not be built. Names are not checked: see
// ValidName and Clash.
func NewMatrix(axes []Axis, exclude []Match, include [][]string) (*Sweep, []Slip) {
	m := &matrix{Sweep: Sweep{Kind: Matrix, Axes: axes, Rows: include}}
	for _, a := range axes {
		m.Names = append(m.Names, a.Name)
	}
	product, ok := Count(axes)
	if !ok || product+len(include) > MaxCells {
		return nil, []Slip{{Kind: TooMany}}
	}
	if m.index(); len(m.slips) > 0 {
		return nil, m.slips
	}
	m.exclude(exclude, product)
	m.include()
	if m.Len() == 0 {
		m.slips = append(m.slips, Slip{Kind: NoCells})
	}
	return &m.Sweep, m.slips
}

// matrix is the state of NewMatrix.
type matrix struct {
	Sweep
	slips []Slip
	// values maps a value to its index, for each axis; strides is the distance in the product
	// between neighbouring values of each axis.
	values  []map[string]int
	strides []int
	// excludedBits has a bit for each place of the product, set if it is excluded.
	excludedBits []uint64
}

// index fills values and strides, and reports the slips of the axes.
func (m *matrix) index() {
	m.values = make([]map[string]int, len(m.Axes))
	m.strides = make([]int, len(m.Axes))
	stride := 1
	for a := len(m.Axes) - 1; a >= 0; a-- {
		m.strides[a] = stride
		stride *= len(m.Axes[a].Values)
	}
	for a, axis := range m.Axes {
		m.values[a] = make(map[string]int, len(axis.Values))
		if len(axis.Values) == 0 {
			m.slips = append(m.slips, Slip{Kind: NoValues, Entry: a})
		}
		for v, value := range axis.Values {
			if _, twice := m.values[a][value]; twice {
				m.slips = append(m.slips, Slip{Kind: SameValue, Entry: a, Value: v})
				continue
			}
			m.values[a][value] = v
		}
	}
}

// exclude sets the bits of all entries, and then Excluded. Different entries with the same axes match
// different cells, and equal ones are skipped. So the work is at most the product for each choice of
// axes, for any number of entries.
func (m *matrix) exclude(entries []Match, product int) {
	m.excludedBits = make([]uint64, (product+63)/64)
	seen := map[string]bool{}
	for e, match := range entries {
		fixed, missing := m.fix(match)
		if missing >= 0 {
			m.slips = append(m.slips, Slip{Kind: NoSuchValue, Entry: e, Value: missing})
			continue
		}
		if k := key(fixed); !seen[k] {
			seen[k] = true
			m.mark(fixed, 0, 0)
		}
	}
	n := 0
	for _, word := range m.excludedBits {
		n += bits.OnesCount64(word)
	}
	if n == 0 {
		return
	}
	m.Excluded = make([]int, 0, n)
	for w, word := range m.excludedBits {
		for ; word != 0; word &= word - 1 {
			m.Excluded = append(m.Excluded, w*64+bits.TrailingZeros64(word))
		}
	}
}

// fix returns the index of the entry's value on each axis, -1 for any, and the first axis that does not
// have the value, or -1.
func (m *matrix) fix(match Match) (fixed []int, missing int) {
	fixed = make([]int, len(m.Axes))
	missing = -1
	for a := len(m.Axes) - 1; a >= 0; a-- {
		fixed[a] = -1
		value, named := match[a]
		if !named {
			continue
		}
		v, ok := m.values[a][value]
		if !ok {
			missing = a
			continue
		}
		fixed[a] = v
	}
	return fixed, missing
}

// mark sets the bits of all places that match fixed from axis a on. place is the sum of the offsets of
// the axes before a.
func (m *matrix) mark(fixed []int, a, place int) {
	if a == len(fixed) {
		m.excludedBits[place/64] |= 1 << (place % 64)
		return
	}
	if fixed[a] >= 0 {
		m.mark(fixed, a+1, place+fixed[a]*m.strides[a])
		return
	}
	for v := range m.Axes[a].Values {
		m.mark(fixed, a+1, place+v*m.strides[a])
	}
}

// include reports included cells that are already in the product or were included before.
func (m *matrix) include() {
	inProduct := m.product() - len(m.Excluded)
	seen := make(map[string]int, len(m.Rows))
	for r, row := range m.Rows {
		if len(row) != len(m.Axes) {
			m.slips = append(m.slips, Slip{Kind: WrongLength, Entry: r})
			continue
		}
		if cell, exists := m.find(row); exists {
			m.slips = append(m.slips, Slip{Kind: SameCell, Entry: r, Cell: cell})
			continue
		}
		k := rowKey(row)
		if before, exists := seen[k]; exists {
			m.slips = append(m.slips, Slip{Kind: SameCell, Entry: r, Cell: inProduct + before})
			continue
		}
		seen[k] = r
	}
}

// find returns the number of the product's cell with the values of row. ok is false if the product has
// no such cell, or it is excluded.
func (m *matrix) find(row []string) (cell int, ok bool) {
	place := 0
	for a, value := range row {
		v, ok := m.values[a][value]
		if !ok {
			return 0, false
		}
		place += v * m.strides[a]
	}
	if len(m.Axes) == 0 || m.excludedBits[place/64]>>(place%64)&1 == 1 {
		return 0, false
	}
	return place - rank(m.Excluded, place), true
}

// key returns a different text for each choice of values.
func key(fixed []int) string {
	var b []byte
	for _, v := range fixed {
		b = binary.AppendVarint(b, int64(v))
	}
	return string(b)
}

// rowKey returns a different text for each row, whatever its values contain.
func rowKey(row []string) string {
	var b strings.Builder
	for _, value := range row {
		b.Write(binary.AppendUvarint(nil, uint64(len(value))))
		b.WriteString(value)
	}
	return b.String()
}
