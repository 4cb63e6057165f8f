package diag

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
)

// WriteSARIF writes the problems as one run of a SARIF 2.1.0 log
// (https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html), within the limits of
// GitHub's code scanning ("SARIF support for code scanning"). Every result has a file and a
// region; a problem without a source is at 1:1 of the file "-". File names become relative
// URIs, absolute ones file: URIs. Columns count code points. A rule that Tool does not list is
// added to its rules. The fingerprint ruleLineHash/v1 survives shifted lines; the fingerprint
// that code scanning computes itself is not set. A fix whose edits do not fit the text is left
// out. A waived problem is suppressed in source, with the waiver's reason. The error is that
// of w.
func WriteSARIF(w io.Writer, l List, t Tool) error { return writeSARIF(w, l, t, nil) }

// writeSARIF marks the run as failed if something could not be checked.
func writeSARIF(w io.Writer, l List, t Tool, unread []string) error {
	rules := t.rules(l)
	index := make(map[string]int, len(rules))
	for i, r := range rules {
		index[r.ID] = i
	}
	prints := fingerprints(l)
	waived := l.Waived()
	l = l.masked()
	results := make([]sarifResult, len(l))
	for i, d := range l {
		results[i] = d.sarif(index[d.ruleID()], prints[i])
		if waived > 0 {
			results[i].Suppressions = d.suppressions()
		}
	}
	return writeIndented(w, sarifLog{
		Schema:  "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
		Version: "2.1.0",
		Runs: []sarifRun{{
			// Readers compare versions that begin with a digit (SARIF2005 of Microsoft's validator).
			Tool: sarifTool{sarifDriver{t.Name, strings.TrimPrefix(t.Version, "v"), t.URI,
				sarifRules(rules, t.URI)}},
			Invocations: []sarifInvocation{newSARIFInvocation(unread)},
			ColumnKind:  "unicodeCodePoints",
			Results:     results,
		}},
	})
}

func newSARIFInvocation(unread []string) sarifInvocation {
	v := sarifInvocation{Successful: len(unread) == 0}
	for _, why := range unread {
		v.Notifications = append(v.Notifications, sarifNotification{"error", sarifText{unlinked(Printable(why))}})
	}
	return v
}

// rules returns the tool's rules, each once, and after them those of problems
// that it does not list.
func (t Tool) rules(l List) []RuleInfo {
	known := map[string]bool{}
	var rules, more []RuleInfo
	for _, r := range t.Rules {
		if !known[r.ID] {
			known[r.ID] = true
			rules = append(rules, r)
		}
	}
	for _, d := range l {
		if id := d.ruleID(); !known[id] {
			known[id] = true
			more = append(more, RuleInfo{ID: id, Severity: d.Severity})
		}
	}
	slices.SortStableFunc(more, func(a, b RuleInfo) int { return strings.Compare(a.ID, b.ID) })
	return append(rules, more...)
}

func sarifRules(rules []RuleInfo, toolURI string) []sarifRule {
	out := make([]sarifRule, len(rules))
	for i, r := range rules {
		doc := firstOf(r.Doc, r.ID)
		out[i] = sarifRule{
			ID:               r.ID,
			ShortDescription: sarifText{doc},
			FullDescription:  sarifText{doc},
			Help:             sarifHelp{firstOf(r.Help, doc), r.Markdown},
			HelpURI:          firstOf(r.URI, toolURI),
			Configuration:    sarifConfiguration{r.Severity.String()},
		}
	}
	return out
}

func firstOf(a, b string) string {
	if a == "" {
		return b
	}
	return a
}

func (d Diagnostic) sarif(rule int, p fingerprint) sarifResult {
	file := sarifArtifact{fileURI(d.file())}
	r := sarifResult{
		RuleID: d.ruleID(), RuleIndex: rule, Level: d.Severity.String(),
		Message:      sarifText{unlinked(d.advice())},
		Locations:    []sarifLocation{{sarifPlace{file, d.region()}}},
		Fingerprints: map[string]string{"ruleLineHash/v1": fmt.Sprintf("%s:%d", p.hash, p.n)},
	}
	edits := d.openEdits()
	if len(edits) == 0 {
		return r
	}
	change := sarifChange{Artifact: file}
	for _, e := range edits {
		change.Replacements = append(change.Replacements,
			sarifReplacement{d.Source.region(e.Span), sarifText{e.Text}})
	}
	r.Fixes = []sarifFix{{sarifText{unlinked(d.Fix.Message)}, []sarifChange{change}}}
	return r
}

// suppressions is never nil.
func (d Diagnostic) suppressions() []sarifSuppression {
	if d.Waived == nil {
		return []sarifSuppression{}
	}
	return []sarifSuppression{{Kind: "inSource", Justification: d.Waived.Reason}}
}

// unlinked escapes links of SARIF in a plain message, [text](target): a name in a job file
// must not become a link.
func unlinked(s string) string { return strings.ReplaceAll(s, "](", "] (") }

// fileURI returns the URI reference of a file name with forward slashes. A colon
// is escaped too, or the first part of "a:b.json" would be a scheme.
func fileURI(name string) string {
	var b strings.Builder
	switch {
	case strings.HasPrefix(name, "/"):
		b.WriteString("file://")
	case filepath.IsAbs(name): // C:/jobs
		b.WriteString("file:///")
	}
	for i := range len(name) {
		switch c := name[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("-._~/", c) >= 0:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}
