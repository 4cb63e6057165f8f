package bench

import (
	"bytes"
	"encoding/csv"
	"strconv"
)

// csvHead has the names of the columns. Times are in seconds; low and high are the interval.
var csvHead = []string{
	"workload", "operation", "size", "batch", "type", "parameters",
	"base_side", "base_seconds", "base_low", "base_high", "base_repeats",
	"other_side", "other_seconds", "other_low", "other_high", "other_repeats",
	"speed_up", "speed_up_low", "speed_up_high", "cost_efficiency", "unit", "base_usd_per_unit", "other_usd_per_unit",
	"reason",
}

// CSV returns one line per key of either side. An unknown number is an empty
// field, and the last field is the reason why a row is not compared. Lines end
// with a line feed. Text that begins with =, +, - or @ is unchanged: the file is
// for programs, not for spreadsheets.
func (r *Report) CSV() []byte {
	var b bytes.Buffer
	out := csv.NewWriter(&b)
	write := func(fields []string) { _ = out.Write(fields) } // a buffer takes everything
	write(csvHead)
	c := r.Comparison
	for i, p := range c.Pairs {
		fields := append(p.fields(), c.Base.Name)
		fields = append(append(fields, summaryFields(p.Base.Summary)...), c.Other.Name)
		fields = append(fields, summaryFields(p.Other.Summary)...)
		low, high := bounds(p.SpeedUp.Interval)
		fields = append(fields, number(p.SpeedUp.Value), low, high)
		write(append(append(fields, r.costFields(i)...), ""))
	}
	for _, u := range c.Unpaired {
		fields := append(append(u.fields(), c.Base.Name), summaryFields(u.base)...)
		fields = append(append(fields, c.Other.Name), summaryFields(u.other)...)
		write(append(fields, "", "", "", "", "", "", "", u.Reason))
	}
	out.Flush()
	return b.Bytes()
}

// fields returns the first six columns.
func (k Key) fields() []string {
	batch := ""
	if k.Batch > 0 {
		batch = strconv.Itoa(k.Batch)
	}
	return []string{k.Workload, k.Operation, k.Size, batch, k.Type, k.Parameters}
}

// summaryFields returns four columns of a side, empty without a time.
func summaryFields(s *Summary) []string {
	if s == nil {
		return []string{"", "", "", ""}
	}
	low, high := bounds(s.Interval)
	return []string{number(s.Median), low, high, strconv.Itoa(s.N)}
}

// costFields returns the four columns of pair i's cost, empty without prices.
func (r *Report) costFields(i int) []string {
	if r.Decision == nil || i >= len(r.Decision.Costs) {
		return []string{"", "", "", ""}
	}
	c := r.Decision.Costs[i]
	return []string{number(c.Efficiency.Value), c.Unit, number(c.BaseUnit), number(c.OtherUnit)}
}

// bounds returns the ends of an interval, empty without one.
func bounds(i *Interval) (low, high string) {
	if i == nil {
		return "", ""
	}
	return number(i.Low), number(i.High)
}

// number formats a number; "" for 0, which no time, rate or cost is.
func number(v float64) string {
	if v == 0 {
		return ""
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}
