package once

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/plan"
)

// waiting returns the jobs of a plan with their dependencies, such as "b-retry[3]: a-retry
// N_TO_N".
func waiting(p *plan.Plan) (all []string) {
	for _, j := range p.Jobs {
		var on []string
		for _, d := range j.Submit.DependsOn {
			on = append(on, "itself "+string(d.Type))
		}
		for _, d := range j.After {
			on = append(on, strings.TrimSuffix(d.Job+" "+d.Type, " "))
		}
		all = append(all, fmt.Sprintf("%s[%d]: %s", j.Name, arraySize(j.Submit), strings.Join(on, ", ")))
	}
	return all
}

func nToN(j *plan.Job) *plan.Job {
	for i := range j.After {
		j.After[i].Type = string(types.ArrayJobDependencyNToN)
	}
	return j
}

func sequential(j *plan.Job) *plan.Job {
	j.Submit.DependsOn = []types.JobDependency{{Type: types.ArrayJobDependencySequential}}
	return j
}

// TestRetryWaits checks the order of retries: jobs that waited for a failed job run after its
// retry, in whatever order they are named. They no longer wait for jobs that had succeeded.
func TestRetryWaits(t *testing.T) {
	tests := []struct {
		name  string
		jobs  []*plan.Job
		fails []int // cells
		want  []string
	}{
		{"a chain", []*plan.Job{plainArray("good", 2), command("make", "work"), command("use", "work", "make", "good"), command("last", "work", "use")}, []int{0},
			[]string{"good-retry[0]: ", "make-retry[0]: ", "use-retry[0]: make-retry, good-retry", "last-retry[0]: use-retry"}},
		{"a diamond", []*plan.Job{command("a", "work"), command("b", "work", "a"), command("c", "work", "a"), command("d", "work", "b", "c")}, []int{0},
			[]string{"a-retry[0]: ", "b-retry[0]: a-retry", "c-retry[0]: a-retry", "d-retry[0]: b-retry, c-retry"}},
		{"one that had succeeded", []*plan.Job{plainArray("one", 1+1), plainArray("two", 4, "one")}, []int{2, 3},
			[]string{"two-retry[2]: "}},
		{"child by child", []*plan.Job{plainArray("one", 5), nToN(plainArray("two", 5, "one")), nToN(plainArray("three", 5, "two"))}, []int{1, 3},
			[]string{"one-retry[2]: ", "two-retry[2]: one-retry N_TO_N", "three-retry[2]: two-retry N_TO_N"}},
		{"one child by one child", []*plan.Job{plainArray("one", 5), nToN(plainArray("two", 5, "one"))}, []int{4},
			[]string{"one-retry[0]: ", "two-retry[0]: one-retry"}},
		{"an array after an array", []*plan.Job{plainArray("one", 3), plainArray("two", 3, "one")}, []int{1},
			[]string{"one-retry[0]: ", "two-retry[3]: one-retry"}},
		{"one after the other", []*plan.Job{sequential(plainArray("one", 4))}, []int{1},
			[]string{"one-retry[3]: itself SEQUENTIAL"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inCells(t, func(t *testing.T, s *service, r *cellRunner, c *Client) {
				jobs, _ := r.round(t, c, planOf(tt.jobs...), tt.fails)
				ids := idsOf(jobs)
				slices.Reverse(ids)
				for _, ids := range [][]string{idsOf(jobs), ids} {
					p, err := c.Retry(t.Context(), ids, RetryOptions{})
					if err != nil {
						t.Fatal(err)
					}
					got := waiting(p)
					for i, j := range p.Jobs { // each job comes after its dependencies
						for _, d := range j.After {
							if !slices.ContainsFunc(p.Jobs[:i], func(before *plan.Job) bool { return before.Name == d.Job }) {
								t.Errorf("%s comes before %s", j.Name, d.Job)
							}
						}
					}
					byName := func(a, b string) int { return cmp.Compare(a, b) }
					if slices.SortFunc(got, byName); !slices.Equal(got, slices.SortedFunc(slices.Values(tt.want), byName)) {
						t.Errorf("%s", strings.Join(got, "\n"))
					}
				}
				p, err := c.Retry(t.Context(), idsOf(jobs), RetryOptions{})
				if err != nil {
					t.Fatal(err)
				}
				again, _ := r.round(t, c, p, nil)
				for _, j := range mustDescribe(t, c, idsOf(again)) {
					if j.Status != types.JobStatusSucceeded {
						t.Errorf("%s: %s", *j.JobName, j.Status)
					}
				}
			})
		})
	}
}

func mustDescribe(t *testing.T, c *Client, ids []string) []types.JobDetail {
	t.Helper()
	jobs, err := c.Describe(t.Context(), ids...)
	if err != nil {
		t.Fatal(err)
	}
	return jobs
}

// TestInOrder checks that parts of an array wait for all parts of another, or in sequence for
// each other, and that a name always means the right one of several jobs.
func TestInOrder(t *testing.T) {
	made := func(id, name string, names []string, on ...types.JobDependency) *runAgain {
		r := &runAgain{job: types.JobDetail{JobId: &id, JobName: &name, DependsOn: on}}
		for _, n := range names {
			r.parts = append(r.parts, plainArray(n, 2))
		}
		return r
	}
	on := func(id string) types.JobDependency { return types.JobDependency{JobId: aws.String(id)} }
	jobs, err := inOrder([]*runAgain{
		made("2", "b", []string{"b-1of2", "b-2of2"}, on("1"), types.JobDependency{Type: types.ArrayJobDependencySequential}),
		made("1", "a", []string{"a-1of2", "a-2of2"}),
	})
	want := []string{"a-1of2[2]: ", "a-2of2[2]: ", "b-1of2[2]: itself SEQUENTIAL, a-1of2, a-2of2", "b-2of2[2]: itself SEQUENTIAL, a-1of2, a-2of2, b-1of2"}
	if got := waiting(&plan.Plan{Jobs: jobs}); err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %q", err, got)
	}

	jobs, err = inOrder([]*runAgain{made("3", "c", []string{"c-1of2", "c-2of2"}, types.JobDependency{Type: types.ArrayJobDependencySequential},
		types.JobDependency{Type: types.ArrayJobDependencySequential, JobId: aws.String("gone")})})
	want = []string{"c-1of2[2]: itself SEQUENTIAL", "c-2of2[2]: itself SEQUENTIAL, c-1of2"}
	if got := waiting(&plan.Plan{Jobs: jobs}); err != nil || !slices.Equal(got, want) {
		t.Errorf("a sequence given twice: %v, %q", err, got)
	}

	pair := func(make, use string) []*runAgain {
		return []*runAgain{made(make, "make", []string{"make"}), made(use, "use", []string{"use"}, on(make))}
	}
	twice := append(pair("1", "2"), pair("3", "4")...)
	if jobs, err = inOrder(twice); err != nil || len(jobs) != 4 {
		t.Errorf("file after file: %v, %v", jobs, err)
	}
	twice = append(pair("1", "2"), pair("3", "4")...)
	twice[1], twice[2] = twice[2], twice[1]
	if _, err = inOrder(twice); !isA[*RetryError](err) || !strings.Contains(err.Error(), "one of several jobs named make") {
		t.Errorf("names that mean another job: %v", err)
	}
}
