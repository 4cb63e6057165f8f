package jsontree_test

import (
	"bytes"
	"encoding/json"
	"io"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

func parse(text string) (*jsontree.Node, diag.List) {
	return jsontree.Parse(diag.NewSource("job.json", text))
}

// FuzzParse compares Parse with encoding/json: both accept the same texts, except those
// that Parse rejects on purpose, and return the same values.
func FuzzParse(f *testing.F) {
	for _, c := range verdicts {
		f.Add(c.text)
	}
	for _, c := range slips {
		f.Add(c.text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		root, list := parse(text)
		checkSpans(t, text, root, list)
		want, err := decode(text)
		switch {
		case len(list) == 0 && err != nil:
			t.Fatalf("no error for %q, encoding/json: %v", text, err)
		case len(list) == 0:
			if got := root.Value(); !reflect.DeepEqual(got, want) {
				t.Fatalf("%q has the value %#v, want %#v", text, got, want)
			}
		case err == nil && !refusedOnPurpose(text):
			t.Fatalf("errors for valid JSON %q: %v", text, list)
		}
		if root == nil {
			return
		}
		again, list := parse(string(root.AppendJSON(nil)))
		if first, second := root.Value(), again.Value(); !reflect.DeepEqual(first, second) {
			t.Fatalf("%q changes on the way out and in: %#v, then %#v", text, first, second)
		}
		for _, d := range list {
			if d.Rule != "json-duplicate-name" {
				t.Fatalf("%q is written as invalid JSON: %v", text, d)
			}
		}
	})
}

func decode(text string) (v any, err error) {
	dec := json.NewDecoder(strings.NewReader(strings.TrimPrefix(text, "\ufeff")))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, io.ErrUnexpectedEOF
	}
	return v, nil
}

// refusedOnPurpose reports whether a valid text contains something that Parse reports as
// an error: invalid UTF-8, a lone surrogate, a duplicate name, deep nesting.
func refusedOnPurpose(text string) bool {
	if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		return true
	}
	dec := json.NewDecoder(strings.NewReader(strings.TrimPrefix(text, "\ufeff")))
	type level struct {
		names map[string]bool // nil for an array
		name  bool            // use next
	}
	var open []level
	for {
		tok, err := dec.Token()
		if err != nil {
			return false
		}
		if s, ok := tok.(string); ok && strings.ContainsRune(s, utf8.RuneError) {
			return true // perhaps a lone surrogate
		}
		top := len(open) - 1
		isName := top >= 0 && open[top].name
		switch d, _ := tok.(json.Delim); {
		case d == '{':
			open = append(open, level{map[string]bool{}, true})
		case d == '[':
			open = append(open, level{})
		case d != 0:
			open = open[:top]
			isName = false
		case isName:
			if open[top].names[tok.(string)] {
				return true
			}
			open[top].names[tok.(string)] = true
		}
		if d, _ := tok.(json.Delim); d == '{' || d == '[' {
			if len(open) > 100 {
				return true
			}
			continue
		}
		if top = len(open) - 1; top >= 0 && open[top].names != nil {
			open[top].name = !isName
		}
	}
}

// checkSpans fails if a location is outside the text or outside its parent.
func checkSpans(t *testing.T, text string, root *jsontree.Node, list diag.List) {
	t.Helper()
	whole := diag.Span{End: len(text)}
	inside := func(what string, s, in diag.Span) {
		if s.Start > s.End || s.Start < in.Start || s.End > in.End {
			t.Fatalf("%s: span %v is not within %v in %q", what, s, in, text)
		}
	}
	for _, d := range list {
		inside(d.Message, d.Span, whole)
	}
	var walk func(n *jsontree.Node, in diag.Span)
	walk = func(n *jsontree.Node, in diag.Span) {
		inside("value", n.Span, in)
		if n.Key != (diag.Span{}) {
			inside("name", n.Key, in)
		}
		for c := range n.Children() {
			walk(c, n.Span)
		}
	}
	if root != nil {
		walk(root, whole)
	}
}

func FuzzAppendJSON(f *testing.F) {
	f.Add("a<b>&\u2028\"\\\x00\x7f\xff")
	f.Fuzz(func(t *testing.T, s string) {
		b := jsontree.NewString(s, nil).AppendJSON(nil)
		var got string
		if err := json.Unmarshal(b, &got); err != nil {
			t.Fatalf("%s: %v", b, err)
		}
		if want := strings.ToValidUTF8(s, "\ufffd"); utf8.ValidString(s) && got != want {
			t.Errorf("%q comes back as %q", s, got)
		}
		if bytes.ContainsAny(b, "\n\r\x00") {
			t.Errorf("%q is not one printable line", b)
		}
	})
}
