package draw

import (
	"math"
	"strconv"
	"strings"
)

// Axis maps values from Low to High to positions. A logarithmic axis has only positive values.
type Axis struct {
	Low, High float64 // Low > High: there are no values
	From, To  float64
	Log       bool
}

// At returns the position of a value. A value beyond an end is at that end; all are in the middle if the ends are the
// same.
func (a Axis) At(v float64) float64 { return a.From + a.share(v)*(a.To-a.From) }

// share returns the position of a value from 0 to 1.
func (a Axis) share(v float64) float64 {
	if a.Low >= a.High {
		return 0.5
	}
	low, high, at := a.Low/2, a.High/2, v/2 // halves: the difference may be too large
	if a.Log {
		low, high, at = math.Log(a.Low), math.Log(a.High), math.Log(max(v, a.Low))
	}
	return min(max((at-low)/(high-low), 0), 1)
}

// Tick is a value beside an axis.
type Tick struct {
	Value float64
	Label string
}

// Step returns the least of 1, 2 and 5 times a power of ten that is not below v.
func Step(v float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{1, 2, 5} {
		if m*power >= v*(1-1e-9) {
			return m * power
		}
	}
	return 10 * power
}

// Ticks returns about n round values on the axis, or both ends if round values cannot distinguish them.
func (a Axis) Ticks(n int) []Tick {
	if a.Log {
		return a.decades(n)
	}
	switch step := Step((a.High - a.Low) / float64(n)); {
	case a.Low > a.High:
		return nil
	case a.Low == a.High:
		return []Tick{{a.Low, Digits(a.Low, 6)}}
	case step > 1e-10*max(math.Abs(a.Low), math.Abs(a.High)) && !math.IsInf(a.High-a.Low, 0):
		if all := a.Multiples(step); len(all) > 1 {
			return all
		}
	}
	low, high := Digits(a.Low, 6), Digits(a.High, 6)
	if low == high {
		low, high = Digits(a.Low, -1), Digits(a.High, -1)
	}
	return []Tick{{a.Low, low}, {a.High, high}}
}

// Multiples returns the multiples of step on the axis. All labels have the same unit and decimals.
func (a Axis) Multiples(step float64) (all []Tick) {
	largest := max(math.Abs(a.Low), math.Abs(a.High))
	size, unit := prefix(largest)
	decimals := decimalsOf(step / size)
	if decimals > 3 || largest >= 1e21 {
		size, unit, decimals = 1, "", decimalsOf(step)
	}
	for i := math.Ceil(a.Low/step - 1e-9); i <= math.Floor(a.High/step+1e-9); i++ {
		v := i * step
		label := Decimals(v/size, max(decimals, 0))
		if decimals > 6 || largest >= 1e21 {
			label = Digits(v, 12)
		}
		if i != 0 {
			label += unit
		}
		all = append(all, Tick{v, label})
	}
	return all
}

// decimalsOf returns the decimals of a step; it is negative for tens.
func decimalsOf(step float64) int { return -int(math.Floor(math.Log10(step) + 1e-9)) }

// decades returns 1, 2 and 5 times powers of ten over a short range, or else about n powers of ten.
func (a Axis) decades(n int) (all []Tick) {
	decades := math.Log10(a.High / a.Low)
	factors, stride := []float64{1}, max(int(math.Ceil(decades/float64(max(n, 1)))), 1)
	switch {
	case decades < 0.7:
		factors = []float64{1, 1.5, 2, 3, 4, 5, 6, 8}
	case decades < 2.2:
		factors = []float64{1, 2, 5}
	}
	first := int(math.Floor(math.Log10(a.Low) + 1e-9))
	for power := first; power <= int(math.Ceil(math.Log10(a.High))); power++ {
		if (power-first)%stride != 0 {
			continue
		}
		for _, factor := range factors {
			if v := factor * math.Pow10(power); v >= a.Low*(1-1e-9) && v <= a.High*(1+1e-9) {
				all = append(all, Tick{v, Number(v)})
			}
		}
	}
	return all
}

// Number formats a value with three significant digits, and with an SI prefix from 10,000 on, such as 15k.
func Number(v float64) string {
	size, unit := prefix(math.Abs(v))
	if v /= size; math.Abs(v) >= 999.5 && math.Abs(v) < 1e6 {
		return strconv.FormatFloat(v, 'f', 0, 64) + unit
	}
	return Digits(v, 3) + unit
}

// prefix returns the SI prefix for a value, and its size.
func prefix(v float64) (size float64, unit string) {
	size = 1
	if v < 9999.5 {
		return size, ""
	}
	for _, unit = range []string{"k", "M", "G", "T", "P", "E"} {
		if size *= 1000; v < 999.5*size {
			break
		}
	}
	return size, unit
}

// Digits formats a value with at most so many digits, -1 for all that it has.
func Digits(v float64, digits int) string {
	// The zero and the plus of an exponent say nothing: 1e-5, 1e6.
	return unsigned(strings.NewReplacer("e-0", "e-", "e+0", "e", "e+", "e").
		Replace(strconv.FormatFloat(v, 'g', digits, 64)))
}

// Decimals formats a value with so many decimals.
func Decimals(v float64, decimals int) string {
	return unsigned(strconv.FormatFloat(v, 'f', decimals, 64))
}

// unsigned removes the sign of a minus zero.
func unsigned(text string) string {
	if bare := strings.TrimPrefix(text, "-"); strings.Trim(bare, "0.") == "" {
		return bare
	}
	return text
}
