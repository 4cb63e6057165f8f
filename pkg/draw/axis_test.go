package draw

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestTicks(t *testing.T) {
	for _, test := range []struct {
		low, high float64
		want      string
	}{
		{0, 1, "[0.0 0.2 0.4 0.6 0.8 1.0]"},
		{-0.7, 0.9, "[-0.5 0.0 0.5]"},
		{0.971, 0.979, "[0.972 0.974 0.976 0.978]"},
		{3, 90000, "[20k 40k 60k 80k]"},
		{0, 5e6, "[0 1M 2M 3M 4M 5M]"},
		{-2e-8, 3e-8, "[-2e-8 -1e-8 0 1e-8 2e-8 3e-8]"},
		{0, 1500, "[0 500 1000 1500]"},
		{100_200, 100_800, "[100.2k 100.4k 100.6k 100.8k]"},
		{100_000, 100_000.5, "[100000.0 100000.1 100000.2 100000.3 100000.4 100000.5]"},
		{4, 4, "[4]"},
		{-math.MaxFloat64, math.MaxFloat64, "[-1.79769e308 1.79769e308]"},
		{1, 1 + 1e-15, "[1 1.000000000000001]"},
		{5e-324, 1e-323, "[4.94066e-324 9.88131e-324]"},
		{1, -1, "[]"},
	} {
		labels := []string{}
		for _, tick := range (Axis{Low: test.low, High: test.high}).Ticks(5) {
			labels = append(labels, tick.Label)
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
		s := Axis{Low: min(a, b), High: max(a, b)}
		n := rapid.IntRange(3, 10).Draw(t, "n")
		all := s.Ticks(n)
		if len(all) == 0 || len(all) > n+2 {
			t.Fatalf("%d ticks", len(all))
		}
		for i, tick := range all {
			slack := (s.High/2 - s.Low/2) * 1e-6
			if tick.Value < s.Low-slack || tick.Value > s.High+slack || i > 0 && (tick.Value <= all[i-1].Value || tick.Label == all[i-1].Label) {
				t.Fatalf("%v to %v: %v", s.Low, s.High, all)
			}
			number := strings.TrimRight(tick.Label, "kMGTPE")
			said, err := strconv.ParseFloat(number, 64)
			if unit := tick.Label[len(number):]; unit != "" {
				said *= math.Pow(1000, float64(1+strings.Index("kMGTPE", unit)))
			}
			if err != nil || math.Abs(said/2-tick.Value/2) > max((s.High/2-s.Low/2)/20, math.Abs(tick.Value)*1e-5) {
				t.Fatalf("%v is called %s (%v)", tick.Value, tick.Label, err)
			}
		}
	})
}

// TestLogarithmic: every axis has at least two round ticks, all on the axis, in order, and no more than fit.
func TestLogarithmic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		low := rapid.Float64Range(1e-6, 1e6).Draw(t, "low")
		a := Axis{Low: low, High: low * rapid.Float64Range(4, 1e8).Draw(t, "factor"), To: 100, Log: true}
		ticks := a.Ticks(6)
		if len(ticks) < 2 || len(ticks) > 16 {
			t.Fatalf("%v to %v: %v", a.Low, a.High, ticks)
		}
		for i, tick := range ticks {
			if at := a.At(tick.Value); at < 0 || at > 100 || i > 0 && at <= a.At(ticks[i-1].Value) {
				t.Fatalf("%v lies at %v", tick, at)
			}
		}
	})
}

func TestNumber(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 0.001234: "0.00123", 1.5: "1.5", 999.4: "999", 999.6: "1000", 1500: "1500", 15_000: "15k", 1e9: "1G",
		999_600: "1M", 2.5e12: "2.5T", 1e20: "100E", -1500: "-1500", 1.5e-4: "0.00015", 1e-5: "1e-5", 3e-7 + 1e-20: "3e-7"} {
		if got := Number(v); got != want {
			t.Errorf("Number(%v) = %q, want %q", v, got, want)
		}
	}
}

func TestStep(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.Float64Range(1e-20, 1e20).Draw(t, "v")
		if step := Step(v); step < v*(1-1e-6) || step > 2.5*v*(1+1e-6) {
			t.Fatalf("the step for %v is %v", v, step)
		}
	})
}

func TestClip(t *testing.T) {
	for width, want := range map[float64]string{100: "train-model", 60: "train-m…", 1: "…"} {
		if got := Clip("train-model", width); got != want {
			t.Errorf("clip to %v = %q, want %q", width, got, want)
		}
	}
}
