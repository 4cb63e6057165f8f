package lint

import (
	"github.com/batchctl/batchctl/pkg/diag"
)

// Confidence says how well a rule is supported.
type Confidence string

// The confidences of rules.
const (
	// High: two kinds of source agree, the API model requires it, or a source quotes
	// the service.
	High Confidence = "high"
	// Medium: one good source supports it.
	Medium Confidence = "medium"
	// Low: likely, but unconfirmed; such a rule only warns.
	Low Confidence = "low"
)

// Rule is one check.
type Rule struct {
	// Name is stable: users write it in waivers. It is the id in the rules table.
	Name string
	// Severity is Error or Warning. A rule of low confidence is a warning.
	Severity diag.Severity
	// Confidence says how well the rule is supported.
	Confidence Confidence
	// Scope is the topic that the rule belongs to, such as "fargate".
	Scope string
	// Doc describes in a sentence or two what is wrong and why it matters.
	Doc string
	// Source names the origin of the rule.
	Source string
	// Evidence is what shows that the rule is right; Rules fills it in from Source, unless
	// the rule gives its own. An error needs more than Documentation, or a Quote.
	Evidence Evidence
	// Quote is the sentence that states the refusal, in the words of the first part of Source,
	// for an error with the evidence Documentation.
	Quote string
	// Run reports every problem in the pass's files.
	Run func(*Pass)
	// KeepsMeaning is true for a warning whose fix leaves the job's behavior unchanged.
	// The user has to choose the fix of any other warning.
	KeepsMeaning bool

	// canWarn is true for a rule with certain evidence that reports some problems as
	// warnings, which can be waived.
	canWarn bool

	// checkIn checks other sites than those of the rule's scope; nil for a rule that is no row.
	checkIn func(p *Pass, sites []Site)

	// about lists members without which the rule finds nothing. It is empty for a rule
	// that reads every file.
	about []nameSet
}

// placementTopic is the topic of jobs that fit nowhere, or use a larger instance than
// necessary.
const placementTopic = "stuck-runnable"

// onlyWith restricts the rule to members: if none of the paths can occur in a file's
// requests, the rule is skipped.
func (r *Rule) onlyWith(paths ...path) *Rule {
	r.about = nil
	for _, p := range paths {
		r.about = append(r.about, p.names())
	}
	return r
}

// allOnlyWith is onlyWith for the rules of a topic that do not call it themselves.
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

// shownBy gives the rule evidence other than that of its source.
func (r *Rule) shownBy(e Evidence) *Rule {
	r.Evidence = e
	return r
}

const (
	// policySource is the source of the rules for limits that an organisation sets itself.
	policySource = "the platform file's policy"
	policyTopic  = "policy"
)

const (
	// waiverSource is the source of the rules about the waivers themselves.
	waiverSource = "the job file's waivers"
	waiverTopic  = "waivers"
)

// waivable reports whether a problem of the rule with that severity can be waived: every
// one that is not certain, and those of the organisation's own policy.
func (r *Rule) waivable(s diag.Severity) bool {
	return r.Scope == policyTopic || r.Scope != waiverTopic && !r.certain(s)
}

// needsPlatform reports whether the rule finds nothing without a platform file.
func (r *Rule) needsPlatform() bool { return r.Scope == policyTopic || r.Scope == placementTopic }
