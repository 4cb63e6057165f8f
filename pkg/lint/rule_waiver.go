package lint

import (
	"fmt"
	"maps"
	"strings"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// A job file and a platform file may waive rules (document.Waiver): rules of the platform's
// policy, rules that warn, and errors that only documentation supports. A waiver cannot
// change what AWS Batch certainly rejects.

// waivers yields every waiver with the first job that has it, and those of the platform
// file if the pass is about that file.
func (p *Pass) waivers() func(yield func(Job, document.Waiver) bool) {
	return func(yield func(Job, document.Waiver) bool) {
		// Jobs of a workflow inherit the waivers of its defaults, so one waiver can be in
		// several.
		var seen map[*jsontree.Node]bool
		for _, j := range p.Jobs() {
			for _, w := range j.Waivers {
				if seen[w.Node] {
					continue
				}
				if seen == nil {
					seen = map[*jsontree.Node]bool{}
				}
				seen[w.Node] = true
				if !yield(j, w) {
					return
				}
			}
		}
		for _, f := range p.Files {
			if f.Platform == nil {
				continue
			}
			for n := range f.Root.Get("waivers").Children() {
				if !yield(Job{Job: &document.Job{Node: f.Root}, userFile: userFile{f}, pass: p}, waiverOf(n)) {
					return
				}
			}
		}
	}
}

// namedRules maps names to the rules of the run and to those of the form of documents.
var namedRules = newFact(func(p *Pass, _ map[string]*Rule) map[string]*Rule {
	named := map[string]*Rule{}
	for _, r := range documentRules() {
		named[r.Name] = &r
	}
	for i := range p.rules {
		named[p.rules[i].Name] = &p.rules[i]
	}
	return named
})

// waiverRules returns the rules about waivers. They run after all others, because they
// need to know which waivers had an effect.
func waiverRules() []*Rule {
	return []*Rule{
		{
			Name: "waiver-rule-unknown", Severity: diag.Error, Confidence: High,
			Doc:    "A waiver names a rule that does not exist, so it has no effect.",
			Source: waiverSource,
			Run: func(p *Pass) {
				searches := 20 // the search for a similar name is expensive
				for j, w := range p.waivers() {
					n := w.Node.Get("rule")
					if _, known := namedRules.of(p)[w.Rule]; known || !n.Is(jsontree.String) {
						continue
					}
					hint, fix := "run batchctl validate --rules for a list", (*diag.Fix)(nil)
					near := ""
					if searches--; searches >= 0 {
						near = nearIn(w.Rule, maps.Keys(namedRules.of(p)))
					}
					if near != "" {
						hint, fix = "did you mean "+quote(near)+"?", replace(n, near)
					}
					j.ReportFix(fix, fmt.Sprintf("no rule is called %s", quote(w.Rule)), hint, n)
				}
			},
		},
		{
			Name: "waiver-reason-missing", Severity: diag.Error, Confidence: High,
			Doc:    "A waiver without a reason has no effect. The reason tells readers of the report why the job may break the rule.",
			Source: waiverSource,
			Run: func(p *Pass) {
				for j, w := range p.waivers() {
					n := w.Node.Get("reason")
					if w.Node.Get("rule") == nil || strings.TrimSpace(w.Reason) != "" || n == nil &&
						!j.lacks(w.Node, "reason") {
						continue
					}
					j.Report("a waiver needs a reason", `add why, and who agreed: "reason": "agreed in OPS-12"`, n,
						w.Node)
				}
			},
		},
		{
			Name: "waiver-until-format", Severity: diag.Error, Confidence: High,
			Doc:    "The last day of a waiver is a date in the form year-month-day. A waiver with any other value has no effect.",
			Source: waiverSource,
			Run: func(p *Pass) {
				for j, w := range p.waivers() {
					if n := w.Node.Get("until"); n.Is(jsontree.String) && (w.Until == "" || !isDay(w.Until)) {
						j.Report(fmt.Sprintf("until must be a date, not %s", quote(w.Until)),
							`write a date such as "2027-01-31", or remove it`, n)
					}
				}
			},
		},
		{
			Name: "waiver-not-waivable", Severity: diag.Error, Confidence: High,
			Doc:    "You can waive warnings, rules of the platform file's policy, and errors that only documentation supports. You cannot waive other errors, because AWS Batch or the document would still be rejected.",
			Source: waiverSource,
			Run: func(p *Pass) {
				for j, w := range p.waivers() {
					r, known := namedRules.of(p)[w.Rule]
					n := w.Node.Get("rule")
					switch {
					case !known || r.waivable(r.Severity) || r.canWarn || p.waived[w.Node]:
					case r.Scope == waiverTopic:
						j.ReportFix(jsontree.RemovalFix(w.Node), w.Rule+
							" cannot be waived: it is about the waivers themselves", "remove the waiver", n)
					default:
						j.Report(fmt.Sprintf("%s cannot be waived: its evidence is certain (%s)", w.Rule, r.Evidence),
							"fix the problem; waivers are for warnings, errors from documentation only and the platform file's policy", n)
					}
				}
			},
		},
		{
			Name: "waiver-expired", Severity: diag.Warning, Confidence: High,
			Doc:    "The last day of a waiver is past (in UTC), so batchctl reports the problem again.",
			Source: waiverSource,
			Run: func(p *Pass) {
				for j, w := range p.waivers() {
					if isComplete(w) && isOver(w) {
						j.Report(fmt.Sprintf("the waiver of %s ended on %s", quote(w.Rule), w.Until),
							"fix the job and remove the waiver, or agree on a later day", w.Node.Get("until"))
					}
				}
			},
		},
		{
			Name: "waiver-unused", Severity: diag.Warning, Confidence: High,
			Doc:    "A waiver has no effect, because the job no longer breaks the rule. Without a platform file, batchctl does not report waivers of rules that need one.",
			Source: waiverSource,
			Run: func(p *Pass) {
				for j, w := range p.waivers() {
					r := namedRules.of(p)[w.Rule]
					// A waiver of the platform file is for many documents, and this pass has only some.
					if r == nil || r.Scope == documentTopic || j.File.Platform != nil || !r.waivable(r.Severity) &&
						!r.canWarn || p.waived[w.Node] || !isComplete(w) || isOver(w) || !p.isDescribed() &&
						r.needsPlatform() {
						continue
					}
					j.ReportFix(jsontree.RemovalFix(w.Node),
						fmt.Sprintf("the waiver of %s has no effect: the job does not break this rule", quote(w.Rule)),
						"remove the waiver", w.Node.Get("rule"))
				}
			},
		},
	}
}
