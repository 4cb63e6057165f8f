package spec

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/batchctl/batchctl/pkg/jsontree"
)

// Names of the rules that hold the short forms of units.
const (
	RuleResourceUnit = "resource-unit"
	RuleDuration     = "duration"
)

// unitError is a value that cannot be read, and what to write in its place.
type unitError struct{ message, hint string }

func (e unitError) Error() string { return e.message }

var sizePattern = lazy(`^([0-9]+(?:\.[0-9]+)?|\.[0-9]+) *([A-Za-z]*)$`)

// mebibytes reads a size: a number of MiB, or a string with a unit. AWS counts
// memory in MiB and no smaller, so the result must be whole.
func mebibytes(n *jsontree.Node) (int64, error) {
	const advice = `write a number with GiB or MiB, such as "30 GiB"`
	m := sizePattern().FindStringSubmatch(strings.TrimSpace(n.Text))
	if n.Is(jsontree.Number) {
		m = []string{"", n.Text, ""}
	}
	if m == nil {
		return 0, unitError{fmt.Sprintf("%q is not a size", clip(n.Text)), advice}
	}
	number, unit := m[1], m[2]
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
			hint = fmt.Sprintf("AWS Batch counts in powers of two: write %q", number+" "+right)
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

// binaryUnit returns the unit that somebody means who writes GB, G or Gi.
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

// count reads a number of vCPUs or GPUs and returns it as AWS wants it, in a
// string without needless zeros.
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

var durationPattern = lazy(`^(?:([0-9]+)d)?(?:([0-9]+)h)?(?:([0-9]+)m)?(?:([0-9]+)s)?$`)

// seconds reads a duration of days, hours, minutes and seconds, largest first.
func seconds(n *jsontree.Node) (int64, error) {
	const advice = `write a duration such as "2h", "90m", "1h30m" or "1d"`
	text := strings.TrimSpace(n.Text)
	m := durationPattern().FindStringSubmatch(text)
	if m == nil || text == "" {
		e := unitError{fmt.Sprintf("%q is not a duration", clip(n.Text)), advice}
		if _, err := strconv.ParseUint(text, 10, 31); err == nil {
			e = unitError{fmt.Sprintf("%q has no unit", text), fmt.Sprintf("write %q for seconds, or %q for minutes", text+"s", text+"m")}
		}
		return 0, e
	}
	var total int64
	for i, unit := range [...]int64{86400, 3600, 60, 1} {
		if m[i+1] == "" {
			continue
		}
		v, err := strconv.ParseInt(m[i+1], 10, 32)
		total += v * unit
		if err != nil || total > math.MaxInt32 {
			return 0, unitError{fmt.Sprintf("%q is too long a duration", clip(n.Text)), advice}
		}
	}
	return total, nil
}

// hintOf returns what to write in place of the value that the error is about.
func hintOf(err error) string {
	e, _ := errors.AsType[unitError](err)
	return e.hint
}

// lazy is a regular expression that is compiled when it is first needed.
func lazy(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}
