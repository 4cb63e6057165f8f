package diag_test

import (
	"encoding/json"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/batchctl/batchctl/pkg/diag"
)

// TestSARIFSchema validates the log with the schema of the standard, which is not in this
// repository:
// https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json
func TestSARIFSchema(t *testing.T) {
	path := os.Getenv("BATCHCTL_SARIF_SCHEMA")
	if path == "" {
		t.Skip("BATCHCTL_SARIF_SCHEMA does not name the SARIF schema")
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat = true
	schema, err := c.Compile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range []diag.List{nil, sample()} {
		for _, tool := range []diag.Tool{{Name: "t"}, report().Tool} {
			var b strings.Builder
			if err := diag.WriteSARIF(&b, l, tool); err != nil {
				t.Fatal(err)
			}
			var log any
			if err := json.Unmarshal([]byte(b.String()), &log); err != nil {
				t.Fatal(err)
			}
			if err := schema.Validate(log); err != nil {
				t.Errorf("%#v", err)
			}
		}
	}
}

type sarifLog struct {
	Version string
	Runs    []struct {
		ColumnKind string
		Tool       struct {
			Driver struct {
				Name  string
				Rules []sarifRule
			}
		}
		Results []sarifResult
	}
}

type text struct{ Text string }

type sarifRule struct {
	ID                                      string
	ShortDescription, FullDescription, Help text
	DefaultConfiguration                    struct{ Level string }
}

type sarifPlace struct {
	ArtifactLocation struct{ URI string }
	Region           sarifRegion
}

type sarifRegion struct{ StartLine, StartColumn, EndLine, EndColumn int }

type sarifResult struct {
	RuleID              string
	RuleIndex           int
	Level               string
	Message             text
	Locations           []struct{ PhysicalLocation sarifPlace }
	PartialFingerprints map[string]string
	Fixes               []struct {
		Description     text
		ArtifactChanges []struct {
			ArtifactLocation struct{ URI string }
			Replacements     []struct{ DeletedRegion sarifRegion }
		}
	}
}

// checkSARIF checks the requirements of the standard and of code scanning.
func checkSARIF(t *testing.T, text string, l diag.List) {
	t.Helper()
	var log sarifLog
	if err := json.Unmarshal([]byte(text), &log); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	if log.Version != "2.1.0" || len(log.Runs) != 1 {
		t.Fatalf("version %s, %d runs", log.Version, len(log.Runs))
	}
	run := log.Runs[0]
	if run.ColumnKind != "unicodeCodePoints" || run.Results == nil || run.Tool.Driver.Rules == nil || len(run.Results) != len(l) {
		t.Errorf("a member is missing: %+v", run)
	}
	seen := map[string]bool{}
	for i, r := range run.Results {
		checkResult(t, r, run.Tool.Driver.Rules)
		id := r.Locations[0].PhysicalLocation.ArtifactLocation.URI + " " + r.PartialFingerprints["ruleLineHash/v1"]
		if seen[id] {
			t.Errorf("result %d has the fingerprint of another: %s", i, id)
		}
		seen[id] = true
	}
}

func checkResult(t *testing.T, r sarifResult, rules []sarifRule) {
	t.Helper()
	if r.RuleIndex >= len(rules) || rules[r.RuleIndex].ID != r.RuleID || rules[r.RuleIndex].Help.Text == "" && r.RuleID != "" {
		t.Errorf("rule %q is not at %d of %+v", r.RuleID, r.RuleIndex, rules)
	}
	if r.Level != "error" && r.Level != "warning" || len(r.Locations) != 1 || strings.Contains(r.Message.Text, "](") {
		t.Errorf("bad result: %+v", r)
	}
	place := r.Locations[0].PhysicalLocation
	checkURI(t, place.ArtifactLocation.URI)
	checkRegion(t, place.Region)
	for _, f := range r.Fixes {
		for _, c := range f.ArtifactChanges {
			checkURI(t, c.ArtifactLocation.URI)
			for _, e := range c.Replacements {
				checkRegion(t, e.DeletedRegion)
			}
		}
	}
}

func checkURI(t *testing.T, uri string) {
	t.Helper()
	u, err := url.Parse(uri)
	switch {
	case err != nil || uri == "":
		t.Errorf("bad URI %q: %v", uri, err)
	case u.Scheme == "file" && u.Host == "" && strings.HasPrefix(u.Path, "/"):
	case u.Scheme != "" || u.Host != "" || u.RawQuery != "" || u.Fragment != "" || strings.HasPrefix(u.Path, "/"):
		t.Errorf("URI %q is not relative", uri)
	}
}

func checkRegion(t *testing.T, r sarifRegion) {
	t.Helper()
	if r.StartLine < 1 || r.StartColumn < 1 || r.EndLine < r.StartLine || r.EndColumn < 1 ||
		r.EndLine == r.StartLine && r.EndColumn < r.StartColumn {
		t.Errorf("bad region %+v", r)
	}
}

func TestSARIFNames(t *testing.T) {
	for name, want := range map[string]string{
		"./jobs//a b.json":   `"uri": "jobs/a%20b.json"`,
		"../名.json":          `"uri": "../%E5%90%8D.json"`,
		"a:b#c?.json":        `"uri": "a%3Ab%23c%3F.json"`,
		"/tmp/a.json":        `"uri": "file:///tmp/a.json"`,
		"-":                  `"uri": "-"`,
		"":                   `"uri": "-"`,
		"--parameters":       `"uri": "--parameters"`,
		"\xff\n\u202e.json":  `"uri": "%FF%0A%E2%80%AE.json"`,
		"100%25.json":        `"uri": "100%2525.json"`,
		"jobs/../jobs/.json": `"uri": "jobs/.json"`,
	} {
		var b strings.Builder
		if err := diag.WriteSARIF(&b, diag.List{{Source: diag.NewSource(name, "{}")}}, diag.Tool{}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q has no %s in %s", name, want, b.String())
		}
	}
}
