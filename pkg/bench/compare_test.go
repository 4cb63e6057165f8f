package bench

import (
	"fmt"
	"strings"
	"testing"
)

// timed is a line of the sample operation with these times.
func timed(size string, times ...float64) string {
	list := strings.ReplaceAll(strings.Trim(fmt.Sprint(times), "[]"), " ", ",")
	return strings.NewReplacer("64x32", size, "[1,2,3]", "["+list+"]").Replace(good)
}

func spread(from, step float64, n int) []float64 {
	all := make([]float64, n)
	for i := range all {
		all[i] = from + step*float64(i)
	}
	return all
}

func TestCompare(t *testing.T) {
	steady := timed("8x8", spread(1, 0.001, 8)...)
	busy := func(line string) string {
		return strings.Replace(line, `"novel"`, `"notMeasured":"spread 486 %","novel"`, 1)
	}
	slow := timed("8x8", spread(1.2, 0.001, 8)...)
	for name, test := range map[string]struct {
		before, after string
		want          Verdict
		regression    bool
		reason        string
	}{
		"slower":           {steady, timed("8x8", spread(1.2, 0.001, 8)...), Slower, true, ""},
		"a little slower":  {steady, timed("8x8", spread(1.02, 0.001, 8)...), Slower, false, ""},
		"faster":           {steady, timed("8x8", spread(0.8, 0.001, 8)...), Faster, false, ""},
		"same":             {steady, steady, NoDifference, false, ""},
		"too few":          {timed("8x8", 1, 1.01, 1.02), timed("8x8", 2, 2.01, 2.02), TooFew, false, "3 and 3 repeats; with 1 row, each side needs 4"},
		"another size":     {steady, timed("9x9", spread(1, 0.001, 8)...), NotComparable, false, "the new side has none of this size (it has 9x9)"},
		"another type":     {steady, strings.Replace(steady, "uint8", "uint16", 1), NotComparable, false, "the new side has none of this type (it has uint16)"},
		"other parameters": {steady, strings.Replace(steady, `"novel"`, `"parameters":{"sigma":2},"novel"`, 1), NotComparable, false, "the sides measured different work: no parameters on the old side, sigma 2 on the new side"},
		"not verified":     {steady, strings.Replace(steady, "true", "false", 1), NotComparable, false, "the new side has no time: the result was not verified"},
		"other pixels":     {steady, strings.Replace(steady, "crc32c:1", "crc32c:2", 1), NotComparable, false, "the sides measured different work: checksums crc32c:1 and crc32c:2 of an exact operation"},
		"busy after":       {steady, busy(slow), NotMeasured, false, "the new side is not a measurement, its machine was busy: spread 486 %"},
		"busy before":      {busy(slow), steady, NotMeasured, false, "the old side is not a measurement, its machine was busy: spread 486 %"},
		"busy twice":       {busy(slow), busy(steady), NotMeasured, false, "the old side is not a measurement, its machine was busy: spread 486 %; the new side is not a measurement, its machine was busy: spread 486 %"},
		"busy once of two": {steady, busy(timed("8x8", 9, 9, 9)) + "\n" + slow, Slower, true, ""},
		"busy, other work": {steady, busy(strings.Replace(steady, "crc32c:1", "crc32c:2", 1)), NotComparable, false, "the sides measured different work: checksums crc32c:1 and crc32c:2 of an exact operation"},
		"another kernel":   {steady, strings.Replace(steady, `"novel"`, `"kernel":"new","novel"`, 1), NoDifference, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := Compare(NewSide("old", "", logOf(t, test.before)), NewSide("new", "", logOf(t, test.after)), CompareOptions{})
			row := d.Rows[0]
			if row.Verdict != test.want || row.Regression != test.regression || row.Reason != test.reason {
				t.Errorf("%s, regression %v, %q", row.Verdict, row.Regression, row.Reason)
			}
			if got := len(d.Regressions()); (got > 0) != test.regression {
				t.Errorf("%d regressions", got)
			}
		})
	}
}

// TestUntold: what the new side alone has is no row that could have become slower; what it
// lacks, or what had no time before, is.
func TestUntold(t *testing.T) {
	one, two := timed("8x8", spread(1, 0.001, 8)...), timed("9x9", spread(1, 0.001, 8)...)
	for name, test := range map[string]struct {
		before, after string
		want          int
	}{
		"added":           {one, one + "\n" + two, 0},
		"gone":            {one + "\n" + two, one, 1},
		"replaced":        {one, two, 1},
		"no time before":  {one + "\n" + strings.Replace(two, "true", "false", 1), one + "\n" + two, 1},
		"an added kernel": {one, one + "\n" + strings.Replace(one, `"novel"`, `"kernel":"new","novel"`, 1), 0},
		"another kernel":  {one + "\n" + strings.Replace(one, `"novel"`, `"kernel":"old","novel"`, 1), one + "\n" + strings.Replace(one, `"novel"`, `"kernel":"new","novel"`, 1), 1},
		"no verdict":      {one, timed("8x8", 1), 1},
		"busy after":      {one, strings.Replace(one, `"novel"`, `"notMeasured":"spread 486 %","novel"`, 1), 1},
	} {
		d := Compare(NewSide("old", "", logOf(t, test.before)), NewSide("new", "", logOf(t, test.after)), CompareOptions{})
		if got := len(d.Untold()); got != test.want {
			t.Errorf("%s: %d untold:\n%s", name, got, d.Text())
		}
	}
}

// TestCompareWarns checks the warnings about another environment and about single runs.
func TestCompareWarns(t *testing.T) {
	other := strings.Replace(good, `"kind":"cpu"`, `"kind":"cpu","name":"faster chip"`, 1)
	text := Compare(NewSide("old", "", logOf(t, good)), NewSide("new", "", logOf(t, other)), CompareOptions{}).Text()
	for _, want := range []string{"the environments differ: device: cpu on the old side, cpu faster chip on the new side", "each side is a single run"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
}

// TestThreshold: a negative one fails for any slower row, a larger one for fewer.
func TestThreshold(t *testing.T) {
	old, slow := NewSide("old", "", logOf(t, timed("8x8", spread(1, 0.001, 8)...))), NewSide("new", "", logOf(t, timed("8x8", spread(1.08, 0.001, 8)...)))
	for threshold, want := range map[float64]int{-1: 1, 0: 1, 0.05: 1, 0.1: 0} {
		if got := len(Compare(old, slow, CompareOptions{Threshold: threshold}).Regressions()); got != want {
			t.Errorf("threshold %v: %d regressions", threshold, got)
		}
	}
}
