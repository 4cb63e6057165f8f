package explain

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/batchctl/batchctl/pkg/wire"
)

var update = flag.Bool("update", false, "rewrite the golden answers")

func readBundle(t *testing.T, path string) *Bundle {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b, err := Read(bytes.NewReader(text))
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return b
}

func bundles(t *testing.T, dir string) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("testdata", dir, "*.json"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("%s: %d bundles, %v", dir, len(paths), err)
	}
	return paths
}

// cause is the rule that a bundle's file is named after: cause.1.json.
func cause(path string) string {
	name, _, _ := strings.Cut(filepath.Base(path), ".")
	return name
}

// golden compares the answer to a bundle with the file beside it.
func golden(t *testing.T, path string, a Answer) {
	t.Helper()
	var got bytes.Buffer
	enc := json.NewEncoder(&got)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(a); err != nil {
		t.Fatal(err)
	}
	path = strings.TrimSuffix(path, ".json") + ".answer"
	if *update {
		if err := os.WriteFile(path, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

func TestVerdicts(t *testing.T) {
	for _, path := range bundles(t, ".") {
		a := Explain(readBundle(t, path))
		if a.Verdict == nil {
			t.Errorf("%s: no verdict: %s", path, a.Standing)
		} else if a.Verdict.Cause != cause(path) {
			t.Errorf("%s: the verdict is %s", path, a.Verdict.Cause)
		} else if len(a.Verdict.Evidence) == 0 || a.Verdict.Fix.Job+a.Verdict.Fix.Platform == "" {
			t.Errorf("%s: no evidence or no fix: %+v", path, a.Verdict)
		}
		golden(t, path, a)
	}
}

// TestNearMisses: what looks like a cause, or is too young to be one, is not called so.
func TestNearMisses(t *testing.T) {
	for _, path := range bundles(t, "near") {
		if a := Explain(readBundle(t, path)); a.Verdict != nil && a.Verdict.Cause == cause(path) {
			t.Errorf("%s: the verdict is %s: %s", path, a.Verdict.Cause, a.Verdict.Summary)
		}
	}
}

func TestNormal(t *testing.T) {
	for _, path := range bundles(t, "normal") {
		a := Explain(readBundle(t, path))
		if a.Verdict != nil || a.Standing == "" {
			t.Errorf("%s: verdict %+v, standing %q", path, a.Verdict, a.Standing)
		}
		golden(t, path, a)
	}
}

// TestEveryRule has a bundle that shows it and one that only looks like it.
func TestEveryRule(t *testing.T) {
	has := func(dir, rule string) bool {
		return slices.ContainsFunc(bundles(t, dir), func(path string) bool { return cause(path) == rule })
	}
	seen := map[string]bool{}
	for _, r := range Rules() {
		if seen[r.Name] || r.Doc == "" {
			t.Errorf("rule %s: twice, or without a doc", r.Name)
		}
		seen[r.Name] = true
		if !has(".", r.Name) || !has("near", r.Name) {
			t.Errorf("rule %s: a bundle in testdata: %v, a near miss in testdata/near: %v", r.Name, has(".", r.Name), has("near", r.Name))
		}
	}
}

// TestTime: a reason that scale-up shows becomes a verdict only when it has stood
// and was seen again.
func TestTime(t *testing.T) {
	b := readBundle(t, "testdata/near/cannot-fit.1.json")
	start := b.Looks[0].At
	firm := false
	for minute := int64(0); minute <= 12; minute++ {
		b.At = start + minute*60_000
		look := b.Looks[0]
		look.At = b.At
		if minute > 0 {
			b.Looks = append(b.Looks, look)
		} else {
			b.Looks = b.Looks[:1]
		}
		a := Explain(b)
		if want := minute >= 10; a.Firm() != want || (a.Verdict != nil) != want {
			t.Errorf("minute %d: firm %v, verdict %v, %s", minute, a.Firm(), a.Verdict, a.Standing)
		}
		firm = firm || a.Firm()
	}
	if !firm {
		t.Error("never firm")
	}
	// The reason went away for a moment: it starts anew.
	b.Looks[len(b.Looks)-2].Reason = ""
	if a := Explain(b); a.Firm() {
		t.Errorf("firm although the reason was gone: %+v", a.Verdict)
	}
}

// TestMissingEvidence is said, with the causes that it leaves open.
func TestMissingEvidence(t *testing.T) {
	a := Explain(readBundle(t, "testdata/normal/unknown.json"))
	var causes []string
	for _, o := range a.Open {
		if !o.Denied || !strings.HasPrefix(o.Why, "not allowed") {
			t.Errorf("open: %+v", o)
		}
		causes = append(causes, o.Cause)
	}
	want := []string{"ec2-quota", "no-capacity", "launch-refused", "agent-not-registered", "fair-share", "behind-others"}
	if !slices.Equal(causes, want) {
		t.Errorf("open: %q, want %q", causes, want)
	}
}

// TestRulesChangeNothing: a bundle is the same before and after.
func TestRulesChangeNothing(t *testing.T) {
	for _, path := range bundles(t, ".") {
		b := readBundle(t, path)
		before, err := wire.Marshal(b)
		if err != nil {
			t.Fatal(err)
		}
		Explain(b)
		if after, _ := wire.Marshal(b); !bytes.Equal(before, after) {
			t.Errorf("%s: a rule changed the bundle", path)
		}
	}
}

func TestRecordAndReplay(t *testing.T) {
	b := readBundle(t, "testdata/exit-code.1.json")
	key := "AKIA" + "ABCDEFGHIJKLMNOP"
	b.Subject.Log.Lines[0].Text = `{"password": "hunter2-Xyz9"} key ` + key
	var out bytes.Buffer
	if err := Write(&out, b); err != nil {
		t.Fatal(err)
	}
	if text := out.String(); strings.Contains(text, key) || strings.Contains(text, "hunter2") {
		t.Errorf("a credential was recorded:\n%s", text)
	}
	again, err := Read(&out)
	if err != nil {
		t.Fatal(err)
	}
	if b, err = Masked(b); err != nil {
		t.Fatal(err)
	}
	if want, got := Explain(b), Explain(again); !cmp.Equal(want, got, cmp.AllowUnexported(Verdict{})) {
		t.Errorf("replayed: %s", cmp.Diff(want, got, cmp.AllowUnexported(Verdict{})))
	}
}

func TestReadRefuses(t *testing.T) {
	for text, want := range map[string]string{
		`{`:                                  "not complete",
		`{"version":2,"subject":{"job":{}}}`: "version is 2",
		`{"version":1}`:                      "no job",
		`{"version":1,"x":1}`:                "x",
	} {
		if _, err := Read(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// FuzzExplain: no bundle, from whoever wrote it, makes a rule fail.
func FuzzExplain(f *testing.F) {
	for _, dir := range []string{".", "near", "normal"} {
		paths, _ := filepath.Glob(filepath.Join("testdata", dir, "*.json"))
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(text)
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		b, err := Read(bytes.NewReader(text))
		if err != nil {
			return
		}
		if Reason(b) == "" {
			t.Error("no reason")
		}
	})
}
