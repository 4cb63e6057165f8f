package lint

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
)

// day is a platform file that allows a day.
func day(t *testing.T) *document.Platform {
	t.Helper()
	f, diags := document.Load(diag.NewSource("batchctl.json", `{ "policy": { "maxTimeout": "24h" } }`), document.Options{})
	if len(diags) > 0 {
		t.Fatal(diags)
	}
	return f.Platform
}

const longJob = `"image": "registry.example.com/train:1", "command": ["train"], "resources": { "vcpus": 1, "memory": 2048 }, "timeout": "25h"`

func said(found diag.List) string {
	var lines []string
	for _, d := range found {
		lines = append(lines, d.Error())
	}
	return strings.Join(lines, "\n")
}

// A waiver silences its rule for its job alone, even where two jobs share the
// value that breaks the rule.
func TestWaivedForOneJob(t *testing.T) {
	f := file(`{ "name": "w", "defaults": { ` + longJob + ` }, "jobs": [
	  { "name": "a", "waivers": [{ "rule": "policy-max-timeout", "reason": " agreed in OPS-12 ", "until": "2999-01-01" }] }, { "name": "b" }, { "name": "c" }] }`)
	found := Check([]*document.File{f}, day(t), Rules())
	found.Sort()
	const place = "t.json:1:149: "
	const message = "the policy allows a timeout of at most 24h, but the job has 25h [policy-max-timeout]"
	want := place + message + "\n" + place + "waived: " + message + " agreed in OPS-12 (until 2999-01-01)"
	if got := said(found); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if errors, warnings := found.Count(); !found.HasErrors() || errors != 1 || warnings != 0 || found.Waived() != 1 {
		t.Errorf("%d errors, %d warnings, %d waived", errors, warnings, found.Waived())
	}
}

// The waivers of the defaults and of the job both count.
func TestWaiversOfTheDefaults(t *testing.T) {
	f := file(`{ "name": "w", "defaults": { ` + longJob + `, "waivers": [{ "rule": "policy-max-timeout", "reason": "r" }] }, "jobs": [
	  { "name": "a", "image": "registry.example.com/train", "waivers": [{ "rule": "image-latest", "reason": "s" }] }, { "name": "b" }] }`)
	found := Check([]*document.File{f}, day(t), Rules())
	found.Sort()
	if errors, warnings := found.Count(); errors+warnings > 0 || found.Waived() != 2 {
		t.Errorf("%s", said(found))
	}
	for _, j := range f.Jobs {
		for _, request := range [][]byte{j.Register.AppendJSON(nil), j.Submit.AppendJSON(nil)} {
			if strings.Contains(string(request), "waive") {
				t.Errorf("AWS would see the waivers: %s", request)
			}
		}
	}
}

// Without a platform file, waivers that need one are not reported.
func TestWaiverWithoutPlatform(t *testing.T) {
	f := file(`{ "name": "a", ` + longJob + `, "waivers": [{ "rule": "policy-max-timeout", "reason": "r" }, { "rule": "just-over-boundary", "reason": "r" }] }`)
	if found := Check([]*document.File{f}, nil, Rules()); len(found) > 0 {
		t.Errorf("%s", said(found))
	}
}

// A warning of a rule that otherwise errs can be waived, the error cannot.
func TestWaivable(t *testing.T) {
	for _, tt := range []struct {
		rule     Rule
		severity diag.Severity
		want     bool
	}{
		{Rule{Scope: policyTopic}, diag.Error, true}, {Rule{Scope: "retry"}, diag.Error, false}, {Rule{Scope: "retry"}, diag.Warning, true},
		{Rule{Scope: "retry", Evidence: Documentation}, diag.Error, true}, {Rule{Scope: "retry", Evidence: APIModel}, diag.Error, false},
		{Rule{Scope: waiverTopic}, diag.Warning, false}, {Rule{Scope: waiverTopic}, diag.Error, false},
	} {
		if got := tt.rule.waivable(tt.severity); got != tt.want {
			t.Errorf("%+v, %s: %v", tt.rule, tt.severity, got)
		}
	}
}

// A waiver counts to the end of its last day, in UTC. Virtual time begins with the
// year 2000.
func TestWaiverEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := file(`{ "name": "a", ` + longJob + `, "waivers": [{ "rule": "policy-max-timeout", "reason": "r", "until": "2000-01-02" }] }`)
		check := func(want bool) {
			t.Helper()
			found := Check([]*document.File{f}, day(t), Rules())
			if found.HasErrors() != want || len(byRule(found, "waiver-expired")) > 0 != want {
				t.Errorf("on %s: %s", time.Now().UTC(), said(found))
			}
		}
		check(false)
		time.Sleep(48*time.Hour - time.Nanosecond)
		check(false)
		time.Sleep(time.Nanosecond)
		check(true)
	})
}

// No rule of the package is waivable by accident of its name, and every one that
// is waivable is known to the rules on waivers.
func TestEveryRuleIsWaivableOrRefused(t *testing.T) {
	platform := day(t)
	for _, r := range Rules() {
		f := file(fmt.Sprintf(`{ "name": "a", %s, "waivers": [{ "rule": %q, "reason": "r" }] }`, strings.ReplaceAll(longJob, "25h", "1h"), r.Name))
		found := Check([]*document.File{f}, platform, Rules())
		want := "waiver-not-waivable"
		if r.waivable(r.Severity) || r.canWarn {
			want = "waiver-unused"
		}
		if len(found) != 1 || found[0].Rule != want {
			t.Errorf("%s: %s", r.Name, said(found))
		}
	}
}

// A waiver may have the name that a rule had before it was merged: it works, and it is about the merged rule.
func TestWaiverOfFormerName(t *testing.T) {
	job := func(rule, variable string) diag.List {
		return Check([]*document.File{file(fmt.Sprintf(`{ "name": "a", %s, "environment": { %q: "1" }, "waivers": [{ "rule": %q, "reason": "r" }] }`,
			strings.ReplaceAll(longJob, "25h", "1h"), variable, rule))}, nil, Rules())
	}
	const former = "submit-env-name-reserved-prefix"
	found := job(former, "AWS_BATCH_X")
	if len(found) != 1 || found[0].Rule != "env-name-reserved-prefix" || found[0].Waived == nil {
		t.Errorf("waived: %v", found)
	}
	found = job(former, "X")
	if len(found) != 1 || found[0].Rule != "waiver-unused" || !strings.Contains(found[0].Message, former) {
		t.Errorf("unused: %v", found)
	}
	found = job("fargate-memory-for-1-vcpu", "X")
	if len(found) != 1 || found[0].Rule != "waiver-not-waivable" {
		t.Errorf("certain: %v", found)
	}
}
