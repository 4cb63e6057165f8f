// Package diag has problems and their locations: what is wrong, in which part of which
// text, and what to do about it. It knows nothing about job files. It prints problems for
// people and for programs.
package diag

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Span is the half-open byte range [Start, End) of a Source's text. Byte
// offsets are stored; lines and columns are computed only when printing.
type Span struct{ Start, End int }

// Severity is the weight of a problem: an Error fails a check, a Warning deserves
// attention.
type Severity uint8

const (
	// Error is a problem that AWS rejects, or that leaves a job stuck.
	Error Severity = iota
	// Warning is something that AWS accepts and that is rarely intended.
	Warning
)

// String returns "error" or "warning", as in every output format.
func (s Severity) String() string {
	if s == Warning {
		return "warning"
	}
	return "error"
}

// Diagnostic is one problem at one location.
type Diagnostic struct {
	Severity Severity
	// Rule is the stable name of the rule that found it, such as "memory-min-4".
	Rule string
	// Source is the text that Span refers to. It is nil for a problem without a location
	// in a text, which prints without a position.
	Source *Source
	Span   Span
	// Whole reports whether the problem is about the job or another thing as a whole, and Span only names it.
	Whole bool
	// Message describes the problem: lower case, no full stop, one line. Credentials of
	// the source in it are masked when it is printed.
	Message string
	// Hint says what to do, or is empty: "write \"2048\"".
	Hint string
	// Fix is the edit that fixes it, if there is an obvious one; else nil.
	Fix *Fix
	// Waived gives the reason if the problem is waived: reports show it, but it does not fail
	// the check. Nil for any other problem.
	Waived *Waiver
}

// Waiver is a user's decision to accept a problem.
type Waiver struct {
	// Reason is the user's text.
	Reason string
	// Until is the last day of the waiver (2027-01-31), or empty.
	Until string
}

// String returns the reason, and the last day if there is one.
func (w Waiver) String() string {
	if w.Until == "" {
		return w.Reason
	}
	return w.Reason + " (until " + w.Until + ")"
}

// Fix is one change of a source's text that fixes one problem. Its edits do not overlap.
type Fix struct {
	// Message describes the fix for an editor's menu: `write "command"`.
	Message string
	// Edits are empty if other fixes come first: in a text with mistakes of syntax, nothing else has a certain location.
	Edits []Edit
	// Class says when the fix may be applied. Its zero value is Automatic.
	Class Class
	// Respells reports whether the new text says what the old one means, although it is another value: "podman" for
	// "podmann", "3600s" for 3600.
	Respells bool
}

// Class says when a fix may be applied.
type Class uint8

const (
	// Automatic fixes lose nothing and are the only choice: validate --fix and an editor's
	// fix-all apply them.
	Automatic Class = iota
	// Choice is one of several solutions in the hint.
	Choice
	// Behavior changes what a job does, although AWS Batch accepts the job unchanged.
	Behavior
	// Loss removes or replaces something that the user wrote.
	Loss
)

// Edit replaces the text of Span by Text. An empty span inserts.
type Edit struct {
	Span Span
	Text string
}

// Fixable reports whether validate --fix fixes the problem.
func (d Diagnostic) Fixable() bool {
	return d.Waived == nil && d.Fix != nil && d.Fix.Class == Automatic
}

// Fixable returns the number of problems that validate --fix fixes.
func (l List) Fixable() (n int) {
	for _, d := range l {
		if d.Fixable() {
			n++
		}
	}
	return n
}

// Error returns the short form, file:line:col: message [rule]. For a waived problem, it is
// file:line:col: waived: message [rule] reason.
func (d Diagnostic) Error() string {
	position, message, rule := d.Masked().parts()
	return position + message + rule
}

// parts returns the three pieces of the short form.
func (d Diagnostic) parts() (position, message, rule string) {
	if d.Source != nil {
		line, col := d.Source.Position(d.Span.Start)
		position = fmt.Sprintf("%s:%d:%d: ", Printable(d.Source.Name), line, col)
	}
	message = Printable(d.Message)
	switch {
	case d.Waived != nil:
		message = "waived: " + message
	case d.Severity == Warning:
		message = "warning: " + message
	}
	if d.Rule != "" {
		rule = " [" + Printable(d.Rule) + "]"
	}
	if d.Waived != nil {
		rule += " " + Printable(d.Waived.String())
	}
	return position, message, rule
}

// List is a set of problems.
type List []Diagnostic

// HasErrors reports whether the list has a problem of severity Error that is not waived.
func (l List) HasErrors() bool {
	return slices.ContainsFunc(l, func(d Diagnostic) bool { return d.Severity == Error && d.Waived == nil })
}

// Count returns the number of errors and of warnings, without waived problems.
func (l List) Count() (errors, warnings int) {
	for _, d := range l {
		switch {
		case d.Waived != nil:
		case d.Severity == Error:
			errors++
		default:
			warnings++
		}
	}
	return errors, warnings
}

// Waived returns the number of problems that are waived.
func (l List) Waived() (n int) {
	for _, d := range l {
		if d.Waived != nil {
			n++
		}
	}
	return n
}

// Open returns the problems that are not waived, in their order.
func (l List) Open() List {
	if l.Waived() == 0 {
		return l
	}
	return slices.DeleteFunc(slices.Clone(l), func(d Diagnostic) bool { return d.Waived != nil })
}

// Sort orders the list by file, location, severity, rule and waiver, and removes exact
// duplicates, so that output does not depend on the order of the rules. If two jobs share
// a problem and one waives it, both stay.
func (l *List) Sort() {
	slices.SortStableFunc(*l, compare)
	*l = slices.CompactFunc(*l, func(a, b Diagnostic) bool {
		a.Hint, b.Hint = "", "" // the hints of two rules may differ
		return compare(a, b) == 0
	})
}

// compare orders problems by the same members in turn. Problems without a file come first.
func compare(a, b Diagnostic) int {
	name := func(d Diagnostic) string {
		if d.Source == nil {
			return ""
		}
		return d.Source.Name
	}
	if c := strings.Compare(name(a), name(b)); c != 0 {
		return c
	}
	if c := a.Span.Start - b.Span.Start; c != 0 {
		return c
	}
	if c := a.Span.End - b.Span.End; c != 0 {
		return c
	}
	if c := int(a.Severity) - int(b.Severity); c != 0 {
		return c
	}
	if c := strings.Compare(a.Rule, b.Rule); c != 0 {
		return c
	}
	reason := func(d Diagnostic) string {
		if d.Waived == nil {
			return ""
		}
		return " " + d.Waived.String()
	}
	// The message comes last: rules that collect in a map report in any order.
	return cmp.Or(strings.Compare(reason(a), reason(b)), strings.Compare(a.Message, b.Message),
		strings.Compare(a.Hint, b.Hint))
}
