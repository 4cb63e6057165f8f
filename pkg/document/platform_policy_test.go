package document

import (
	"testing"

	"pgregory.net/rapid"
)

func TestMatches(t *testing.T) {
	for _, tt := range []struct {
		pattern, s string
		want       bool
	}{
		{"a", "a", true}, {"a", "ab", false}, {"*", "", true}, {"*", "x/y:1", true},
		{"*.dkr.ecr.us-east-1.amazonaws.com/*", "1.dkr.ecr.us-east-1.amazonaws.com/t:1", true},
		{"*.dkr.ecr.us-east-1.amazonaws.com/*", "evil.example.com/x", false},
		{"a*b", "ab", true}, {"a*b", "a", false}, {"ab*b", "ab", false}, {"a*b*c", "abbc", true}, {"a*b*c", "acb", false},
		{"aa*a", "aa", false}, {"", "", true}, {"", "a", false},
	} {
		if got := Matches(tt.pattern, tt.s); got != tt.want {
			t.Errorf("%q matches %q: %v", tt.pattern, tt.s, got)
		}
	}
}

// Filling the stars of a pattern with anything gives a text that matches.
func TestMatchesProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(rapid.StringMatching(`[ab/.]{0,3}`), 1, 5).Draw(t, "parts")
		pattern, text := parts[0], parts[0]
		for _, p := range parts[1:] {
			pattern += "*" + p
			text += rapid.StringMatching(`[ab/.]{0,4}`).Draw(t, "fill") + p
		}
		if !Matches(pattern, text) {
			t.Fatalf("%q does not match %q", pattern, text)
		}
	})
}

func TestAllowsRole(t *testing.T) {
	const role = "arn:aws:iam::123456789012:role/team/batch-train"
	for pattern, want := range map[string]bool{
		role: true, "batch-train": true, "batch-*": true, "*": true, "arn:aws:iam::123456789012:role/*": true, "*:role/team/*": true,
		"train": false, "arn:aws:iam::210987654321:role/*": false, "team/batch-train": false, "arn:batch-train": false,
	} {
		if got := AllowsRole([]string{"nobody", pattern}, role); got != want {
			t.Errorf("%q allows %s: %v", pattern, role, got)
		}
	}
	if !AllowsRole(nil, role) {
		t.Error("no patterns allow nothing")
	}
}

func TestAllowsQueue(t *testing.T) {
	const text = `{ "queues": { "gpu": { "jobQueue": "gpu-job-queue" },
	  "cpu": { "jobQueue": "arn:aws:batch:us-east-1:123456789012:job-queue/cpu-job-queue" } } }`
	for _, tt := range []struct {
		allowed, word string
		want          bool
	}{
		{"gpu", "gpu", true}, {"gpu", "gpu-job-queue", true}, {"gpu-job-queue", "gpu", true}, {"gpu*", "gpu", true},
		{"gpu", "arn:aws:batch:us-east-1:123456789012:job-queue/gpu-job-queue", true},
		{"arn:aws:batch:us-east-1:123456789012:job-queue/gpu-*", "gpu", true},
		{"cpu-job-queue", "cpu", true}, {"arn:aws:batch:*:123456789012:job-queue/cpu-job-queue", "cpu", true},
		{"arn:aws:batch:*:210987654321:job-queue/cpu-job-queue", "cpu", false},
		{"gpu", "cpu", false}, {"cpu", "elsewhere", false}, {"elsewhere", "elsewhere", true},
		{"elsewhere", "arn:aws:batch:us-east-1:123456789012:job-queue/elsewhere", true}, {"*", "elsewhere", true},
	} {
		p := load(t, text, Options{}).Platform
		p.Policy.AllowedQueues = []string{"nobody", tt.allowed}
		if got := p.AllowsQueue(tt.word); got != tt.want {
			t.Errorf("%q allows %q: %v", tt.allowed, tt.word, got)
		}
		p.Policy.AllowedQueues = nil
		if !p.AllowsQueue(tt.word) {
			t.Errorf("no patterns deny %q", tt.word)
		}
	}
}

func TestPolicyHint(t *testing.T) {
	for want, p := range map[string]Policy{
		"": {}, "ask the team": {Owner: "the team"}, "for a waiver: write to us": {Waiver: "write to us"},
		"ask the team; for a waiver: write to us": {Owner: "the team", Waiver: "write to us"},
	} {
		if got := p.Hint(""); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := (Policy{Owner: "the team"}).Hint("write 4"); got != "write 4; ask the team" {
		t.Errorf("%q", got)
	}
}

func TestAllowsImage(t *testing.T) {
	for _, tt := range []struct {
		pattern, ref string
		want         bool
	}{
		{"*.dkr.ecr.us-east-1.amazonaws.com/*", "123456789012.dkr.ecr.us-east-1.amazonaws.com/team/train:1", true},
		{"*.dkr.ecr.us-east-1.amazonaws.com/*", "evil.example/x.dkr.ecr.us-east-1.amazonaws.com/train:1", false},
		{"*.dkr.ecr.us-east-1.amazonaws.com/team-*/*", "1.dkr.ecr.us-east-1.amazonaws.com/team-a/x/y:1", true},
		{"registry.example.com/*", "registry.example.com/a/b:1", true},
		{"registry.example.com/*", "registry.example.com", false},
		{"*/team/*", "registry.example.com/mirror/team/train:1", true},
		{"busybox:*", "busybox:1.37", true},
		{"*", "evil.example/x:1", true},
		{"*@sha256:*", "registry.example.com/a@sha256:00", true},
	} {
		if got := (Policy{AllowedImages: []string{tt.pattern}}).AllowsImage(tt.ref); got != tt.want {
			t.Errorf("%s allows %s: %v", tt.pattern, tt.ref, got)
		}
	}
	if !(Policy{}).AllowsImage("x") {
		t.Error("without patterns all are allowed")
	}
}
