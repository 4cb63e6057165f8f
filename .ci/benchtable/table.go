package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// figures are what one run of a side measured, by name. A run may measure the same thing several times.
type figures map[string][]float64

// seconds is the name of the figure that most rows compare.
const seconds = "seconds"

// side is one program of a comparison.
type side struct {
	name string
	// prepare, if any, runs once before the first round. An error of type needs means that the side is not installed.
	prepare func(context.Context) error
	run     func(context.Context) (figures, error)
}

// needs is an error: the name of a program that a side needs and that this machine does not have.
type needs string

// Error names the missing program.
func (n needs) Error() string { return "needs " + string(n) }

// figure names a figure of a side.
type figure struct{ side, name string }

// row compares a figure of batchctl with one of a peer. Small figures are good: seconds, MiB, calls.
type row struct {
	name         string
	peer         string // as the table names it
	ours, theirs figure // theirs is empty for a goal without a peer
	unit         string // "s" if empty
	goal         goal
}

// goal is a bound for a row. The zero goal is always met.
type goal struct {
	bound float64
	most  bool // batchctl may take bound times the peer's figure; otherwise the peer takes bound times batchctl's
	alone bool // the bound is for batchctl's own figure
}

// atLeast is a goal: the peer takes at least x times as long.
func atLeast(x float64) goal { return goal{bound: x} }

// atMost is a goal: batchctl takes at most x times as long as the peer.
func atMost(x float64) goal { return goal{bound: x, most: true} }

// below is a goal without a peer: the figure is at most x.
func below(x float64) goal { return goal{bound: x, most: true, alone: true} }

// value returns the number that the goal bounds.
func (g goal) value(ours, theirs float64) float64 {
	switch {
	case g.alone:
		return ours
	case g.most:
		return ours / theirs
	}
	return theirs / ours
}

// met reports whether the value meets the goal.
func (g goal) met(value float64) bool {
	switch {
	case g == goal{}:
		return true
	case g.most:
		return value <= g.bound
	}
	return value >= g.bound
}

// text writes the goal for the table.
func (g goal) text(unit string) string {
	switch {
	case g == goal{}:
		return "-"
	case g.alone:
		return fmt.Sprintf("<= %g %s", g.bound, cmp.Or(unit, "s"))
	case g.most:
		return fmt.Sprintf("<= %g x", g.bound)
	}
	return fmt.Sprintf(">= %g x", g.bound)
}

// group is a set of rows that the same runs measure.
type group struct {
	rows   []row
	rounds int  // unless the user chooses
	warm   bool // run each side once before the rounds
	long   bool // measure only if the user asks for it
	sides  []side
	// open, if any, starts what all sides need. The function that it returns stops it.
	open func(context.Context) (func(), error)
}

// result is a measured row, or the reason why it was not measured.
type result struct {
	row
	note        string // why there are no figures
	failed      bool
	rounds      int
	mine, peers sample
	loop        float64 // seconds of the calibration loop, the longer of before and after
	slowdown    float64 // the loop's time, divided by its shortest in this run
	loadAverage float64
}

// quietLimit is the slowdown up to which a machine counts as quiet.
const quietLimit = 1.1

func (r result) measured() bool { return r.note == "" }
func (r result) value() float64 { return r.goal.value(r.mine.median, r.peers.median) }
func (r result) met() bool      { return r.goal.met(r.value()) }
func (r result) quiet() bool    { return r.slowdown <= quietLimit }

// without returns the group's rows with the same note.
func (g group) without(note string) []result {
	var results []result
	for _, r := range g.rows {
		results = append(results, result{row: r, note: note})
	}
	return results
}

// explain returns the group's rows with the error as their note.
func (g group) explain(err error) []result {
	var missing needs
	if errors.As(err, &missing) {
		return g.without("not measured: " + missing.Error())
	}
	results := g.without("failed: " + firstLine(err.Error()))
	for i := range results {
		results[i].failed = true
	}
	return results
}

// uses reports whether a row of the group needs the side.
func (g group) uses(name string) bool {
	return slices.ContainsFunc(g.rows, func(r row) bool { return r.ours.side == name || r.theirs.side == name })
}

// measure prepares the sides and measures the rounds. A side that is not installed costs only the rows that use it.
func (g group) measure(ctx context.Context, m *machine, rounds int) []result {
	if g.open != nil {
		stop, err := g.open(ctx)
		if err != nil {
			return g.explain(err)
		}
		defer stop()
	}
	absent := map[string]error{}
	var sides []side
	for _, s := range g.sides {
		var err error
		if g.uses(s.name) && s.prepare != nil {
			err = s.prepare(ctx)
		}
		if err == nil && g.uses(s.name) && g.warm {
			_, err = s.run(ctx)
		}
		if err != nil {
			absent[s.name] = err
		} else if g.uses(s.name) {
			sides = append(sides, s)
		}
	}
	// No run for a side whose rows all miss the other side.
	sides = slices.DeleteFunc(sides, func(s side) bool {
		return !slices.ContainsFunc(g.rows, func(r row) bool {
			return (r.ours.side == s.name || r.theirs.side == s.name) && absent[r.ours.side] == nil &&
				absent[r.theirs.side] == nil
		})
	})

	rounds = cmp.Or(rounds, g.rounds)
	load, before := loadAverage(), m.calibrate()
	seen := map[figure][]float64{}
	for range rounds {
		for _, s := range sides {
			if absent[s.name] != nil {
				continue
			}
			got, err := s.run(ctx)
			if err != nil {
				absent[s.name] = err
				continue
			}
			for name, values := range got {
				seen[figure{s.name, name}] = append(seen[figure{s.name, name}], values...)
			}
		}
	}
	if ctx.Err() != nil {
		return g.without("not measured: interrupted")
	}
	loop := max(before, m.calibrate())

	var results []result
	for _, r := range g.rows {
		if err := cmp.Or(absent[r.ours.side], absent[r.theirs.side]); err != nil {
			results = append(results, group{rows: []row{r}}.explain(err)...)
			continue
		}
		mine, theirs := seen[r.ours], seen[r.theirs]
		if len(mine) == 0 || len(theirs) == 0 && !r.goal.alone {
			err := errors.New("the runs printed no figure")
			if r.theirs.name == atLimit {
				err = needs("a machine whose limit the workload can measure")
			}
			results = append(results, group{rows: []row{r}}.explain(err)...)
			continue
		}
		results = append(results, result{row: r, rounds: rounds, mine: summarize(mine), peers: summarize(theirs),
			loop: loop, loadAverage: load})
	}
	return results
}

// sample is a summary of what was measured.
type sample struct {
	median, best float64
	spread       float64 // the distance between the quartiles, as a share of the median
}

// summarize returns the summary of values of which small ones are good.
func summarize(values []float64) sample {
	if len(values) == 0 {
		return sample{}
	}
	v := slices.Sorted(slices.Values(values))
	s := sample{median: quantile(v, 0.5), best: v[0]}
	if s.median != 0 {
		s.spread = (quantile(v, 0.75) - quantile(v, 0.25)) / s.median
	}
	return s
}

// quantile returns the share q of sorted values, with linear interpolation between neighbours.
func quantile(sorted []float64, q float64) float64 {
	at := q * float64(len(sorted)-1)
	low := int(math.Floor(at))
	high := min(low+1, len(sorted)-1)
	return sorted[low] + (at-float64(low))*(sorted[high]-sorted[low])
}

// quantity writes a figure with its unit. Seconds get the prefix that suits them.
func quantity(v float64, unit string) string {
	switch {
	case unit != "" && unit != "s":
		return fmt.Sprintf("%.4g %s", v, unit)
	case v >= 1:
		return digits(v) + " s"
	case v >= 1e-3:
		return digits(v*1e3) + " ms"
	}
	return digits(v*1e6) + " µs"
}

// digits writes three digits of a number, or all digits before the point.
func digits(v float64) string {
	places := 2
	switch {
	case v < 1:
		places = 3
	case v >= 100:
		places = 0
	case v >= 10:
		places = 1
	}
	return strconv.FormatFloat(v, 'f', places, 64)
}

// ratio writes the compared value, or a dash for a goal without a peer.
func (r result) ratio() string {
	if r.goal.alone {
		return "-"
	}
	return digits(r.value()) + " x"
}

// verdict is the judgement of a measured row.
func (r result) verdict() string {
	switch {
	case r.goal == goal{}:
		return "-"
	case r.met():
		return "met"
	}
	return "missed"
}

// progress is the line that appears when the row is measured, before the verdict on the machine.
func (r result) progress() string {
	if !r.measured() {
		return r.name + ": " + r.note
	}
	return fmt.Sprintf("%s: %s, %s, goal %s: %s", r.name, quantity(r.mine.median, r.unit), r.ratio(),
		r.goal.text(r.unit), r.verdict())
}

// print writes the table.
func print(w io.Writer, all []result) {
	lines := [][]string{{"row", "median", "best", "spread", "peer", "median", "ratio", "goal", "verdict", "machine"}}
	for _, r := range all {
		if !r.measured() {
			lines = append(lines, []string{r.name, r.note})
			continue
		}
		peers, state := "-", "quiet"
		if !r.goal.alone {
			peers = quantity(r.peers.median, r.unit)
		}
		if !r.quiet() {
			state = "busy"
		}
		lines = append(lines, []string{r.name, quantity(r.mine.median, r.unit), quantity(r.mine.best, r.unit),
			fmt.Sprintf("%.0f %%", 100*r.mine.spread),
			cmp.Or(r.peer, "-"), peers, r.ratio(), r.goal.text(r.unit), r.verdict(),
			fmt.Sprintf("%s %.2f x, load %.1f", state, r.slowdown, r.loadAverage)})
	}
	align(w, lines)
}

// list writes the rows with their peers and goals.
func list(w io.Writer, groups []group) {
	lines := [][]string{{"row", "peer", "goal", "rounds"}}
	for _, g := range groups {
		for _, r := range g.rows {
			lines = append(lines, []string{r.name, cmp.Or(r.peer, "-"), r.goal.text(r.unit),
				strconv.Itoa(g.rounds) + map[bool]string{true: ", only with --long"}[g.long]})
		}
	}
	align(w, lines)
}

// align writes lines of cells in columns. The last cell of a line may be longer than its column, as notes are.
func align(w io.Writer, lines [][]string) {
	var widths []int
	for _, line := range lines {
		for i, cell := range line[:len(line)-1] {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, line := range lines {
		last := len(line) - 1
		for i, cell := range line[:last] {
			fmt.Fprint(w, cell, strings.Repeat(" ", widths[i]+2-utf8.RuneCountInString(cell)))
		}
		fmt.Fprintln(w, line[last])
	}
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}
