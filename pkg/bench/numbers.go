package bench

import (
	"fmt"
	"math"
	"strconv"
)

// digits prints three significant digits: 0.0123, 1.23, 12.3, 1234. Below a thousandth
// of a millionth it takes an exponent.
func digits(v float64) string {
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return "-"
	case v == 0:
		return "0"
	case math.Abs(v) < 1e-9:
		return strconv.FormatFloat(v, 'e', 2, 64)
	}
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(v, 'e', 2, 64), 64) // 9.999 is 10.0, not 10.00
	if err != nil {
		return "-"
	}
	decimals := 2 - int(math.Floor(math.Log10(math.Abs(rounded))))
	return strconv.FormatFloat(v, 'f', min(max(decimals, 0), 11), 64)
}

// usd prints an amount of US dollars with the digits of a measurement: 0.00123 USD.
func usd(v float64) string { return digits(v) + " USD" }

// percent prints a share: 0.051 is "5.1 %".
func percent(v float64) string {
	return strconv.FormatFloat(math.Round(v*1000)/10, 'f', -1, 64) + " %"
}

// times prints a ratio: "12.3 x".
func times(r Ratio) string { return digits(r.Value) + " x" }

// ranged prints a ratio with its interval: "12.3 x (11.9 to 12.8)".
func ranged(r Ratio) string {
	if r.Interval == nil {
		return times(r) + " (one repeat, no interval)"
	}
	return fmt.Sprintf("%s (%s to %s)", times(r), digits(r.Interval.Low), digits(r.Interval.High))
}
