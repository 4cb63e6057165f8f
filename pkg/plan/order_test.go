package plan

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/batchctl/batchctl/pkg/document"
)

// Order keeps every job, puts each after what it depends on, and finds a cycle
// exactly when there is no such order.
func TestOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 12).Draw(t, "jobs")
		var jobs []*document.Job
		forward := false
		for i := range n {
			j := &document.Job{Name: fmt.Sprint(i)}
			for _, k := range rapid.SliceOfN(rapid.IntRange(0, n+1), 0, 2).Draw(t, "needs") {
				forward = forward || k >= i && k < n
				j.DependsOn = append(j.DependsOn, document.Dependency{Job: fmt.Sprint(k)})
			}
			jobs = append(jobs, j)
		}
		ordered, cycle := Order(jobs)
		if cycle != nil {
			checkCycle(t, cycle)
			return
		}
		if len(ordered) != n {
			t.Fatalf("%d of %d jobs", len(ordered), n)
		}
		at := map[string]int{}
		for i, j := range ordered {
			at[j.Name] = i
		}
		for _, j := range jobs {
			for _, d := range j.DependsOn {
				if i, ok := at[d.Job]; ok && i >= at[j.Name] {
					t.Fatalf("%s comes before %s", j.Name, d.Job)
				}
			}
		}
		if !forward {
			for i, j := range ordered {
				if j != jobs[i] {
					t.Fatal("an order that was right was changed")
				}
			}
		}
	})
}

func checkCycle(t *rapid.T, cycle []*document.Job) {
	for i, j := range cycle {
		next := cycle[(i+1)%len(cycle)]
		found := false
		for _, d := range j.DependsOn {
			found = found || d.Job == next.Name
		}
		if !found {
			t.Fatalf("%s does not wait for %s: %s", j.Name, next.Name, Cycle(cycle))
		}
	}
}
