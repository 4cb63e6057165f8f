package bench

import (
	"math"
)

// Law is a power law of time by size, seconds = Factor * size ^ Exponent, fitted to the
// medians by least squares of their logarithms.
type Law struct {
	Factor   float64 `json:"factor"`
	Exponent float64 `json:"exponent"`
	// R2 is the share of the logarithms' variance that the law explains.
	R2     float64 `json:"r2"`
	Points int     `json:"points"`
}

// At is the law's time at a size.
func (l Law) At(size float64) float64 { return l.Factor * math.Pow(size, l.Exponent) }

// FitLaw fits a power law to positive sizes and times. It is false for fewer than two
// different sizes.
func FitLaw(sizes, seconds []float64) (Law, bool) {
	x, y := make([]float64, len(sizes)), make([]float64, len(sizes))
	for i := range sizes {
		x[i], y[i] = math.Log(sizes[i]), math.Log(seconds[i])
	}
	fit, ok := fitLine(x, y)
	if !ok {
		return Law{}, false
	}
	l := Law{Factor: math.Exp(fit.constant), Exponent: fit.slope, R2: fit.r2, Points: len(x)}
	return l, !math.IsInf(l.Factor, 0) && l.Factor > 0
}

// meets returns the size at which two laws, the first times a factor, give the same.
func meets(a, b Law, factor float64) (size float64, ok bool) {
	if math.Abs(a.Exponent-b.Exponent) < 1e-9 {
		return 0, false
	}
	size = math.Exp((math.Log(a.Factor*factor) - math.Log(b.Factor)) / (b.Exponent - a.Exponent))
	return size, size >= 1 && size <= 1e12
}
