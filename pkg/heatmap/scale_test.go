package heatmap

import (
	"fmt"
	"math"
	"testing"
)

func TestNumbers(t *testing.T) {
	for _, test := range []struct {
		values []float64
		want   string
	}{
		{[]float64{1, 20, -300}, "[1 20 -300]"},
		{[]float64{0.5, 0.912345, math.NaN()}, "[0.500 0.912 ]"},
		{[]float64{0.97121, 0.97134}, "[0.97121 0.97134]"},
		{[]float64{12.34, 0.5, 0}, "[12.3 0.5 0.0]"},
		{[]float64{12, 0.00012}, "[12 0.00012]"},
		{[]float64{-0.0001, 0.25, 0.0004}, "[-0.0001 0.25 0.0004]"},
		{[]float64{1234.5, 999}, "[1234 999]"},
		{[]float64{3e-7, 4.25e-7}, "[3e-7 4.25e-7]"},
		{[]float64{2.5e9, 1e12}, "[2.5e9 1e12]"},
		{[]float64{0, 0}, "[0 0]"},
	} {
		g := grid{values: test.values}
		low, high := math.Inf(1), math.Inf(-1)
		for _, v := range test.values {
			if !math.IsNaN(v) {
				low, high = min(low, v), max(high, v)
			}
		}
		g.scale = newScale(low, high)
		if got := fmt.Sprint(numbers(&g)); got != test.want {
			t.Errorf("%v: %s, want %s", test.values, got, test.want)
		}
	}
}
