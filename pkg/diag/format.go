package diag

import (
	"io"
	"path"
	"path/filepath"
	"strings"
)

// Format is an output format for problems.
type Format struct {
	// Name is its name on the command line, such as "sarif".
	Name string
	// Doc names its readers briefly.
	Doc string
	// Write writes the problems in the order of the list. The error is that of w.
	Write func(w io.Writer, l List, r Report) error
}

// Report is what a format may need in addition to the problems. Every format accepts the
// zero value.
type Report struct {
	// Tool is the program that found the problems, for sarif.
	Tool Tool
	// Files are the names of all checked files, for junit.
	Files []string
	// FailOn is the least severity that fails the run, for junit.
	FailOn Severity
	// Unread has a message for each file that could not be checked: sarif, junit and
	// checkstyle report such a run as failed.
	Unread []string
	// Text is for the text format.
	Text TextOptions
}

// Tool describes the program that found the problems, and its rules.
type Tool struct {
	Name, Version string
	// URI is the absolute address of the tool's page, or empty.
	URI   string
	Rules []RuleInfo
}

// RuleInfo describes one rule.
type RuleInfo struct {
	// ID is the name in Diagnostic.Rule.
	ID string
	// Doc describes in one line what the rule reports.
	Doc string
	// Help explains the rule and what to do; empty means Doc.
	Help string
	// Markdown is Help with examples and links, for readers of Markdown; it may be empty.
	Markdown string
	Severity Severity
	// URI is the absolute address of the rule's page; empty means the tool's.
	URI string
}

// Formats returns all formats, the one for people first.
func Formats() []Format {
	return []Format{
		{"text", "for people", func(w io.Writer, l List, r Report) error { return WriteText(w, l, r.Text) }},
		{"json", "for programs", func(w io.Writer, l List, _ Report) error { return WriteJSON(w, l) }},
		{"sarif", "SARIF 2.1.0, for code scanning", func(w io.Writer, l List,
			r Report) error {
			return writeSARIF(w, l, r.Tool, r.Unread)
		}},
		{"junit", "test results, for CI servers", func(w io.Writer, l List,
			r Report) error {
			return writeJUnit(w, l, r)
		}},
		{"github", "annotations of GitHub Actions", func(w io.Writer, l List,
			_ Report) error {
			return WriteGitHub(w, l)
		}},
		{"gitlab", "GitLab code quality", func(w io.Writer, l List, _ Report) error { return WriteGitLab(w, l) }},
		{"checkstyle", "Checkstyle XML, for review bots", func(w io.Writer, l List,
			r Report) error {
			return writeCheckstyle(w, l, r.Unread)
		}},
	}
}

// noFile is the file of a problem without one, in formats that require a file.
const noFile = "-"

// noRule is the rule of a problem without one.
const noRule = "problem"

// unreadRule is the rule of a file that could not be checked.
const unreadRule = "not-checked"

// file returns the name of the problem's file with forward slashes.
func (d Diagnostic) file() string {
	if d.Source == nil {
		return noFile
	}
	return slashName(d.Source.Name)
}

// slashName returns a file name with forward slashes, the form of all formats.
func slashName(name string) string {
	if name == "" {
		return noFile
	}
	return path.Clean(filepath.ToSlash(name))
}

func (d Diagnostic) ruleID() string {
	if d.Rule == "" {
		return noRule
	}
	return d.Rule
}

// advice returns message and hint in one line, for formats with one field. It says whether
// --fix fixes the problem.
func (d Diagnostic) advice() string {
	text := d.Message
	if d.Hint != "" {
		text += "; " + d.Hint
	}
	if d.Fixable() {
		text += " (fixable with --fix)"
	}
	return text
}

// The labels of hints.
const (
	labelFix        = "fix"        // --fix does what the hint says
	labelSuggestion = "suggestion" // an edit that only the user may decide
	labelHelp       = "help"
)

// Label returns the label of the hint: fix if --fix does what it says, suggestion if it is an edit that only the user
// may decide, or help.
func (d Diagnostic) Label() string {
	switch {
	case d.Fix == nil || !strings.Contains(d.Hint, d.Fix.Message) && !strings.HasPrefix(d.Hint, "remove "):
	case d.Fixable():
		return labelFix
	case d.Fix.Class == Behavior || d.Fix.Class == Loss:
		return labelSuggestion
	}
	return labelHelp
}

// region is a span in lines and columns from 1; the end is exclusive.
type region struct {
	StartLine   int `json:"startLine"`
	StartColumn int `json:"startColumn"`
	EndLine     int `json:"endLine"`
	EndColumn   int `json:"endColumn"`
}

// region returns the location of the problem; without a source, the first possible one.
func (d Diagnostic) region() region {
	if d.Source == nil {
		return region{1, 1, 1, 1}
	}
	return d.Source.region(d.Span)
}

func (s *Source) region(span Span) (r region) {
	r.StartLine, r.StartColumn = s.Position(span.Start)
	r.EndLine, r.EndColumn = s.Position(max(span.Start, span.End))
	return r
}
