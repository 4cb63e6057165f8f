package diag_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/testtool"
)

func TestUnifiedDiff(t *testing.T) {
	for _, c := range []struct{ name, before, after, want string }{
		{"a", "same", "same", ""},
		{"jobs/a.json", "{\n  1\n}\n", "{\n  2\n}\n", `--- a/jobs/a.json
+++ b/jobs/a.json
@@ -1,3 +1,3 @@
 {
-  1
+  2
 }
`},
		{"/tmp/a b\n.json", "", "x", "--- a/tmp/a b\\n.json\t\n+++ b/tmp/a b\\n.json\t\n@@ -0,0 +1,1 @@\n+x\n\\ No newline at end of file\n"},
		{"a", "x\n", "", "--- a/a\n+++ b/a\n@@ -1,1 +0,0 @@\n-x\n"},
		{"a", "x\ny", "x\ny\n", "--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n x\n-y\n\\ No newline at end of file\n+y\n"},
		{"a", "0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n", "0\n1\n2\n3\nnew\n4\n5\n6\n7\n8\n9\n", `--- a/a
+++ b/a
@@ -2,6 +2,7 @@
 1
 2
 3
+new
 4
 5
 6
`},
	} {
		if got := diag.UnifiedDiff(c.name, c.before, c.after); got != c.want {
			t.Error(cmp.Diff(c.want, got))
		}
	}
}

// TestUnifiedDiffHunks checks that changes more than six lines apart are separate hunks.
func TestUnifiedDiffHunks(t *testing.T) {
	text := func(changed ...int) string {
		var b strings.Builder
		for i := range 30 {
			mark := ""
			for _, c := range changed {
				if c == i {
					mark = "!"
				}
			}
			fmt.Fprintf(&b, "%d%s\n", i, mark)
		}
		return b.String()
	}
	for want, changed := range map[string][]int{
		"-8,14 +8,14":             {10, 17},
		"-8,7 +8,7 -16,7 +16,7":   {10, 18},
		"-1,4 +1,4 -27,4 +27,4":   {0, 29},
		"-1,11 +1,11 -24,7 +24,7": {0, 7, 26},
	} {
		var ranges []string
		for line := range strings.Lines(diag.UnifiedDiff("a", text(), text(changed...))) {
			if strings.HasPrefix(line, "@@ ") {
				ranges = append(ranges, strings.Trim(line, "@ \n"))
			}
		}
		if got := strings.Join(ranges, " "); got != want {
			t.Errorf("changes in %v: %s, want %s", changed, got, want)
		}
	}
}

// TestUnifiedDiffIsShort compares the number of changed lines with the result of a slow
// search.
func TestUnifiedDiffIsShort(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lines := rapid.SliceOfN(rapid.SampledFrom([]string{"a\n", "b\n", "c\n"}), 0, 12)
		a, b := lines.Draw(t, "a"), lines.Draw(t, "b")
		changed := 0
		for line := range strings.Lines(diag.UnifiedDiff("a", strings.Join(a, ""), strings.Join(b, ""))) {
			if line[0] == '-' && line[1] != '-' || line[0] == '+' && line[1] != '+' {
				changed++
			}
		}
		if want := len(a) + len(b) - 2*common(a, b); changed != want {
			t.Fatalf("%d lines changed, %d would do", changed, want)
		}
	})
}

// common returns the length of the longest common subsequence.
func common(a, b []string) int {
	switch {
	case len(a) == 0 || len(b) == 0:
		return 0
	case a[0] == b[0]:
		return 1 + common(a[1:], b[1:])
	}
	return max(common(a[1:], b), common(a, b[1:]))
}

// drawText returns a text of few different lines, so that many repeat.
func drawText(t *rapid.T, label string) string {
	lines := rapid.SliceOfN(rapid.SampledFrom([]string{"{\n", "}\n", "  \"a\": 1,\n", "x\r\n", "\n", "-- a\n", "\\ x\n"}), 0, 40).Draw(t, label)
	return strings.Join(append(lines, rapid.SampledFrom([]string{"", "end", "\r"}).Draw(t, label+" end")), "")
}

func TestUnifiedDiffApplies(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before, after := drawText(t, "before"), drawText(t, "after")
		if got := patched(t, before, diag.UnifiedDiff("a", before, after)); got != after {
			t.Fatalf("the diff gives %q, not %q", got, after)
		}
	})
}

// TestUnifiedDiffOfOtherTexts checks texts that differ in more lines than the search
// accepts.
func TestUnifiedDiffOfOtherTexts(t *testing.T) {
	before := "first\n" + strings.Repeat("a\n", 3000) + "last\n"
	after := "first\n" + strings.Repeat("b\n", 3000) + "last\n"
	if got := patched(t, before, diag.UnifiedDiff("a", before, after)); got != after {
		t.Error("the diff does not apply")
	}
}

// TestUnifiedDiffPatch applies the diffs with patch.
func TestUnifiedDiffPatch(t *testing.T) {
	testtool.Need(t, "patch")
	dir := t.TempDir()
	file := filepath.Join(dir, "a b.json")
	draw := rapid.Custom(func(t *rapid.T) [2]string {
		return [2]string{drawText(t, "before") + "\n", drawText(t, "after") + "\n"}
	})
	for i := range 40 {
		pair := draw.Example(i)
		diff := diag.UnifiedDiff("a b.json", pair[0], pair[1])
		if diff == "" {
			continue
		}
		if err := os.WriteFile(file, []byte(pair[0]), 0o644); err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), "patch", "-p1", "--binary", "--fuzz=0", "--no-backup-if-mismatch")
		cmd.Dir, cmd.Stdin = dir, strings.NewReader(diff)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s\n%s", err, out, diff)
		}
		if got, err := os.ReadFile(file); err != nil || string(got) != pair[1] {
			t.Errorf("patch gives %q, %v, want %q", got, err, pair[1])
		}
	}
}

type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// patched applies a unified diff and checks every number in it.
func patched(t failer, before, diff string) string {
	t.Helper()
	if diff == "" {
		return before
	}
	in := strings.SplitAfter(before, "\n")
	lines := strings.SplitAfter(diff, "\n")
	if !strings.HasPrefix(lines[0], "--- a/") || !strings.HasPrefix(lines[1], "+++ b/") {
		t.Fatalf("no head in %q", diff)
	}
	lines = lines[2:]
	var out []string
	at := 0
	for lines[0] != "" {
		var a, an, b, bn int
		if _, err := fmt.Sscanf(lines[0], "@@ -%d,%d +%d,%d @@\n", &a, &an, &b, &bn); err != nil {
			t.Fatalf("%v in %q", err, lines[0])
		}
		lines = lines[1:]
		a, b = a-min(an, 1), b-min(bn, 1)
		out = append(out, in[at:a]...)
		at = a
		if len(out) != b {
			t.Fatalf("hunk at line %d, not %d:\n%s", len(out), b, diff)
		}
		for an > 0 || bn > 0 {
			mark, line := lines[0][0], lines[0][1:]
			lines = lines[1:]
			if strings.HasPrefix(lines[0], `\`) {
				line, lines = strings.TrimSuffix(line, "\n"), lines[1:]
			}
			if mark != '+' {
				if in[at] != line {
					t.Fatalf("line %d is %q, not %q", at+1, in[at], line)
				}
				at++
				an--
			}
			if mark != '-' {
				out = append(out, line)
				bn--
			}
		}
	}
	return strings.Join(append(out, in[at:]...), "")
}

func TestPrintableLines(t *testing.T) {
	for in, want := range map[string]string{
		"":                      "",
		"\n":                    "\n",
		"a\tb\n\x1b[2J\r\n\xff": "a\tb\n\\x1b[2J\\r\n\\xff",
		"\u202e\n\n名":           "\\u202e\n\n名",
	} {
		if got := diag.PrintableLines(in); got != want {
			t.Errorf("PrintableLines(%q) = %q, want %q", in, got, want)
		}
	}
}
