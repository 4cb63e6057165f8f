package once

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
	"github.com/google/go-cmp/cmp"

	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/ladder"
	"github.com/batchctl/batchctl/pkg/local/model"
	"github.com/batchctl/batchctl/pkg/plan"
	"github.com/batchctl/batchctl/pkg/testtool"
)

// there is the second target of these tests, by its kind; its name is west.
const there = "aws 123456789012 us-west-2"

// twoTargets are two engines: the first is busy for hours, the second is idle.
type twoTargets struct {
	near, far           *service
	nearWorks, farWorks *hungry
}

// newTwoTargets fills the first engine.
func newTwoTargets(t *testing.T) *twoTargets {
	two := &twoTargets{}
	two.near, two.nearWorks = hungryService(t)
	two.far, two.farWorks = hungryService(t)
	two.nearWorks.took = 20 * time.Minute
	busy := laddered("busy", nil, "64", "64", "64", "64")
	if _, err := two.near.direct.SubmitJob(t.Context(), busy.Submit); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Second) // virtual: the jobs have started
	return two
}

// client returns a client of the first target, with a ledger. via wraps the network of both targets.
func (two *twoTargets) client(dir string, via func(aws.HTTPClient) aws.HTTPClient) *Client {
	open := func(s *service, target string) *Client {
		cfg := s.Config()
		if via != nil {
			cfg.HTTPClient = via(cfg.HTTPClient)
		}
		c := New(cfg)
		c.AtOnce, c.Ledger = 1, &Ledger{Dir: dir, Target: target}
		return c
	}
	c := open(two.near, here)
	c.Elsewhere = func(_ context.Context, name string) (*Client, error) {
		if name != "west" {
			return nil, errors.New("no such target")
		}
		return open(two.far, there), nil
	}
	return c
}

// counts returns the runs at both targets, without those of the busy job.
func (two *twoTargets) counts() map[string]int {
	time.Sleep(time.Hour) // virtual
	runs := map[string]int{}
	for name, n := range two.nearWorks.runs {
		if !strings.HasPrefix(name, "busy") {
			runs["near "+name] = n
		}
	}
	for name, n := range two.farWorks.runs {
		runs["far "+name] = n
	}
	return runs
}

// defined adds the registration of its definition to a job.
func defined(j *plan.Job) *plan.Job {
	j.Submit.JobDefinition = aws.String("moves")
	j.Register = &awsbatch.RegisterJobDefinitionInput{JobDefinitionName: aws.String("moves"), Type: types.JobDefinitionTypeContainer,
		ContainerProperties: &types.ContainerProperties{Image: aws.String("busybox"), Command: []string{"work"},
			ResourceRequirements: []types.ResourceRequirement{{Type: "VCPU", Value: aws.String("1")}, {Type: "MEMORY", Value: aws.String("64")}}}}
	return j
}

// movingRungs change the target after 2 minutes, and double the memory there.
func movingRungs() ladder.Ladder {
	return ladder.Ladder{{Cause: ladder.NoCapacity, After: 2 * time.Minute, Target: "west"}, {Cause: ladder.OutOfMemory, Factor: 2, UpToMiB: 256}}
}

// moving is a workflow of a job and an array that move, climb at the new target, and have jobs after
// them.
func moving() *plan.Plan {
	return planOf(
		defined(laddered("train", movingRungs(), "100")),
		defined(laddered("sweep", movingRungs(), "64", "100")),
		when(after(laddered("alarm", nil, "64"), "train"), document.WhenFailure),
	)
}

// moved are the runs of moving.
var moved = map[string]int{"far train[0] 64 MiB": 1, "far train[0] 128 MiB": 1, "far sweep[0] 64 MiB": 1, "far sweep[1] 64 MiB": 1, "far sweep[1] 128 MiB": 1}

// TestMove moves jobs without capacity to another target, where they climb on. The ledger has each
// job at its own target.
func TestMove(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		two := newTwoTargets(t)
		c := two.client(t.TempDir(), nil)
		var progress []string
		c.Progress = func(text string) { progress = append(progress, text) }
		jobs, err := c.Submit(t.Context(), moving())
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(moved, two.counts()); d != "" {
			t.Error(d)
		}
		at := map[string]string{}
		for _, j := range jobs {
			at[j.Name] = j.At
		}
		if d := cmp.Diff(map[string]string{"train": "", "sweep": "", "alarm": "", "train-try2": "west", "sweep-try2": "west", "train-try3": "west", "sweep-try3": "west"}, at); d != "" {
			t.Error(d)
		}
		if all := strings.Join(progress, "\n"); !strings.Contains(all, "no capacity; submitting train-try2, 64 MiB, queue default, target west") {
			t.Error(all)
		}
		entries, err := c.Ledger.Entries()
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if want := map[bool]string{true: there, false: here}[strings.Contains(e.Name, "-try")]; e.Target != want {
				t.Errorf("%s is at %s in the ledger", e.Name, e.Target)
			}
		}
		runs, err := c.Ledger.RunsOf(jobs[0].ID)
		if err != nil || len(runs) != 1 {
			t.Fatal(runs, err)
		}
		var chain []string
		chains, err := c.Ledger.Chains([]client.Known{{ID: jobs[0].ID}})
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range chains[0] {
			j, _ := runs[0].Job(k.ID)
			chain = append(chain, fmt.Sprint(j.Name, " ", j.Cause, " ", j.At, " ", k.At))
		}
		if d := cmp.Diff([]string{"train-try3 outOfMemory west " + there, "train-try2 noCapacity west " + there, "train   "}, chain); d != "" {
			t.Error(d)
		}
	})
}

// TestKilledWhileMoving kills the client at each of its requests to either target, before it is sent
// or before its answer, and resumes with the ledger of that moment. No job runs at both targets, and
// none twice.
func TestKilledWhileMoving(t *testing.T) {
	kills, stride := 0, testtool.Count(1, 7)
	for at, alive := 1, false; !alive; at += stride {
		for _, sent := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				two := newTwoTargets(t)
				dir := t.TempDir()
				first, second := filepath.Join(dir, "first"), filepath.Join(dir, "second")
				ctx, kill := context.WithCancel(t.Context())
				m := &killedAt{at: at, sent: sent, dir: first, corpse: second, kill: kill}
				c := two.client(first, func(next aws.HTTPClient) aws.HTTPClient { return through{m, next} })
				_, err := c.Submit(ctx, moving())
				kill()
				if !m.dead {
					alive = true
					if err != nil {
						t.Fatal(err)
					}
					return
				}
				kills++
				c = two.client(second, nil)
				checkResumed(t, c, two.counts, moved, at, sent)
			})
		}
	}
	t.Logf("%d kills", kills)
	if kills*stride < 120 {
		t.Errorf("only %d kills", kills)
	}
}

// through is one of several networks of a client that is killed at one of all its requests.
type through struct {
	m    *killedAt
	next aws.HTTPClient
}

func (n through) Do(r *http.Request) (*http.Response, error) { return n.m.through(n.next, r) }

// TestStaysWithoutAnotherTarget does not cancel a job that could not run at the other target, or
// whose own target does not answer: an unknown state is no lack of capacity.
func TestStaysWithoutAnotherTarget(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*testing.T, *twoTargets, *Client, *plan.Plan)
		why    string
	}{
		"own target": {func(_ *testing.T, two *twoTargets, c *Client, _ *plan.Plan) {
			c.Elsewhere = func(context.Context, string) (*Client, error) { return c, nil }
		}, "target west is the target of the submission"},
		"unreachable": {func(_ *testing.T, two *twoTargets, c *Client, _ *plan.Plan) {
			c.Elsewhere = func(context.Context, string) (*Client, error) { return nil, errors.New("no credentials") }
		}, "target west: no credentials"},
		"no queue": {func(_ *testing.T, _ *twoTargets, _ *Client, p *plan.Plan) {
			rungs := movingRungs()
			rungs[0].Queue = "missing"
			p.Jobs[0] = defined(laddered("train", rungs, "64"))
		}, "target west has no queue missing"},
		"no definition": {func(_ *testing.T, _ *twoTargets, _ *Client, p *plan.Plan) {
			p.Jobs[0] = laddered("train", movingRungs(), "64")
		},
			"its job definition is registered only at its own target"},
		"disabled queue": {func(t *testing.T, two *twoTargets, _ *Client, p *plan.Plan) {
			_, err := two.far.direct.CreateJobQueue(t.Context(), &awsbatch.CreateJobQueueInput{JobQueueName: aws.String("off"), Priority: aws.Int32(1), State: types.JQStateDisabled,
				ComputeEnvironmentOrder: []types.ComputeEnvironmentOrder{{Order: aws.Int32(1), ComputeEnvironment: aws.String(model.ComputeEnvironment)}}})
			if err != nil {
				t.Fatal(err)
			}
			rungs := movingRungs()
			rungs[0].Queue = "off"
			p.Jobs[0] = defined(laddered("train", rungs, "64"))
		}, "queue off of target west is DISABLED and VALID"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				two := newTwoTargets(t)
				client := two.client(t.TempDir(), nil)
				var progress []string
				client.Progress = func(text string) { progress = append(progress, text) }
				p := planOf(defined(laddered("train", movingRungs(), "64")))
				c.change(t, two, client, p)
				if _, err := client.Submit(t.Context(), p); err != nil {
					t.Fatal(err)
				}
				if d := cmp.Diff(map[string]int{"near train[0] 64 MiB": 1}, two.counts()); d != "" || two.near.calls["CancelJob"] > 0 {
					t.Error(d, two.near.calls["CancelJob"])
				}
				if all := strings.Join(progress, "\n"); strings.Count(all, c.why) != 1 {
					t.Errorf("not one %q in:\n%s", c.why, all)
				}
			})
		})
	}
}

// TestUnreachableTargetIsNoCapacity leaves a job alone whose own target stops answering.
func TestUnreachableTargetIsNoCapacity(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		two := newTwoTargets(t)
		c := two.client(t.TempDir(), nil)
		_, waiting, err := c.SubmitNow(t.Context(), planOf(defined(laddered("train", movingRungs(), "64"))))
		if err != nil || waiting == nil {
			t.Fatal(waiting, err)
		}
		time.Sleep(5 * time.Minute) // virtual: the job has waited for longer than its rung allows
		cfg := two.near.Config()
		cfg.HTTPClient = unreachable{}
		gone := New(cfg)
		gone.Ledger, gone.Elsewhere = c.Ledger, c.Elsewhere
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		if _, err := gone.Resume(ctx, waiting.Run); err == nil {
			t.Error("the run ends without its target")
		}
		text, err := os.ReadFile(c.Ledger.logs().logPath(waiting.Run))
		if err != nil || strings.Contains(string(text), lineMoved) || strings.Contains(string(text), `"cancel"`) || two.far.calls["SubmitJob"] > 0 {
			t.Errorf("%v, %d calls, %s", err, two.far.calls["SubmitJob"], text)
		}
		// With its target back, it moves once.
		if _, err := c.Resume(t.Context(), waiting.Run); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(map[string]int{"far train[0] 64 MiB": 1}, two.counts()); d != "" {
			t.Error(d)
		}
	})
}

// unreachable is a network in which nothing answers.
type unreachable struct{}

func (unreachable) Do(*http.Request) (*http.Response, error) {
	return nil, errors.New("dial tcp: no route to host")
}

// TestMovedElsewhere refuses a run whose other target is another account than before.
func TestMovedElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		two := newTwoTargets(t)
		two.farWorks.took = 30 * time.Minute
		c := two.client(t.TempDir(), nil)
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
		defer cancel()
		if _, err := c.Submit(ctx, planOf(defined(laddered("train", movingRungs(), "64")))); err == nil {
			t.Fatal("the job has ended")
		}
		run := onlyRun(t, c)
		elsewhere := c.Elsewhere
		c.Elsewhere = func(ctx context.Context, name string) (*Client, error) {
			other, err := elsewhere(ctx, name)
			other.Ledger.Target = "aws 999999999999 us-west-2"
			return other, err
		}
		_, err := c.Resume(t.Context(), run.Name)
		if e, ok := errors.AsType[*ElsewhereError](err); !ok || e.Target != there {
			t.Errorf("%v", err)
		}
		c.Elsewhere = elsewhere
		if _, err := c.Resume(t.Context(), run.Name); err != nil {
			t.Error(err)
		}
		if d := cmp.Diff(map[string]int{"far train[0] 64 MiB": 1}, two.counts()); d != "" {
			t.Error(d)
		}
	})
}

// TestWaitsForAnotherReason leaves a job alone that waits for another reason than capacity, and
// records the reason that it saw before it cancels one.
func TestWaitsForAnotherReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		two := newTwoTargets(t)
		c := two.client(t.TempDir(), nil)
		var progress []string
		c.Progress = func(text string) { progress = append(progress, text) }
		asked := 0
		c.WhyWaiting = func(context.Context, string) (cause, summary string) {
			if asked++; asked < 3 {
				return "environment-invalid", "its compute environment is INVALID"
			}
			return "at-maxvcpus", "its compute environment is full"
		}
		jobs, err := c.Submit(t.Context(), planOf(defined(laddered("train", movingRungs(), "64"))))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(map[string]int{"far train[0] 64 MiB": 1}, two.counts()); d != "" || asked != 3 {
			t.Error(d, asked)
		}
		all := strings.Join(progress, "\n")
		for _, text := range []string{"stays in its queue: it has been RUNNABLE for 2m0s, for another reason than missing capacity: environment-invalid, its compute environment is INVALID",
			"no capacity for 2m0s (at-maxvcpus); cancelled it"} {
			if strings.Count(all, text) != 1 {
				t.Errorf("not one %q in:\n%s", text, all)
			}
		}
		runs, err := c.Ledger.RunsOf(jobs[0].ID)
		if err != nil || len(runs) != 1 || runs[0].Jobs[1].Saw != "at-maxvcpus" {
			t.Errorf("%+v, %v", runs, err)
		}
	})
}
