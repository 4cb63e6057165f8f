package explain

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/batchctl/batchctl/pkg/ladder"
	"github.com/batchctl/batchctl/pkg/testtool/golden"
	"github.com/batchctl/batchctl/pkg/wire"
)

// example is a bundle in an archive. The archive of a cause has bundles of failures that it
// explains, as 1.json and so on, with their answers, and in near/ bundles that only look similar.
// normal.txtar has bundles without a cause.
type example struct {
	archive *golden.Archive
	name    string // of the bundle in the archive
}

func (e example) String() string { return e.archive.Path + " " + e.name }

// cause returns the name of the rule that the archive is about.
func (e example) cause() string { return e.archive.Name }

func (e example) bundle(t testing.TB) *Bundle {
	t.Helper()
	b, err := Read(strings.NewReader(e.archive.Text(t, e.name)))
	if err != nil {
		t.Fatalf("%s: %v", e, err)
	}
	return b
}

// compare compares the answer to the bundle with the one in the archive.
func (e example) compare(t *testing.T, a Answer) {
	t.Helper()
	var got bytes.Buffer
	enc := json.NewEncoder(&got)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(a); err != nil {
		t.Fatal(err)
	}
	e.archive.Want(t, strings.TrimSuffix(e.name, ".json")+".answer", got.String())
}

const normal = "normal"

// bundles returns the explained bundles ("*"), the similar ones ("near/*"), or those of normal
// jobs.
func bundles(t testing.TB, kind string) (all []example) {
	t.Helper()
	pattern := strings.Replace(kind, normal, "*", 1) + ".json"
	for _, a := range golden.Glob(t, "testdata/*.txtar") {
		if (a.Name == normal) == (kind == normal) {
			for _, name := range a.Names(pattern) {
				all = append(all, example{a, name})
			}
		}
	}
	if len(all) == 0 {
		t.Fatalf("no bundles %s", kind)
	}
	return all
}

// readBundle reads one bundle of testdata.
func readBundle(t testing.TB, archive, name string) *Bundle {
	t.Helper()
	return example{golden.Read(t, "testdata/"+archive+".txtar"), name}.bundle(t)
}

func TestVerdicts(t *testing.T) {
	for _, e := range bundles(t, "*") {
		a := Explain(e.bundle(t))
		if a.Verdict == nil {
			t.Errorf("%s: no verdict: %s", e, a.Standing)
		} else if a.Verdict.Cause != e.cause() {
			t.Errorf("%s: the verdict is %s", e, a.Verdict.Cause)
		} else if len(a.Verdict.Evidence) == 0 || a.Verdict.Fix.Job+a.Verdict.Fix.Platform == "" {
			t.Errorf("%s: no evidence or no fix: %+v", e, a.Verdict)
		}
		e.compare(t, a)
	}
}

// TestNearMisses checks that bundles that look similar to a cause, or are too recent, do not get
// that verdict.
func TestNearMisses(t *testing.T) {
	for _, e := range bundles(t, "near/*") {
		if a := Explain(e.bundle(t)); a.Verdict != nil && a.Verdict.Cause == e.cause() {
			t.Errorf("%s: the verdict is %s: %s", e, a.Verdict.Cause, a.Verdict.Summary)
		}
	}
}

func TestNormal(t *testing.T) {
	for _, e := range bundles(t, normal) {
		a := Explain(e.bundle(t))
		if a.Verdict != nil || a.Standing == "" {
			t.Errorf("%s: verdict %+v, standing %q", e, a.Verdict, a.Standing)
		}
		e.compare(t, a)
	}
}

// TestEveryRule checks that each rule has a bundle that shows it and one that only looks similar.
func TestEveryRule(t *testing.T) {
	has := func(kind, rule string) bool {
		return slices.ContainsFunc(bundles(t, kind), func(e example) bool { return e.cause() == rule })
	}
	seen := map[string]bool{}
	for _, r := range Rules() {
		if seen[r.Name] || r.Doc == "" {
			t.Errorf("rule %s: twice, or without a doc", r.Name)
		}
		seen[r.Name] = true
		if !has("*", r.Name) || !has("near/*", r.Name) {
			t.Errorf("rule %s: a bundle: %v, a near miss: %v", r.Name, has("*", r.Name), has("near/*", r.Name))
		}
	}
}

// TestTime checks that a reason that appears during scale-up becomes a verdict only after some
// time and a second observation.
func TestTime(t *testing.T) {
	b := readBundle(t, "cannot-fit", "near/1.json")
	start := b.Looks[0].At
	firm := false
	for minute := int64(0); minute <= 12; minute++ {
		b.At = start + minute*60_000
		sample := b.Looks[0]
		sample.At = b.At
		if minute > 0 {
			b.Looks = append(b.Looks, sample)
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
	// The reason disappeared for a moment, so the time starts again.
	b.Looks[len(b.Looks)-2].Reason = ""
	if a := Explain(b); a.Firm() {
		t.Errorf("firm although the reason had disappeared: %+v", a.Verdict)
	}
}

// TestMissingEvidence checks that missing evidence is reported with the causes that it leaves
// open.
func TestMissingEvidence(t *testing.T) {
	a := Explain(readBundle(t, normal, "unknown.json"))
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

// TestRulesChangeNothing checks that rules do not change the bundle.
func TestRulesChangeNothing(t *testing.T) {
	for _, e := range bundles(t, "*") {
		b := e.bundle(t)
		before, err := wire.Marshal(b)
		if err != nil {
			t.Fatal(err)
		}
		Explain(b)
		if after, _ := wire.Marshal(b); !bytes.Equal(before, after) {
			t.Errorf("%s: a rule changed the bundle", e)
		}
	}
}

func TestRecordAndReplay(t *testing.T) {
	b := readBundle(t, "exit-code", "1.json")
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
		`{"version":2,"subject":{"job":{}}}`: "written by a newer batchctl (version 2",
		`{"version":1}`:                      "no job",
		`{"version":1,"x":1}`:                "x",
	} {
		if _, err := Read(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// FuzzExplain checks that no bundle, whatever its source, makes a rule panic.
func FuzzExplain(f *testing.F) {
	for _, kind := range []string{"*", "near/*", normal} {
		for _, e := range bundles(f, kind) {
			f.Add([]byte(e.archive.Text(f, e.name)))
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

// TestLacksCapacity checks that the rungs of onFailure know the causes by their names here.
func TestLacksCapacity(t *testing.T) {
	n := 0
	for _, r := range Rules() {
		if ladder.LacksCapacity(r.Name) {
			n++
		}
	}
	if n != 5 {
		t.Errorf("%d causes are a lack of capacity; want 5", n)
	}
}

// TestPlainEvidence checks that evidence shows a log as a terminal does, on pages too: they show the same answer.
func TestPlainEvidence(t *testing.T) {
	b := readBundle(t, "exit-code", "1.json")
	b.Subject.Log.Lines = []LogLine{{Text: "\x1b[31mRuntimeError: CUDA out of memory\x1b[0m"}, {Text: "\x1b[32mINFO\x1b[0m saved 1\r\x1b[32mINFO\x1b[0m saved 2"}}
	v := Explain(b).Verdict
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), `\u001b`) || !strings.Contains(string(text), `"INFO saved 2"`) || v.Summary != "RuntimeError: CUDA out of memory" {
		t.Errorf("%s", text)
	}
}
