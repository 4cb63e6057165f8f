package diag_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/batchctl/batchctl/pkg/diag"
)

func TestPosition(t *testing.T) {
	src := diag.NewSource("a", "ab\n名c\r\n\nlast")
	for _, c := range []struct{ offset, line, col int }{
		{-5, 1, 1}, {0, 1, 1}, {2, 1, 3}, {3, 2, 1}, {6, 2, 2}, {7, 2, 3}, {9, 3, 1}, {10, 4, 1}, {14, 4, 5}, {99, 4, 5},
	} {
		line, col := src.Position(c.offset)
		if line != c.line || col != c.col {
			t.Errorf("offset %d is at %d:%d, want %d:%d", c.offset, line, col, c.line, c.col)
		}
	}
	for n, want := range []string{"", "ab", "名c", "", "last", ""} {
		if got, _ := src.Line(n); got != want {
			t.Errorf("line %d is %q, want %q", n, got, want)
		}
	}
}

func TestByteOrderMark(t *testing.T) {
	src := diag.NewSource("a", "\ufeffab")
	for offset, want := range map[int]int{0: 1, 1: 1, 3: 1, 4: 2} {
		if line, col := src.Position(offset); line != 1 || col != want {
			t.Errorf("offset %d is at %d:%d, want 1:%d", offset, line, col, want)
		}
	}
	if text, start := src.Line(1); text != "ab" || start != 3 {
		t.Errorf("line 1 is %q at %d", text, start)
	}
}

// TestPositionCounts compares Position with counting.
func TestPositionCounts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.RuneFrom([]rune("a名\n\r"))).Draw(t, "text")
		offset := rapid.IntRange(0, len(text)).Draw(t, "offset")
		before := text[:offset]
		last := before[strings.LastIndexByte(before, '\n')+1:]
		line, col := diag.NewSource("a", text).Position(offset)
		if line != 1+strings.Count(before, "\n") || col != 1+len([]rune(last)) {
			t.Fatalf("offset %d is at %d:%d", offset, line, col)
		}
		if got, start := diag.NewSource("a", text).Line(line); !strings.HasPrefix(got+"\r", last) || start != offset-len(last) {
			t.Fatalf("line %d is %q at %d", line, got, start)
		}
	})
}

func TestErrorForm(t *testing.T) {
	d := mark("{\n  «a»")
	for _, c := range []struct {
		d    diag.Diagnostic
		want string
	}{
		{d, "job.json:2:3: this is wrong [some-rule]"},
		{diag.Diagnostic{Severity: diag.Warning, Source: d.Source, Message: "odd"}, "job.json:1:1: warning: odd"},
		{diag.Diagnostic{Rule: "r", Message: "lost"}, "lost [r]"},
	} {
		if got := c.d.Error(); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

func TestList(t *testing.T) {
	src, other := diag.NewSource("b", "text"), diag.NewSource("a", "text")
	at := func(s *diag.Source, start int, sev diag.Severity, rule, message string) diag.Diagnostic {
		return diag.Diagnostic{Source: s, Span: diag.Span{Start: start, End: start + 1}, Severity: sev, Rule: rule, Message: message}
	}
	want := diag.List{
		{Message: "nowhere"},
		at(other, 3, diag.Error, "z", "first file"),
		at(src, 1, diag.Error, "z", "errors first"),
		at(src, 1, diag.Warning, "a", "rule a"),
		at(src, 1, diag.Warning, "b", "another of rule b"),
		at(src, 1, diag.Warning, "b", "rule b"),
		at(src, 2, diag.Error, "a", "later"),
	}
	got := diag.List{want[6], want[4], want[4], want[5], want[3], want[1], want[2], want[0]}
	got.Sort()
	var a, b []string
	for i := range want {
		a = append(a, want[i].Error())
	}
	for i := range got {
		b = append(b, got[i].Error())
	}
	if diff := cmp.Diff(a, b); diff != "" {
		t.Errorf("sorted (-want +got):\n%s", diff)
	}
	if errors, warnings := got.Count(); errors != 4 || warnings != 3 || !got.HasErrors() || got[3:6].HasErrors() {
		t.Errorf("%d errors and %d warnings", errors, warnings)
	}
}

// TestPositionLongLine compares Position with counting around the stops of a line, between
// characters and inside them.
func TestPositionLongLine(t *testing.T) {
	for _, part := range []string{"ab", "a名", "😀", "\x80", "\xe5\x90", "é\xff"} {
		line := strings.Repeat(part, 10_000/len(part))
		text := "\ufefffirst\n" + line + "\r\nlast\n" + line
		src := diag.NewSource("a", text)
		for n, start := range map[int]int{2: 9, 4: 16 + len(line)} {
			for offset := 0; offset <= len(line); offset += 1 + offset%61 {
				wantCol := 1 + utf8.RuneCountInString(line[:offset])
				if gotLine, col := src.Position(start + offset); gotLine != n || col != wantCol {
					t.Fatalf("%q: offset %d is at %d:%d, want %d:%d", part, offset, gotLine, col, n, wantCol)
				}
			}
			if got, at := src.Line(n); got != line || at != start {
				t.Errorf("%q: line %d has %d bytes at %d", part, n, len(got), at)
			}
		}
	}
}
