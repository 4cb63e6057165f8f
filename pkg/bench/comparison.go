package bench

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/text"
)

// Pair is one key on both sides.
type Pair struct {
	Key
	Title string `json:"title"`
	// Base and Other are the fastest rows of the key on the two sides.
	Base  *Row `json:"base"`
	Other *Row `json:"other"`
	// SpeedUp is the time of Base over the time of Other, including copies.
	SpeedUp Ratio `json:"speedUp"`
	// KernelSpeedUp leaves out Other's copies; nil if there are none.
	KernelSpeedUp *Ratio `json:"kernelSpeedUp,omitempty"`
	// Work is what one repeat does.
	Work Work `json:"work"`
	// Length is the size as one number, the side of a square; 0 for a size that is no
	// rectangle.
	Length float64 `json:"length,omitempty"`
	// Slower are the other rows of the key: slower kernels, fewer threads.
	Slower []string `json:"slower,omitempty"`
}

// Name returns the pair's name in a report.
func (p *Pair) Name() string { return p.Title + " " + p.where() }

// Unpaired is a key that cannot be compared, and why.
type Unpaired struct {
	Key
	Title string `json:"title"`
	// BaseSeconds and OtherSeconds are the medians of the sides that have one, else 0.
	BaseSeconds  float64 `json:"baseSeconds,omitempty"`
	OtherSeconds float64 `json:"otherSeconds,omitempty"`
	Reason       string  `json:"reason"`
	// Busy reports that one of these times is not a measurement, because the machine was busy.
	Busy bool `json:"busy,omitempty"`
	// base and other are the summaries of these times; nil without a time.
	base, other *Summary
}

// Name returns the key's name in a report.
func (u *Unpaired) Name() string { return u.Title + " " + u.where() }

// Total sums the medians of all pairs.
type Total struct {
	Rows    int     `json:"rows"`
	Base    float64 `json:"base"`
	Other   float64 `json:"other"`
	SpeedUp Ratio   `json:"speedUp"`
}

// Comparison is two sides, row by row.
type Comparison struct {
	Base     *Side      `json:"base"`
	Other    *Side      `json:"other"`
	Pairs    []*Pair    `json:"pairs"`
	Unpaired []Unpaired `json:"unpaired,omitempty"`
	// Total is nil without a pair.
	Total    *Total   `json:"total,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
}

// Against compares two sides. base is the side to which speed-ups refer, such as the CPU. If a
// side has several rows of a key, the fastest one counts.
func Against(base, other *Side) *Comparison {
	c := &Comparison{Base: base, Other: other}
	for _, k := range base.Keys() {
		c.match(k)
	}
	for _, k := range other.Keys() {
		if len(base.Fastest(k)) == 0 {
			row := other.Fastest(k)[0]
			c.leave(k, nil, row, c.lacks(base, other, row))
		}
	}
	c.Total = total(c.Pairs)
	c.warn()
	return c
}

// match pairs the rows of a key, or records why they cannot be compared.
func (c *Comparison) match(k Key) {
	rows, others := c.Base.Fastest(k), c.Other.Fastest(k)
	row := rows[0]
	if len(others) == 0 {
		c.leave(k, row, nil, c.lacks(c.Other, c.Base, row))
		return
	}
	if why := cmp.Or(refusal(row, others[0], c.Base.Name, c.Other.Name),
		busyReason(row, others[0], c.Base.Name, c.Other.Name)); why != "" {
		c.leave(k, row, others[0], why)
		return
	}
	c.Pairs = append(c.Pairs, pair(rows, others, c.Base.Name, c.Other.Name))
}

// refusal returns why two rows of the same key cannot be compared; "" if they
// can.
func refusal(a, b *Row, nameA, nameB string) string {
	var problems []string
	for _, side := range []struct {
		row  *Row
		name string
	}{{a, nameA}, {b, nameB}} {
		if side.row.Summary == nil {
			problems = append(problems, fmt.Sprintf("the %s side has no time: %s", side.name, side.row.Problem))
		}
	}
	if len(problems) > 0 {
		return strings.Join(problems, "; ")
	}
	if why := differentWork(a.first(), b.first()); why != "" {
		return "the sides measured different work: " + why
	}
	return ""
}

// busyReason returns which of two rows are not a measurement; "" if both are.
func busyReason(a, b *Row, nameA, nameB string) string {
	why, other := busy(a, nameA), busy(b, nameB)
	if why != "" && other != "" {
		return why + "; " + other
	}
	return why + other
}

// busy returns why the row of a side is not a measurement; "" if it is.
func busy(row *Row, side string) string {
	if row.NotMeasured == "" {
		return ""
	}
	return fmt.Sprintf("the %s side is not a measurement, its machine was busy: %s", side, row.NotMeasured)
}

// pair compares the fastest rows of both sides.
func pair(rows, others []*Row, nameA, nameB string) *Pair {
	a, b := rows[0], others[0]
	p := &Pair{
		Key: a.Key, Title: a.Title, Base: a, Other: b, SpeedUp: MedianRatio(a.Seconds, b.Seconds),
		Work: a.first().work(), Length: a.first().length(),
	}
	if p.Work.Amount == 0 {
		p.Work = b.first().work()
	}
	if copies := b.Split.copies(); copies > 0 && copies < b.Summary.Min {
		without := make([]float64, len(b.Seconds))
		for i, v := range b.Seconds {
			without[i] = v - copies
		}
		kernel := MedianRatio(a.Seconds, without)
		p.KernelSpeedUp = &kernel
	}
	p.Slower = append(slower(rows, nameA), slower(others, nameB)...)
	return p
}

// slower describes the rows of a key after the fastest.
func slower(rows []*Row, name string) []string {
	var all []string
	for _, r := range rows[1:] {
		text := fmt.Sprintf("%s, %s: ", name, r.Variant)
		switch {
		case r.Summary == nil:
			text += "no time: " + r.Problem
		case r.NotMeasured != "":
			text += fmt.Sprintf("%s seconds, %s: %s", digits(r.Summary.Median), notMeasurement, r.NotMeasured)
		default:
			text += digits(r.Summary.Median) + " seconds"
		}
		all = append(all, text)
	}
	return all
}

// leave records a key that is not compared, with the times that exist.
func (c *Comparison) leave(k Key, base, other *Row, reason string) {
	u := Unpaired{Key: k, Reason: reason}
	for _, side := range []struct {
		row     *Row
		seconds *float64
		summary **Summary
		name    string
	}{{other, &u.OtherSeconds, &u.other, c.Other.Name}, {base, &u.BaseSeconds, &u.base, c.Base.Name}} {
		if side.row == nil {
			continue
		}
		u.Title = side.row.Title
		if why := busy(side.row, side.name); why != "" {
			u.Busy = true
			if !strings.Contains(reason, why) {
				u.Reason += "; " + why
			}
		}
		if side.row.Summary != nil {
			*side.seconds, *side.summary = side.row.Summary.Median, side.row.Summary
		} else if !strings.Contains(reason, side.row.Problem) {
			u.Reason += fmt.Sprintf("; the %s side has no time: %s", side.name, side.row.Problem)
		}
	}
	c.Unpaired = append(c.Unpaired, u)
}

// lacks returns why a side has no row for the other's key. If it has an unmatched
// row that differs in one property, the reason names that.
func (c *Comparison) lacks(side, from *Side, row *Row) string {
	missing := fmt.Sprintf("the %s side has none", side.Name)
	if len(side.Rows) == 0 && side.Absent != "" {
		return missing + ": " + side.Absent
	}
	for _, k := range side.Keys() {
		if len(from.Fastest(k)) > 0 {
			continue
		}
		if what, mine, theirs := onlyDifference(row.Key, k); what == "parameters" {
			return fmt.Sprintf("the sides measured different work: %s on the %s side, %s on the %s side",
				orNo(mine), from.Name, orNo(theirs), side.Name)
		} else if what != "" {
			return fmt.Sprintf("%s of this %s (it has %s)", missing, what, theirs)
		}
	}
	return missing
}

// orNo replaces "" for messages.
func orNo(text string) string {
	if text == "" {
		return "no parameters"
	}
	return text
}

// onlyDifference returns the only property in which two keys of an operation
// differ, with both values; "" if there is none, or several.
func onlyDifference(a, b Key) (what, mine, theirs string) {
	if a.Workload != b.Workload || a.Operation != b.Operation {
		return "", "", ""
	}
	count := 0
	for _, part := range []struct{ what, mine, theirs string }{
		{"size", a.Size, b.Size}, {"batch", fmt.Sprint(a.Batch), fmt.Sprint(b.Batch)},
		{"type", a.Type, b.Type}, {"parameters", a.Parameters, b.Parameters},
	} {
		if part.mine != part.theirs {
			count++
			what, mine, theirs = part.what, part.mine, part.theirs
		}
	}
	if count != 1 {
		return "", "", ""
	}
	return what, mine, theirs
}

// total sums the medians. The variance of a sum's logarithm is, to first order, the sum
// of the parts' variances, each weighed with the square of its share (delta method).
func total(pairs []*Pair) *Total {
	if len(pairs) == 0 {
		return nil
	}
	t := &Total{Rows: len(pairs)}
	least := math.MaxInt
	for _, p := range pairs {
		t.Base += p.Base.Summary.Median
		t.Other += p.Other.Summary.Median
		least = min(least, p.Base.Summary.N, p.Other.Summary.N)
	}
	t.SpeedUp.Value = t.Base / t.Other
	variance := 0.0
	for _, p := range pairs {
		for _, side := range []struct {
			row *Row
			sum float64
		}{{p.Base, t.Base}, {p.Other, t.Other}} {
			v, ok := logMedianVariance(side.row.Seconds)
			if !ok {
				return t
			}
			variance += v * math.Pow(side.row.Summary.Median/side.sum, 2)
		}
	}
	t.SpeedUp.Interval = logInterval(t.SpeedUp.Value, variance, least)
	return t
}

// warn adds what a reader must know before the numbers.
func (c *Comparison) warn() {
	for _, side := range []*Side{c.Base, c.Other} {
		c.Warnings = append(c.Warnings, side.mixed()...)
		for _, d := range side.Damaged {
			c.Warnings = append(c.Warnings, fmt.Sprintf("left out line %d of a log of the %s side: %s", d.Line,
				side.Name, d.Reason))
		}
	}
	single := 0
	kinds := map[string]bool{}
	for _, p := range c.Pairs {
		if p.SpeedUp.Interval == nil {
			single++
		}
		kinds[p.Base.Variant.Kind], kinds[p.Other.Variant.Kind] = true, true
	}
	if single > 0 {
		c.Warnings = append(c.Warnings, fmt.Sprintf("%s with a single repeat, so without an interval; raise --repeats",
			text.Count(single, "row")))
	}
	if len(c.Pairs) > 0 && len(kinds) == 1 {
		c.Warnings = append(c.Warnings, "both sides were computed on "+orUnknown(c.Pairs[0].Base.Variant.Kind))
	}
	slices.Sort(c.Warnings)
	c.Warnings = slices.Compact(c.Warnings)
}

// MarshalJSON writes the variants and times of the rows. The rows themselves are in the JSON of
// their sides.
func (p *Pair) MarshalJSON() ([]byte, error) {
	type rest struct {
		Key
		Title         string   `json:"title"`
		Length        float64  `json:"length,omitempty"`
		Work          *Work    `json:"work,omitempty"`
		BaseVariant   Variant  `json:"baseVariant"`
		OtherVariant  Variant  `json:"otherVariant"`
		Base          *Summary `json:"base"`
		Other         *Summary `json:"other"`
		SpeedUp       Ratio    `json:"speedUp"`
		KernelSpeedUp *Ratio   `json:"kernelSpeedUp,omitempty"`
		Slower        []string `json:"slower,omitempty"`
	}
	out := rest{p.Key, p.Title, p.Length, nil, p.Base.Variant, p.Other.Variant, p.Base.Summary, p.Other.Summary,
		p.SpeedUp, p.KernelSpeedUp, p.Slower}
	if p.Work.Amount > 0 {
		out.Work = &p.Work
	}
	return json.Marshal(out)
}
