package heatmap

import (
	"fmt"
	"image/color"
	"math"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

// luminance is the relative luminance of a colour (sRGB, IEC 61966-2-1).
func luminance(c color.RGBA) float64 {
	linear := func(v uint8) float64 {
		f := float64(v) / 255
		if f <= 0.04045 {
			return f / 12.92
		}
		return math.Pow((f+0.055)/1.055, 2.4)
	}
	return 0.2126*linear(c.R) + 0.7152*linear(c.G) + 0.0722*linear(c.B)
}

// TestEven: lightness (CIE 1976) grows by the same amount from shade to shade, so the
// scale is even for the eye, and in grey.
func TestEven(t *testing.T) {
	lightness := func(c color.RGBA) float64 { return 116*math.Cbrt(luminance(c)) - 16 }
	all := newScale(0, 1).colours
	first, last := lightness(all[0]), lightness(all[shades-1])
	if last-first < 70 {
		t.Errorf("from %v to %v", first, last)
	}
	for i, c := range all {
		if want := first + (last-first)*float64(i)/(shades-1); math.Abs(lightness(c)-want) > 0.7 {
			t.Errorf("shade %d: lightness %v, want %v", i, lightness(c), want)
		}
	}
}

// TestInk: numbers can be read on every shade, by the contrast that WCAG 2.2 asks of
// small text for large screens and small, 4.5 to 1, less what rounding takes.
func TestInk(t *testing.T) {
	for i, c := range newScale(0, 1).colours {
		a, b := luminance(c)+0.05, luminance(ink(c))+0.05
		if contrast := max(a, b) / min(a, b); contrast < 4.4 {
			t.Errorf("shade %d %v: contrast %v", i, c, contrast)
		}
	}
}

func TestTicks(t *testing.T) {
	for _, test := range []struct {
		low, high float64
		want      string
	}{
		{0, 1, "[0.0 0.2 0.4 0.6 0.8 1.0]"},
		{-0.7, 0.9, "[-0.5 0.0 0.5]"},
		{0.971, 0.979, "[0.972 0.974 0.976 0.978]"},
		{3, 90000, "[20000 40000 60000 80000]"},
		{0, 5e6, "[0 1000000 2000000 3000000 4000000 5000000]"},
		{-2e-8, 3e-8, "[-2e-8 -1e-8 0 1e-8 2e-8 3e-8]"},
		{4, 4, "[4]"},
		{-math.MaxFloat64, math.MaxFloat64, "[-1.79769e308 1.79769e308]"},
		{1, 1 + 1e-15, "[1 1.000000000000001]"},
		{5e-324, 1e-323, "[4.94066e-324 9.88131e-324]"},
		{1, -1, "[]"},
	} {
		labels := []string{}
		for _, tick := range newScale(test.low, test.high).ticks(5) {
			labels = append(labels, tick.label)
		}
		if got := fmt.Sprint(labels); got != test.want {
			t.Errorf("%v to %v: %s, want %s", test.low, test.high, got, test.want)
		}
	}
}

// Ticks lie on the scale, in order, and their labels say where.
func TestTicksProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.Float64().Draw(t, "a"), rapid.Float64().Draw(t, "b")
		if rapid.Bool().Draw(t, "near") {
			b = a * (1 + rapid.Float64Range(-1e-3, 1e-3).Draw(t, "part"))
		}
		s := newScale(min(a, b), max(a, b))
		n := rapid.IntRange(3, 10).Draw(t, "n")
		all := s.ticks(n)
		if len(all) == 0 || len(all) > n+2 {
			t.Fatalf("%d ticks", len(all))
		}
		for i, tick := range all {
			slack := (s.high/2 - s.low/2) * 1e-6
			if tick.value < s.low-slack || tick.value > s.high+slack || i > 0 && (tick.value <= all[i-1].value || tick.label == all[i-1].label) {
				t.Fatalf("%v to %v: %v", s.low, s.high, all)
			}
			said, err := strconv.ParseFloat(tick.label, 64)
			if err != nil || math.Abs(said/2-tick.value/2) > max((s.high/2-s.low/2)/20, math.Abs(tick.value)*1e-5) {
				t.Fatalf("%v is called %s (%v)", tick.value, tick.label, err)
			}
		}
	})
}

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
