package diag_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/batchctl/batchctl/pkg/diag"
)

// fix returns a problem of src with these edits.
func fix(src *diag.Source, edits ...diag.Edit) diag.Diagnostic {
	return diag.Diagnostic{Source: src, Fix: &diag.Fix{Edits: edits}}
}

func edit(start, end int, text string) diag.Edit {
	return diag.Edit{Span: diag.Span{Start: start, End: end}, Text: text}
}

func TestApply(t *testing.T) {
	src, other := diag.NewSource("a", "0123456789"), diag.NewSource("a", "0123456789")
	for _, c := range []struct {
		name string
		list diag.List
		want string
		n    int
	}{
		{"nothing", nil, "0123456789", 0},
		{"no fix", diag.List{{Source: src}, {Fix: &diag.Fix{Edits: []diag.Edit{edit(0, 1, "x")}}}}, "0123456789", 0},
		{"another source", diag.List{fix(other, edit(0, 1, "x"))}, "0123456789", 0},
		{"two in any order", diag.List{fix(src, edit(8, 9, "b")), fix(src, edit(1, 2, "a"))}, "0a234567b9", 2},
		{"edits in any order", diag.List{fix(src, edit(8, 9, ""), edit(0, 0, "a"), edit(10, 10, "z"))}, "a012345679z", 1},
		{"insertions at one place", diag.List{fix(src, edit(5, 5, "a"), edit(5, 5, "b"), edit(5, 6, "c"))}, "01234abc6789", 1},
		{"interleaved", diag.List{fix(src, edit(1, 2, "a"), edit(7, 8, "a")), fix(src, edit(4, 5, "b"))}, "0a23b56a89", 2},
		{"overlap", diag.List{fix(src, edit(2, 5, "a")), fix(src, edit(4, 6, "b")), fix(src, edit(8, 9, "c"))}, "01a567c9", 2},
		{"meeting", diag.List{fix(src, edit(2, 5, "a")), fix(src, edit(5, 6, "b"))}, "01a56789", 1},
		{"the same insertion", diag.List{fix(src, edit(3, 3, "a")), fix(src, edit(3, 3, "a"))}, "012a3456789", 1},
		{"all or nothing", diag.List{fix(src, edit(2, 3, "a")), fix(src, edit(2, 3, "b"), edit(8, 9, "b"))}, "01a3456789", 1},
		{"no change", diag.List{fix(src, edit(2, 4, "23")), fix(src), fix(src, edit(2, 2, "")), fix(src, edit(2, 3, "x"))}, "01x3456789", 1},
		{"overlaps itself", diag.List{fix(src, edit(2, 4, "a"), edit(3, 5, "b"))}, "0123456789", 0},
		{"out of range", diag.List{fix(src, edit(-1, 2, "a")), fix(src, edit(8, 11, "b")), fix(src, edit(5, 4, "c")), fix(src, edit(11, 11, "d"))}, "0123456789", 0},
	} {
		if got, n := diag.Apply(src, c.list); got != c.want || n != c.n {
			t.Errorf("%s: %q with %d fixes, want %q with %d", c.name, got, n, c.want, c.n)
		}
	}
}

func drawEdits(t *rapid.T, size int) []diag.Edit {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) diag.Edit {
		start := rapid.IntRange(-1, size+1).Draw(t, "start")
		return edit(start, start+rapid.IntRange(-1, 4).Draw(t, "length"), rapid.StringMatching(`[A-Z]{0,2}`).Draw(t, "insert"))
	}), 0, 3).Draw(t, "edits")
}

// TestApplyLeavesTheRestAlone compares Apply with a text of single characters, each of
// which records whether it is removed and what is inserted before it. Old text is in lower
// case, and new text in upper case.
func TestApplyLeavesTheRestAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		src := diag.NewSource("a", rapid.StringMatching(`[a-z]{0,30}`).Draw(t, "text"))
		size := len(src.Text)
		var l diag.List
		for range rapid.IntRange(0, 6).Draw(t, "fixes") {
			l = append(l, fix(src, drawEdits(t, size)...))
		}
		got, applied := diag.Apply(src, l)

		gone, before, made := make([]bool, size+1), make([]string, size+1), 0
		taken := make([]bool, 2*size+1) // every character at 2i+1, every gap at 2i
		for _, d := range l {
			if !fits(src.Text, d.Fix.Edits) || meets(taken, d.Fix.Edits) {
				continue
			}
			made++
			inserted := make([]string, size+1) // comes before the replacement of the character
			for _, e := range d.Fix.Edits {
				if e.Span.Start == e.Span.End {
					inserted[e.Span.Start] += e.Text
				} else {
					before[e.Span.Start] = e.Text
				}
				for i := e.Span.Start; i < e.Span.End; i++ {
					gone[i] = true
				}
				for i := 2 * e.Span.Start; i <= 2*e.Span.End; i++ {
					taken[i] = true
				}
			}
			for i, text := range inserted {
				before[i] = text + before[i]
			}
		}
		var want strings.Builder
		for i := range size + 1 {
			want.WriteString(before[i])
			if i < size && !gone[i] {
				want.WriteByte(src.Text[i])
			}
		}
		if got != want.String() || applied != made {
			t.Fatalf("%q with %d fixes, want %q with %d", got, applied, want.String(), made)
		}
	})
}

// fits reports whether edits are inside the text, do not overlap, and change it.
func fits(text string, edits []diag.Edit) bool {
	changes := false
	used := make([]bool, len(text))
	for _, e := range edits {
		if e.Span.Start < 0 || e.Span.End < e.Span.Start || e.Span.End > len(text) {
			return false
		}
		changes = changes || text[e.Span.Start:e.Span.End] != e.Text
	}
	for i, e := range edits {
		for j := e.Span.Start; j < e.Span.End; j++ {
			if used[j] {
				return false
			}
			used[j] = true
		}
		for k, o := range edits { // nothing is inserted into removed text
			if i != k && o.Span.Start == o.Span.End && e.Span.Start < o.Span.Start && o.Span.Start < e.Span.End {
				return false
			}
		}
	}
	return changes
}

func meets(taken []bool, edits []diag.Edit) bool {
	for _, e := range edits {
		for i := 2 * e.Span.Start; i <= 2*e.Span.End; i++ {
			if taken[i] {
				return true
			}
		}
	}
	return false
}

// FuzzApply passes hostile spans to all functions that read edits.
func FuzzApply(f *testing.F) {
	f.Add("{\"a\": 1}", 1, 4, "\"b\"", 6, 7, "2")
	f.Add("", -1, 0, "", 1<<62, -1<<62, "x")
	f.Fuzz(func(t *testing.T, text string, start1, end1 int, insert1 string, start2, end2 int, insert2 string) {
		src := diag.NewSource("a", text)
		l := diag.List{fix(src, edit(start1, end1, insert1), edit(start2, end2, insert2)), fix(src, edit(start2, end2, insert2))}
		got, n := diag.Apply(src, l)
		if n == 0 && got != text {
			t.Errorf("no fix, and %q becomes %q", text, got)
		}
		if back := patched(t, text, diag.UnifiedDiff("a", text, got)); back != got {
			t.Errorf("the diff gives %q, not %q", back, got)
		}
	})
}

// TestOrigin checks the offset in the old text for each offset in the new one.
func TestOrigin(t *testing.T) {
	// "abcdef" becomes "aXYcdef!"
	edits := []diag.Edit{{Span: diag.Span{Start: 1, End: 2}, Text: "XY"}, {Span: diag.Span{Start: 6, End: 6}, Text: "!"}}
	for at, want := range []int{0, 1, 1, 2, 3, 4, 5, 6, 6} {
		if got := diag.Origin(at, edits); got != want {
			t.Errorf("offset %d was %d, want %d", at, got, want)
		}
	}
}
