package stable_test

import (
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/batchctl/batchctl/pkg/stable"
)

// Sort must return what the standard library's stable sort returns.
func TestSort(t *testing.T) {
	type pair struct{ key, place int }
	byKey := func(a, b pair) int { return cmp.Compare(a.key, b.key) }
	rapid.Check(t, func(t *rapid.T) {
		keys := rapid.SliceOfN(rapid.IntRange(0, 9), 0, 200).Draw(t, "keys")
		var got []pair
		for place, key := range keys {
			got = append(got, pair{key, place})
		}
		want := slices.Clone(got)
		slices.SortStableFunc(want, byKey)
		stable.Sort(got, byKey)
		if !slices.Equal(got, want) {
			t.Fatalf("got %v\nwant %v", got, want)
		}
	})
}
