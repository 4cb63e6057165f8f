package bench

import (
	"fmt"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/report"
	"github.com/batchctl/batchctl/pkg/text"
)

// Verdict is the result of comparing a row of old and new.
type Verdict string

// The verdicts. NoDifference does not mean that the sides are equal: the interval says how
// large a difference may be.
const (
	Faster        Verdict = "faster"
	Slower        Verdict = "slower"
	NoDifference  Verdict = "no difference shown"
	NotComparable Verdict = "not comparable"
	NotMeasured   Verdict = "not a measurement"
	TooFew        Verdict = "too few repeats to tell"
)

// CompareOptions are the limits of a comparison. The zero value selects the
// defaults.
type CompareOptions struct {
	// Alpha is the probability of calling any row different when none is; 0 is 0.05.
	Alpha float64
	// Threshold is the growth of a time from which a slower row is a regression; 0.05 is
	// 5 %, and so is 0. A negative one makes every slower row a regression.
	Threshold float64
}

// orDefault replaces zero values by the defaults.
func (o CompareOptions) orDefault() CompareOptions {
	if o.Alpha == 0 {
		o.Alpha = 0.05
	}
	if o.Threshold == 0 {
		o.Threshold = 0.05
	}
	o.Threshold = max(o.Threshold, 0)
	return o
}

// Diff is a row of old and new.
type Diff struct {
	Key
	Variant Variant  `json:"variant"`
	Title   string   `json:"title"`
	Old     *Summary `json:"old,omitempty"`
	New     *Summary `json:"new,omitempty"`
	// Ratio is the new time over the old; nil for a row that is not comparable.
	Ratio *Ratio    `json:"ratio,omitempty"`
	Test  *RankTest `json:"test,omitempty"`
	// P is the test's, adjusted for the number of rows.
	P       float64 `json:"adjustedP"`
	Verdict Verdict `json:"verdict"`
	// Regression reports whether the row is slower by more than the threshold.
	Regression bool `json:"regression"`
	// Reason is why a row is not comparable or not a measurement, or how many repeats it
	// needs.
	Reason string `json:"reason,omitempty"`
	// added reports that only the new side has the row.
	added bool
}

// Name returns the row's name in a report.
func (d *Diff) Name() string { return d.Title + " " + d.where() }

// Diffs is a comparison of old and new.
type Diffs struct {
	Old         string      `json:"oldName"`
	New         string      `json:"newName"`
	Alpha       float64     `json:"alpha"`
	Threshold   float64     `json:"threshold"`
	Rows        []*Diff     `json:"rows"`
	Warnings    []string    `json:"warnings,omitempty"`
	Environment [2][]string `json:"environment"`
}

// Compare tests row by row whether the new side is faster or slower than the old, with
// MannWhitney. The P values are adjusted for the number of rows (Holm), so that Alpha
// holds for all of them together. Rows belong together by key, kernel, threads and
// kind of device; where each side has one row of a key, by the key alone.
func Compare(before, after *Side, options CompareOptions) *Diffs {
	o := options.orDefault()
	d := &Diffs{Old: before.Name, New: after.Name, Alpha: o.Alpha, Threshold: o.Threshold, Rows: []*Diff{},
		Environment: [2][]string{{}, {}}}
	used := map[*Row]bool{}
	for _, row := range before.Rows {
		partner := partner(row, before, after)
		used[partner] = true
		d.Rows = append(d.Rows, d.compare(row, partner, before, after))
	}
	for _, row := range after.Rows {
		if !used[row] {
			d.Rows = append(d.Rows, d.compare(nil, row, before, after))
		}
	}
	d.judge()
	d.warn(before, after)
	return d
}

// partner returns the row of the new side that matches a row of the old side; nil
// if there is none, or if several match.
func partner(row *Row, before, after *Side) *Row {
	newRows, oldRows := after.Fastest(row.Key), before.Fastest(row.Key)
	for _, r := range newRows {
		if r.Variant == row.Variant {
			return r
		}
	}
	if len(newRows) == 1 && len(oldRows) == 1 {
		return newRows[0]
	}
	same := func(r *Row) bool {
		return r.Variant.Kind == row.Variant.Kind && r.Variant.Threads == row.Variant.Threads &&
			r.Variant.Kernel == row.Variant.Kernel
	}
	if i := slices.IndexFunc(newRows, same); i >= 0 && countOf(oldRows, same) == 1 && countOf(newRows, same) == 1 {
		return newRows[i] // only the instruction set differs
	}
	return nil
}

// countOf counts the rows for which is returns true.
func countOf(rows []*Row, is func(*Row) bool) int {
	n := 0
	for _, r := range rows {
		if is(r) {
			n++
		}
	}
	return n
}

// compare compares two rows of the same key; a or b is nil if that side has none.
// judge sets the verdict.
func (d *Diffs) compare(a, b *Row, before, after *Side) *Diff {
	one, side, other := a, after, before
	if a == nil {
		one, side, other = b, before, after
	}
	diff := &Diff{Key: one.Key, Variant: one.Variant, Title: one.Title, Verdict: NotComparable, P: 1, added: a == nil}
	if a != nil {
		diff.Old = a.Summary
	}
	if b != nil {
		diff.New = b.Summary
	}
	if a == nil || b == nil {
		diff.Reason = (&Comparison{Base: other, Other: side}).lacks(side, other, one)
		if len(side.Fastest(one.Key)) > 0 {
			diff.Reason = fmt.Sprintf("the %s side has it only with another kernel or number of threads", side.Name)
		}
		return diff
	}
	if diff.Reason = refusal(a, b, before.Name, after.Name); diff.Reason != "" {
		return diff
	}
	if diff.Reason = busyReason(a, b, before.Name, after.Name); diff.Reason != "" {
		diff.Verdict = NotMeasured
		return diff
	}
	ratio, test := MedianRatio(b.Seconds, a.Seconds), MannWhitney(b.Seconds, a.Seconds)
	diff.Ratio, diff.Test, diff.Verdict = &ratio, &test, NoDifference
	return diff
}

// judge adjusts the P values for the number of rows, and sets the verdicts.
func (d *Diffs) judge() {
	var rows []*Diff
	var p []float64
	for _, row := range d.Rows {
		if row.Test != nil {
			rows, p = append(rows, row), append(p, row.Test.P)
		}
	}
	for i, adjusted := range holm(p) {
		row := rows[i]
		row.P = adjusted
		n, m := row.Old.N, row.New.N
		switch {
		case adjusted < d.Alpha && row.Ratio.Value > 1:
			row.Verdict = Slower
			row.Regression = row.Ratio.Value > 1+d.Threshold
		case adjusted < d.Alpha && row.Ratio.Value < 1:
			row.Verdict = Faster
		case leastP(n, m)*float64(len(rows)) >= d.Alpha:
			row.Verdict = TooFew
			row.Reason = fmt.Sprintf("%d and %d repeats; with %s, each side needs %d", n, m,
				text.Count(len(rows), "row"),
				enough(len(rows), d.Alpha))
		}
	}
}

// enough returns the number of repeats per side from which a row can be
// significant.
func enough(rows int, alpha float64) int {
	n := 1
	for leastP(n, n)*float64(rows) >= alpha && n < 1000 {
		n++
	}
	return n
}

// warn adds the environments and the warnings about them.
func (d *Diffs) warn(before, after *Side) {
	for i, side := range []*Side{before, after} {
		for _, f := range side.Environment {
			d.Environment[i] = append(d.Environment[i], f.String())
		}
		d.Warnings = append(d.Warnings, side.mixed()...)
		for _, damage := range side.Damaged {
			d.Warnings = append(d.Warnings, fmt.Sprintf("left out line %d of a log of the %s side: %s", damage.Line,
				side.Name, damage.Reason))
		}
	}
	for _, text := range differences(before.Environment, after.Environment, before.Name, after.Name) {
		d.Warnings = append(d.Warnings, "the environments differ: "+text)
	}
	if runs(before) == 1 && runs(after) == 1 && len(d.Rows) > 0 {
		d.Warnings = append(d.Warnings,
			"each side is a single run, so the intervals and P ignore differences between runs; repeat the runs too")
	}
}

// runs returns the greatest number of runs of a row.
func runs(s *Side) int {
	most := 0
	for _, r := range s.Rows {
		most = max(most, r.Runs)
	}
	return most
}

// Regressions returns the rows that are slower beyond the threshold.
func (d *Diffs) Regressions() []*Diff {
	var rows []*Diff
	for _, r := range d.Rows {
		if r.Regression {
			rows = append(rows, r)
		}
	}
	return rows
}

// Untold returns the rows without a verdict: not comparable, not a measurement, or too few
// repeats. A CI that passes on them has checked nothing. Rows that only the new side has are
// not included: nothing can have become slower there.
func (d *Diffs) Untold() []*Diff {
	var rows []*Diff
	for _, r := range d.Rows {
		if !r.added && (r.Verdict == NotComparable || r.Verdict == NotMeasured || r.Verdict == TooFew) {
			rows = append(rows, r)
		}
	}
	return rows
}

// JSON returns the whole comparison as JSON.
func (d *Diffs) JSON() ([]byte, error) { return indented(d) }

// Text returns the comparison as an aligned table with notes.
func (d *Diffs) Text() string { return d.page().Text() }

// Markdown returns the comparison as GitHub Flavored Markdown.
func (d *Diffs) Markdown() string { return d.page().Markdown() }

// page returns the comparison as a page.
func (d *Diffs) page() *report.Page {
	t := &report.Table{Head: []string{"Operation", d.Old + " seconds", d.New + " seconds", "Ratio", "Interval", "P",
		"Verdict"}, Left: map[int]bool{4: true, 6: true}}
	reasons := report.Section{Heading: "Without a verdict"}
	for _, row := range d.Rows {
		cells := []string{row.Name(), seconds(median(row.Old)), seconds(median(row.New)), report.NoValue,
			report.NoValue, report.NoValue, string(row.Verdict)}
		if row.Ratio != nil {
			cells[3], cells[4], cells[5] = times(*row.Ratio), between(*row.Ratio), pText(row.P)
		}
		if row.Regression {
			cells[6] = "slower: regression"
		}
		if d.several(row) {
			cells[0] += ", " + row.Variant.String()
		}
		t.Add(cells...)
		if row.Reason != "" {
			reasons.Items = append(reasons.Items, report.Visible(row.Name())+": "+row.Reason)
		}
	}
	p := &report.Page{Title: fmt.Sprintf("%s compared with %s", d.New, d.Old), Sections: []report.Section{
		{Sentences: d.describe(), Table: t}, reasons, {Heading: "Notes", Items: d.Warnings},
		{Heading: "Environment", Items: []string{d.Old + ": " + strings.Join(d.Environment[0], "; "),
			d.New + ": " + strings.Join(d.Environment[1], "; ")}},
	}}
	p.Drop()
	return p
}

// several reports whether several rows have the key of this one.
func (d *Diffs) several(row *Diff) bool {
	n := 0
	for _, r := range d.Rows {
		if r.Key == row.Key {
			n++
		}
	}
	return n > 1
}

// describe returns the sentences before the table.
func (d *Diffs) describe() []string {
	count := map[Verdict]int{}
	for _, r := range d.Rows {
		count[r.Verdict]++
	}
	var parts []string
	for _, v := range []Verdict{Faster, Slower, NoDifference, TooFew, NotMeasured, NotComparable} {
		if count[v] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", count[v], v))
		}
	}
	if len(parts) == 0 {
		return []string{"Neither side has a row."}
	}
	return []string{
		fmt.Sprintf("%s: %s. %s beyond the threshold of %s.", text.Count(len(d.Rows), "row"), strings.Join(parts, ", "),
			text.Count(len(d.Regressions()), "regression"), percent(d.Threshold)),
		fmt.Sprintf("Ratio is new over old. P is adjusted for the number of rows; below %v a row counts as different.",
			d.Alpha),
	}
}

// median returns a summary's median; 0 for nil.
func median(s *Summary) float64 {
	if s == nil {
		return 0
	}
	return s.Median
}

// pText formats a P value.
func pText(p float64) string {
	if p < 1e-4 {
		return "<0.0001"
	}
	return digits(p)
}
