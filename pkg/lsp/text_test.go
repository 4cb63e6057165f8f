package lsp

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/batchctl/batchctl/pkg/diag"
)

func TestPositions(t *testing.T) {
	const s = "a🎉b\r\né\rx\n\n漢"
	for _, test := range []struct {
		offset int
		u16    position
		u8     position
	}{
		{0, position{0, 0}, position{0, 0}},
		{1, position{0, 1}, position{0, 1}},
		{5, position{0, 3}, position{0, 5}},
		{6, position{0, 4}, position{0, 6}},
		{8, position{1, 0}, position{1, 0}},
		{10, position{1, 1}, position{1, 2}},
		{11, position{2, 0}, position{2, 0}},
		{13, position{3, 0}, position{3, 0}},
		{14, position{4, 0}, position{4, 0}},
		{17, position{4, 1}, position{4, 3}},
	} {
		text := newText(s)
		if got := text.position(test.offset, utf16Encoding); got != test.u16 {
			t.Errorf("utf-16 of %d: %v, want %v", test.offset, got, test.u16)
		}
		if got := text.position(test.offset, utf8Encoding); got != test.u8 {
			t.Errorf("utf-8 of %d: %v, want %v", test.offset, got, test.u8)
		}
		if got := text.offset(test.u16, utf16Encoding); got != test.offset {
			t.Errorf("offset of utf-16 %v: %d, want %d", test.u16, got, test.offset)
		}
		if got := text.offset(test.u8, utf8Encoding); got != test.offset {
			t.Errorf("offset of utf-8 %v: %d, want %d", test.u8, got, test.offset)
		}
	}
}

func TestPositionsOutside(t *testing.T) {
	text := newText("a🎉b\r\nc")
	for p, want := range map[position]int{
		{-1, 5}: 0, {0, -1}: 0, {0, 2}: 1, {0, 99}: 6, {1, 99}: 9, {2, 0}: 9, {99, 99}: 9,
	} {
		if got := text.offset(p, utf16Encoding); got != want {
			t.Errorf("%v: %d, want %d", p, got, want)
		}
	}
	if got := text.offset(position{0, 3}, utf8Encoding); got != 1 {
		t.Errorf("inside of a character: %d", got)
	}
	if got := text.position(99, utf16Encoding); got != (position{1, 1}) {
		t.Errorf("past the end: %v", got)
	}
}

func texts() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "é", "漢", "🎉", "\n", "\r\n", "\r", `"`}), 0, 20).Draw(t, "pieces"), "")
	})
}

// TestPositionsThereAndBack checks that the start of each character survives the
// conversion in both directions, except between \r and \n, where no position is.
func TestPositionsThereAndBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := texts().Draw(t, "text")
		text := newText(s)
		for offset := range len(s) + 1 {
			inside := offset < len(s) && !utf8.RuneStart(s[offset])
			if inside || offset > 0 && offset < len(s) && s[offset-1:offset+1] == "\r\n" {
				continue
			}
			for _, e := range []encoding{utf8Encoding, utf16Encoding} {
				if got := text.offset(text.position(offset, e), e); got != offset {
					t.Fatalf("%s: %d becomes %v becomes %d", e, offset, text.position(offset, e), got)
				}
			}
		}
	})
}

// FuzzChanges checks that the server's text after any changes is that of an editor that
// keeps UTF-16 units.
func FuzzChanges(f *testing.F) {
	f.Add("a🎉b\r\nc", 0, 1, 0, 3, "x", 1, 0, 5, 5, "é\r")
	f.Add("{\n}", 0, 1, 1, 0, `"name": "a"`, 0, 0, 0, 0, "\n")
	f.Add("\r\n\r", 0, 0, 1, 0, "", 9, 9, -1, -1, "🎉")
	f.Fuzz(func(t *testing.T, s string, l1, c1, l2, c2 int, new1 string, l3, c3, l4, c4 int, new2 string) {
		s, new1, new2 = strings.ToValidUTF8(s, "?"), strings.ToValidUTF8(new1, "?"), strings.ToValidUTF8(new2, "?")
		for _, n := range []*int{&l1, &c1, &l2, &c2, &l3, &c3, &l4, &c4} {
			*n = max(0, *n) // the protocol has no others
		}
		changes := []contentChange{
			{Range: &textRange{position{l1, c1}, position{l2, c2}}, Text: new1},
			{Range: &textRange{position{l3, c3}, position{l4, c4}}, Text: new2},
		}
		got := newText(s).apply(changes, utf16Encoding)
		want := s
		for _, c := range changes {
			want = splice(want, *c.Range, c.Text)
		}
		if got.s != want {
			t.Errorf("%q after %s: %q, the editor has %q", s, jsonOf(changes), got.s, want)
		}
		if !utf8.ValidString(got.s) {
			t.Errorf("%q: a character was cut", got.s)
		}
	})
}

func TestTurnedRange(t *testing.T) {
	text := newText("abcd")
	if got := text.rangeToSpan(textRange{position{0, 3}, position{0, 1}}, utf16Encoding); got != (diag.Span{Start: 1, End: 3}) {
		t.Errorf("got %v", got)
	}
}
