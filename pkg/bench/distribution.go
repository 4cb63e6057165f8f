package bench

import (
	"math"

	"gonum.org/v1/gonum/mathext"
)

// The distributions use gonum's special functions. gonum's own packages of distributions and regressions come
// with its linear algebra, 2 MB of the program.

// headsAtMost returns the probability of at most k heads in n tosses of a fair coin.
func headsAtMost(k, n int) float64 {
	switch {
	case k < 0:
		return 0
	case k >= n:
		return 1
	}
	return mathext.RegIncBeta(float64(n-k), float64(k+1), 0.5)
}

// normalAbove returns the probability that a standard normal deviate is larger than z.
func normalAbove(z float64) float64 { return math.Erfc(z/math.Sqrt2) / 2 }

// line is a line y = constant + slope x that has been fitted to points by least squares.
type line struct{ constant, slope, r2 float64 }

// fitLine fits a line. r2 is its coefficient of determination, and 1 for points of one height. It is false if
// all points have the same x.
func fitLine(x, y []float64) (line, bool) {
	meanX, meanY := mean(x), mean(y)
	var xx, xy, yy float64
	for i := range x {
		dx, dy := x[i]-meanX, y[i]-meanY
		xx, xy, yy = xx+dx*dx, xy+dx*dy, yy+dy*dy
	}
	if len(x) < 2 || xx/float64(len(x)-1) < 1e-12 {
		return line{}, false
	}
	l := line{slope: xy / xx, r2: 1}
	l.constant = meanY - l.slope*meanX
	if yy > 0 {
		var rest float64
		for i := range x {
			d := y[i] - l.constant - l.slope*x[i]
			rest += d * d
		}
		l.r2 = 1 - rest/yy
	}
	return l, true
}

// mean returns the arithmetic mean.
func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}
