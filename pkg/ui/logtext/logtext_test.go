package logtext

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// show writes a line as text: each span with its class in front, as in "[b f1]failed".
func show(l Line) string {
	var b strings.Builder
	for _, s := range l.Spans {
		if s.Class != "" || b.Len() > 0 {
			fmt.Fprintf(&b, "[%s]", s.Class)
		}
		b.WriteString(s.Text)
	}
	return b.String()
}

func TestLine(t *testing.T) {
	for _, test := range []struct{ name, in, want string }{
		{"empty", "", ""},
		{"plain", "a\tb <b>&", "a\tb <b>&"},
		{"non-ASCII", "żółw 日本 🚀", "żółw 日本 🚀"},

		{"attributes", "\x1b[1mb\x1b[2md\x1b[3mi\x1b[4mu\x1b[7mr\x1b[9ms", "[b]b[b d]d[b d i]i[b d i u]u[b d i u r]r[b d i u r s]s"},
		{"attributes off", "\x1b[1;2;3;4;7;9ma\x1b[22mb\x1b[23mc\x1b[24md\x1b[27me\x1b[29mf", "[b d i u r s]a[i u r s]b[u r s]c[r s]d[s]e[]f"},
		{"colours", "\x1b[31mr\x1b[44mb\x1b[39mx\x1b[49my\x1b[97mw\x1b[100mg", "[f1]r[f1 g4]b[g4]x[]y[f15]w[f15 g8]g"},
		{"reset", "\x1b[1;31mx\x1b[my\x1b[32mz\x1b[0mw", "[b f1]x[]y[f2]z[]w"},
		{"empty parameter resets", "\x1b[1mx\x1b[;31my", "[b]x[f1]y"},
		{"RIS resets", "\x1b[1mx\x1bcy", "[b]x[]y"},
		{"equal styles join", "\x1b[1ma\x1b[22;1mb", "[b]ab"},
		{"256 colours", "\x1b[38;5;9ma\x1b[48;5;21mb\x1b[38;5;255mc\x1b[38;5;240md", "[f9]a[f9 g4]b[f7 g4]c[f8 g4]d"},
		{"24-bit colours", "\x1b[38;2;250;5;5ma\x1b[48;2;0;0;0mb", "[f9]a[f9 g0]b"},
		{"colon forms", "\x1b[38:5:10ma\x1b[38:2:0:0:230mb\x1b[38:2::250:250:250mc\x1b[38:2:1:205:0:0:0:0md", "[f10]a[f4]b[f15]c[f1]d"},
		{"a colour and more", "\x1b[38;5;1;1;48;2;0;205;0;4mx", "[b u f1 g2]x"},
		{"underline colour", "\x1b[58;5;1;3mx\x1b[58:2::1:2:3my", "[i]xy"},
		{"kinds of underline", "\x1b[4:3mx\x1b[4:0my\x1b[21mz", "[u]x[]y[u]z"},
		{"incomplete colours", "\x1b[38mx\x1b[38;5my\x1b[38;2;1;2mz\x1b[38;5;256mw\x1b[38:2:1mv\x1b[38;9mu", "xyzwvu"},
		{"huge parameter", "\x1b[99999999999999999999;1mx", "[b]x"},
		{"most parameters", "\x1b[" + strings.Repeat(";", 31) + "1mx\x1b[m\x1b[" + strings.Repeat(";", 32) + "1my", "[b]x[]y"},
		{"parts of other parameters", "\x1b[1:2mx", "x"},
		{"private and intermediate", "\x1b[>4;1ma\x1b[?1mb\x1b[1 mc", "abc"},

		{"cursor", "a\x1b[2Kb\x1b[10;20Hc\x1b[?25ld", "abcd"},
		{"charset, keypad", "a\x1b(Bb\x1b=c\x1b#8d", "abcd"},
		{"title", "a\x1b]0;title\ab\x1b]2;t\x1b\\c", "abc"},
		{"hyperlink", "\x1b]8;;https://example.com\x1b\\text\x1b]8;;\x1b\\", "text"},
		{"DCS, SOS, PM, APC", "a\x1bP1$r0m\x1b\\b\x1bXx\x1b\\c\x1b^x\x1b\\d\x1b_x\x1b\\e", "abcde"},
		{"8-bit forms", "\u009b1mx\u009b0my\u009d0;title\u009cz\u0085w", "[b]x[]yzw"},
		{"unfinished string is text", "a\x1b]0;the rest", "a0;the rest"},
		{"cancelled string", "a\x1b]0;title\x1b[1mb\x1bPx\x18c", "a[b]b␘c"},
		{"unfinished sequences", "a\x1b", "a"},
		{"unfinished CSI", "a\x1b[1;3", "a"},
		{"broken CSI", "a\x1b[1\x01mb", "a␁mb"},
		{"broken CSI before text", "a\x1b[1żm", "ażm"},
		{"broken escape", "a\x1b\x01b\x1b\x1b[1mc", "a␁b[b]c"},

		{"progress", "10%\r20%\r30%", "30%"},
		{"CRLF", "text\r", "text"},
		{"styles before a carriage return", "\x1b[31m10%\r\x1b[1m20%\r\x1b[0m", "[b f1]20%"},
		{"backspace", "ab\b\bc", "abc"},
		{"controls", "\x00\a\n\v\x7f", "␀␇␊␋␡"},
		{"C1", "a\u0080\u0084b", "ab"},
		{"direction", "a\u202eb\u2066\u200f\u061cc\u2029", "a[ctl]<U+202E>[]b[ctl]<U+2066><U+200F><U+061C>[]c[ctl]<U+2029>"},
		{"direction in a style", "\x1b[1ma\u202eb", "[b]a[ctl]<U+202E>[b]b"},
		{"not UTF-8", "a\xff\xc3b\xed\xa0\x80\xc2", "a\ufffd\ufffdb\ufffd\ufffd\ufffd\ufffd"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, show(new(Parser).Line(test.in))); diff != "" {
				t.Errorf("Line(%q) (-want +got):\n%s", test.in, diff)
			}
		})
	}
}

func TestStylesContinue(t *testing.T) {
	var p Parser
	for i, test := range []struct{ in, want string }{
		{"\x1b[1;31mTraceback:", "[b f1]Traceback:"},
		{"  line 1\x1b]0;", "[b f1]  line 10;"},
		{"", ""},
		{"end\x1b[0m.", "[b f1]end[]."},
		{"next", "next"},
	} {
		if got := show(p.Line(test.in)); got != test.want {
			t.Errorf("line %d: %q, want %q", i, got, test.want)
		}
	}
}

func TestCut(t *testing.T) {
	full := strings.Repeat("x", MaxLine)
	for _, test := range []struct {
		name, in, text string
		cut            int
		next           string
	}{
		{"full", full, full, 0, "n"},
		{"full, styles after it", full + "\x1b[1m", full, 0, "[b]n"},
		{"one more", full + "y", full, 1, "n"},
		{"in a run", full[:10] + "\x1b[m" + full, full, 10, "n"},
		{"before a character", full[1:] + "żóx", full[1:], 5, "n"},
		{"before a name", full[3:] + "\u202ex", full[3:], 4, "n"},
		{"styles after the cut", full + "y\x1b[1mż\u009b31mz", full, 13, "[b f1]n"},
		{"string after the cut", full + "y\x1b]0;\x1b[1m\a", full, 10, "[b]n"},
		{"return after the cut", full + "y\r", full, 2, "n"},
		{"text after return", full + "y\x1b[1m\rend", "end", 0, "[b]n"},
		{"cut again after return", full + "y\r" + full + "yz", full, 2, "n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var p Parser
			l := p.Line(test.in)
			if got := visible(l); got != test.text || l.Cut != test.cut {
				t.Errorf("%d bytes of text, %d cut; want %d, %d", len(got), l.Cut, len(test.text), test.cut)
			}
			if got := show(p.Line("n")); got != test.next {
				t.Errorf("next line %q, want %q", got, test.next)
			}
		})
	}
}

func TestJSON(t *testing.T) {
	got, err := json.Marshal([]Line{new(Parser).Line(""), new(Parser).Line("a\x1b[1mb")})
	want := `[{"s":[]},{"s":[{"t":"a"},{"t":"b","c":"b"}]}]`
	if err != nil || string(got) != want {
		t.Errorf("%s, %v; want %s", got, err, want)
	}
}

// TestAllocations checks that a long line costs no more than the text that is kept. Each input would
// allocate much more, or take quadratic time, in a careless parser.
func TestAllocations(t *testing.T) {
	for name, unit := range map[string]string{
		"text": "x", "styles": "\x1b[1m\x1b[38;2;1;2;3m", "styled text": "\x1b[31mx\x1b[32my", "unfinished strings": "\u009d\rx", "cancelled": "\u009dx",
		"progress": "\r\u202e",
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.Repeat(unit, (1<<20)/len(unit))
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			new(Parser).Line(text)
			runtime.ReadMemStats(&after)
			// At most one span, with a Class, for each byte of text.
			if got, most := after.TotalAlloc-before.TotalAlloc, uint64(MaxLine*160); got > most {
				t.Errorf("allocated %d bytes, at most %d", got, most)
			}
		})
	}
}

func visible(l Line) string {
	var b strings.Builder
	for _, s := range l.Spans {
		b.WriteString(s.Text)
	}
	return b.String()
}

// checkLine checks what holds for every line.
func checkLine(t interface{ Fatalf(string, ...any) }, in string, l Line) {
	text := visible(l)
	switch {
	case !utf8.ValidString(text):
		t.Fatalf("%q is not UTF-8", text)
	case len(text) > MaxLine:
		t.Fatalf("%d bytes of text", len(text))
	case l.Cut < 0 || l.Cut > len(in):
		t.Fatalf("%d of %d bytes cut", l.Cut, len(in))
	case l.Cut > 0 && len(text) <= MaxLine-len("<U+202E>"):
		t.Fatalf("cut after %d bytes", len(text))
	}
	for _, r := range text {
		if r < ' ' && r != '\t' || r >= 0x7f && r < 0xa0 || layoutNames[r] != "" {
			t.Fatalf("%q contains %U", text, r)
		}
	}
	for i, s := range l.Spans {
		if s.Text == "" || i > 0 && s.Class == l.Spans[i-1].Class {
			t.Fatalf("span %d of %+v is empty or continues the one before it", i, l.Spans)
		}
	}
}

// input draws text with many escape sequences.
var input = rapid.Custom(func(t *rapid.T) string {
	parts := rapid.SliceOfN(rapid.OneOf(
		rapid.String(),
		rapid.SampledFrom([]string{"\x1b", "\x1b[", "\x1b]", "\x1bP", "\a", "\x1b\\", "\u009b", "\u009d", "\u009c", "\r", "\b", "m", ";", ":", "38", "5",
			"\u202e", "\xff", "\xc2", strings.Repeat("x", 5000), strings.Repeat("ż", 3000)}),
		rapid.StringMatching(`\x1b\[[0-9;:]{0,12}m`),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 8), func(b []byte) string { return string(b) }),
	), 0, 20).Draw(t, "parts")
	return strings.Join(parts, "")
})

func TestProperties(t *testing.T) {
	t.Run("any input", rapid.MakeCheck(func(t *rapid.T) {
		var p Parser
		for _, in := range rapid.SliceOfN(input, 1, 3).Draw(t, "lines") {
			checkLine(t, in, p.Line(in))
		}
	}))
	t.Run("text without controls", rapid.MakeCheck(func(t *rapid.T) {
		in := strings.Map(func(r rune) rune {
			if r < ' ' && r != '\t' || r >= 0x7f && r < 0xa0 || layoutNames[r] != "" {
				return '.'
			}
			return r
		}, rapid.String().Draw(t, "text"))
		if l := new(Parser).Line(in); visible(l) != in || len(l.Spans) > 1 || l.Cut != 0 {
			t.Fatalf("%+v", l)
		}
	}))
	// Escape sequences that are complete change the styles only, wherever they are.
	t.Run("sequences between text", rapid.MakeCheck(func(t *rapid.T) {
		sequence := rapid.SampledFrom([]string{"\x1b[1m", "\x1b[38;5;200m", "\x1b[K", "\x1b]0;t\a", "\x1b(B", "\x1bPx\x1b\\", "\u009b0m"})
		var in, want strings.Builder
		for range rapid.IntRange(0, 10).Draw(t, "parts") {
			part := rapid.StringMatching(`[a-z ;ż]{0,5}`).Draw(t, "text")
			in.WriteString(part + sequence.Draw(t, "sequence"))
			want.WriteString(part)
		}
		if got := visible(new(Parser).Line(in.String())); got != want.String() {
			t.Fatalf("%q, want %q", got, want.String())
		}
	}))
	// After a cut, the styles are those of a parser that has seen the same text in short lines.
	t.Run("styles after a cut", rapid.MakeCheck(func(t *rapid.T) {
		in := input.Draw(t, "text")
		var short, long Parser
		short.Line(in)
		long.Line(strings.Repeat("x", MaxLine+1) + in)
		if short.style != long.style {
			t.Fatalf("%+v, want %+v", long.style, short.style)
		}
	}))
}

func FuzzLine(f *testing.F) {
	f.Add("plain text", "\x1b[1;38;5;208mwarning\x1b[0m")
	f.Add("10%\r20%\x1b[K", "\x1b]8;;u\x1b\\x\x1b]8;;\a\u202e\xff")
	f.Add("\u009d\x1b\u009b:::m\x18", strings.Repeat("ż\x1b[4:3m", 3000))
	f.Fuzz(func(t *testing.T, first, second string) {
		var p Parser
		checkLine(t, first, p.Line(first))
		checkLine(t, second, p.Line(second))
	})
}

func BenchmarkLine(b *testing.B) {
	const size = 10 << 20
	for name, unit := range map[string]string{
		"text": "x", "non-ASCII": "日本", "styles": "\x1b[1m\x1b[38;2;1;2;3m", "progress": "\r[####    ] 50%", "unfinished strings": "\u009d\x1b]",
	} {
		b.Run(name, func(b *testing.B) {
			text := strings.Repeat(unit, size/len(unit))
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				new(Parser).Line(text)
			}
		})
	}
}
