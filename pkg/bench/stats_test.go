package bench

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func near(a, b float64) bool {
	return math.Abs(a-b) <= 1e-9*max(1, math.Abs(a), math.Abs(b))
}

// coins is the probability that fewer than k of n coins fall on heads, counted over
// all ways in which they can fall.
func coins(n, k int) float64 {
	count := 0
	for way := range 1 << n {
		heads := 0
		for i := range n {
			heads += way >> i & 1
		}
		if heads < k {
			count++
		}
	}
	return float64(count) / float64(int(1)<<n)
}

// TestMedianInterval compares the interval with all ways in which n values can lie around their
// true median.
func TestMedianInterval(t *testing.T) {
	for n := 2; n <= 16; n++ {
		sorted := make([]float64, n)
		for i := range sorted {
			sorted[i] = float64(i + 1)
		}
		got := medianInterval(sorted)
		k := 1
		for 2*(k+1) <= n && 1-2*coins(n, k+1) >= Confidence {
			k++
		}
		if got.Low != float64(k) || got.High != float64(n+1-k) || !near(got.Confidence, 1-2*coins(n, k)) {
			t.Errorf("n %d: %+v, want ranks %d and %d, confidence %v", n, got, k, n+1-k, 1-2*coins(n, k))
		}
	}
	if Summarize([]float64{1}).Interval != nil {
		t.Error("a single repeat has an interval")
	}
}

func TestTight(t *testing.T) {
	for name, test := range map[string]struct {
		values []float64
		want   bool
	}{
		"one repeat":  {[]float64{1}, false},
		"five repeat": {[]float64{1, 1, 1, 1, 1}, false}, // 93.75 % at most
		"six":         {[]float64{1, 1.01, 1.02, 1.03, 1.04, 1.04}, true},
		"wide":        {[]float64{1, 1.01, 1.02, 1.03, 1.04, 1.06}, false},
	} {
		if got := Summarize(test.values).Tight(0.05); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestSummary(t *testing.T) {
	got := Summarize([]float64{5, 1, 4, 2, 3})
	if got.Median != 3 || got.Q1 != 2 || got.Q3 != 4 || got.MAD != 1 || got.Min != 1 || got.Max != 5 || got.N != 5 {
		t.Errorf("%+v", got)
	}
	if Summarize(nil) != nil {
		t.Error("an empty sample has a summary")
	}
}

// byPairs counts U by its definition.
func byPairs(a, b []float64) float64 {
	u := 0.0
	for _, x := range a {
		for _, y := range b {
			if x > y {
				u++
			} else if x == y {
				u += 0.5
			}
		}
	}
	return u
}

// bySplits is P over all ways to split the pooled values.
func bySplits(a, b []float64) float64 {
	all := slices.Concat(a, b)
	seen := byPairs(a, b)
	var below, above, total float64
	for way := range 1 << len(all) {
		var x, y []float64
		for i, v := range all {
			if way>>i&1 == 1 {
				x = append(x, v)
			} else {
				y = append(y, v)
			}
		}
		if len(x) != len(a) {
			continue
		}
		u := byPairs(x, y)
		total++
		if u <= seen {
			below++
		}
		if u >= seen {
			above++
		}
	}
	return min(1, 2*min(below, above)/total)
}

func TestMannWhitneyAgainstAllSplits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.Map(rapid.IntRange(0, 6), func(i int) float64 { return float64(i) }) // many ties
		a := rapid.SliceOfN(value, 1, 5).Draw(t, "a")
		b := rapid.SliceOfN(value, 1, 5).Draw(t, "b")
		got := MannWhitney(a, b)
		if !got.Exact || got.U != byPairs(a, b) || !near(got.P, bySplits(a, b)) {
			t.Fatalf("%+v, want U %v P %v", got, byPairs(a, b), bySplits(a, b))
		}
		if back := MannWhitney(b, a); !near(back.P, got.P) || !near(got.U+back.U, float64(len(a)*len(b))) {
			t.Fatalf("the other way round: %+v and %+v", got, back)
		}
	})
}

// TestMannWhitneyApproximation holds the normal tail against the counted one where
// both can be had.
func TestMannWhitneyApproximation(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		a, b := make([]float64, 24), make([]float64, 25)
		for i := range a {
			a[i] = float64(rng.IntN(30))
		}
		for i := range b {
			b[i] = float64(rng.IntN(30)) + 3
		}
		ranks, ties := doubledRanks(a, b)
		_ = ranks
		exact := MannWhitney(a, b)
		approximate := normalTail(exact.U, 24, 25, ties)
		if !exact.Exact || math.Abs(exact.P-approximate) > 0.01 {
			t.Errorf("P %v counted, %v approximated", exact.P, approximate)
		}
	}
	same := make([]float64, 40)
	if got := MannWhitney(same, same); got.P != 1 || got.Exact {
		t.Errorf("equal values: %+v", got)
	}
}

func TestHolm(t *testing.T) {
	got := holm([]float64{0.01, 0.04, 0.03, 0.005})
	for i, want := range []float64{0.03, 0.06, 0.06, 0.02} { // worked by hand
		if !near(got[i], want) {
			t.Errorf("%v", got)
			break
		}
	}
}

// TestMedianRatioOfEqualTimes checks that repeats that a coarse timer reports as equal prove nothing.
func TestMedianRatioOfEqualTimes(t *testing.T) {
	for _, a := range [][]float64{{5, 5, 5}, {5, 5}, {4, 5, 6}} {
		if r := MedianRatio(a, []float64{6, 6, 6}); r.Clear() || r.Interval != nil {
			t.Errorf("%v over three times 6 is clear: %+v", a, r)
		}
	}
}

// TestMedianRatioCoverage draws samples with a known ratio of medians, and counts how
// often the interval holds it.
func TestMedianRatioCoverage(t *testing.T) {
	const rounds = 3000
	for n, least := range map[int]float64{2: 0.85, 3: 0.9, 4: 0.94, 5: 0.94, 7: 0.94, 10: 0.94, 20: 0.93, 30: 0.925} {
		rng := rand.New(rand.NewPCG(7, uint64(n)))
		held := 0
		for range rounds {
			a, b := make([]float64, n), make([]float64, n)
			for i := range a {
				a[i] = 3 * math.Exp(0.05*rng.NormFloat64())
				b[i] = math.Exp(0.05 * rng.ExpFloat64()) // times have a tail to one side
			}
			if MedianRatio(a, b).Interval.Has(3 / math.Exp(0.05*math.Ln2)) {
				held++
			}
		}
		if share := float64(held) / rounds; share < least {
			t.Errorf("%d repeats: the interval holds the ratio in %v of samples, want %v", n, share, least)
		}
	}
}

func TestMedianRatioProperties(t *testing.T) {
	sampleOf := rapid.SliceOfN(rapid.Float64Range(0.001, 1000), 2, 12)
	rapid.Check(t, func(t *rapid.T) {
		a, b := sampleOf.Draw(t, "a"), sampleOf.Draw(t, "b")
		r, back := MedianRatio(a, b), MedianRatio(b, a)
		if !r.Interval.Has(r.Value) || !near(r.Value*back.Value, 1) || !near(r.Interval.Low*back.Interval.High, 1) {
			t.Fatalf("%+v %+v, %+v %+v", r, r.Interval, back, back.Interval)
		}
	})
}
