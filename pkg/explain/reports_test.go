package explain

import (
	"cmp"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
	"pgregory.net/rapid"

	"github.com/batchctl/batchctl/pkg/rpc"
)

// report is a text from testdata/reports.txt, with its members by name.
type report map[string]string

// reports reads testdata/reports.txt.
func reports(t testing.TB) (all []report) {
	t.Helper()
	text, err := os.ReadFile("testdata/reports.txt")
	if err != nil {
		t.Fatal(err)
	}
	for block := range strings.SplitSeq(string(text), "\n\n") {
		r := report{}
		for line := range strings.Lines(block) {
			line = strings.TrimSuffix(line, "\n")
			if name, value, _ := strings.Cut(line, " "); !strings.HasPrefix(line, "#") && name != "" {
				r[name] = strings.TrimPrefix(r[name]+"\n"+strings.TrimLeft(value, " "), "\n")
			}
		}
		if len(r) > 0 {
			if r["source"] == "" || r["cause"] == "" {
				t.Fatalf("%q has no source or no cause", block)
			}
			all = append(all, r)
		}
	}
	return all
}

// bundle returns a job that ended, or waits, with the texts of a report.
func (r report) bundle() *Bundle {
	const now = 1767225600000
	status, image := cmp.Or(r["status"], "Task failed to start"), cmp.Or(r["image"], "111122223333.dkr.ecr.eu-central-1.amazonaws.com/train:1.4")
	job := &types.JobDetail{JobId: aws.String("3f2a91c0-1111-4222-8333-444455556666"), JobName: aws.String("train"), Status: types.JobStatusFailed,
		CreatedAt: aws.Int64(now - 3_600_000), StoppedAt: aws.Int64(now), StatusReason: &status, Container: &types.ContainerDetail{Image: &image,
			ResourceRequirements: []types.ResourceRequirement{{Type: types.ResourceTypeVcpu, Value: aws.String("1")}, {Type: types.ResourceTypeMemory, Value: aws.String("512")}}}}
	if r["reason"] != "" {
		job.Container.Reason = aws.String(r["reason"])
	}
	if code, err := strconv.Atoi(r["exit"]); err == nil {
		job.Container.ExitCode = aws.Int32(int32(code))
	}
	b := &Bundle{Version: BundleVersion, At: now, Subject: Subject{Job: job}}
	if r["log"] != "" {
		b.Subject.Log = &Log{Stream: "train", Lines: []LogLine{{At: now, Text: r["log"]}}}
	}
	if r["environment"] != "" {
		b.Environments = []types.ComputeEnvironmentDetail{{ComputeEnvironmentName: aws.String("gpu"), State: types.CEStateEnabled, Status: types.CEStatusInvalid, StatusReason: aws.String(r["environment"])}}
	}
	if r["waiting"]+r["activity"]+r["environment"] != "" {
		job.Status, job.StoppedAt, job.StatusReason, job.Container.ExitCode = types.JobStatusRunnable, nil, aws.String(r["waiting"]), nil
		for minute := range int64(20) {
			b.Looks = append(b.Looks, Sample{At: now - (20-minute)*60_000, Status: job.Status, Reason: r["waiting"]})
		}
	}
	if r["activity"] != "" {
		b.Groups = []Group{{Environment: "gpu", Group: rpc.ScalingGroup{Name: "gpu"}}}
		for minute := range int64(20) {
			b.Groups[0].Group.Activities = append(b.Groups[0].Group.Activities, rpc.Activity{Status: "Failed", At: now - minute*60_000, Message: r["activity"]})
		}
	}
	return b
}

// has reports whether a text has all of the words that a report wants, separated by semicolons.
func has(text, words string) bool {
	return !slices.ContainsFunc(strings.Split(words, ";"), func(w string) bool { return !strings.Contains(text, strings.TrimSpace(w)) })
}

// TestReports checks the verdicts on published texts.
func TestReports(t *testing.T) {
	sources := map[string]bool{}
	for _, r := range reports(t) {
		sources[r["source"]] = true
		v := Explain(r.bundle()).Verdict
		if v == nil {
			if r["cause"] != "none" {
				t.Errorf("%s: no verdict, want %s", r["source"], r["cause"])
			}
			continue
		}
		fix := v.Fix.Job + "; " + v.Fix.Platform
		if got := v.Cause + " " + string(v.Confidence); got != r["cause"] || !has(v.Summary, r["shown"]) || !has(fix, r["remedy"]) || r["without"] != "" && strings.Contains(fix, r["without"]) {
			t.Errorf("%s: %s\n\tsummary %s\n\tfix %s\nwant %v", r["source"], got, v.Summary, fix, r)
		}
	}
	if len(sources) < 30 {
		t.Errorf("%d sources; want 30 or more", len(sources))
	}
}

// TestUnknownWords checks that no text is certain if it has unknown words after its known part, before it or in it.
func TestUnknownWords(t *testing.T) {
	var told []*Bundle
	for _, r := range reports(t) {
		told = append(told, r.bundle())
	}
	for _, e := range bundles(t, "*") {
		told = append(told, e.bundle(t))
	}
	told = slices.DeleteFunc(told, func(b *Bundle) bool {
		v := Explain(b).Verdict
		return v == nil || v.told == nil || v.Confidence != High
	})
	rapid.Check(t, func(t *rapid.T) {
		b := *rapid.SampledFrom(told).Draw(t, "bundle")
		words := rapid.StringMatching(`zq[a-z]{0,8}( [a-z]{2,8}){0,3}`).Draw(t, "words")
		where := rapid.SampledFrom([]string{"after", "after a colon", "before", "in"}).Draw(t, "where")
		at := rapid.IntRange(0, 20).Draw(t, "at")
		add := func(text *string) *string {
			if text == nil || isGeneral(*text) {
				return text
			}
			switch parts := strings.Split(*text, " "); {
			// Quotes have names, which may be anything. A name elsewhere is one word.
			case where == "in" && !strings.ContainsAny(*text, `"'[`):
				return aws.String(strings.Join(slices.Insert(parts, at%len(parts), words+" zz"), " "))
			case where == "after" || where == "in":
				return aws.String(*text + " " + words)
			case where == "before":
				return aws.String(words + ": " + *text)
			}
			return aws.String(*text + ": " + words)
		}
		change := func(job *types.JobDetail) *types.JobDetail {
			if job == nil {
				return nil
			}
			changed := *job
			changed.StatusReason = add(job.StatusReason)
			if job.Container != nil {
				c := *job.Container
				c.Reason, changed.Container = add(c.Reason), &c
			}
			changed.Attempts = slices.Clone(job.Attempts)
			for i := range changed.Attempts {
				a := &changed.Attempts[i]
				a.StatusReason = add(a.StatusReason)
				if a.Container != nil {
					c := *a.Container
					c.Reason, a.Container = add(c.Reason), &c
				}
			}
			return &changed
		}
		b.Subject.Job, b.Subject.Waiting = change(b.Subject.Job), change(b.Subject.Waiting)
		b.Subject.Failed = slices.Clone(b.Subject.Failed)
		for i := range b.Subject.Failed {
			b.Subject.Failed[i] = *change(&b.Subject.Failed[i])
		}
		b.Looks = slices.Clone(b.Looks)
		for i := range b.Looks {
			b.Looks[i].Reason = *add(&b.Looks[i].Reason)
		}
		b.Groups = slices.Clone(b.Groups)
		for i := range b.Groups {
			activities := slices.Clone(b.Groups[i].Group.Activities)
			for j := range activities {
				activities[j].Message = *add(&activities[j].Message)
			}
			b.Groups[i].Group.Activities = activities
		}
		if v := Explain(&b).Verdict; v != nil && v.told != nil && v.Confidence == High {
			t.Fatalf("%s with confidence %s, although %q is unknown: %q", v.Cause, v.Confidence, words, v.told)
		}
	})
}
