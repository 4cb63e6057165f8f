package lint

import (
	"github.com/batchctl/batchctl/pkg/diag"
)

// Confidence says how well a rule is known.
type Confidence string

// The confidences of rules.
const (
	// High: two kinds of source agree, the API model demands it, or the service
	// was quoted.
	High Confidence = "high"
	// Medium: one good source says so.
	Medium Confidence = "medium"
	// Low: likely, but nobody has shown it; such a rule only warns.
	Low Confidence = "low"
)

// Rule is one check.
type Rule struct {
	// Name is stable: users write it in waivers. It is the id in the rules table.
	Name string
	// Severity is Error or Warning. A rule of low confidence is a warning.
	Severity diag.Severity
	// Confidence says how well the rule is known.
	Confidence Confidence
	// Scope is the topic that the rule belongs to, such as "fargate".
	Scope string
	// Doc says in a sentence or two what is wrong and why it matters.
	Doc string
	// Source says where the rule comes from.
	Source string
	// Run reports every breach in the pass's files.
	Run func(*Pass)
	// KeepsMeaning says of a warning that its fix leaves the job's behavior unchanged.
	// The fix of any other warning is for the user to choose.
	KeepsMeaning bool

	// about is the members of which a file has some, or the rule finds nothing; none
	// for a rule that looks at every file.
	about []nameSet
}

// placementTopic is the topic of what finds no place, or a larger one than it needs.
const placementTopic = "stuck-runnable"

// onlyWith says that the rule is about members: where none of the paths can be in a
// file's requests it finds nothing, and is not run.
func (r *Rule) onlyWith(paths ...path) *Rule {
	r.about = nil
	for _, p := range paths {
		r.about = append(r.about, p.names())
	}
	return r
}

// allOnlyWith is onlyWith for those rules of a topic that do not say it themselves.
func allOnlyWith(rules []Rule, topic string, paths ...path) {
	for i := range rules {
		if r := &rules[i]; r.Scope == topic && r.about == nil {
			r.onlyWith(paths...)
		}
	}
}

// keepingMeaning marks a rule whose fix leaves the job's behavior unchanged.
func (r *Rule) keepingMeaning() *Rule {
	r.KeepsMeaning = true
	return r
}

const (
	policySource = "the platform file's policy"
	policyTopic  = "policy"
)

const (
	waiverSource = "the job file's waivers"
	waiverTopic  = "waivers"
)

// waivable reports whether a problem of the rule, of that severity, can be waived.
func (r *Rule) waivable(s diag.Severity) bool {
	return r.Scope == policyTopic || s == diag.Warning && r.Scope != waiverTopic
}

// needsPlatform reports whether the rule finds nothing without a platform file.
func (r *Rule) needsPlatform() bool { return r.Scope == policyTopic || r.Scope == placementTopic }
