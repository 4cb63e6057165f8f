package forecast

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Setback is what a change costs the jobs of a share: how much longer they wait, on average in milliseconds, and how
// many more of them never start.
type Setback struct {
	Share  string  `json:"share"`
	WaitMs float64 `json:"waitMs"`
	Never  int     `json:"neverStart,omitempty"`
}

// Setbacks returns the shares whose jobs never start after a change, or wait a minute longer on average; the worst
// first.
func Setbacks(before, after Outlook) (list []Setback) {
	for _, g := range before.Groups {
		at := slices.IndexFunc(after.Groups, func(v Group) bool { return v.Name == g.Name })
		// With more jobs in the share, the mean is not that of the others.
		if at < 0 || after.Groups[at].Jobs > g.Jobs {
			continue
		}
		s := Setback{g.Name, max(after.Groups[at].WaitMs.Median-g.WaitMs.Median, 0),
			max(after.Groups[at].Never-g.Never, 0)}
		if s.Never > 0 || s.WaitMs >= float64(time.Minute.Milliseconds()) {
			list = append(list, s)
		}
	}
	slices.SortStableFunc(list, func(a, b Setback) int {
		return cmp.Or(cmp.Compare(b.Never, a.Never),
			cmp.Compare(b.WaitMs, a.WaitMs))
	})
	return list
}

// Text is the setback as a sentence.
func (s Setback) Text() string {
	if s.Never > 0 {
		return "after the change, " + neverStart(s.Never, " of share "+s.Share)
	}
	return fmt.Sprintf("the jobs of share %s wait %s longer on average", s.Share, WaitText(s.WaitMs))
}
