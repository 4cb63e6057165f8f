package lint

import (
	"strings"
	"time"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// Report reports a breach of the running rule at a node. Of an object or array
// only the opening bracket is marked, as for a member that is missing there.
func (p *Pass) Report(n *jsontree.Node, message, hint string) {
	p.report(p.rule.Severity, nil, n, message, hint)
}

func (p *Pass) report(severity diag.Severity, fix *diag.Fix, n *jsontree.Node, message, hint string) {
	src, span := n.Place()
	if (n.Is(jsontree.Object) || n.Is(jsontree.Array)) && span.End > span.Start {
		span = document.Opening(n)
	}
	if fix != nil && editsPlaceholder(src, fix) {
		fix, hint = nil, "fill in the placeholder, then check again"
	}
	p.found = append(p.found, diag.Diagnostic{
		Severity: severity, Rule: p.rule.Name, Source: src, Span: span, Message: message, Hint: hint, Fix: classified(fix, severity, p.rule.KeepsMeaning, hint),
	})
}

// Report reports a breach at the first of the nodes that somebody wrote; if
// there is none, at the job's name.
func (j Job) Report(message, hint string, nodes ...*jsontree.Node) {
	j.reportAs(j.pass.rule.Severity, nil, message, hint, nodes...)
}

// ReportFix is Report with the edit that mends the breach; the fix may be nil.
func (j Job) ReportFix(fix *diag.Fix, message, hint string, nodes ...*jsontree.Node) {
	j.reportAs(j.pass.rule.Severity, fix, message, hint, nodes...)
}

func (j Job) reportAs(severity diag.Severity, fix *diag.Fix, message, hint string, nodes ...*jsontree.Node) {
	place := j.NameNode()
	for _, n := range nodes {
		if src, _ := n.Place(); src != nil {
			place = n
			break
		}
	}
	j.pass.report(severity, fix, place, message, hint)
	j.amend(&j.pass.found[len(j.pass.found)-1])
}

// NameNode is the place for a problem of the whole job: its name, so that a
// report underlines one word and not the whole object.
func (j Job) NameNode() *jsontree.Node {
	for _, member := range []string{"name", "jobName", "jobDefinitionName", "jobQueueName", "computeEnvironmentName", "consumableResourceName"} {
		if n := j.Node.Get(member); n != nil {
			return n
		}
	}
	return j.Node
}

// Report reports a breach at the first of the nodes that somebody wrote; if
// there is none, at the site, then at the name of the request.
func (c Site) Report(message, hint string, nodes ...*jsontree.Node) {
	c.Job.Report(message, hint, append(nodes, c.Node)...)
}

// ReportFix is Report with the edit that mends the breach; the fix may be nil.
func (c Site) ReportFix(fix *diag.Fix, message, hint string, nodes ...*jsontree.Node) {
	c.Job.ReportFix(fix, message, hint, append(nodes, c.Node)...)
}

// classified returns the fix with the class that follows from the severity and from
// the hint, unless it has one of its own. AWS Batch accepts what a rule only warns of,
// so its fix changes what a job does. A hint that names two ways leaves a choice.
func classified(fix *diag.Fix, severity diag.Severity, keepsMeaning bool, hint string) *diag.Fix {
	switch {
	case fix == nil || fix.Class != diag.Automatic:
	case severalWays().MatchString(outsideQuotes(hint)):
		fix.Class = diag.Choice
	case severity == diag.Warning && !keepsMeaning:
		fix.Class = diag.Behavior
	}
	return fix
}

var severalWays = lazy(`(?i)\b(or|either|one of|too|instead)\b`)

func outsideQuotes(hint string) string { return quoted().ReplaceAllString(hint, "") }

// editsPlaceholder reports whether a fix changes text that another program fills in.
func editsPlaceholder(src *diag.Source, fix *diag.Fix) bool {
	for _, e := range fix.Edits {
		if src == nil || e.Span.Start < 0 || e.Span.Start >= e.Span.End || e.Span.End > len(src.Text) {
			continue
		}
		if text := src.Text[e.Span.Start:e.Span.End]; jsontree.IsPlaceholder(constantLists.Replace(text)) {
			return true
		}
	}
	return false
}

var constantLists = strings.NewReplacer("[true]", "", "[false]", "", "[null]", "")

// policy is what the platform demands; nothing without a platform file.
func (p *Pass) policy() document.Policy {
	if p.Platform == nil {
		return document.Policy{}
	}
	return p.Platform.Policy
}

// policyHint adds to the hint of a policy's problem who to ask, and how the job
// gets a waiver and carries it.
func (j Job) policyHint(hint string) string {
	policy := j.pass.policy()
	hint = policy.Hint(hint)
	switch {
	case policy.Waiver == "":
		return hint
	case j.compact():
		return hint + `; note it in "waivers"`
	}
	return hint + "; a request file has no place for it: convert it (batchctl convert), or use --baseline"
}

// amend completes a problem of the job: it says who to ask about a policy, and
// marks the problem if the job waives it.
func (j Job) amend(d *diag.Diagnostic) {
	if j.pass.rule.Scope == policyTopic {
		d.Hint = j.policyHint(d.Hint)
	}
	if !j.pass.rule.waivable(d.Severity) {
		return
	}
	for _, w := range j.Waivers {
		switch {
		case w.Rule != d.Rule || !isComplete(w):
		case isOver(w):
			d.Message += "; its waiver ended on " + w.Until
		default:
			d.Waived = &diag.Waiver{Reason: strings.TrimSpace(w.Reason), Until: w.Until}
			if j.pass.waived == nil {
				j.pass.waived = map[*jsontree.Node]bool{}
			}
			j.pass.waived[w.Node] = true
			return
		}
	}
}

// isComplete reports whether a waiver has a reason, and a last day that can be read
// if it has one.
func isComplete(w document.Waiver) bool {
	return strings.TrimSpace(w.Reason) != "" && isDay(w.Until)
}

func isDay(until string) bool {
	_, err := time.Parse(time.DateOnly, until)
	return until == "" || err == nil
}

// isOver reports whether the last day of a waiver is past, in UTC.
func isOver(w document.Waiver) bool {
	return w.Until != "" && w.Until < time.Now().UTC().Format(time.DateOnly)
}
