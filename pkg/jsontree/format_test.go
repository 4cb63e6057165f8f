package jsontree

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/batchctl/batchctl/pkg/diag"
)

func TestFormat(t *testing.T) {
	tests := []struct{ in, want string }{
		{`{}`, `{}`},
		{`[]`, `[]`},
		{`3.10`, `3.10`},
		{`"a\u0007\/é"`, `"a\u0007/é"`},
		{`[1,[2,{}]]`, `[1, [2, {}]]`},
		{`{"a":1}`, "{\n  \"a\": 1\n}"},
		{`{"a":{"b":1,"c":[1,2]},"d":[{"e":1},{"f":null}]}`, `{
  "a": { "b": 1, "c": [1, 2] },
  "d": [
    { "e": 1 },
    { "f": null }
  ]
}`},
		{`{"a":{"b":{"c":1}},"d":{"e":[{"f":1}]},"g":{"h":{}}}`, `{
  "a": {
    "b": { "c": 1 }
  },
  "d": {
    "e": [{ "f": 1 }]
  },
  "g": { "h": {} }
}`},
		{`{"list":["aaaaaaaaaa","bbbbbbbbbb"],"f":1}`, `{
  "list": ["aaaaaaaaaa", "bbbbbbbbbb"],
  "f": 1
}`},
		{`{"list":["aaaaaaaaaa","bbbbbbbbbbb"],"f":1}`, `{
  "list": [
    "aaaaaaaaaa",
    "bbbbbbbbbbb"
  ],
  "f": 1
}`},
		{`{"f":1,"list":["aaaaaaaaaa","bbbbbbbbbbb"]}`, `{
  "f": 1,
  "list": ["aaaaaaaaaa", "bbbbbbbbbbb"]
}`},
		{`{"list":["ääääääääää","bbbbbbbbbb"],"f":1}`, `{
  "list": ["ääääääääää", "bbbbbbbbbb"],
  "f": 1
}`},
		{`[{"a":{"b":1}}]`, `[
  {
    "a": { "b": 1 }
  }
]`},
	}
	for _, tt := range tests {
		n, _ := Parse(diag.NewSource("x", tt.in))
		if d := cmp.Diff(tt.want+"\n", Format(n, 39)); d != "" {
			t.Errorf("%s (-want +got):\n%s", tt.in, d)
		}
	}
}

// TestFormatOfTheJobs checks that the reference jobs have the layout of Format in 120
// columns.
func TestFormatOfTheJobs(t *testing.T) {
	files, err := filepath.Glob("../../jobs/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		n, _ := Parse(diag.NewSource(file, string(text)))
		if d := cmp.Diff(string(text), Format(n, 120)); d != "" {
			t.Errorf("%s (-want +got):\n%s", file, d)
		}
	}
}

func TestAnyFormat(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := NewArray(nil)
		for range 20 {
			n.Append(anyTree(t, 5))
		}
		width := rapid.IntRange(-1, 60).Draw(t, "width")
		text := Format(n, width)
		back, diags := Parse(diag.NewSource("x", text))
		for _, d := range diags {
			if d.Rule != RuleDuplicate {
				t.Fatalf("%s\n%v", text, d)
			}
		}
		if got, want := string(back.AppendJSON(nil)), string(n.AppendJSON(nil)); got != want {
			t.Fatalf("%s\nbecame\n%s", want, got)
		}
		if again := Format(back, width); again != text {
			t.Fatalf("%s\nwas formatted again:\n%s", text, again)
		}
		for line := range strings.Lines(text) {
			if wide := utf8.RuneCountInString(line) - 1; wide > width && several(line) {
				t.Fatalf("a line of %d columns, where %d are allowed: %s", wide, width, line)
			}
		}
	})
}

// several reports whether a line contains an array or object that is not empty, so that it
// could have been split.
func several(line string) bool {
	body := strings.Trim(line, " \n,")
	for _, wrapped := range []string{"[" + body + "]", "{" + body + "}"} {
		if n, diags := Parse(diag.NewSource("x", wrapped)); len(diags) == 0 {
			return first(n).Len() > 0
		}
	}
	return false
}

func first(n *Node) *Node {
	for c := range n.Children() {
		return c
	}
	return nil
}

// anyTree draws a tree of all kinds of values.
func anyTree(t *rapid.T, depth int) *Node {
	kinds := []Kind{Object, Array, String, Number, Bool, Null}
	if depth == 0 {
		kinds = kinds[2:]
	}
	kind := rapid.SampledFrom(kinds).Draw(t, "kind")
	n := &Node{Kind: kind}
	switch kind {
	case Bool:
		n.Text = rapid.SampledFrom([]string{"true", "false"}).Draw(t, "text")
	case Number:
		n.Text = rapid.SampledFrom([]string{"0", "-1", "1.50", "1e9"}).Draw(t, "text")
	case String:
		n.Text = rapid.StringN(0, 12, -1).Draw(t, "text")
	case Array, Object:
		for range rapid.IntRange(0, 5).Draw(t, "children") {
			child := anyTree(t, depth-1)
			if kind == Object {
				child.Name = rapid.StringN(0, 8, -1).Draw(t, "name")
			}
			n.Append(child)
		}
	}
	return n
}
