package diag_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/batchctl/batchctl/pkg/diag"
)

// baseline writes the list as a baseline and reads it again.
func baseline(t failer, l diag.List) *diag.Baseline {
	t.Helper()
	var b strings.Builder
	if err := diag.WriteBaseline(&b, l); err != nil {
		t.Fatalf("write: %v", err)
	}
	base, err := diag.ReadBaseline(strings.NewReader(b.String()))
	if err != nil {
		t.Fatalf("read: %v in %s", err, b.String())
	}
	return base
}

// neverRenamed is for rules without a former name.
func neverRenamed(string) []string { return nil }

// A baseline from before a rule was renamed still covers its problems.
func TestBaselineOfRenamedRule(t *testing.T) {
	src := diag.NewSource("a.json", "{}")
	old, current := diag.Diagnostic{Rule: "old", Source: src}, diag.Diagnostic{Rule: "current", Source: src}
	former := func(rule string) []string { return map[string][]string{"current": {"older", "old"}}[rule] }
	before := baseline(t, diag.List{old, current})
	for n, want := range []string{"[] 0 [a.json: current (1 of 1 gone) a.json: old (1 of 1 gone)]", "[] 1 [a.json: old (1 of 1 gone)]", "[] 2 []"} {
		kept, known, stale := before.Filter(slices.Repeat(diag.List{current}, n), []string{"a.json"}, former)
		if got := fmt.Sprint(kept, known, stale); got != want {
			t.Errorf("%d problems: %s, want %s", n, got, want)
		}
	}
	if kept, known, _ := before.Filter(slices.Repeat(diag.List{current}, 3), nil, former); len(kept) != 1 || known != 2 {
		t.Errorf("%d kept, %d known", len(kept), known)
	}
}

func TestWriteBaseline(t *testing.T) {
	for name, l := range map[string]diag.List{"baseline": sample(), "baseline-empty": nil} {
		var b strings.Builder
		if err := diag.WriteBaseline(&b, l); err != nil {
			t.Fatal(err)
		}
		expect(t, "baseline", name, b.String())
		kept, known, stale := baseline(t, l).Filter(l, nil, neverRenamed)
		if len(kept) != 0 || known != len(l) || stale != nil {
			t.Errorf("%s: %v kept, %d known, stale %v", name, kept, known, stale)
		}
	}
	if err := diag.WriteBaseline(brokenPipe{}, nil); err == nil {
		t.Error("no error")
	}
}

// find returns a problem of rule x for every part of the text.
func find(name, text, part string) diag.List {
	src := diag.NewSource(name, text)
	var l diag.List
	for i := range strings.Count(text, part) {
		l = append(l, diag.Diagnostic{Rule: "x", Source: src, Span: spanOf(src, part, i), Message: "bad"})
	}
	return l
}

func TestBaselineFilter(t *testing.T) {
	old := find("a.json", "{\n  \"bad\": 1,\n  \"bad\": 1\n}", `"bad"`)
	base := baseline(t, slices.Concat(old, find("b.json", `{"bad": 1}`, `"bad"`)))
	for _, c := range []struct {
		name, text  string
		files       []string
		kept, known int
		stale       []string
	}{
		{"unchanged", old[0].Source.Text, []string{"./a.json"}, 0, 2, nil},
		{"all files checked", old[0].Source.Text, nil, 0, 2, []string{"b.json: x (1 of 1 gone)"}},
		{"shifted", "\n\n{ \"new\": 2,\n\"bad\":1,\n\n\t\t\"bad\" : 1, \"x\"\r\n}", []string{"a.json"}, 1, 1, []string{"a.json: x (1 of 2 gone)"}},
		{"reformatted", "{\n\"good\":1,\n\"bad\":1,\r\n\t\t\"bad\" : 1  ,\n\"new\": 2}", []string{"a.json"}, 0, 2, nil},
		{"one more", "{\n  \"bad\": 1,\n  \"bad\": 1,\n  \"bad\": 1\n}", []string{"a.json"}, 1, 2, nil},
		{"another line", "{\n  \"bad\": 2\n}", []string{"a.json"}, 1, 0, []string{"a.json: x (2 of 2 gone)"}},
		{"fixed", "{}", []string{"a.json", "b.json"}, 0, 0, []string{"a.json: x (2 of 2 gone)", "b.json: x (1 of 1 gone)"}},
	} {
		kept, known, stale := base.Filter(find("a.json", c.text, `"bad"`), c.files, neverRenamed)
		if len(kept) != c.kept || known != c.known {
			t.Errorf("%s: %d kept and %d known, want %d and %d", c.name, len(kept), known, c.kept, c.known)
		}
		if diff := cmp.Diff(c.stale, stale); diff != "" {
			t.Errorf("%s: stale (-want +got):\n%s", c.name, diff)
		}
	}
	kept, _, _ := base.Filter(find("a.json", "\"bad\": 1\n\"bad\": 1\n\"bad\": 1", `"bad"`), nil, neverRenamed)
	if len(kept) != 1 || kept[0].Span.Start != 18 {
		t.Errorf("the last of three is new, not %v", kept)
	}
}

// TestBaselineOneLine changes another part of a file with one long line.
func TestBaselineOneLine(t *testing.T) {
	long := strings.Repeat(`"x": 1, `, 100)
	base := baseline(t, find("a", "{"+long+`"bad": 1}`, `"bad": 1`))
	for text, want := range map[string]int{
		"{" + long + long + `"bad": 1}`:  1,
		"{" + long + `"bad": 1, ` + long: 1,
		"{" + long + `"bad":  1}`:        0,
	} {
		if _, known, _ := base.Filter(find("a", text, `"bad"`), nil, neverRenamed); known != 0 {
			t.Errorf("another span is known in %s", text)
		}
		if _, known, _ := base.Filter(find("a", text, `"bad": 1`), nil, neverRenamed); known != want {
			t.Errorf("%d known in %s", known, text)
		}
	}
}

// TestBaselineShift inserts lines between problems and changes the order of the list.
func TestBaselineShift(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lines := rapid.SliceOfN(rapid.SampledFrom([]string{`"bad": 1,`, `"bad": 2`, `"bad", "bad"`}), 0, 10).Draw(t, "lines")
		before := find("a", strings.Join(lines, "\n"), "bad")
		var b strings.Builder
		for _, line := range lines {
			b.WriteString(rapid.SampledFrom([]string{"", "\n", "other\n", "\r\n\t"}).Draw(t, "between") + line + "\n")
		}
		after := find("a", b.String(), "bad")
		for i := range after {
			j := rapid.IntRange(0, i).Draw(t, "swap")
			after[i], after[j] = after[j], after[i]
		}
		kept, known, stale := baseline(t, before).Filter(after, nil, neverRenamed)
		if len(kept) > 0 || known != len(before) || stale != nil {
			t.Fatalf("%d kept, %d of %d known, stale %v", len(kept), known, len(before), stale)
		}
	})
}

func TestReadBaselineErrors(t *testing.T) {
	for in, want := range map[string]string{
		"":                                 "the file is empty",
		"[]":                               "cannot unmarshal",
		`{"version": 2}`:                   "written by a newer batchctl (version 2; this one reads 1)",
		`{"version": 1, "more": 1}`:        `unknown field "more"`,
		`{"version": 1} {}`:                "unexpected text after the end",
		`{"version": 1, "problems": [{}]}`: "entry 1 needs a file",
		`{"version": 1, "problems": [{"file": "a", "rule": "b", "fingerprint": "c", "count": 0}]}`: "a count of at least 1",
	} {
		if _, err := diag.ReadBaseline(strings.NewReader(in)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", in, err, want)
		}
	}
}

// FuzzReadBaseline reads any bytes, and writes and reads hostile names.
func FuzzReadBaseline(f *testing.F) {
	f.Add(`{"version": 1, "problems": [{"file": "a", "rule": "b", "fingerprint": "c", "count": 2}]}`, "a\xff", "r\n", "bad\u202e")
	f.Fuzz(func(t *testing.T, file, name, rule, text string) {
		l := diag.List{{Rule: rule, Message: text}, {Rule: rule, Source: diag.NewSource(name, text)}}
		if base, err := diag.ReadBaseline(strings.NewReader(file)); err == nil {
			_, _, stale := base.Filter(l, nil, neverRenamed)
			checkRunes(t, strings.Join(stale, ""), "")
		}
		if kept, known, stale := baseline(t, l).Filter(l, []string{name}, neverRenamed); len(kept) != 0 || known != 2 || stale != nil {
			t.Errorf("%d kept, %d known, stale %v", len(kept), known, stale)
		}
	})
}
