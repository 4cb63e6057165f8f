package lint

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// A job file and a platform file may waive rules (document.Waiver): rules of the platform's
// policy, rules that warn, and errors that only documentation supports. A waiver cannot
// change what AWS Batch certainly rejects.

// waiver is a waiver with the first job that has it.
type waiver struct {
	Job
	document.Waiver
}

// waivers holds every waiver of the jobs, and those of the platform file if the pass is about that file.
var waivers = newFact(func(p *Pass, old []waiver) []waiver {
	all := old[:0]
	for _, j := range p.Jobs() {
		for _, w := range j.Waivers {
			// Jobs of a workflow inherit the waivers of its defaults, so one waiver can be in several.
			if !slices.ContainsFunc(all, func(known waiver) bool { return known.Waiver.Node == w.Node }) {
				all = append(all, waiver{j, w})
			}
		}
	}
	for _, f := range p.Files {
		if f.Platform == nil {
			continue
		}
		for n := range f.Root.Get("waivers").Children() {
			all = append(all, waiver{p.topLevel(f), waiverOf(n)})
		}
	}
	return all
})

// named returns the rule that the waiver names; nil if there is none.
func (w waiver) named() *Rule { return namedRules.of(w.pass)[currentName(w.Rule)] }

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
		rule("waiver-rule-unknown", High, checkWaivedRules,
			"A waiver names a rule that does not exist, so it has no effect.", waiverSource),
		over("waiver-reason-missing", High, waivers.of, waiver.checkReason,
			"A waiver without a reason has no effect. The reason tells readers of the report why the job may break the rule.",
			waiverSource),
		over("waiver-until-format", High, waivers.of, waiver.checkUntil,
			"The last day of a waiver is a date in the form year-month-day. A waiver with any other value has no effect.",
			waiverSource),
		over("waiver-not-waivable", High, waivers.of, waiver.checkWaivable,
			"You can waive warnings, rules of the platform file's policy, and errors that only documentation supports. You cannot waive other errors, because AWS Batch or the document would still be rejected.",
			waiverSource),
		warns(over("waiver-expired", High, waivers.of, waiver.checkExpired,
			"The last day of a waiver is past (in UTC), so batchctl reports the problem again.", waiverSource)),
		warns(over("waiver-unused", High, waivers.of, waiver.checkUsed,
			"A waiver has no effect, because the job no longer breaks the rule. Without a platform file, batchctl does not report waivers of rules that need one.",
			waiverSource)),
	}
}

// checkWaivedRules reports names that no rule has.
func checkWaivedRules(p *Pass) {
	searches := 20 // the search for a similar name is expensive
	for _, w := range waivers.of(p) {
		n := w.Waiver.Node.Get("rule")
		if w.named() != nil || !n.Is(jsontree.String) {
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
		w.ReportFix(fix, fmt.Sprintf("no rule is called %s", quote(w.Rule)), hint, n)
	}
}

// checkReason reports a waiver without a reason.
func (w waiver) checkReason() {
	node := w.Waiver.Node
	n := node.Get("reason")
	if node.Get("rule") != nil && strings.TrimSpace(w.Reason) == "" && (n != nil || w.lacks(node, "reason")) {
		w.Report("a waiver needs a reason", `add why, and who agreed: "reason": "agreed in OPS-12"`, n, node)
	}
}

// checkUntil reports a last day that is no date.
func (w waiver) checkUntil() {
	if n := w.Waiver.Node.Get("until"); n.Is(jsontree.String) && (w.Until == "" || !isDay(w.Until)) {
		w.Report(fmt.Sprintf("until must be a date, not %s", quote(w.Until)),
			`write a date such as "2027-01-31", or remove it`, n)
	}
}

// checkWaivable reports a waiver of a rule that cannot be waived.
func (w waiver) checkWaivable() {
	r, n := w.named(), w.Waiver.Node.Get("rule")
	switch {
	case r == nil || r.waivable(r.Severity) || r.canWarn || w.pass.waived[w.Waiver.Node]:
	case r.Scope == waiverTopic:
		w.ReportFix(jsontree.RemovalFix(w.Waiver.Node),
			w.Rule+" cannot be waived: it is about the waivers themselves", "remove the waiver", n)
	default:
		w.Report(fmt.Sprintf("%s cannot be waived: its evidence is certain (%s)", w.Rule, r.Evidence),
			"fix the problem; waivers are for warnings, errors from documentation only and the platform file's policy",
			n)
	}
}

// checkExpired reports a waiver that has ended.
func (w waiver) checkExpired() {
	if isComplete(w.Waiver) && isOver(w.Waiver) {
		w.Report(fmt.Sprintf("the waiver of %s ended on %s", quote(w.Rule), w.Until),
			"fix the job and remove the waiver, or agree on a later day", w.Waiver.Node.Get("until"))
	}
}

// checkUsed reports a waiver without an effect. One of the platform file is for many documents, of which the pass has
// only some.
func (w waiver) checkUsed() {
	r, p := w.named(), w.pass
	if r == nil || r.Scope == documentTopic || w.File.Platform != nil || !r.waivable(r.Severity) && !r.canWarn ||
		p.waived[w.Waiver.Node] || !isComplete(w.Waiver) || isOver(w.Waiver) || !p.isDescribed() && r.needsPlatform() {
		return
	}
	w.ReportFix(jsontree.RemovalFix(w.Waiver.Node),
		fmt.Sprintf("the waiver of %s has no effect: the job does not break this rule", quote(w.Rule)),
		"remove the waiver", w.Waiver.Node.Get("rule"))
}
