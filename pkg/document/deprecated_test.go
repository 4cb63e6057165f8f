package document

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/batchctl/batchctl/pkg/diag"
)

// TestDeprecatedMembers loads documents under a table of deprecated members.
func TestDeprecatedMembers(t *testing.T) {
	renamed := deprecation{kind: KindJob, path: []string{"resources", "vcpu"}, since: "1.4", now: "vcpus"}
	over := renamed
	over.over = true
	listed := deprecation{kind: KindJob, path: []string{"retryStrategy", "evaluateOnExit", "*", "onExit"}, since: "1.4", now: "onExitCode"}
	unnamed := deprecation{kind: KindJob, path: []string{"shareIdentifier"}, since: "1.4", hint: "write it into overrides"}
	removed := deprecation{kind: KindJob, path: []string{"ancient"}, since: "1.4", hint: "leave it out", over: true}
	const head = `{"name": "a", "image": "i", "timeout": "1h", `
	for _, c := range []struct {
		name, text string
		entry      deprecation
		want       string // the problems
		fixed      string // the text after the fixes; "" for no fix
	}{
		{"not there", head + `"resources": {"vcpus": 1, "memory": "1 GiB"}}`, renamed, "", ""},
		{"renamed", head + `"resources": {"vcpu": 1, "memory": "1 GiB"}}`, renamed,
			`warning "resources.vcpu" is deprecated since version 1.4; write "vcpus"`, head + `"resources": {"vcpus": 1, "memory": "1 GiB"}}`},
		{"in a workflow", `{"name": "w", "defaults": {"image": "i", "timeout": "1h", "resources": {"vcpu": 1, "memory": "1 GiB"}}, "jobs": [{"name": "a", "resources": {"vcpu": 2}}]}`, renamed,
			`warning "resources.vcpu" is deprecated since version 1.4; write "vcpus"
warning "resources.vcpu" is deprecated since version 1.4; write "vcpus"`,
			`{"name": "w", "defaults": {"image": "i", "timeout": "1h", "resources": {"vcpus": 1, "memory": "1 GiB"}}, "jobs": [{"name": "a", "resources": {"vcpus": 2}}]}`},
		{"both names", head + `"resources": {"vcpu": 1, "vcpus": 1, "memory": "1 GiB"}}`, renamed, `error "vcpu" is the old name of "vcpus", which is also here; remove "vcpu"`, ""},
		{"over", head + `"resources": {"vcpu": 1, "memory": "1 GiB"}}`, over,
			`error "resources.vcpu" was deprecated in version 1.4, and this version does not read it; write "vcpus"`, head + `"resources": {"vcpus": 1, "memory": "1 GiB"}}`},
		{"in a list", head + `"resources": {"vcpus": 1, "memory": "1 GiB"}, "retryStrategy": {"attempts": 2, "evaluateOnExit": [{"onExit": "1", "action": "RETRY"}]}}`, listed,
			`warning "retryStrategy.evaluateOnExit.*.onExit" is deprecated since version 1.4; write "onExitCode"`, head + `"resources": {"vcpus": 1, "memory": "1 GiB"}, "retryStrategy": {"attempts": 2, "evaluateOnExit": [{"onExitCode": "1", "action": "RETRY"}]}}`},
		{"without a successor", head + `"resources": {"vcpus": 1, "memory": "1 GiB"}, "shareIdentifier": "x"}`, unnamed,
			`warning "shareIdentifier" is deprecated since version 1.4; write it into overrides`, ""},
		{"removed", head + `"resources": {"vcpus": 1, "memory": "1 GiB"}, "ancient": 1}`, removed,
			`error "ancient" was deprecated in version 1.4, and this version does not read it; leave it out`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, problems := Load(diag.NewSource("job.json", c.text), Options{deprecated: []deprecation{c.entry}})
			var got []string
			fixed := ""
			for _, p := range problems {
				got = append(got, p.Severity.String()+" "+p.Message+"; "+p.Hint)
				if p.Rule != RuleDeprecatedMember {
					t.Errorf("rule %s", p.Rule)
				}
				if p.Fix != nil {
					fixed = c.text
				}
			}
			if text := strings.Join(got, "\n"); text != c.want {
				t.Errorf("problems:\n%s\nwant:\n%s", text, c.want)
			}
			for i := len(problems) - 1; i >= 0 && fixed != ""; i-- {
				if problems[i].Fix == nil {
					continue
				}
				for _, e := range problems[i].Fix.Edits {
					fixed = fixed[:e.Span.Start] + e.Text + fixed[e.Span.End:]
				}
			}
			if fixed != c.fixed {
				t.Errorf("fixed: %s\nwant: %s", fixed, c.fixed)
			}
			if c.fixed != "" && !c.entry.over && (len(f.Jobs) != 1 || f.Jobs[0].Register == nil) {
				t.Error("the job is not lowered like one with the new name")
			}
		})
	}
}

// TestDeprecationsEnd compares the table with the newest version of the changelog.
func TestDeprecationsEnd(t *testing.T) {
	text, err := os.ReadFile("../../CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	newest := ""
	if m := regexp.MustCompile(`(?m)^## \[?v?(\d+\.\d+)\.\d+`).FindSubmatch(text); m != nil {
		newest = string(m[1])
	}
	for _, d := range deprecations {
		if want := outlived(t, d.since, newest); d.over != want {
			t.Errorf("%s is deprecated since %s, and the newest version is %s: over is %t", strings.Join(d.path, "."), d.since, newest, d.over)
		}
	}
	for _, c := range []struct {
		since, newest string
		want          bool
	}{{"1.4", "", false}, {"1.4", "1.3", false}, {"1.4", "1.4", false}, {"1.4", "1.5", false}, {"1.4", "1.6", true}, {"1.4", "2.0", true}} {
		if outlived(t, c.since, c.newest) != c.want {
			t.Errorf("since %s, newest %s: want %t", c.since, c.newest, c.want)
		}
	}
}

// outlived reports whether a member has been deprecated for two minor versions.
func outlived(t *testing.T, since, newest string) bool {
	if newest == "" {
		return false
	}
	number := func(version string) (major, minor int) {
		first, second, _ := strings.Cut(version, ".")
		major, err := strconv.Atoi(first)
		if err == nil {
			minor, err = strconv.Atoi(second)
		}
		if err != nil {
			t.Fatal(err)
		}
		return major, minor
	}
	major, minor := number(since)
	newMajor, newMinor := number(newest)
	return newMajor > major || newMajor == major && newMinor >= minor+2
}

// TestNewerDocument checks that a later version of a format is reported by its name, and nothing else about it.
func TestNewerDocument(t *testing.T) {
	for schema, want := range map[string]string{
		"https://example.com/schemas/job.v2.schema.json": "job.v2.schema.json is version 2 of the format, and this batchctl reads version 1",
		"workflow.v10.schema.json":                       "workflow.v10.schema.json is version 10 of the format, and this batchctl reads version 1",
		"job.v1.schema.json":                             "",
		"job.schema.json":                                "",
	} {
		text := `{"$schema": "` + schema + `", "name": "a", "image": "i", "timeout": "1h", "resources": {"vcpus": 1, "memory": "1 GiB"}}`
		if want != "" {
			text = `{"$schema": "` + schema + `", "tasks": []}`
		}
		if r := Recognize(diag.NewSource("a.json", text)); r != Ours {
			t.Errorf("%s is recognised as %v", schema, r)
		}
		_, problems := Load(diag.NewSource("a.json", text), Options{})
		switch {
		case want == "" && len(problems) > 0, want != "" && (len(problems) != 1 || problems[0].Message != want || problems[0].Rule != RuleDocumentKind):
			t.Errorf("%s: %v", schema, problems)
		}
	}
}
