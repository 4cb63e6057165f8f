package advise

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/history"
)

// Axis is an axis of a matrix, or a column of a table, that explains why runs need different amounts of memory.
type Axis struct {
	Name string `json:"name"`
	// Explained is the share of the variance of the memory's logarithm between the values of the axis, adjusted for
	// their number.
	Explained float64 `json:"explained"`
	// Values are in the order of their numbers or texts.
	Values []AxisValue `json:"values"`
}

// AxisValue is the memory of the runs with one value of an axis, in MiB.
type AxisValue struct {
	Value string  `json:"value"`
	Runs  int     `json:"runs"`
	Max   float64 `json:"maxMiB"`
	// Bound is the upper bound; 0 if the runs are too few.
	Bound float64 `json:"boundMiB,omitempty"`
}

// An axis is worth a size for each value if it explains at least this share of the variance, and if the largest value
// needs at least this many times the memory of the smallest.
const (
	explainedAtLeast = 0.7
	differsAtLeast   = 1.5
)

// axesOf returns the axes that explain the memory of runs, the best first.
func axesOf(attempts []history.Attempt) (axes []Axis) {
	byAxis := map[string]map[string][]float64{}
	for _, a := range attempts {
		p := peak(a)
		if p == 0 || a.Status != types.JobStatusSucceeded {
			continue
		}
		for name, value := range a.Cell {
			if byAxis[name] == nil {
				byAxis[name] = map[string][]float64{}
			}
			byAxis[name][value] = append(byAxis[name][value], p)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(byAxis)) {
		if axis, ok := axisOf(name, byAxis[name]); ok {
			axes = append(axes, axis)
		}
	}
	slices.SortStableFunc(axes, func(a, b Axis) int { return cmp.Compare(b.Explained, a.Explained) })
	return axes
}

// axisOf returns an axis from the memory of its values. ok is false if it explains too little.
func axisOf(name string, values map[string][]float64) (axis Axis, ok bool) {
	axis.Name = name
	var all []float64
	within := 0.0
	least, most := math.Inf(1), 0.0
	for value, memory := range values {
		var logs []float64
		for _, m := range memory {
			logs = append(logs, math.Log(m))
		}
		all = append(all, logs...)
		within += squares(logs)
		largest := slices.Max(memory)
		least, most = min(least, largest), max(most, largest)
		axis.Values = append(axis.Values, AxisValue{value, len(memory), largest, UpperBound(memory, nil).Value})
	}
	n, k, total := float64(len(all)), float64(len(values)), squares(all)
	if k < 2 || n <= k || total == 0 || most < differsAtLeast*least {
		return axis, false
	}
	// The adjusted coefficient of determination: a value for each run would explain everything.
	axis.Explained = max(0, 1-within/(n-k)/(total/(n-1)))
	slices.SortStableFunc(axis.Values, func(a, b AxisValue) int { return compareValues(a.Value, b.Value) })
	return axis, axis.Explained >= explainedAtLeast
}

// squares is the sum of the squared deviations from the mean.
func squares(values []float64) float64 {
	d := deviation(values)
	return d * d * float64(len(values)-1)
}

// compareValues orders numbers by size, before texts.
func compareValues(a, b string) int {
	x, errX := strconv.ParseFloat(a, 64)
	y, errY := strconv.ParseFloat(b, 64)
	switch {
	case errX == nil && errY == nil:
		return cmp.Or(cmp.Compare(x, y), cmp.Compare(a, b))
	case errX == nil:
		return -1
	case errY == nil:
		return 1
	}
	return cmp.Compare(a, b)
}
