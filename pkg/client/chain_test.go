package client

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
	"github.com/google/go-cmp/cmp"
)

// sweepChain is an array of six of which two steps and a retry ran cells again: 1 and 2 with more memory, 4 in another
// queue, and 2 again.
func sweepChain() []Known {
	return []Known{
		{ID: "root", Name: "sweep", Size: 6, Submitted: time.Unix(1, 0)},
		{ID: "other", Name: "sweep", Size: 6, Submitted: time.Unix(2, 0)},
		{ID: "more", Name: "sweep-try2", Again: "root", Size: 2, Cells: "1 2", Submitted: time.Unix(3, 0)},
		{ID: "queue", Name: "sweep-try3", Again: "root", Cells: "4", Submitted: time.Unix(3, 0)},
		{ID: "last", Name: "sweep-try2-retry", Again: "more", Cells: "2", Submitted: time.Unix(4, 0)},
	}
}

func ids(c Chain) (all []string) {
	for _, k := range c {
		all = append(all, k.ID)
	}
	return all
}

// TestChainsOf checks that each job of a chain leads to all of them, the newest first, and each child to its cell.
func TestChainsOf(t *testing.T) {
	known := sweepChain()
	for _, id := range []string{"root", "more", "queue", "last"} {
		chains := ChainsOf([]Known{{ID: id}}, known)
		if d := cmp.Diff([]string{"last", "queue", "more", "root"}, ids(chains[0])); d != "" || len(chains) != 1 {
			t.Errorf("%s: %s", id, d)
		}
	}
	if chains := ChainsOf([]Known{{ID: "last"}, {ID: "other"}, {ID: "root"}, {ID: "unknown"}}, known); len(chains) != 3 || chains[1].Root().ID != "other" || chains[2].Root().ID != "unknown" {
		t.Errorf("%v", chains)
	}
	circle := []Known{{ID: "a", Again: "b"}, {ID: "b", Again: "a"}}
	if chains := ChainsOf(circle, circle); len(chains) != 1 || len(chains[0]) != 2 {
		t.Errorf("%v", chains)
	}
	chain := ChainsOf(known[:1], known)[0]
	for _, tt := range []struct {
		job   string
		index int
		want  []string
	}{{"root", 0, []string{"root:0"}}, {"root", 2, []string{"last", "more:1", "root:2"}}, {"more", 1, []string{"last", "more:1", "root:2"}}, {"root", 4, []string{"queue", "root:4"}}, {"root", 9, []string{"root:9"}}} {
		if d := cmp.Diff(tt.want, ids(chain.Part(tt.job, tt.index))); d != "" {
			t.Errorf("%s:%d: %s", tt.job, tt.index, d)
		}
	}
	var replaced [][]int
	for _, r := range chain.Replaced() {
		replaced = append(replaced, slices.Sorted(maps.Keys(r)))
	}
	if d := cmp.Diff([][]int{nil, nil, {1}, {1, 2, 4}}, replaced); d != "" {
		t.Error(d)
	}
}

// TestChainSum checks the status and the counts of a chain: each cell counts once.
func TestChainSum(t *testing.T) {
	known := sweepChain()
	chain := ChainsOf(known[:1], known)[0]
	array := func(size int32, counts map[string]int32) types.JobDetail {
		d := types.JobDetail{Status: types.JobStatusFailed, ArrayProperties: &types.ArrayPropertiesDetail{Size: aws.Int32(size), StatusSummary: counts}}
		if counts["FAILED"] == 0 {
			d.Status = types.JobStatusSucceeded
		}
		return d
	}
	root, more := array(6, map[string]int32{"SUCCEEDED": 3, "FAILED": 3}), array(2, map[string]int32{"SUCCEEDED": 1, "FAILED": 1})
	for _, tt := range []struct {
		last, queue types.JobStatus
		root        types.JobDetail
		status      types.JobStatus
		counts      map[string]int32
		healed      int
		current     []int
	}{
		{"SUCCEEDED", "SUCCEEDED", root, "SUCCEEDED", map[string]int32{"SUCCEEDED": 6}, 3, []int{0, 1}},
		{"RUNNING", "FAILED", root, "RUNNING", map[string]int32{"SUCCEEDED": 4, "FAILED": 1, "RUNNING": 1}, 1, []int{0, 1}},
		{"SUCCEEDED", "FAILED", root, "FAILED", map[string]int32{"SUCCEEDED": 5, "FAILED": 1}, 2, []int{0, 1}},
		// A cell FAILED that nothing runs again.
		{"SUCCEEDED", "SUCCEEDED", array(6, map[string]int32{"SUCCEEDED": 2, "FAILED": 4}), "FAILED", map[string]int32{"SUCCEEDED": 5, "FAILED": 1}, 3, []int{0, 1, 3}},
	} {
		details := []types.JobDetail{{Status: tt.last}, {Status: tt.queue}, more, tt.root}
		sum, healed := chain.Sum(details)
		if d := cmp.Diff(tt.counts, sum.ArrayProperties.StatusSummary); d != "" || sum.Status != tt.status || healed != tt.healed {
			t.Errorf("%s %s: %s, %d healed, %s", tt.last, tt.queue, sum.Status, healed, d)
		}
		if d := cmp.Diff(tt.current, chain.Current(details)); d != "" {
			t.Errorf("%s %s: %s", tt.last, tt.queue, d)
		}
	}
}
