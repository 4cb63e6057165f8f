package lint

import (
	"fmt"
	"strings"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/spec"
)

const policySource = "the platform file's policy"

// policy is what the platform demands; nothing without a platform file.
func (p *Pass) policy() spec.Policy {
	if p.Platform == nil {
		return spec.Policy{}
	}
	return p.Platform.Policy
}

var policyRules = []Rule{
	{
		Name: "policy-required-tags", Severity: diag.Error, Confidence: High,
		Doc:    "The platform file demands a tag that the job does not carry.",
		Source: policySource + ", requiredTags",
		Run: func(p *Pass) {
			for j := range p.Jobs() {
				for _, tag := range p.policy().RequiredTags {
					if j.Register.Get("tags").Get(tag) == nil && j.Submit.Get("tags").Get(tag) == nil {
						j.Report(fmt.Sprintf("the platform file demands the tag %s", quote(tag)),
							fmt.Sprintf(`add "tags": { %q: "..." }`, tag), j.Node.Get("tags"))
					}
				}
			}
		},
	},
	{
		Name: "policy-allowed-images", Severity: diag.Error, Confidence: High,
		Doc:    "The image matches none of the patterns that the platform file allows.",
		Source: policySource + ", allowedImages",
		Run: func(p *Pass) {
			allowed := p.policy().AllowedImages
			for i := range p.Images() {
				if ref := i.Image.Str(); len(allowed) > 0 && ref != "" && !matchesAny(allowed, ref) {
					i.Report(fmt.Sprintf("the platform file does not allow the image %s", quote(ref)), "allowed are "+strings.Join(allowed, ", "), i.Image)
				}
			}
		},
	},
	{
		Name: "policy-latest-tag", Severity: diag.Error, Confidence: High,
		Doc:    "The platform file denies images without a tag or with the tag latest: another image tomorrow.",
		Source: policySource + ", denyLatestTag",
		Run: func(p *Pass) {
			if !p.policy().DenyLatestTag {
				return
			}
			for i := range p.Images() {
				reportLatest(i)
			}
		},
	},
	{
		Name: "policy-max-attempts", Severity: diag.Error, Confidence: High,
		Doc:    "The job asks for more attempts than the platform file allows.",
		Source: policySource + ", maxAttempts",
		Run: func(p *Pass) {
			most := p.policy().MaxAttempts
			p.strategies(func(j Job, s *jsontree.Node) {
				if a, ok := s.Get("attempts").Int(); ok && most > 0 && a > int64(most) {
					j.Report(fmt.Sprintf("the platform file allows %d attempts, not %d", most, a), "", s.Get("attempts"))
				}
			})
		},
	},
	{
		Name: "policy-max-timeout", Severity: diag.Error, Confidence: High,
		Doc:    "The job's timeout is longer than the platform file allows, or there is none at all.",
		Source: policySource + ", maxTimeout",
		Run: func(p *Pass) {
			most := p.policy().MaxTimeout
			for j := range p.Jobs() {
				if most == 0 {
					return
				}
				own, registered := j.Own("timeout"), j.Register.Get("timeout")
				for _, t := range []*jsontree.Node{registered, own} {
					n := t.Get("attemptDurationSeconds")
					if s, ok := n.Int(); ok && s > int64(most) {
						j.Report(fmt.Sprintf("the platform file allows a timeout of %d seconds, not %d", most, s), "", n)
					}
				}
				if j.Register != nil && own == nil && registered == nil {
					j.Report(fmt.Sprintf("the platform file demands a timeout of at most %d seconds", most), "add "+timeoutExample(j))
				}
			}
		},
	},
}

func matchesAny(patterns []string, s string) bool {
	for _, p := range patterns {
		if matches(p, s) {
			return true
		}
	}
	return false
}

// matches reports whether s is the pattern, in which * stands for any run of
// characters.
func matches(pattern, s string) bool {
	head, tail, star := strings.Cut(pattern, "*")
	if !star {
		return s == pattern
	}
	rest, ok := strings.CutPrefix(s, head)
	if !ok {
		return false
	}
	parts := strings.Split(tail, "*")
	for _, part := range parts[:len(parts)-1] {
		i := strings.Index(rest, part)
		if i < 0 {
			return false
		}
		rest = rest[i+len(part):]
	}
	return strings.HasSuffix(rest, parts[len(parts)-1])
}

func isARN(s string) bool { return strings.HasPrefix(s, "arn:") }
