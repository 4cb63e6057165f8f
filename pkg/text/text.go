// Package text writes numbers, lists and untrusted texts for people, so that every command and page uses one spelling.
package text

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Count returns a number with its noun: "1 job", "2 jobs", "0 entries". An irregular
// plural is an argument: "2 children".
func Count[N int | int32 | int64](n N, noun string, plural ...string) string {
	if n != 1 {
		if len(plural) > 0 {
			noun = plural[0]
		} else {
			noun = Plural(noun)
		}
	}
	return strconv.FormatInt(int64(n), 10) + " " + noun
}

// Plural returns the regular plural of a noun: "jobs", "scheduling policies", "processes".
func Plural(noun string) string {
	if stem, ok := strings.CutSuffix(noun, "y"); ok && !strings.HasSuffix(stem, "a") && !strings.HasSuffix(stem, "e") {
		return stem + "ies"
	}
	for _, hiss := range []string{"s", "x", "ch", "sh"} {
		if strings.HasSuffix(noun, hiss) {
			return noun + "es"
		}
	}
	return noun + "s"
}

// And lists names: "a", "a and b", "a, b and c". It returns "" for none.
func And(names []string) string { return list(names, " and ") }

// Or lists alternatives: "a", "a or b", "a, b or c". It returns "" for none.
func Or(names []string) string { return list(names, " or ") }

// list joins names with commas, and the last with another separator.
func list(names []string, separator string) string {
	last := len(names) - 1
	if last < 1 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:last], ", ") + separator + names[last]
}

// binary are the units of sizes, each 1024 of the unit before it.
var binary = [...]string{" B", " KiB", " MiB", " GiB", " TiB", " PiB", " EiB"}

// Size returns a number of bytes with three figures, as people compare measured sizes: "100 B", "1.5 MiB", "2.93 GiB".
func Size[N int | int64 | uint64 | float64](bytes N) string {
	value, unit := float64(bytes), 0
	for math.Round(value) >= 1024 && unit < len(binary)-1 {
		value, unit = value/1024, unit+1
	}
	if value >= 100 {
		return fmt.Sprintf("%.0f", value) + binary[unit]
	}
	return fmt.Sprintf("%.3g", value) + binary[unit]
}

// ExactSize returns a number of bytes without rounding, for limits and requests, which people write again: "512 MiB",
// "1.25 GiB", "1537 MiB". The unit is the largest in which quarters suffice.
func ExactSize[N int | int64 | float64](bytes N) string {
	value, unit := float64(bytes), 0
	for value >= 1024 && math.Mod(value, 256) == 0 && unit < len(binary)-1 {
		value, unit = value/1024, unit+1
	}
	return strconv.FormatFloat(value, 'f', -1, 64) + binary[unit]
}

// Duration returns a time with its two largest units, for what was measured: "400ms", "12s", "3m20s", "2h5m", "2d3h".
// Job files accept the same spelling, and it is as short as a column needs.
func Duration(d time.Duration) string {
	const day = 24 * time.Hour
	switch length := d.Abs(); {
	case length < 10*time.Second:
		d = d.Round(100 * time.Millisecond)
	case length < time.Hour:
		d = d.Round(time.Second)
	case length < 2*day:
		d = d.Round(time.Minute)
	default:
		d = d.Round(time.Hour)
		days := fmt.Sprintf("%dd", d/day)
		if d %= day; d == 0 {
			return days
		}
		return days + ExactDuration(d.Abs())
	}
	return ExactDuration(d)
}

// ExactDuration returns a time without rounding, for timeouts and limits, which people write again: "1h30m", "24h".
func ExactDuration(d time.Duration) string {
	short := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(short, zero) {
			short = short[:len(short)-2]
		}
	}
	return short
}

// leastMoney is the smallest amount of US dollars that is worth a figure.
const leastMoney = 0.0001

// Money writes an amount of US dollars without its unit: to the cent, below a dollar with three significant digits,
// and "<0.0001" for next to nothing.
func Money(usd float64) string {
	switch {
	case usd == 0:
		return "0"
	case usd < leastMoney:
		return "<" + strconv.FormatFloat(leastMoney, 'f', -1, 64)
	case usd >= 0.9995:
		return strconv.FormatFloat(usd, 'f', 2, 64)
	}
	short, err := strconv.ParseFloat(strconv.FormatFloat(usd, 'g', 3, 64), 64)
	if err != nil {
		short = usd
	}
	return strconv.FormatFloat(short, 'f', -1, 64)
}

// USD writes an amount with its unit: "1.50 USD".
func USD(usd float64) string { return Money(usd) + " USD" }

// MoneyRange writes a range without its unit, or one amount if both ends read the same: "0.12 to 0.48".
func MoneyRange(low, high float64) string {
	if Money(low) == Money(high) {
		return Money(high)
	}
	return Money(low) + " to " + Money(high)
}

// USDRange writes a range with its unit: "0.12 to 0.48 USD".
func USDRange(low, high float64) string { return MoneyRange(low, high) + " USD" }
