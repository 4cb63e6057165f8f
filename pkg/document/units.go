package document

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/batchctl/batchctl/pkg/jsontree"
)

// cutSize splits a size into its number and its unit, with or without spaces between them.
func cutSize(text string) (number, unit string, ok bool) {
	whole := digits(text)
	end := whole
	if end < len(text) && text[end] == '.' {
		fraction := digits(text[end+1:])
		if fraction == 0 {
			return "", "", false
		}
		end += 1 + fraction
	}
	number, unit = text[:end], strings.TrimLeft(text[end:], " ")
	for i := range len(unit) {
		if c := unit[i] | 0x20; c < 'a' || c > 'z' {
			return "", "", false
		}
	}
	return number, unit, number != ""
}

// digits returns the number of digits at the start of a text.
func digits(text string) int {
	n := 0
	for n < len(text) && '0' <= text[n] && text[n] <= '9' {
		n++
	}
	return n
}

// mebibytes reads a size: a number of MiB, or a string with a unit. AWS counts memory in
// whole MiB, so the result must be whole.
func mebibytes(n *jsontree.Node) (int64, error) {
	const advice = `write a number with GiB or MiB, such as "30 GiB"`
	number, unit, ok := n.Text, "", true
	if !n.Is(jsontree.Number) {
		number, unit, ok = cutSize(strings.TrimSpace(n.Text))
	}
	if !ok {
		return 0, unitError{fmt.Sprintf("%q is not a size", clip(n.Text)), advice}
	}
	factor := 1.0
	switch unit {
	case "", "MiB":
	case "GiB":
		factor = 1 << 10
	case "TiB":
		factor = 1 << 20
	default:
		hint := advice
		if right := binaryUnit(unit); right != "" {
			hint = fmt.Sprintf("write %q: AWS Batch counts in powers of two", number+" "+right)
		}
		return 0, unitError{fmt.Sprintf("unknown unit %q in %q", clip(unit), clip(n.Text)), hint}
	}
	f, err := strconv.ParseFloat(number, 64)
	mib := f * factor
	if err != nil || mib < 0 || mib > math.MaxInt32 {
		return 0, unitError{fmt.Sprintf("%s is out of range", clip(n.Text)), advice}
	}
	if mib != math.Trunc(mib) {
		return 0, unitError{fmt.Sprintf("%s is not a whole number of MiB", clip(n.Text)),
			fmt.Sprintf("write \"%.0f MiB\"", math.Ceil(mib))}
	}
	return int64(mib), nil
}

// binaryUnit returns the unit that GB, G or Gi most likely means.
func binaryUnit(unit string) string {
	switch strings.ToLower(unit) {
	case "m", "mb", "mi", "mib":
		return "MiB"
	case "g", "gb", "gi", "gib":
		return "GiB"
	case "t", "tb", "ti", "tib":
		return "TiB"
	}
	return ""
}

// count reads a number of vCPUs or GPUs and returns it in the form of AWS, a string
// without superfluous zeros.
func count(n *jsontree.Node) (string, error) {
	const advice = `write a number such as 4 or "0.25"`
	f, err := strconv.ParseFloat(strings.TrimSpace(n.Text), 64)
	if err != nil || math.IsNaN(f) {
		return "", unitError{fmt.Sprintf("%q is not a number", clip(n.Text)), advice}
	}
	if f == 0 {
		return "0", nil // not -0
	}
	if f < 0 || f > math.MaxInt32 {
		return "", unitError{fmt.Sprintf("%s is out of range", clip(n.Text)), advice}
	}
	return strconv.FormatFloat(f, 'f', -1, 64), nil
}

// durationUnits lists the units of a duration with their seconds, in the order in which
// they occur.
var durationUnits = [...]struct {
	letter  byte
	seconds int64
}{{'d', 86400}, {'h', 3600}, {'m', 60}, {'s', 1}}

// spelledDuration matches a duration of one unit that is spelled out, such as 1 hour or 90 Min.
var spelledDuration = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([0-9]{1,9}) ?(?i:(s)(?:ec(?:ond)?s?)?|(m)(?:in(?:ute)?s?)?|(h)(?:(?:ou)?rs?)?|(d)(?:ays?)?)$`)
})

// seconds reads a duration of days, hours, minutes and seconds, largest first.
func seconds(n *jsontree.Node) (int64, error) {
	const advice = `write a duration such as "2h", "90m", "1h30m" or "1d"`
	text := strings.TrimSpace(n.Text)
	rest, total := text, int64(0)
	for _, unit := range durationUnits {
		n := digits(rest)
		if n == 0 || n == len(rest) || rest[n] != unit.letter {
			continue
		}
		v, _ := strconv.ParseInt(rest[:n], 10, 33) // a longer number becomes the largest value, which is too long
		total += v * unit.seconds
		rest = rest[n+1:]
	}
	if rest != "" || text == "" {
		e := unitError{fmt.Sprintf("%q is not a duration", clip(n.Text)), advice}
		if m := spelledDuration().FindStringSubmatch(text); m != nil {
			e.hint = fmt.Sprintf("write %q", m[1]+strings.ToLower(strings.Join(m[2:], "")))
		}
		if _, err := strconv.ParseUint(text, 10, 31); err == nil {
			e = unitError{fmt.Sprintf("%q has no unit", text), fmt.Sprintf("write %q for seconds, or %q for minutes",
				text+"s", text+"m")}
		}
		return 0, e
	}
	if total > math.MaxInt32 {
		return 0, unitError{fmt.Sprintf("%q is too long", clip(n.Text)), advice}
	}
	return total, nil
}
