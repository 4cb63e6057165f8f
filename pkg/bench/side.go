package bench

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/batchctl/batchctl/pkg/text"
)

// Key says what was done: rows with the same key did the same work, as far as their
// lines tell.
type Key struct {
	Workload  string `json:"workload"`
	Operation string `json:"operation"`
	Size      string `json:"size"`
	Batch     int    `json:"batch,omitempty"`
	Type      string `json:"type"`
	// Parameters are in the order of their names: "sigma 2".
	Parameters string `json:"parameters,omitempty"`
}

// Variant says what did it.
type Variant struct {
	// Kind is "cpu" or "cuda".
	Kind    string `json:"kind"`
	Threads int    `json:"threads,omitempty"`
	Kernel  string `json:"kernel,omitempty"`
	ISA     string `json:"isa,omitempty"`
}

// String is the variant as text: "kernel blas (avx512), 2 threads".
func (v Variant) String() string {
	var parts []string
	if v.Kernel != "" {
		parts = append(parts, "kernel "+v.Kernel)
	}
	if v.ISA != "" {
		parts = append(parts, v.ISA)
	}
	if v.Threads > 0 {
		parts = append(parts, text.Count(v.Threads, "thread"))
	}
	if len(parts) == 0 {
		return v.Kind
	}
	return strings.Join(parts, ", ")
}

// Row is all that one side knows of one key, measured by one variant. Several runs
// are pooled.
type Row struct {
	Key
	Variant Variant `json:"variant"`
	Title   string  `json:"title"`
	// Seconds are the verified repeats of all runs, in order, copies to a device and back
	// with them.
	Seconds []float64 `json:"seconds"`
	// Runs is the number of result lines with verified repeats.
	Runs int `json:"runs"`
	// Summary is nil for a row without a time.
	Summary *Summary `json:"summary,omitempty"`
	// NotMeasured says why the row's times are not a measurement: the machine was busy in
	// each run. Such a row keeps its times, but nothing is concluded from them.
	NotMeasured string `json:"notMeasured,omitempty"`
	// Problem says why the row has no time.
	Problem string `json:"problem,omitempty"`
	// Notes say what is odd about a row that has one.
	Notes []string `json:"notes,omitempty"`
	// Split is the median of the lines' parts.
	Split Split `json:"split"`
	// Results are the lines behind the row, those that do not count too.
	Results []Result `json:"results"`
}

// MarshalJSON writes the line as it stood in the log.
func (r Result) MarshalJSON() ([]byte, error) {
	if len(r.Raw) == 0 {
		return []byte("null"), nil
	}
	return r.Raw, nil
}

// Name is the row as a line of a report shows it: "Matrix multiplication 1000x1000
// batch 2 (float64, sigma 2)".
func (r *Row) Name() string { return r.Title + " " + r.where() }

// where is the row's name without the operation.
func (k Key) where() string {
	name := k.Size
	if k.Batch > 0 {
		name += " batch " + strconv.Itoa(k.Batch)
	}
	var notes []string
	for _, note := range []string{k.Type, k.Parameters} {
		if note != "" {
			notes = append(notes, note)
		}
	}
	if len(notes) > 0 {
		name += " (" + strings.Join(notes, ", ") + ")"
	}
	return strings.TrimSpace(name)
}

// first is the first line that counts, which describes the work of the row.
func (r *Row) first() *Result {
	for i := range r.Results {
		if r.counts(&r.Results[i]) {
			return &r.Results[i]
		}
	}
	return &r.Results[0]
}

// isUsable reports whether the line's times may be a row's: the workload verified its result, or the user named a
// number of the log as the measurement.
func (r *Result) isUsable() bool { return r.Verified || r.isMetric() }

// counts reports whether the row's times include the line: it is usable, and a
// measurement unless no line of the row is one.
func (r *Row) counts(line *Result) bool {
	return line.isUsable() && (line.NotMeasured == "" || r.NotMeasured != "")
}

// measured reports whether the row has a time from which something can be concluded.
func (r *Row) measured() bool { return r.Summary != nil && r.NotMeasured == "" }

// Side is the result lines of one side.
type Side struct {
	// Name is what reports call the side: "CPU", "GPU", "old".
	Name string `json:"name"`
	// Rows are in the order in which the log first names them.
	Rows        []*Row      `json:"rows"`
	Damaged     []Damage    `json:"damaged,omitempty"`
	Environment Environment `json:"environment"`
	// Absent says why nothing was measured on the side.
	Absent string `json:"absent,omitempty"`
}

// AbsentSide is a side on which nothing could be measured, and why.
func AbsentSide(name, why string) *Side {
	return &Side{Name: name, Absent: strings.TrimRight(why, ".")}
}

// Untimed says why no row of the side has a time; "" where one has.
func (s *Side) Untimed() string {
	why := cmp.Or(s.Absent, "there is no result line")
	for _, row := range s.Rows {
		if row.Summary != nil {
			return ""
		}
		why = row.Name() + ": " + row.Problem
	}
	return why
}

// NewSide groups the result lines of the logs by key and variant. A row of another
// device than kind has no time, since it is not what the side is for; "" takes all.
func NewSide(name, kind string, logs ...*Log) *Side {
	s := &Side{Name: name}
	type group struct {
		Key
		Variant
	}
	rows := map[group]*Row{}
	for _, log := range logs {
		for _, r := range log.Results {
			g := group{r.key(), r.variant()}
			row := rows[g]
			if row == nil {
				row = &Row{Key: g.Key, Variant: g.Variant, Title: r.Title}
				rows[g] = row
				s.Rows = append(s.Rows, row)
			}
			row.Results = append(row.Results, r)
		}
		s.Damaged = append(s.Damaged, log.Damaged...)
	}
	for _, row := range s.Rows {
		row.pool(kind)
	}
	s.Environment = environment(s.Rows)
	return s
}

// key returns the key of the line's row.
func (r *Result) key() Key {
	return Key{r.Workload, r.Operation, r.Size, r.Batch, r.Type, r.parameters()}
}

// variant returns the variant of the line's row.
func (r *Result) variant() Variant {
	return Variant{string(r.Device.Kind), r.Device.Threads, r.Kernel, r.ISA}
}

// pool puts the repeats of the row's lines together, where these may be.
func (r *Row) pool(kind string) {
	if kind != "" && r.Variant.Kind != kind {
		r.Problem = fmt.Sprintf("it was computed on %s, not on %s", orUnknown(r.Variant.Kind), kind)
		return
	}
	var counted []Result
	for _, line := range r.Results {
		if line.isUsable() {
			counted = append(counted, line)
		}
	}
	if len(counted) == 0 {
		r.Problem = "the result was not verified"
		return
	}
	if off := len(r.Results) - len(counted); off > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("%s without a verified result left out", text.Count(off, "run")))
	}
	counted = r.leaveOutBusy(counted)
	for i := range counted[1:] {
		if why := differentWork(&counted[0], &counted[i+1]); why != "" {
			r.Problem = "its runs measured different work: " + why
			return
		}
	}
	if counted[0].isMetric() {
		r.Notes = append(r.Notes, metricNote)
	}
	for _, line := range counted {
		r.Seconds = append(r.Seconds, line.Seconds...)
	}
	r.Runs = len(counted)
	r.Split = splitOf(counted)
	r.Summary = Summarize(r.Seconds)
}

// leaveOutBusy returns the lines that are a measurement. Where none is, it returns all,
// and the row is not measured.
func (r *Row) leaveOutBusy(lines []Result) []Result {
	var good []Result
	var reasons []string
	for _, line := range lines {
		switch {
		case line.NotMeasured == "":
			good = append(good, line)
		case !slices.Contains(reasons, line.NotMeasured):
			reasons = append(reasons, line.NotMeasured)
		}
	}
	if len(good) == 0 {
		r.NotMeasured = strings.Join(reasons, "; ")
		return lines
	}
	if off := len(lines) - len(good); off > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("%s on a busy machine left out: %s", text.Count(off, "run"),
			strings.Join(reasons, "; ")))
	}
	return good
}

// Busy returns the rows that are not a measurement.
func (s *Side) Busy() []*Row {
	var rows []*Row
	for _, r := range s.Rows {
		if r.NotMeasured != "" {
			rows = append(rows, r)
		}
	}
	return rows
}

// Fastest returns the rows of one key with the least median first. Rows that are not a
// measurement come after those that are, and rows without a time come last.
func (s *Side) Fastest(k Key) []*Row {
	var rows []*Row
	for _, r := range s.Rows {
		if r.Key == k {
			rows = append(rows, r)
		}
	}
	slices.SortStableFunc(rows, func(a, b *Row) int {
		if worse := cmp.Compare(a.doubt(), b.doubt()); worse != 0 || a.Summary == nil {
			return worse
		}
		return cmp.Compare(a.Summary.Median, b.Summary.Median)
	})
	return rows
}

// Keys returns the keys of the side's rows in their order, each once.
func (s *Side) Keys() []Key {
	var keys []Key
	seen := map[Key]bool{}
	for _, r := range s.Rows {
		if !seen[r.Key] {
			seen[r.Key] = true
			keys = append(keys, r.Key)
		}
	}
	return keys
}

// Loose returns the rows that need more repeats: those whose interval is wider than bound
// allows, and those that are not a measurement.
func (s *Side) Loose(bound float64) []*Row {
	var rows []*Row
	for _, r := range s.Rows {
		if r.Summary != nil && (!r.measured() || !r.Summary.Tight(bound)) {
			rows = append(rows, r)
		}
	}
	return rows
}

// doubt orders rows by the quality of their time: 0 for a measurement, 1 for a time that is
// not a measurement, 2 for no time.
func (r *Row) doubt() int {
	switch {
	case r.Summary == nil:
		return 2
	case r.NotMeasured != "":
		return 1
	}
	return 0
}

// orUnknown replaces "" for messages.
func orUnknown(text string) string {
	if text == "" {
		return "an unknown device"
	}
	return text
}

var _ json.Marshaler = Result{}
