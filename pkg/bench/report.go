package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/report"
	"github.com/batchctl/batchctl/pkg/text"
)

// ReportVersion is the version of benchmark.json.
const ReportVersion = 1

// Report is the content of a benchmark's files.
type Report struct {
	// Version is ReportVersion in benchmark.json. Files of older versions have none.
	Version int `json:"version"`
	// Title heads the report: "CPU and GPU, 2026-10-04".
	Title      string      `json:"title"`
	Comparison *Comparison `json:"comparison"`
	// Decision is nil for a report without one.
	Decision *Decision `json:"decision,omitempty"`
	// Notes are the caller's, such as why repeating ended.
	Notes []string `json:"notes,omitempty"`
	// Published is a table from elsewhere to show beside this one.
	Published *Published `json:"published,omitempty"`
}

// File is a file of a report.
type File struct {
	Name string
	Data []byte
}

// Files returns all files of a report: the two sides as text, the summary, JSON, CSV,
// Markdown, and a page of HTML that needs nothing else.
func (r *Report) Files() ([]File, error) {
	data, err := r.JSON()
	if err != nil {
		return nil, err
	}
	html, err := r.HTML()
	if err != nil {
		return nil, err
	}
	return []File{
		{"cpu-benchmark.txt", []byte(r.Comparison.Base.Text())},
		{"gpu-benchmark.txt", []byte(r.Comparison.Other.Text())},
		{"benchmark-summary.txt", []byte(r.Summary())},
		{"benchmark.json", data},
		{"benchmark.csv", r.CSV()},
		{"benchmark.md", []byte(r.Markdown())},
		{"benchmark.html", html},
	}, nil
}

// JSON returns the whole report, with the result lines unchanged from the logs.
func (r *Report) JSON() ([]byte, error) {
	written := *r
	written.Version = ReportVersion
	return indented(&written)
}

// indented returns indented JSON. It does not escape < > &.
func indented(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(v)
	return b.Bytes(), err
}

// Text is the side's lines as the workloads print them, with the environment before
// them and the sum of the medians after them.
func (s *Side) Text() string {
	var b strings.Builder
	if len(s.Rows) == 0 {
		why := s.Absent
		if why == "" {
			why = "no log has a result line"
		}
		fmt.Fprintf(&b, "Nothing was measured on the %s side: %s\n", s.Name, diag.Printable(why))
		return b.String()
	}
	fmt.Fprintf(&b, "%s side: %s\n", s.Name, diag.Printable(s.Environment.String()))
	total, seen := 0.0, map[Key]bool{}
	for _, row := range s.Rows {
		b.WriteString(diag.Printable(row.line()) + "\n")
		if row.measured() && !seen[row.Key] {
			total += s.Fastest(row.Key)[0].Summary.Median
			seen[row.Key] = true
		}
	}
	fmt.Fprintf(&b, "Total: %s seconds\n", digits(total))
	if busy := s.Busy(); len(busy) > 0 {
		fmt.Fprintf(&b, "The total excludes %s: %s\n", text.Count(len(busy), "row"), notMeasurement)
	}
	for _, d := range s.Damaged {
		fmt.Fprintf(&b, "Left out line %d of a log: %s\n", d.Line, diag.Printable(d.Reason))
	}
	return b.String()
}

// notMeasurement marks times that must not be used; the workloads print the same text.
const notMeasurement = "machine busy, not a measurement"

// line is the row as its workload prints it, with the interval.
func (r *Row) line() string {
	if r.Summary == nil {
		return fmt.Sprintf("%s: no time, %s (%s)", r.Name(), r.Problem, r.Variant)
	}
	notes := []string{}
	if rate := r.rate(); rate != report.NoValue {
		notes = append(notes, rate)
	}
	if share := r.share(); share > 0 {
		notes = append(notes, digits(share)+" % of the ceiling")
	}
	notes = append(notes, fmt.Sprintf("median of %d", r.Summary.N), interval(r.Summary), r.Variant.String())
	if !r.first().isMetric() {
		notes = append(notes, "verified")
	}
	notes = append(notes, r.Notes...)
	line := fmt.Sprintf("%s: %s seconds (%s)", r.Name(), digits(r.Summary.Median), strings.Join(notes, ", "))
	if r.NotMeasured != "" {
		line += fmt.Sprintf(": %s (%s)", notMeasurement, r.NotMeasured)
	}
	return line
}

// interval formats the interval of a median.
func interval(s *Summary) string {
	if s.Interval == nil {
		return "no interval"
	}
	return fmt.Sprintf("%s to %s", digits(s.Interval.Low), digits(s.Interval.High))
}

// Summary is the text of benchmark-summary.txt.
func (r *Report) Summary() string {
	p := report.Page{Title: r.Title}
	p.Sections = append(p.Sections, r.times(), r.unpaired(), r.decision(), r.warnings(), r.published())
	p.Drop()
	return p.Text()
}

// Markdown is the report as GitHub Flavored Markdown, without plots.
func (r *Report) Markdown() string {
	p := r.page()
	return p.Markdown()
}

// page is the report with all its sections.
func (r *Report) page() *report.Page {
	p := &report.Page{Title: r.Title, Sections: []report.Section{
		r.decision(), r.times(), r.unpaired(), r.warnings(), r.costs(), r.breakEvens(), r.splits(), r.roofs(),
		r.published(), r.patch(), r.environments(),
	}}
	p.Drop()
	return p
}

// times is the table of the benchmark. The reason for a missing time is below the table, or in
// the column if nothing was measured on the side.
func (r *Report) times() report.Section {
	c := r.Comparison
	t := &report.Table{Head: []string{"Operation", c.Base.Name + " seconds", c.Other.Name + " seconds", "Speed-up",
		"Interval"}, Left: map[int]bool{4: true}}
	for _, p := range c.Pairs {
		t.Add(p.Name(), digits(p.Base.Summary.Median), digits(p.Other.Summary.Median), times(p.SpeedUp),
			between(p.SpeedUp))
	}
	for i := range c.Unpaired {
		u := &c.Unpaired[i]
		last := report.NoValue
		if u.Busy {
			last = notMeasurement
		}
		t.Add(u.Name(), seconds(u.BaseSeconds), seconds(u.OtherSeconds), report.NoValue, last)
	}
	if c.Total != nil {
		t.Add("Total of "+text.Count(c.Total.Rows, "row")+" on both sides", digits(c.Total.Base),
			digits(c.Total.Other), times(c.Total.SpeedUp), between(c.Total.SpeedUp))
		t.Total = true
	}
	s := report.Section{Heading: "Times", Table: t}
	for _, side := range []*Side{c.Base, c.Other} {
		if side.Absent != "" {
			s.Sentences = append(s.Sentences, fmt.Sprintf("Nothing was measured on the %s side: %s.", side.Name,
				side.Absent))
		}
	}
	return s
}

// between formats the interval of a ratio, with its confidence if that is below
// Confidence.
func between(r Ratio) string {
	if r.Interval == nil {
		return report.NoValue
	}
	text := digits(r.Interval.Low) + " to " + digits(r.Interval.High)
	if r.Interval.Confidence < Confidence {
		text += " at " + percent(r.Interval.Confidence)
	}
	return text
}

// seconds formats a time; report.NoTime for 0.
func seconds(v float64) string {
	if v == 0 {
		return report.NoTime
	}
	return digits(v)
}

// unpaired lists the rows that are not compared, with the reasons.
func (r *Report) unpaired() report.Section {
	var g grouped
	for i := range r.Comparison.Unpaired {
		u := &r.Comparison.Unpaired[i]
		g.add(u.Name(), u.Reason)
	}
	return report.Section{Heading: "Not compared", Items: g.items()}
}

// grouped collects remarks about rows, each text once.
type grouped struct {
	order []string
	names map[string][]string
}

// add adds a remark about the row with this name.
func (g *grouped) add(name, remark string) {
	if g.names == nil {
		g.names = map[string][]string{}
	}
	if g.names[remark] == nil {
		g.order = append(g.order, remark)
	}
	g.names[remark] = append(g.names[remark], report.Visible(name))
}

// items returns one line per remark, with up to three names; more are only counted.
func (g *grouped) items() []string {
	var all []string
	for _, remark := range g.order {
		names := g.names[remark]
		if len(names) > 3 {
			names = []string{fmt.Sprintf("%s (%s, and so on)", text.Count(len(names), "row"), names[0])}
		}
		all = append(all, strings.Join(names, "; ")+": "+remark)
	}
	return all
}

// decision is the section of the recommendation.
func (r *Report) decision() report.Section {
	if r.Decision == nil {
		return report.Section{}
	}
	return report.Section{Heading: "Decision", Sentences: r.Decision.Sentences}
}

// warnings is the section of notes: warnings, the caller's notes, and remarks
// about rows.
func (r *Report) warnings() report.Section {
	c := r.Comparison
	var g grouped
	for _, p := range c.Pairs {
		for _, note := range p.Base.Notes {
			g.add(p.Name(), c.Base.Name+": "+note)
		}
		for _, note := range p.Other.Notes {
			g.add(p.Name(), c.Other.Name+": "+note)
		}
		for _, row := range p.Slower {
			g.add(p.Name(), "also measured: "+row)
		}
	}
	return report.Section{Heading: "Notes", Items: slices.Concat(c.Warnings, r.Notes, g.items())}
}

// costs is the table of costs per unit of work and per 1,000 repeats.
func (r *Report) costs() report.Section {
	if r.Decision == nil || len(r.Decision.Costs) == 0 {
		return report.Section{}
	}
	c := r.Comparison
	t := &report.Table{Head: []string{"Operation", "Unit", c.Base.Name + " per unit", c.Other.Name + " per unit",
		c.Base.Name + " per 1,000 repeats", c.Other.Name + " per 1,000 repeats", "Cost-efficiency"},
		Left: map[int]bool{1: true}}
	for _, cost := range r.Decision.Costs {
		base, other := report.NoValue, report.NoValue
		if cost.Unit != "" {
			base, other = usd(cost.BaseUnit), usd(cost.OtherUnit)
		}
		t.Add(cost.Name(), orDash(cost.Unit), base, other, usd(cost.BaseThousand), usd(cost.OtherThousand),
			digits(cost.Efficiency.Value))
	}
	sentences := []string{fmt.Sprintf("%s: %s. %s: %s. Above 1, %[3]s is cheaper.", c.Base.Name, r.Decision.Prices.Base,
		c.Other.Name, r.Decision.Prices.Other)}
	return report.Section{Heading: "Costs", Sentences: sentences, Table: t}
}

// breakEvens lists the break-even sizes and the fitted laws.
func (r *Report) breakEvens() report.Section {
	s := report.Section{Heading: "Break-even sizes"}
	if r.Decision == nil {
		return s
	}
	for _, curve := range r.Decision.Curves {
		s.Items = append(s.Items, report.Visible(curve.Name())+", by time: "+curve.ByTime.Summary)
		if curve.ByCost != nil {
			s.Items = append(s.Items, report.Visible(curve.Name())+", by cost: "+curve.ByCost.Summary)
		}
		if a, b := curve.Base, curve.Other; a != nil && a.Points > 2 {
			s.Items = append(s.Items,
				fmt.Sprintf("%s, fitted: %s seconds grow with the size to the %s (R² %s), %s seconds to the %s (R² %s)",
					report.Visible(curve.Name()),
					r.Comparison.Base.Name, digits(a.Exponent), digits(a.R2), r.Comparison.Other.Name,
					digits(b.Exponent),
					digits(b.R2)))
		}
	}
	return s
}

// splits is the table of the parts of each row's time.
func (r *Report) splits() report.Section {
	t := &report.Table{Head: []string{"Operation", "Side", "Copy in", "Kernel", "Copy out", "Other", "First call"},
		Left: map[int]bool{1: true}}
	r.eachRow(func(side *Side, row *Row) {
		parts := row.Parts()
		if row.NotMeasured != "" || (parts == nil && row.Split.FirstCall == 0) {
			return
		}
		cells := append([]string{row.Name(), side.Name}, slices.Repeat([]string{report.NoValue}, 5)...)
		for _, part := range parts {
			cells[slices.Index([]string{"copy in", "kernel", "copy out", "other"}, part.Name)+2] = digits(part.Seconds)
		}
		if first := row.Split.FirstCall; first > 0 {
			cells[6] = digits(first)
		}
		t.Add(cells...)
	})
	return report.Section{Heading: "Where the time goes, in seconds", Table: t}
}

// roofs is the table of rates relative to the measured limit of the machine.
func (r *Report) roofs() report.Section {
	t := &report.Table{Head: []string{"Operation", "Side", "Rate", "Share of the ceiling"}, Left: map[int]bool{1: true}}
	r.eachRow(func(side *Side, row *Row) {
		if share := row.share(); row.measured() && share > 0 {
			t.Add(row.Name(), side.Name, row.rate(), digits(share)+" %")
		}
	})
	return report.Section{Heading: "Share of the machine's limit", Table: t}
}

// rate is that of the median of all runs.
func (r *Row) rate() string {
	work := r.first().work()
	switch rate := work.Amount / r.Summary.Median; {
	case rate > 0 && work.Unit == "GFLOP":
		return digits(rate) + " GFLOP/s"
	case rate > 0:
		return digits(rate) + " MPixel/s"
	}
	return report.NoValue
}

// share is the median over the runs of the share of the ceiling, in percent, each relative to
// the ceiling of its own run; 0 without one.
func (r *Row) share() float64 {
	var counted []Result
	for i := range r.Results {
		if r.counts(&r.Results[i]) {
			counted = append(counted, r.Results[i])
		}
	}
	return medianOf(counted, (*Result).percentOfCeiling)
}

// eachRow calls f for all rows of both sides.
func (r *Report) eachRow(f func(*Side, *Row)) {
	for _, side := range []*Side{r.Comparison.Base, r.Comparison.Other} {
		for _, row := range side.Rows {
			f(side, row)
		}
	}
}

// published is the table of the published measurements.
func (r *Report) published() report.Section {
	if r.Published == nil {
		return report.Section{}
	}
	c := r.Comparison
	t := &report.Table{Head: []string{"Operation", c.Base.Name + " seconds", c.Other.Name + " seconds", "Speed-up"}}
	for _, row := range r.Published.Rows {
		speed := report.NoValue
		if row.Base > 0 && row.Other > 0 {
			speed = digits(row.Base/row.Other) + " x"
		}
		t.Add(row.Operation, seconds(row.Base), seconds(row.Other), speed)
	}
	return report.Section{Heading: "Published elsewhere", Sentences: []string{"Not measured here: " +
		r.Published.Source +
		"."}, Table: t, Items: r.Published.Notes}
}

// patch lists the changes of the job file.
func (r *Report) patch() report.Section {
	if r.Decision == nil || r.Decision.Patch == nil {
		return report.Section{}
	}
	patch := r.Decision.Patch
	s := report.Section{Heading: "Change of the job file",
		Sentences: []string{"In " + strconv.Quote(patch.Job.File) + ":"}}
	for _, change := range patch.Changes {
		s.Items = append(s.Items, change.String())
	}
	return s
}

// environments lists the environments of both sides.
func (r *Report) environments() report.Section {
	s := report.Section{Heading: "Environment"}
	for _, side := range []*Side{r.Comparison.Base, r.Comparison.Other} {
		switch {
		case len(side.Environment) > 0:
			s.Items = append(s.Items, side.Name+": "+side.Environment.String())
		case side.Absent != "":
			s.Items = append(s.Items, side.Name+": none, "+side.Absent)
		}
	}
	return s
}

// orDash replaces "" by report.NoValue.
func orDash(text string) string {
	if text == "" {
		return report.NoValue
	}
	return text
}
