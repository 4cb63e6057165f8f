package diag

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// Tally is the number of problems of one rule.
type Tally struct {
	Count    int
	Severity Severity
	// Waived is true for waived problems.
	Waived bool
	Rule   string
	// First is the first position in the order of the list, file:line:col, or "-".
	First string
}

// Summary counts the problems of the list by severity and rule: errors first, waived
// problems last, and otherwise the most frequent first.
func Summary(l List) []Tally {
	type key struct {
		Severity
		waived bool
		rule   string
	}
	at := map[key]int{}
	var tallies []Tally
	for _, d := range l {
		k := key{d.Severity, d.Waived != nil, d.ruleID()}
		i, ok := at[k]
		if !ok {
			position, _, _ := d.parts()
			i = len(tallies)
			at[k] = i
			tallies = append(tallies, Tally{Severity: d.Severity, Waived: k.waived, Rule: k.rule,
				First: firstOf(strings.TrimSuffix(position, ": "), noFile)})
		}
		tallies[i].Count++
	}
	slices.SortStableFunc(tallies, func(a, b Tally) int {
		return cmp.Or(waivedLast(a, b), cmp.Compare(a.Severity, b.Severity), cmp.Compare(b.Count, a.Count),
			strings.Compare(a.Rule, b.Rule))
	})
	return tallies
}

func waivedLast(a, b Tally) int {
	switch {
	case a.Waived == b.Waived:
		return 0
	case a.Waived:
		return 1
	}
	return -1
}

// WriteSummary writes the summary of the list as a table for people, with a head
// line; nothing if there are no problems. The error is that of w.
func WriteSummary(w io.Writer, l List) error {
	if len(l) == 0 {
		return nil
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "COUNT\tSEVERITY\tRULE\tFIRST")
	for _, s := range Summary(l) {
		severity := s.Severity.String()
		if s.Waived {
			severity = "waived"
		}
		fmt.Fprintf(t, "%d\t%s\t%s\t%s\n", s.Count, severity, Printable(s.Rule), s.First)
	}
	return t.Flush()
}
