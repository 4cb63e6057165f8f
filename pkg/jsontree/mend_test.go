package jsontree

import (
	"strings"
	"testing"

	"github.com/batchctl/batchctl/pkg/diag"
)

// TestRepairOfSlips applies the fixes of slips, and checks that the result parses.
func TestRepairOfSlips(t *testing.T) {
	long := strings.Repeat("long", 50)
	for in, want := range map[string]string{
		`{"a": 1,}`:                      `{"a": 1}`,
		`[1, 2,,]`:                       `[1, 2]`,
		`[1,, 2]`:                        `[1, 2]`,
		`{"a": 1 "b": 2}`:                `{"a": 1, "b": 2}`,
		`{"a" = 1; "b": 2}`:              `{"a" : 1, "b": 2}`,
		`{"a" 1}`:                        `{"a": 1}`,
		`{a: 'x', b: True}`:              `{"a": "x", "b": true}`,
		`{"a": 007, "b": nginx:1}`:       `{"a": 7, "b": "nginx:1"}`,
		`['` + long + `', ` + long + `]`: `["` + long + `", "` + long + `"]`,
		`{"a": [1, 2}`:                   `{"a": [1, 2}`, // only the author knows which bracket is right
	} {
		src := diag.NewSource("t", in)
		_, list := Parse(src)
		got, _ := diag.Apply(src, list)
		if _, left := Parse(diag.NewSource("t", got)); got != want {
			t.Errorf("%s becomes %s, want %s (left: %v)", in, got, want, left)
		}
	}
}

// TestRepairKeepsPromises checks for broken texts which of their fixes Repair applies: those that are marked as
// automatic, and no others.
func TestRepairKeepsPromises(t *testing.T) {
	for in, want := range map[string]string{
		`{"a": ["sh", "echo \"$HOME\" <in",]}`:       `{"a": ["sh", "echo \"$HOME\" <in"]}`,
		`{'a': ['sh', 'echo $HOME {{ x }} %NAME%']}`: `{"a": ["sh", "echo $HOME {{ x }} %NAME%"]}`,
		`{'$schema': "x", 'a': “$b”,}`:               `{"$schema": "x", "a": "$b"}`,
		`{"a": undefined}`:                           `{"a": null}`,
		"{ // $HOME <x>\n'a': 1, /* {{ */ }":         "{ // $HOME <x>\n\"a\": 1 /* {{ */ }",
		`{"a": {{ x }}, 'b': 1,}`:                    `{"a": {{ x }}, 'b': 1,}`,
		`{"a": 1, {% if x %} 'b': 1,}`:               `{"a": 1, {% if x %} 'b': 1,}`,
	} {
		src := diag.NewSource("t", in)
		_, list := Parse(src)
		got, applied := Repair(src, list)
		for len(applied) > 0 {
			next := diag.NewSource("t", got)
			_, left := Parse(next)
			got, applied = Repair(next, left)
		}
		if got != want {
			t.Errorf("%s becomes %s, want %s", in, got, want)
		}
		if in == want && list.Fixable() > 0 {
			t.Errorf("%s: marked as fixable: %v", in, list)
		}
	}
}

// FuzzRepair checks for any text that the fixes together leave fewer slips, and that the
// rounds come to an end.
func FuzzRepair(f *testing.F) {
	for _, s := range []string{`{"a": 1,}`, `[1 2]`, `{a: 'b'}`, `{"a" = "b";}`, `[.5, 1., +3]`, `{"a": [1,}`, `{,]`, "{\"\n\"\"a\"\": \"b\",\n\"c\": {}}", "{{}//\n\"\": 1}", strings.Repeat("a ", 300)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		src := diag.NewSource("t", text)
		_, list := Parse(src)
		for {
			text, n := diag.Apply(src, list)
			if n == 0 {
				return
			}
			next := diag.NewSource("t", text)
			_, left := Parse(next)
			if !remains(next, left).less(remains(src, list)) {
				t.Fatalf("%q becomes %q\n%v\n%v", src.Text, text, list, left)
			}
			src, list = next, left
		}
	})
}

// TestRepairEnds checks that each round leaves fewer slips, so that no round repeats an
// edit. The fix of one slip can depend on that of another; alone, it would change a value.
func TestRepairEnds(t *testing.T) {
	for _, text := range []string{
		"{\n  \"name\": \"x\",\n  \"fairsharePolicy\": \"xxxxx\"\n    ]\"\n . }\n}\n|\n",
		"{\"a\": 1 ]\"\n . }}|",
		"{\"a\" .5 \"b\n}",
	} {
		src := diag.NewSource("t", text)
		for rounds := 0; ; rounds++ {
			_, list := Parse(src)
			next, made := Repair(src, list)
			if len(made) == 0 {
				break
			}
			_, left := Parse(diag.NewSource("t", next))
			if !remains(src, left).less(remains(src, list)) || rounds > 10 {
				t.Fatalf("%q becomes %q by %v", src.Text, next, made)
			}
			src = diag.NewSource("t", next)
		}
	}
}
