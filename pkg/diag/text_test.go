package diag_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/testtool/golden"
)

// expect compares got with a file of an archive in testdata, or rewrites that.
func expect(t *testing.T, archive, name, got string) {
	t.Helper()
	golden.Read(t, filepath.Join("testdata", archive+".txtar")).Want(t, name, got)
}

// mark returns a problem at the part of text between « and », which it removes.
func mark(text string) diag.Diagnostic {
	start := strings.Index(text, "«")
	text = strings.Replace(text, "«", "", 1)
	end := strings.Index(text, "»")
	text = strings.Replace(text, "»", "", 1)
	return diag.Diagnostic{
		Rule: "some-rule", Source: diag.NewSource("job.json", text),
		Span: diag.Span{Start: start, End: end}, Message: "this is wrong", Hint: "fix it",
	}
}

func TestWriteText(t *testing.T) {
	long := strings.Repeat(`"abcdefgh", `, 40)
	plain := mark("{\n  \"memory\": «\"2\"»,\n}")
	warning, noHint, nowhere, hostile := plain, plain, plain, plain
	warning.Severity = diag.Warning
	noHint.Hint = ""
	nowhere.Source = nil
	hostile.Message, hostile.Hint, hostile.Rule = "a\x1b[31mb\nc", "\u202eevil\u009b", "r\x07"
	hostile.Source = diag.NewSource("a\nb.json", hostile.Source.Text)

	for _, c := range []struct {
		name  string
		width int
		list  diag.List
	}{
		{"plain", 0, diag.List{plain, warning, noHint, nowhere}},
		{"gutter", 0, diag.List{mark(strings.Repeat("\n", 8) + "«a»"), mark(strings.Repeat("\n", 99) + "«a»")}},
		{"tabs", 0, diag.List{mark("\t\t\"a\":\t«tru»,"), mark("x\t«a\tb»")}},
		{"wide", 0, diag.List{mark(`"名前": «"値"», "b"`), mark(`"é́": «1»`), mark(`"😀": «"👩‍💻"»`)}},
		{"edges", 0, diag.List{mark("«»"), mark("{\n«»"), mark("{«»"), mark("«{\n}»"), mark("a«\n»b"), mark("a\r\n«bc»\r\n"), mark("\ufeff«a»")}},
		{"control", 0, diag.List{hostile, mark("a\x1b[2J\x7f«b\x00»\u0085\u202e\xff c"), mark("\u00a0«\u2028»")}},
		{"long", 0, diag.List{mark("[" + long + "«\"here\"», " + long + "]"), mark("[«1», " + long + "]"), mark("[" + long + "«1»]"), mark("[«" + long + "»]")}},
		{"narrow", 60, diag.List{mark("[" + long + "«\"here\"», " + long + "]"), mark("[" + strings.Repeat("名", 99) + "«\"値\"»" + strings.Repeat("\t", 99))}},
		{"tiny", 1, diag.List{mark("[" + long + "«\"here\"», " + long + "]")}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var b strings.Builder
			if err := diag.WriteText(&b, c.list, diag.TextOptions{Width: c.width}); err != nil {
				t.Fatal(err)
			}
			expect(t, "text", c.name, b.String())
		})
	}
}

func TestWriteTextColor(t *testing.T) {
	d := mark("{\n\t\"memory\": «\"2\"»,\n}")
	warning := d
	warning.Severity = diag.Warning
	var color, plain bytes.Buffer
	if err := diag.WriteText(&color, diag.List{d, warning}, diag.TextOptions{Color: true}); err != nil {
		t.Fatal(err)
	}
	expect(t, "text", "color", strings.ReplaceAll(color.String(), "\x1b", "^["))
	if err := diag.WriteText(&plain, diag.List{d, warning}, diag.TextOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := withoutSGR(color.String()); got != plain.String() {
		t.Errorf("colour changes the text:\n%s", cmp.Diff(plain.String(), got))
	}
}

// withoutSGR removes the colour codes that WriteText may use.
func withoutSGR(s string) string {
	for _, code := range []string{"0", "1", "31", "33", "36"} {
		s = strings.ReplaceAll(s, "\x1b["+code+"m", "")
	}
	return s
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, os.ErrClosed }

func TestWriteErrors(t *testing.T) {
	l := diag.List{mark("«a»")}
	if err := diag.WriteText(brokenPipe{}, l, diag.TextOptions{}); err != os.ErrClosed {
		t.Errorf("WriteText: %v", err)
	}
	if err := diag.WriteJSON(brokenPipe{}, l); err != os.ErrClosed {
		t.Errorf("WriteJSON: %v", err)
	}
}

// FuzzWriteText checks that for any text and span, the output cannot control a terminal.
func FuzzWriteText(f *testing.F) {
	f.Add("{\n\t\"a\": 1}\r\n", "message", 3, 6, 0, false)
	f.Add("\x1b[2J\u202e\u0085\xff名\u0301", "a\nb", 1, 400, 7, true)
	f.Add(strings.Repeat("a\t", 300), "", 301, 302, 80, true)
	f.Fuzz(func(t *testing.T, text, message string, start, end, width int, color bool) {
		d := diag.Diagnostic{Source: diag.NewSource(message, text), Rule: message, Message: message, Hint: message,
			Span: diag.Span{Start: start, End: end}}
		var out strings.Builder
		if err := diag.WriteText(&out, diag.List{d}, diag.TextOptions{Color: color, Width: width}); err != nil {
			t.Fatal(err)
		}
		got := out.String()
		if color {
			got = withoutSGR(got)
		}
		checkRunes(t, got, "\n\t")
		lines := strings.Split(got, "\n")
		if len(lines) < 4 || !strings.Contains(lines[2], "^") {
			t.Errorf("no caret in %q", got)
		}

		var records strings.Builder
		if err := diag.WriteJSON(&records, diag.List{d}); err != nil {
			t.Fatal(err)
		}
		checkRunes(t, records.String(), "\n")
		checkRunes(t, d.Error(), "")
	})
}

// checkRunes fails for every character in s that neither prints nor is allowed.
func checkRunes(t *testing.T, s, allowed string) {
	t.Helper()
	if !utf8.ValidString(s) {
		t.Errorf("invalid UTF-8 in %q", s)
	}
	for _, r := range s {
		if !unicode.IsPrint(r) && !strings.ContainsRune(allowed, r) {
			t.Errorf("%q in %q", r, s)
		}
	}
}

// TestCaretColumns prints a problem in all kinds of surroundings, and checks that the
// caret is in its column.
func TestCaretColumns(t *testing.T) {
	for _, before := range []string{"", "abc", "名前", "e\u0301", "\t\t", "a\tb\t", "\x1b", "\u202e", "\xff"} {
		d := mark(before + "«X»YZ")
		var b strings.Builder
		if err := diag.WriteText(&b, diag.List{d}, diag.TextOptions{}); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(b.String(), "\n")
		source, carets := lines[1], lines[2]
		if got, want := screenColumn(carets, "^"), screenColumn(source, "X"); got != want {
			t.Errorf("after %q the caret is in column %d, the place in %d:\n%s", before, got, want, b.String())
		}
	}
}

// screenColumn returns where a terminal with tab stops of 8 shows mark.
func screenColumn(line, mark string) int {
	col := 0
	for _, r := range line[:strings.Index(line, mark)] {
		switch {
		case r == '\t':
			col += 8 - col%8
		case unicode.Is(unicode.Mn, r):
		case slices.Contains([]rune("名前"), r):
			col += 2
		default:
			col++
		}
	}
	return col
}
