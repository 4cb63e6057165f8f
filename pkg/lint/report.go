package lint

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// findings collects the problems of a run.
type findings struct {
	rule  *Rule // the running rule
	found diag.List
	// waived holds the waivers that have silenced a problem.
	waived map[*jsontree.Node]bool
	// added holds the members that hints add, with their values.
	added map[addition]string
	// misspelt holds the members that are in a file under a wrong name, which is a problem of its own. So they are not
	// missing.
	misspelt map[*document.File][]document.UnknownMember
}

// noteMisspelt says that the file has the member under the wrong name of a node.
func (f *findings) noteMisspelt(file *document.File, name string, n *jsontree.Node) {
	if f.misspelt == nil {
		f.misspelt = map[*document.File][]document.UnknownMember{}
	}
	f.misspelt[file] = append(f.misspelt[file], document.UnknownMember{Name: name, At: n.Span})
}

// Report reports a problem of the running rule at a node. Of an object or array it
// marks only the opening bracket, for example if a member is missing.
func (f *findings) Report(n *jsontree.Node, message, hint string) {
	f.report(f.rule.Severity, nil, n, message, hint)
}

// report adds a problem of the running rule at a node. A fix that would change a
// placeholder of another program is dropped. The hint then asks for the value.
func (f *findings) report(severity diag.Severity, fix *diag.Fix, n *jsontree.Node, message, hint string) {
	src, span := n.Location()
	// A whole object underlined would hide where the problem is.
	if (n.Is(jsontree.Object) || n.Is(jsontree.Array)) && span.End > span.Start {
		span = document.Opening(n)
	}
	if fix != nil && editsPlaceholder(src, fix) {
		fix, hint = nil, "fill in the placeholder, then check again"
	}
	f.found = append(f.found, diag.Diagnostic{
		Severity: severity, Rule: f.rule.Name, Source: src, Span: span, Message: message, Hint: hint,
		Fix: classified(fix, severity, f.rule.KeepsMeaning, hint),
	})
}

// Report reports a problem at the first of the nodes that the user wrote, or else at
// the job's name.
func (j Job) Report(message, hint string, nodes ...*jsontree.Node) {
	j.reportAs(j.pass.rule.Severity, nil, message, hint, nodes...)
}

// ReportFix is Report with an edit that fixes the problem; the fix may be nil.
func (j Job) ReportFix(fix *diag.Fix, message, hint string, nodes ...*jsontree.Node) {
	j.reportAs(j.pass.rule.Severity, fix, message, hint, nodes...)
}

// reportAs is ReportFix with a severity other than that of the rule, for a rule that is
// certain about some values and only warns about others.
func (j Job) reportAs(severity diag.Severity, fix *diag.Fix, message, hint string, nodes ...*jsontree.Node) {
	at, whole := j.NameNode(), true
	for _, n := range nodes {
		if src, _ := n.Location(); src != nil {
			at, whole = n, false
			break
		}
	}
	j.pass.report(severity, fix, at, message, j.pass.together(j, at, hint))
	d := &j.pass.found[len(j.pass.found)-1]
	d.Whole = whole
	j.amend(d)
}

// together returns the hint to add a member. If another hint already adds a member with this name to the same object,
// it says that both belong into one: two members with one name would be an error.
func (f *findings) together(j Job, at *jsontree.Node, hint string) string {
	m := addsMember().FindStringSubmatch(hint)
	if m == nil {
		return hint
	}
	_, span := at.Location()
	key := addition{file: j.File, member: m[1], at: span.Start}
	if slices.Contains(ofJob[:], m[1]) {
		key.at, key.job = 0, j.Job
	}
	if f.added == nil {
		f.added = map[addition]string{}
	}
	value, content := m[2], strings.TrimSuffix(strings.TrimPrefix(m[2], "{ "), " }")
	before, again := f.added[key]
	f.added[key] = value
	switch {
	case !again:
		return hint
	case before == value:
		return fmt.Sprintf("the same %q solves this too", m[1])
	case content != value:
		return fmt.Sprintf("add %s to the same %q", content, m[1])
	}
	return hint
}

// addition is a member that a hint adds.
type addition struct {
	file   *document.File
	job    *document.Job // for members that a job has once
	member string
	at     int
}

// ofJob are the members that a job has once, wherever a problem is reported.
var ofJob = [...]string{"parameters", "tags", "timeout", "jobRoleArn"}

// addsMember matches a hint that adds a member; its groups are the name and the value.
var addsMember = lazy(`^add "([^"]+)": (.+)$`)

// NameNode returns the node at which a problem of the whole job is reported: its name, so
// that a report underlines one value and not the whole object.
func (j Job) NameNode() *jsontree.Node {
	for _, member := range []string{"name", "jobName", "jobDefinitionName", "jobQueueName", "computeEnvironmentName",
		"consumableResourceName"} {
		if n := j.Node.Get(member); n != nil {
			return n
		}
	}
	return j.Node
}

// Report reports a problem at the first of the nodes that the user wrote, or else at
// the site, or else at the name of the request.
func (c Site) Report(message, hint string, nodes ...*jsontree.Node) {
	c.Job.Report(message, hint, append(nodes, c.Node)...)
}

// ReportFix is Report with an edit that fixes the problem; the fix may be nil.
func (c Site) ReportFix(fix *diag.Fix, message, hint string, nodes ...*jsontree.Node) {
	c.Job.ReportFix(fix, message, hint, append(nodes, c.Node)...)
}

// classified returns the fix with the class that follows from the hint and the severity,
// unless the fix has a class already. AWS Batch accepts a job with warnings, so
// the fix of a warning changes what the job does. A hint with two alternatives leaves
// the choice to the user.
func classified(fix *diag.Fix, severity diag.Severity, keepsMeaning bool, hint string) *diag.Fix {
	switch {
	case fix == nil:
	case severalWays().MatchString(outsideQuotes(hint)):
		fix.Class = diag.Choice
	case fix.Class != diag.Automatic:
	case severity == diag.Warning && !keepsMeaning:
		fix.Class = diag.Behavior
	}
	return fix
}

// severalWays matches a hint that offers alternatives, so that no fix is the obvious one.
var severalWays = lazy(`(?i)\b(or|either|one of|too|instead)\b`)

// outsideQuotes removes quoted text from a hint, because a name can be or contain "or".
func outsideQuotes(hint string) string { return quoted().ReplaceAllString(hint, "") }

// editsPlaceholder reports whether a fix changes text that another program fills in.
func editsPlaceholder(src *diag.Source, fix *diag.Fix) bool {
	for _, e := range fix.Edits {
		if src == nil || e.Span.Start < 0 || e.Span.Start >= e.Span.End || e.Span.End > len(src.Text) {
			continue
		}
		if text := src.Text[e.Span.Start:e.Span.End]; jsontree.HasPlaceholder(text) {
			return true
		}
	}
	return false
}

// policyHint adds to the hint of a policy's problem whom to ask, and where the job
// declares a waiver.
func (j Job) policyHint(hint string) string {
	policy := j.pass.policy()
	hint = policy.Hint(hint)
	switch {
	case policy.Waiver == "":
		return hint
	case j.compact():
		return hint + `; add it to "waivers"`
	}
	return hint + `; a request file cannot contain waivers: add it to "waivers" of ` + document.PlatformFile
}

// amend completes a problem of the job: it adds whom to ask about a policy, and marks
// the problem if the job waives it.
func (j Job) amend(d *diag.Diagnostic) {
	if j.pass.rule.Scope == policyTopic {
		d.Hint = j.policyHint(d.Hint)
	}
	waivers := j.Waivers
	if name := j.NameNode(); name.Is(jsontree.String) {
		waivers = slices.Concat(waivers, platformWaivers(j.pass.Platform, name.Text))
	}
	j.pass.waive(d, waivers)
}

// waive marks a problem of the running rule if one of the waivers is for it.
func (f *findings) waive(d *diag.Diagnostic, waivers []document.Waiver) {
	if w := f.rule.waive(d, waivers); w != nil {
		if f.waived == nil {
			f.waived = map[*jsontree.Node]bool{}
		}
		f.waived[w.Node] = true
	}
}

// waive marks a problem of the rule if one of the waivers is for it, and returns that
// waiver. A waiver that has ended is named in the message.
func (r *Rule) waive(d *diag.Diagnostic, waivers []document.Waiver) *document.Waiver {
	if !r.waivable(d.Severity) {
		return nil
	}
	ended := ""
	for i, w := range waivers {
		switch {
		case currentName(w.Rule) != d.Rule || !isComplete(w):
		case isOver(w):
			ended = w.Until
		default:
			d.Waived = &diag.Waiver{Reason: strings.TrimSpace(w.Reason), Until: w.Until}
			return &waivers[i]
		}
	}
	if ended != "" && d.Waived == nil {
		d.Message += "; its waiver ended on " + ended
	}
	return nil
}

// platformWaivers returns the waivers of the platform file for a job, or for another thing
// that a document creates. Without a name, it returns those that are for everything.
func platformWaivers(p *document.Platform, name string) (list []document.Waiver) {
	if p == nil {
		return nil
	}
	for n := range p.Root.Get("waivers").Children() {
		if jobs := n.Get("jobs"); (jobs == nil) == (name == "") && (jobs == nil || matchesAny(jobs, name)) {
			list = append(list, waiverOf(n))
		}
	}
	return list
}

// waiverOf returns the waiver that an entry of "waivers" describes.
func waiverOf(n *jsontree.Node) document.Waiver {
	return document.Waiver{Rule: n.Get("rule").Str(), Reason: n.Get("reason").Str(), Until: n.Get("until").
		Str(), Node: n}
}

// matchesAny reports whether one of the patterns in a list matches a name.
func matchesAny(patterns *jsontree.Node, name string) bool {
	for p := range patterns.Children() {
		if document.Matches(p.Str(), name) {
			return true
		}
	}
	return false
}

// Waive marks the problems of a document's form that its jobs or its platform file waive.
func Waive(f *document.File, platform *document.Platform, problems diag.List) diag.List {
	for i := range problems {
		d := &problems[i]
		r, known := Lookup(d.Rule)
		if !known || !r.waivable(d.Severity) {
			continue
		}
		r.waive(d, platformWaivers(platform, ""))
		for _, j := range f.Jobs {
			if at := j.Node; at != nil && at.Source == d.Source && at.Span.Start <= d.Span.Start &&
				d.Span.End <= at.Span.End {
				r.waive(d, slices.Concat(j.Waivers, platformWaivers(platform, j.Name)))
			}
		}
	}
	return problems
}

// isComplete reports whether a waiver has a reason and, if it has a last day, a valid
// one.
func isComplete(w document.Waiver) bool {
	return strings.TrimSpace(w.Reason) != "" && isDay(w.Until)
}

// isDay reports whether a waiver's last day is a date, such as 2027-01-31, or absent.
func isDay(until string) bool {
	_, err := time.Parse(time.DateOnly, until)
	return until == "" || err == nil
}

// isOver reports whether the last day of a waiver is past, in UTC.
func isOver(w document.Waiver) bool {
	return w.Until != "" && w.Until < time.Now().UTC().Format(time.DateOnly)
}
