package once

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
	"github.com/google/go-cmp/cmp"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/client/clienttest"
	"github.com/batchctl/batchctl/pkg/local/attempt"
	"github.com/batchctl/batchctl/pkg/plan"
	"github.com/batchctl/batchctl/pkg/sweep"
	"github.com/batchctl/batchctl/pkg/wire"
)

// cellRunner runs children by the cells in their environment, as a launcher does. It fails the
// cells that the test names.
type cellRunner struct {
	mu    sync.Mutex
	fails map[int]bool
	ran   []int
	// args are the user's command of the last child.
	args []string
}

func (r *cellRunner) Run(_ context.Context, a attempt.Attempt, _ *os.File) (int, error) {
	a.Started("runner")
	time.Sleep(time.Second)
	lookup := func(name string) string {
		for _, v := range a.Environment {
			if *v.Name == name {
				return *v.Value
			}
		}
		return ""
	}
	cell, _ := strconv.Atoi(lookup("AWS_BATCH_JOB_ARRAY_INDEX")) // missing for a job of one cell
	if text := lookup(sweep.CellsVariable); text != "" {
		cells, err := sweep.ParseCells(text)
		if err != nil {
			return 64, err
		}
		cell, _ = cells.At(cell)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ran = append(r.ran, cell)
	r.args, _ = sweep.UserCommand(a.Command)
	if r.fails[cell] {
		return 1, nil
	}
	return 0, nil
}

func (*cellRunner) Clear(_, _ string) error                                { return nil }
func (*cellRunner) Unhonoured(*types.ContainerProperties) []attempt.Member { return nil }

// round submits a plan, waits for its end and returns the cells that it ran, sorted.
func (r *cellRunner) round(t *testing.T, c *Client, p *plan.Plan, fails []int) (jobs []Submitted, ran []int) {
	t.Helper()
	r.ran, r.fails = nil, map[int]bool{}
	for _, f := range fails {
		r.fails[f] = true
	}
	jobs, err := c.Submit(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range c.Watch(t.Context(), idsOf(jobs)...) {
		if err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(r.ran)
	return jobs, r.ran
}

func idsOf(jobs []Submitted) (ids []string) {
	for _, j := range jobs {
		ids = append(ids, j.ID)
	}
	return ids
}

// inCells calls a test with a service that runs cells.
func inCells(t *testing.T, test func(t *testing.T, s *service, r *cellRunner, c *Client)) {
	synctest.Test(t, func(t *testing.T) {
		r := &cellRunner{}
		s := newService(t, func() time.Duration { return 0 }, 8, r)
		s.calm = true
		test(t, s, r, withLedger(t, New(s.Config())))
	})
}

func plainArray(name string, size int32, after ...string) *plan.Job {
	return part(command(name, "work", after...), "", size, 0)
}

// TestRetryOfRetries checks that each retry runs exactly the cells that failed before, down to
// the last one, for plain arrays and for sweeps.
func TestRetryOfRetries(t *testing.T) {
	for _, kind := range []string{"plain", "sweep", "by URL"} {
		inCells(t, func(t *testing.T, s *service, r *cellRunner, c *Client) {
			random := rand.New(rand.NewPCG(11, 12))
			j := plainArray("a", 60)
			switch kind {
			case "sweep":
				setVariable(j.Submit, sweep.DocumentVariable, "document")
			case "by URL":
				setVariable(j.Submit, sweep.URLVariable, "s3://b/k")
			}
			p := planOf(j)
			want := make([]int, 60)
			for i := range want {
				want[i] = i
			}
			for round := 0; len(want) > 0; round++ {
				fails := slices.DeleteFunc(slices.Clone(want), func(int) bool { return random.IntN(3) == 0 })
				if len(want) < 3 && round < 20 {
					fails = want[:1] // a single cell fails a few times
				}
				jobs, ran := r.round(t, c, p, fails)
				if d := cmp.Diff(want, ran); d != "" {
					t.Fatalf("%s, round %d: %s", kind, round, d)
				}
				if d := cmp.Diff([]string{"work"}, r.args); d != "" && kind == "plain" {
					t.Errorf("round %d: %s", round, d)
				}
				var err error
				if p, err = c.Retry(t.Context(), idsOf(jobs), RetryOptions{}); len(fails) == 0 {
					if e, ok := errors.AsType[*NothingFailedError](err); !ok || len(e.IDs) != 1 {
						t.Errorf("%+v, %v", p, err)
					}
					return
				} else if err != nil {
					t.Fatal(err)
				}
				want = fails
			}
		})
	}
}

// TestRetryKeepsTheRequest checks that a retry has exactly the same differences from the
// definition as the job.
func TestRetryKeepsTheRequest(t *testing.T) {
	inCells(t, func(t *testing.T, s *service, r *cellRunner, c *Client) {
		if _, err := s.direct.CreateConsumableResource(t.Context(), &awsbatch.CreateConsumableResourceInput{ConsumableResourceName: aws.String("licence"), TotalQuantity: aws.Int64(9)}); err != nil {
			t.Fatal(err)
		}
		j := plainArray("a", 4)
		j.MaxParallel = 2
		j.Submit.Tags = map[string]string{"Team": "research"}
		j.Submit.Timeout = &types.JobTimeout{AttemptDurationSeconds: aws.Int32(90)}
		j.Submit.RetryStrategy = &types.RetryStrategy{Attempts: aws.Int32(2), EvaluateOnExit: []types.EvaluateOnExit{{OnExitCode: aws.String("1"), Action: "EXIT"}}}
		j.Submit.Parameters = map[string]string{"p": "1"}
		j.Submit.ContainerOverrides.Environment = []types.KeyValuePair{{Name: aws.String("X"), Value: aws.String("y")}}
		j.Submit.ContainerOverrides.ResourceRequirements = []types.ResourceRequirement{{Type: "MEMORY", Value: aws.String("32")}}
		j.Submit.ConsumableResourcePropertiesOverride = &types.ConsumableResourceProperties{ConsumableResourceList: []types.ConsumableResourceRequirement{
			{ConsumableResource: aws.String("licence"), Quantity: aws.Int64(2)}}}
		jobs, _ := r.round(t, c, planOf(j), []int{1, 3})
		if removed, err := c.ReleaseResources(t.Context(), jobs[0].ID); err != nil || len(removed) != 1 {
			t.Errorf("%+v, %v", removed, err)
		}
		p, err := c.Retry(t.Context(), idsOf(jobs), RetryOptions{})
		if err != nil {
			t.Fatal(err)
		}
		got := p.Jobs[0]
		want := &awsbatch.SubmitJobInput{JobName: aws.String("a-retry"), JobQueue: aws.String("default"), JobDefinition: got.Submit.JobDefinition,
			Tags: map[string]string{"Team": "research", client.RetryTag: jobs[0].ID}, Timeout: j.Submit.Timeout, RetryStrategy: j.Submit.RetryStrategy,
			Parameters: j.Submit.Parameters, ArrayProperties: &types.ArrayProperties{Size: aws.Int32(2)},
			ConsumableResourcePropertiesOverride: j.Submit.ConsumableResourcePropertiesOverride,
			ContainerOverrides: &types.ContainerOverrides{
				Command: (&sweep.Sweep{Kind: sweep.Plain, Size: 4}).Command([]string{"work"}),
				Environment: []types.KeyValuePair{{Name: aws.String("X"), Value: aws.String("y")},
					{Name: aws.String(sweep.DocumentVariable), Value: aws.String((&sweep.Sweep{Kind: sweep.Plain, Size: 4}).Document())},
					{Name: aws.String(sweep.CellsVariable), Value: aws.String("1 3")}},
				ResourceRequirements: j.Submit.ContainerOverrides.ResourceRequirements}}
		asked, err := wire.Marshal(got.Submit)
		if err != nil {
			t.Fatal(err)
		}
		expected, err := wire.Marshal(want)
		if d := cmp.Diff(string(expected), string(asked)); d != "" || err != nil {
			t.Error(d, err)
		}
		if got.MaxParallel != 2 || got.Group != "a-retry" || p.Name != "a-retry" {
			t.Errorf("%+v", got)
		}
		if _, ran := r.round(t, c, p, nil); !slices.Equal(ran, []int{1, 3}) {
			t.Errorf("ran %v", ran)
		}
	})
}

// TestRetryOfASingleJob checks that a single job is submitted unchanged.
func TestRetryOfASingleJob(t *testing.T) {
	inCells(t, func(t *testing.T, s *service, r *cellRunner, c *Client) {
		jobs, _ := r.round(t, c, planOf(command("a", "work")), []int{0})
		p, err := c.Retry(t.Context(), idsOf(jobs), RetryOptions{})
		if err != nil || len(p.Jobs) != 1 || p.Jobs[0].Submit.ArrayProperties != nil || len(p.Jobs[0].Submit.ContainerOverrides.Environment) > 0 ||
			!slices.Equal(p.Jobs[0].Submit.ContainerOverrides.Command, []string{"work"}) {
			t.Errorf("%+v, %v", p, err)
		}
	})
}

func TestRetryErrors(t *testing.T) {
	inCells(t, func(t *testing.T, s *service, r *cellRunner, c *Client) {
		r.fails = map[int]bool{0: true, 9: true}
		jobs, err := c.Submit(t.Context(), planOf(plainArray("a", 20)))
		if err != nil {
			t.Fatal(err)
		}
		id := jobs[0].ID
		time.Sleep(1500 * time.Millisecond) // by now eight children have ended
		retry := func(o RetryOptions, ids ...string) (string, error) {
			p, err := c.Retry(t.Context(), ids, o)
			if err != nil {
				return "", err
			}
			var cells []string
			for _, j := range p.Jobs {
				env := j.Submit.ContainerOverrides.Environment
				cells = append(cells, *env[len(env)-1].Value)
			}
			return strings.Join(cells, "; "), nil
		}
		if _, err := retry(RetryOptions{}, id); err == nil || !strings.Contains(err.Error(), "is PENDING: wait until it ends") {
			t.Errorf("%v", err)
		}
		if cells, err := retry(RetryOptions{Partial: true}, id); cells != "0" || err != nil {
			t.Errorf("%q, %v", cells, err)
		}
		if cells, err := retry(RetryOptions{}, batch.ChildID(id, 0), batch.ChildID(id, 1)); cells != "0" || err != nil {
			t.Errorf("%q, %v", cells, err)
		}
		for _, err := range c.Watch(t.Context(), id) {
			if err != nil {
				t.Fatal(err)
			}
		}
		if cells, err := retry(RetryOptions{}, id, batch.ChildID(id, 0)); cells != "0 9" || err != nil {
			t.Errorf("%q, %v", cells, err)
		}
		if _, err := retry(RetryOptions{}, batch.ChildID(id, 3)); !isA[*NothingFailedError](err) {
			t.Errorf("%v", err)
		}
		if _, err := retry(RetryOptions{}, clienttest.TestID(77)); !isA[*client.MissingError](err) {
			t.Errorf("%v", err)
		}
		if _, err := retry(RetryOptions{}, id+"#0"); !isA[*RetryError](err) {
			t.Errorf("%v", err)
		}
		if _, err := s.direct.DeregisterJobDefinition(t.Context(), &awsbatch.DeregisterJobDefinitionInput{JobDefinition: aws.String("work:1")}); err != nil {
			t.Fatal(err)
		}
		if _, err := retry(RetryOptions{}, id); !isA[*RetryError](err) || !strings.Contains(err.Error(), "work:1 is INACTIVE") {
			t.Errorf("%v", err)
		}
	})
}

func isA[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// TestRetryWithoutACommand checks that an array with the image's own command is rejected: a
// launcher cannot be put before it.
func TestRetryWithoutACommand(t *testing.T) {
	inCells(t, func(t *testing.T, s *service, r *cellRunner, c *Client) {
		own := job("own", "busybox")
		own.Register.ContainerProperties.ResourceRequirements = []types.ResourceRequirement{{Type: "VCPU", Value: aws.String("1")}, {Type: "MEMORY", Value: aws.String("64")}}
		own.Submit.JobQueue, own.Submit.ArrayProperties = aws.String("default"), &types.ArrayProperties{Size: aws.Int32(3)}
		jobs, _ := r.round(t, c, planOf(own), []int{2})
		if _, err := c.Retry(t.Context(), idsOf(jobs), RetryOptions{}); !isA[*RetryError](err) || !strings.Contains(err.Error(), "default command of its image") {
			t.Errorf("%v", err)
		}
	})
}

// TestRetryOfMany retries so many scattered cells that they fit neither into one request nor into
// one array.
func TestRetryOfMany(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 3))
	for _, c := range []struct{ of, every, least, most int }{{10000, 1, 1, 1}, {25000, 1, 3, 3}, {10000, 2, 3, 9}, {9, 3, 1, 1}} {
		var cells []int
		for i := range c.of {
			if random.IntN(c.every) == 0 {
				cells = append(cells, i)
			}
		}
		detail := types.JobDetail{JobId: aws.String(clienttest.TestID(1)), JobName: aws.String(strings.Repeat("n", 120)), Container: &types.ContainerDetail{Command: []string{"work", "--so"}},
			ArrayProperties: &types.ArrayPropertiesDetail{Size: aws.Int32(int32(c.of))}}
		in := &awsbatch.SubmitJobInput{JobQueue: aws.String("cpu"), JobDefinition: aws.String("work:1"), ContainerOverrides: &types.ContainerOverrides{}}
		if err := asSweep(detail, in); err != nil {
			t.Fatal(err)
		}
		jobs, err := (&retrying{}).arrays(detail, in, cells)
		if err != nil || len(jobs) < c.least || len(jobs) > c.most {
			t.Fatalf("%+v: %d jobs, %v", c, len(jobs), err)
		}
		var got []int
		for i, j := range jobs {
			out := stamped(j.Submit, client.NewSubmissionID(), false, true)
			env := out.ContainerOverrides.Environment
			if *env[len(env)-1].Name != client.SubmissionVariable {
				t.Errorf("no room for %s", client.SubmissionVariable)
			}
			if err := checkSubmitSize(j.Name, out); err != nil || len(*out.JobName) > client.MaxJobName {
				t.Errorf("%v, %s", err, *out.JobName)
			}
			if want := fmt.Sprintf("-retry-%dof%d", i+1, len(jobs)); len(jobs) > 1 && !strings.HasSuffix(j.Name, want) {
				t.Errorf("%s, want %s", j.Name, want)
			}
			of, err := sweep.ParseCells(*env[len(env)-2].Value)
			if err != nil || of.Len() > 1 && of.Len() != arraySize(j.Submit) {
				t.Fatalf("%d cells, an array of %d, %v", of.Len(), arraySize(j.Submit), err)
			}
			for i := range of.Len() {
				cell, _ := of.At(i)
				got = append(got, cell)
			}
		}
		if !slices.Equal(cells, got) {
			t.Errorf("%+v: other cells", c)
		}
	}
}
