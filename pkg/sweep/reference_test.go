package sweep

import (
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestReferences(t *testing.T) {
	for text, want := range map[string][]string{
		"":                     nil,
		"lr":                   nil,
		"${{ matrix.lr }}":     {"lr"},
		"${{matrix.lr}}":       {"lr"},
		"${{\t matrix.lr  }}x": {"lr"},
		"a${{matrix.lr}}b${{ matrix.learning-rate }}c": {"lr", "learning-rate"},
		"${{ matrix.l r }}":                            {"l r"},
		"${{ matrix. }}":                               {""},
		"${{ matrix. lr }}":                            {" lr"},
		"${{ matrix.1 }}":                              {"1"},
		"${{ env.HOME }}":                              nil,
		"${{ matrix }}":                                nil,
		"$${{ matrix.lr }}}":                           {"lr"},
		"${{ matrix.lr }":                              nil,
		"${{ ${{ matrix.lr }} }}":                      {"lr"},
		"${{ matrix.a ${{matrix.b}}":                   {"b"},
		"{{ matrix.lr }} ${ {matrix.lr}}":              nil,
	} {
		var got []string
		for _, m := range References(text) {
			got = append(got, m.Name)
			if ref := text[m.From:m.To]; !strings.HasPrefix(ref, "${{") || !strings.HasSuffix(ref, "}}") || !strings.Contains(ref, m.Name) {
				t.Errorf("%q: the bytes of %q are %q", text, m.Name, ref)
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestCanonical(t *testing.T) {
	for text, want := range map[string]string{
		"--lr=${{matrix.lr}} ${{  matrix.seed}}": "--lr=${{ matrix.lr }} ${{ matrix.seed }}",
		"${{matrix.l r}} ${{matrix.lr}}":         "${{matrix.l r}} ${{ matrix.lr }}",
		"${{env.X}}":                             "${{env.X}}",
		"${{ matrix.lr }}":                       "${{ matrix.lr }}",
	} {
		if got := Canonical(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// TestCanonicalIsReplaced checks that launchers replace every reference with a known name that
// References finds, after Canonical has rewritten it.
func TestCanonicalIsReplaced(t *testing.T) {
	s := &Sweep{Kind: Table, Names: []string{"lr", "seed"}, Rows: [][]string{{"[" + Reference("seed") + "]", "2"}}}
	rapid.Check(t, func(t *rapid.T) {
		text := Canonical(text(8).Draw(t, "text"))
		if again := Canonical(text); again != text {
			t.Fatalf("%q becomes %q", text, again)
		}
		var want strings.Builder
		at := 0
		for _, m := range References(text) {
			if i := map[string]int{"lr": 1, "seed": 2}[m.Name]; i > 0 {
				want.WriteString(text[at:m.From] + s.Rows[0][i-1])
				at = m.To
			}
		}
		want.WriteString(text[at:])
		if got := s.Replace(0, text); got != want.String() {
			t.Fatalf("%q becomes %q, want %q", text, got, want.String())
		}
	})
}

func TestNames(t *testing.T) {
	for name, want := range map[string]bool{"lr": true, "_": true, "Learning-Rate_2": true, "": false, "-a": false, "1a": false, "a b": false, "é": false, "a.b": false} {
		if ValidName(name) != want {
			t.Errorf("name %q: %v", name, !want)
		}
	}
	for name, want := range map[string]bool{"OUT": true, "_": true, "_ab": true, "a1": true, "_a": false, "_Z": false, "a-b": false, "1": false, "": false, "my.var": false} {
		if ValidVariable(name) != want {
			t.Errorf("variable %q: %v", name, !want)
		}
	}
	if i, j, ok := Clash([]string{"a", "l-r", "b", "L_R"}); !ok || i != 1 || j != 3 {
		t.Errorf("%d, %d, %v", i, j, ok)
	}
	if _, _, ok := Clash([]string{"a", "b"}); ok {
		t.Error("a clash of a and b")
	}
}

func TestSplitLines(t *testing.T) {
	for text, want := range map[string][]string{
		"":               nil,
		"\n":             {""},
		"a":              {"a"},
		"a\r\n\r\n\nb\r": {"a", "", "", "b"},
		"a\rb\n":         {"a\rb"},
	} {
		if got := SplitLines(text); !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
