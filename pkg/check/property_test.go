package check_test

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/batchctl/batchctl/pkg/check"
	"github.com/batchctl/batchctl/pkg/check/checktest"
	"github.com/batchctl/batchctl/pkg/testtool"
)

// TestSameProblems checks directories twice: with few documents in memory at a time, as
// validate does, and with all of them in another order, as submit does. The problems are
// the same.
func TestSameProblems(t *testing.T) {
	testtool.ShortChecks(t, 100)
	corpus := checktest.ReadCorpus()
	found := 0
	rapid.Check(t, func(t *rapid.T) {
		tree := corpus.Draw(t, func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "choice") })
		defer os.RemoveAll(tree.Dir)
		want := problems(check.Options{}, tree.Paths)
		order := tree.Paths
		if !tree.Ambiguous {
			order = rapid.Permutation(order).Draw(t, "order")
		}
		if d := cmp.Diff(want, problems(check.Options{Keep: true}, order)); d != "" {
			t.Errorf("-few in memory +all in memory:\n%s", d)
		}
		found += len(want)
	})
	if found == 0 {
		t.Error("no document has a problem")
	}
}

func problems(o check.Options, paths []string) (lines []string) {
	for _, d := range check.New(o).Check(check.Named(paths...)).Problems {
		lines = append(lines, d.Error())
	}
	return lines
}
