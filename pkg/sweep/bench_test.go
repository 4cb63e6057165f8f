package sweep

import (
	"strconv"
	"testing"
)

// million is a matrix of a million places, less what the exclude entries take.
func million(tb testing.TB, exclude ...Match) *Sweep {
	s, slips := NewMatrix([]Axis{axis("a", 100), axis("b", 100), axis("c", 100)}, exclude, nil)
	if len(slips) > 0 {
		tb.Fatal(slips)
	}
	return s
}

// ninetyPercent takes 900,000 cells of million, in runs of one.
func ninetyPercent() []Match {
	var exclude []Match
	for c := range 100 {
		if c%10 != 5 {
			exclude = append(exclude, Match{2: strconv.Itoa(c)})
		}
	}
	return exclude
}

func TestMillionCells(t *testing.T) {
	s := million(t, ninetyPercent()...)
	if s.Len() != 100_000 {
		t.Fatalf("%d cells", s.Len())
	}
	if first, last := s.Cell(0), s.Cell(99_999); first[2] != "5" || last[0] != "99" || last[1] != "99" || last[2] != "95" {
		t.Errorf("from %v to %v", first, last)
	}
	// One slice for the values of a cell, whatever the number of cells.
	if n := testing.AllocsPerRun(100, func() { s.Cell(77_777) }); n > 1 {
		t.Errorf("a cell takes %v allocations", n)
	}
	if got, err := Parse(s.Document()); err != nil || got.Len() != s.Len() {
		t.Errorf("%v", err)
	}
}

func BenchmarkCell(b *testing.B) {
	for name, s := range map[string]*Sweep{"all": million(b), "less 900000": million(b, ninetyPercent()...)} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				for i := range s.Len() {
					s.Cell(i)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(s.Len()), "ns/cell")
		})
	}
}

func BenchmarkDocument(b *testing.B) {
	s := million(b)
	b.ReportAllocs()
	for b.Loop() {
		s.Document()
	}
	b.ReportMetric(float64(len(s.Document())), "bytes")
}

func BenchmarkParse(b *testing.B) {
	document := million(b, ninetyPercent()...).Document()
	b.ReportAllocs()
	b.SetBytes(int64(len(document)))
	for b.Loop() {
		if _, err := Parse(document); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkNewMatrix(b *testing.B) {
	exclude := ninetyPercent()
	b.ReportAllocs()
	for b.Loop() {
		million(b, exclude...)
	}
}
