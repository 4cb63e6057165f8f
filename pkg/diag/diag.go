// Package diag is a problem and its place: what is wrong, where in which text,
// and what to do about it. It knows nothing of job files; it renders problems
// for people and for machines.
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

// Severity says whether a problem stops the file (Error) or only deserves a
// look (Warning).
type Severity uint8

const (
	// Error is what AWS would refuse, or leave stuck.
	Error Severity = iota
	// Warning is what AWS would take, although it is rarely meant.
	Warning
)

// String returns "error" or "warning", the words every output format uses.
func (s Severity) String() string {
	if s == Warning {
		return "warning"
	}
	return "error"
}

// Diagnostic is one problem at one place.
type Diagnostic struct {
	Severity Severity
	// Rule is the stable name of the rule that found it, such as "memory-min-4".
	Rule string
	// Source is the text that Span points into. It is nil for a problem that
	// has no place in any text; such a problem prints without a position.
	Source *Source
	Span   Span
	// Message says what is wrong: lower case, no full stop, one line. Credentials of
	// the source that it quotes are masked where it is printed.
	Message string
	// Hint says what to do about it, or is empty: "write \"2048\"".
	Hint string
	// Fix is the edit that fixes it, if there is an obvious one; else nil.
	Fix *Fix
	// Waived gives the reason if the problem is waived: reports show it, but it does not fail
	// the check. Nil for any other problem.
	Waived *Waiver
}

// Waiver is the decision to live with a problem.
type Waiver struct {
	// Reason is the user's own words.
	Reason string
	// Until is the last day on which it counts (2027-01-31), or empty.
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
	// Message says what the fix does, for an editor's menu: `write "command"`.
	Message string
	Edits   []Edit
	// Class says who may make the fix. Its zero value is Automatic.
	Class Class
}

// Class says who may make a fix.
type Class uint8

const (
	// Automatic fixes lose nothing and leave no choice: validate --fix and an
	// editor's fix-all make them.
	Automatic Class = iota
	// Choice is one of several ways that the hint names.
	Choice
	// Behavior changes what a job does that AWS Batch accepts unchanged.
	Behavior
	// Loss removes or replaces something that the user wrote.
	Loss
)

// Edit replaces the text of Span by Text. An empty span inserts.
type Edit struct {
	Span Span
	Text string
}

// Error returns the short form, file:line:col: message [rule]; of a waived
// problem file:line:col: waived: message [rule] reason.
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

// HasErrors reports whether the list holds a problem of severity Error that is
// not waived.
func (l List) HasErrors() bool {
	return slices.ContainsFunc(l, func(d Diagnostic) bool { return d.Severity == Error && d.Waived == nil })
}

// Count returns the number of errors and of warnings; what is waived is neither.
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

// Sort orders the list by file, place, severity, rule and waiver, and drops exact
// repetitions, so that output does not depend on the order of the rules. Of a
// problem that two jobs share and one waives both stay.
func (l *List) Sort() {
	slices.SortStableFunc(*l, compare)
	*l = slices.CompactFunc(*l, func(a, b Diagnostic) bool {
		a.Hint, b.Hint = "", "" // two rules may word the advice differently
		return compare(a, b) == 0
	})
}

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
	return cmp.Or(strings.Compare(reason(a), reason(b)), strings.Compare(a.Message, b.Message), strings.Compare(a.Hint, b.Hint))
}
