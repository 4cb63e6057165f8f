package doctor

import (
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/secret"
)

// mostText limits the bytes of a piece of evidence.
const mostText = 300

// Severity is how much a finding matters.
type Severity string

// The severities of findings, the gravest first.
const (
	// Problem means that jobs fail or never start while it lasts.
	Problem Severity = "problem"
	// Warning means that jobs may fail, or that it will become a problem.
	Warning Severity = "warning"
	// Note means that it is worth knowing, and may be intended.
	Note Severity = "note"
	// OK means that it was checked and is as it should be.
	OK Severity = "ok"
)

// Severities returns all severities, the most severe first.
func Severities() []Severity { return []Severity{Problem, Warning, Note, OK} }

// Evidence is an observation and its source. Credentials in it are masked.
type Evidence struct {
	// From is a file, a command, an address or a variable.
	From string `json:"from"`
	Text string `json:"text"`
}

// Finding is the result of one check.
type Finding struct {
	// ID is stable, such as docker-runtime-missing.
	ID string `json:"id"`
	// Topic is the topic of the check.
	Topic    string   `json:"topic"`
	Severity Severity `json:"severity"`
	// Summary is the finding in one sentence.
	Summary  string     `json:"summary"`
	Evidence []Evidence `json:"evidence,omitempty"`
	// Why tells the consequence; "" for a finding that is OK.
	Why string `json:"why,omitempty"`
	// Remedy is a command or a change.
	Remedy string `json:"remedy,omitempty"`
}

// Unread is something that could not be checked, so the report has no finding about it.
type Unread struct {
	What string `json:"what"`
	Why  string `json:"why"`
	// Denied means that root has the permission.
	Denied bool `json:"denied,omitempty"`
}

// findings collects what a check found.
type findings struct{ list []Finding }

// found adds a finding. Its topic is added later.
func (f *findings) found(s Severity, id, summary, why, remedy string, seen ...Evidence) {
	f.list = append(f.list, Finding{ID: id, Severity: s, Summary: summary, Why: why, Remedy: remedy, Evidence: seen})
}

func (f *findings) problem(id, summary, why, remedy string, seen ...Evidence) {
	f.found(Problem, id, summary, why, remedy, seen...)
}

func (f *findings) warning(id, summary, why, remedy string, seen ...Evidence) {
	f.found(Warning, id, summary, why, remedy, seen...)
}

func (f *findings) note(id, summary, why, remedy string, seen ...Evidence) {
	f.found(Note, id, summary, why, remedy, seen...)
}

func (f *findings) ok(id, summary string, seen ...Evidence) {
	f.found(OK, id, summary, "", "", seen...)
}

// has reports whether there is a finding of a severity.
func (f *findings) has(s Severity) bool {
	return slices.ContainsFunc(f.list, func(f Finding) bool { return f.Severity == s })
}

// unread collects what a check could not look at.
type unread struct{ list []Unread }

// skip records something that could not be checked.
func (u *unread) skip(what, why string) {
	u.list = append(u.list, Unread{What: what, Why: why})
}

// skipDenied records something that only root can check.
func (u *unread) skipDenied(what, why string) {
	u.list = append(u.list, Unread{What: what, Why: why, Denied: true})
}

// seen returns evidence with its text masked and cut.
func seen(from, text string) Evidence { return Evidence{from, clean(text)} }

// at returns evidence from a file.
func at(name, text string) Evidence { return seen("/"+name, text) }

// clean masks credentials and returns one line of limited length.
func clean(text string) string {
	text = strings.ToValidUTF8(strings.Join(strings.Fields(text), " "), "\uFFFD")
	text = secret.Mask("", text)
	if len(text) > mostText {
		text = strings.ToValidUTF8(text[:mostText], "") + "…"
	}
	return text
}

// orElse returns a text, or another one if it is empty.
func orElse(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// nonEmpty returns the texts that are not empty.
func nonEmpty(texts ...string) (out []string) {
	for _, w := range texts {
		if w != "" {
			out = append(out, w)
		}
	}
	return out
}

const gib = 1 << 30
