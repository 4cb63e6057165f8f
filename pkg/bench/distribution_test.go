package bench

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
	"pgregory.net/rapid"
)

// TestDistributions compares with gonum's packages.
func TestDistributions(t *testing.T) {
	near := func(t *rapid.T, what string, got, want float64) {
		if math.Abs(got-want) > 1e-9*max(1, math.Abs(want)) {
			t.Fatalf("%s is %v, want %v", what, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 200).Draw(t, "n")
		k := rapid.IntRange(-1, n+1).Draw(t, "k")
		near(t, "headsAtMost", headsAtMost(k, n), distuv.Binomial{N: float64(n), P: 0.5}.CDF(float64(k)))
		z := rapid.Float64Range(-8, 8).Draw(t, "z")
		near(t, "normalAbove", normalAbove(z), distuv.UnitNormal.Survival(z))
		p := rapid.Float64Range(1e-9, 1-1e-9).Draw(t, "p")
		near(t, "NormalQuantile", mathext.NormalQuantile(p), distuv.UnitNormal.Quantile(p))
		x := rapid.SliceOfN(rapid.Float64Range(-100, 100), 2, 20).Draw(t, "x")
		y := rapid.SliceOfN(rapid.Float64Range(-100, 100), len(x), len(x)).Draw(t, "y")
		l, ok := fitLine(x, y)
		if ok != (stat.Variance(x, nil) >= 1e-12) {
			t.Fatalf("fits %v", ok)
		}
		if stat.Variance(x, nil) > 1e-3 && stat.Variance(y, nil) > 1e-3 {
			constant, slope := stat.LinearRegression(x, y, nil, false)
			near(t, "constant", l.constant, constant)
			near(t, "slope", l.slope, slope)
			near(t, "r2", l.r2, stat.RSquared(x, y, nil, constant, slope))
		}
	})
}
