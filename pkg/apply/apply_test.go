package apply

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
	"pgregory.net/rapid"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/local"
	"github.com/batchctl/batchctl/pkg/local/attempt"
	"github.com/batchctl/batchctl/pkg/rpc"
)

// minute runs every attempt for a minute.
type minute struct{}

func (minute) Run(ctx context.Context, a attempt.Attempt, _ *os.File) (int, error) {
	a.Started("x")
	return 0, rpc.Sleep(ctx, time.Minute)
}
func (minute) Clear(string, string) error                             { return nil }
func (minute) Unhonoured(*types.ContainerProperties) []attempt.Member { return nil }

// errCut is the error of a call that is cut off.
var errCut = errors.New("cut off")

// cutting is an HTTP client that fails one call, before or after the server has carried it out.
type cutting struct {
	aws.HTTPClient
	mu     sync.Mutex
	in     int // calls until the one that fails; 0 for none
	after  bool
	calls  []string          // the operations that change something
	answer func(path string) // called after each
}

func (c *cutting) Do(r *http.Request) (*http.Response, error) {
	c.mu.Lock()
	c.in--
	cut := c.in == 0
	c.mu.Unlock()
	if cut && !c.after {
		return nil, errCut
	}
	answer, err := c.HTTPClient.Do(r)
	path := r.URL.Path
	if slices.ContainsFunc([]string{"/v1/create", "/v1/update", "/v1/delete", "/v1/tags"}, func(p string) bool { return strings.HasPrefix(path, p) }) && r.Method != http.MethodGet {
		c.mu.Lock()
		c.calls = append(c.calls, strings.TrimPrefix(path, "/v1/"))
		c.mu.Unlock()
		if c.answer != nil {
			c.answer(path)
		}
	}
	if cut && err == nil {
		answer.Body.Close()
		return nil, errCut
	}
	return answer, err
}

// engine returns an engine of 8 vCPUs, and the client through which apply reaches it.
func engine(t testing.TB) (*Account, *cutting) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "state")
	e, err := local.Open(local.Options{Dir: dir, Executor: minute{}, VCPUs: 8, MemoryMiB: 4096, GPUs: []string{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close(context.Background()) })
	cfg := e.Config()
	cut := &cutting{HTTPClient: cfg.HTTPClient}
	cfg.HTTPClient = cut
	cfg.Retryer = func() aws.Retryer { return aws.NopRetryer{} }
	return &Account{RPC: rpc.New(cfg), API: awsbatch.NewFromConfig(cfg)}, cut
}

// file loads a document that has no problems.
func file(t testing.TB, text string) *document.File {
	t.Helper()
	f, problems := document.Load(diag.NewSource("queues.json", text), document.Options{})
	if problems.HasErrors() {
		t.Fatalf("%s: %v", text, problems)
	}
	return f
}

// environment returns the request for an environment on EC2; members are those of computeResources that differ.
func environment(name string, members object) string {
	resources := object{"type": "EC2", "minvCpus": 0, "maxvCpus": 4, "instanceTypes": []string{"c5.large"}, "subnets": []string{"subnet-1"}, "instanceRole": "ecsInstanceRole"}
	maps.Copy(resources, members)
	maps.DeleteFunc(resources, func(_ string, v any) bool { return v == nil })
	text, err := json.Marshal(object{"computeEnvironmentName": name, "type": "MANAGED", "computeResources": resources})
	if err != nil {
		panic(err)
	}
	return string(text)
}

// queue returns the request for a queue.
func queue(name string, priority int, environments ...string) string {
	var order []string
	for i, e := range environments {
		order = append(order, fmt.Sprintf(`{"order": %d, "computeEnvironment": %q}`, i+1, e))
	}
	return fmt.Sprintf(`{"jobQueueName": %q, "state": "ENABLED", "priority": %d, "computeEnvironmentOrder": [%s]}`, name, priority, strings.Join(order, ", "))
}

// resources returns a document with lists.
func resources(environments, queues []string, more ...string) string {
	members := append([]string{`"$schema": "resources.schema.json"`, `"computeEnvironments": [` + strings.Join(environments, ", ") + `]`, `"jobQueues": [` + strings.Join(queues, ", ") + `]`}, more...)
	return "{" + strings.Join(members, ", ") + "}"
}

// applied applies a document, which must be possible, and returns the plan.
func applied(t testing.TB, a *Account, o Options, text string) *Plan {
	t.Helper()
	state, err := a.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	plan, problems := NewPlan([]*document.File{file(t, text)}, state, o)
	if len(problems) > 0 {
		t.Fatalf("%v", problems)
	}
	r := &Runner{Account: a, Settle: time.Minute, Drain: time.Hour}
	if err := r.Run(t.Context(), plan, state); err != nil {
		t.Fatal(err)
	}
	return plan
}

// text describes the steps of a plan, a line each.
func (p *Plan) text() string {
	var b strings.Builder
	for _, s := range p.Steps {
		fmt.Fprintf(&b, "%s %s %s", s.Verb, s.Kind, s.Name)
		for _, c := range s.Changes {
			fmt.Fprintf(&b, " %s %s->%s", c.Path, show(c.From), show(c.To))
		}
		if s.Why != "" {
			fmt.Fprintf(&b, " (%s)", s.Why)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// TestApply applies documents one after the other, and compares the steps of each.
func TestApply(t *testing.T) {
	a, _ := engine(t)
	o := Options{Owner: "test", Prune: true}
	for _, step := range []struct{ name, text, want string }{
		{"create", resources([]string{environment("cpu", nil), environment("big", nil)}, []string{queue("q", 1, "cpu", "big")},
			`"schedulingPolicies": [{"name": "fair", "fairsharePolicy": {"shareDistribution": [{"shareIdentifier": "b"}, {"shareIdentifier": "a", "weightFactor": 2}]}}]`,
			`"consumableResources": [{"consumableResourceName": "licences", "totalQuantity": 3}]`), `
create scheduling policy fair
create consumable resource licences
create compute environment cpu
create compute environment big
create job queue q
`},
		{"order, defaults and sets change nothing", resources([]string{environment("big", nil), environment("cpu", object{"bidPercentage": 100})}, []string{queue("q", 1, "cpu", "big")},
			`"schedulingPolicies": [{"name": "fair", "fairsharePolicy": {"shareDecaySeconds": 0, "shareDistribution": [{"shareIdentifier": "a", "weightFactor": 2}, {"shareIdentifier": "b", "weightFactor": 1}]}}]`,
			`"consumableResources": [{"consumableResourceName": "licences", "totalQuantity": 3, "resourceType": "REPLENISHABLE"}]`), "\n"},
		{"update", resources([]string{environment("cpu", object{"maxvCpus": 8}), environment("big", nil)}, []string{queue("q", 2, "big", "cpu")},
			`"schedulingPolicies": [{"name": "fair", "fairsharePolicy": {"shareDecaySeconds": 60}}]`,
			`"consumableResources": [{"consumableResourceName": "licences", "totalQuantity": 5, "tags": {"of": "us"}}]`), `
update scheduling policy fair fairsharePolicy.shareDecaySeconds 0->60 fairsharePolicy.shareDistribution [{"shareIdentifier":"a","weightFactor":2},{"shareIdentifier":"b"}]->[]
update consumable resource licences tags.of nothing->"us" totalQuantity 3->5
update compute environment cpu computeResources.maxvCpus 4->8
update job queue q computeEnvironmentOrder[0].computeEnvironment "cpu"->"big" computeEnvironmentOrder[1].computeEnvironment "big"->"cpu" priority 1->2
`},
		{"replace", resources([]string{environment("cpu", object{"instanceTypes": []string{"c6i.large"}}), environment("big", nil)}, []string{queue("q", 2, "big", "cpu")},
			`"schedulingPolicies": [{"name": "fair", "fairsharePolicy": {"shareDecaySeconds": 60}}]`,
			`"consumableResources": [{"consumableResourceName": "licences", "totalQuantity": 5}]`), `
update consumable resource licences tags.of "us"->nothing
replace compute environment cpu-2 computeResources.instanceTypes ["c5.large"]->["c6i.large"] computeResources.maxvCpus 8->4 (with the allocation strategy BEST_FIT, an update cannot change instanceTypes)
update job queue q computeEnvironmentOrder "cpu"->"cpu-2" (it has an environment that is being replaced)
retire compute environment cpu (replaced by cpu-2)
`},
		{"prune", resources([]string{environment("cpu", object{"instanceTypes": []string{"c6i.large"}})}, []string{queue("q", 2, "cpu")}), `
update job queue q computeEnvironmentOrder [{"computeEnvironment":"big","order":1},{"computeEnvironment":"cpu","order":2}]->[{"computeEnvironment":"cpu","order":1}]
retire compute environment big (no file mentions it)
delete consumable resource licences (no file mentions it)
delete scheduling policy fair (no file mentions it)
`},
		{"nothing is left", `{"$schema": "resources.schema.json", "jobQueues": []}`, `
delete job queue q (no file mentions it)
retire compute environment cpu-2 (no file mentions it)
`},
	} {
		t.Run(step.name, func(t *testing.T) {
			if got := "\n" + applied(t, a, o, step.text).text(); got != step.want {
				t.Errorf("steps:%s\nwant:%s", got, step.want)
			}
			again := applied(t, a, o, step.text)
			if len(again.Steps) > 0 {
				t.Errorf("again:\n%s", again.text())
			}
		})
	}
}

// TestProblems checks what is reported before the first change.
func TestProblems(t *testing.T) {
	a, cut := engine(t)
	applied(t, a, Options{Owner: "test"}, resources([]string{environment("cpu", nil), environment("spare", nil)}, []string{queue("q", 1, "cpu")},
		`"schedulingPolicies": [{"name": "fair"}]`, `"consumableResources": [{"consumableResourceName": "licences", "totalQuantity": 3}]`))
	cut.calls = nil
	for _, test := range []struct{ name, text, want string }{
		{"a policy that exists nowhere", `{"jobQueueName": "p", "priority": 1, "schedulingPolicyArn": "arn:aws:batch:us-east-1:123456789012:scheduling-policy/fiar", "computeEnvironmentOrder": [{"order": 1, "computeEnvironment": "cpu"}]}`,
			`scheduling policy "fiar" exists neither in the files nor in the account`},
		{"an environment that exists nowhere", queue("p", 1, "gpu"), `compute environment "gpu" exists neither in the files nor in the account`},
		{"one name twice", resources(nil, []string{queue("p", 1, "cpu"), queue("p", 2, "cpu")}), `job queue "p" is also at queues.json:1:`},
		{"a policy for a queue without one", `{"jobQueueName": "q", "priority": 1, "schedulingPolicyArn": "fair", "computeEnvironmentOrder": [{"order": 1, "computeEnvironment": "cpu"}]}`,
			`job queue "q" has no scheduling policy; a scheduling policy cannot be added to a queue or removed from it later`},
		{"another type of resource", `{"consumableResourceName": "licences", "totalQuantity": 3, "resourceType": "NON_REPLENISHABLE"}`,
			`resourceType of consumable resource "licences" is "REPLENISHABLE" and cannot become "NON_REPLENISHABLE"`},
		{"an environment that a queue without an owner uses", `{"$schema": "resources.schema.json", "jobQueues": []}`, `compute environment "cpu" cannot be deleted: job queue "q" uses it`},
	} {
		t.Run(test.name, func(t *testing.T) {
			state, err := a.Read(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			o := Options{Owner: "test"}
			if test.name == "an environment that a queue without an owner uses" {
				state.find(kindOf(document.KindJobQueue), "q").owner = ""
				o.Prune = true
			}
			_, problems := NewPlan([]*document.File{file(t, test.text)}, state, o)
			if len(problems) != 1 || !strings.Contains(problems[0].Message, test.want) {
				t.Errorf("problems %v, want %q", problems, test.want)
			}
			if len(cut.calls) > 0 {
				t.Errorf("changed: %v", cut.calls)
			}
		})
	}
}

// submitted submits jobs to a queue, which run for a minute each.
func submitted(t testing.TB, a *Account, queue string, n int) (ids []string) {
	t.Helper()
	_, err := a.API.RegisterJobDefinition(t.Context(), &awsbatch.RegisterJobDefinitionInput{JobDefinitionName: aws.String("work"), Type: types.JobDefinitionTypeContainer,
		ContainerProperties: &types.ContainerProperties{Image: aws.String("busybox"), Command: []string{"true"}, ResourceRequirements: []types.ResourceRequirement{
			{Type: types.ResourceTypeVcpu, Value: aws.String("1")}, {Type: types.ResourceTypeMemory, Value: aws.String("64")}}}})
	if err != nil {
		t.Fatal(err)
	}
	for range n {
		out, err := a.API.SubmitJob(t.Context(), &awsbatch.SubmitJobInput{JobName: aws.String("job"), JobQueue: &queue, JobDefinition: aws.String("work")})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, *out.JobId)
	}
	return ids
}

// TestDrain replaces an environment on which jobs run: they end there, and none is lost.
func TestDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, _ := engine(t)
		applied(t, a, Options{}, resources([]string{environment("cpu", nil)}, []string{queue("q", 1, "cpu")}))
		ids := submitted(t, a, "q", 10) // 4 run at once
		synctest.Wait()
		plan := resources([]string{environment("cpu", object{"instanceTypes": []string{"m5.large"}})}, []string{queue("q", 1, "cpu")})

		state, err := a.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		first, _ := NewPlan([]*document.File{file(t, plan)}, state, Options{})
		r := &Runner{Account: a, Settle: time.Minute, Drain: 10 * time.Second}
		err = r.Run(t.Context(), first, state)
		if draining, ok := errors.AsType[*DrainingError](err); !ok || draining.Environment != "cpu" || draining.Jobs != 4 {
			t.Fatalf("%v, want 4 jobs on cpu", err)
		}
		start := time.Now()
		if got := applied(t, a, Options{}, plan).text(); got != "retire compute environment cpu (replaced by cpu-2)\n" {
			t.Errorf("after a wait that was too short:\n%s", got)
		}
		if took := time.Since(start); took < 40*time.Second || took > 2*time.Minute {
			t.Errorf("the environment went after %v, its jobs end after 50 s", took)
		}
		time.Sleep(5 * time.Minute)
		out, err := a.API.DescribeJobs(t.Context(), &awsbatch.DescribeJobsInput{Jobs: ids})
		if err != nil {
			t.Fatal(err)
		}
		for _, j := range out.Jobs {
			if j.Status != types.JobStatusSucceeded {
				t.Errorf("%s %s %s", *j.JobId, j.Status, aws.ToString(j.StatusReason))
			}
		}
	})
}

// TestStranded checks that a queue with jobs is not deleted.
func TestStranded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, _ := engine(t)
		o := Options{Owner: "test", Prune: true}
		applied(t, a, o, resources([]string{environment("cpu", nil)}, []string{queue("q", 1, "cpu")}))
		submitted(t, a, "q", 2)
		plan := func() (*Plan, diag.List) {
			state, err := a.Read(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			plan, _ := NewPlan([]*document.File{file(t, `{"$schema": "resources.schema.json", "jobQueues": []}`)}, state, o)
			problems, err := a.Stranded(t.Context(), plan, state)
			if err != nil {
				t.Fatal(err)
			}
			return plan, problems
		}
		if _, problems := plan(); len(problems) != 1 || problems[0].Message != `job queue "q" has 2 jobs; deleting it would end them` {
			t.Errorf("%v", problems)
		}
		time.Sleep(2 * time.Minute)
		if _, problems := plan(); len(problems) > 0 {
			t.Errorf("after the jobs have ended: %v", problems)
		}
	})
}

// TestLock checks that one of two processes gets the lock, and who gets that of a process that has ended.
func TestLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, _ := engine(t)
		first, err := (&Runner{Account: a, Who: "ann@laptop"}).take(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := (&Runner{Account: a, Who: "bob@ci"}).take(t.Context()); err == nil || !strings.Contains(err.Error(), "ann@laptop") {
			t.Errorf("the lock of another: %v", err)
		}
		time.Sleep(lockTime * 3 / 4)
		if err := first.keep(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(lockTime * 3 / 4)
		if _, err := (&Runner{Account: a, Who: "bob@ci"}).take(t.Context()); err == nil {
			t.Error("an extended lock was taken")
		}
		time.Sleep(lockTime)
		second, err := (&Runner{Account: a, Who: "bob@ci"}).take(t.Context())
		if err != nil {
			t.Fatalf("the lock of a process that has ended: %v", err)
		}
		var lost *LostLockError
		if err := first.keep(t.Context()); !errors.As(err, &lost) || !strings.Contains(lost.Holder, "bob@ci") {
			t.Errorf("a lost lock: %v", err)
		}
		if err := first.release(t.Context()); err != nil {
			t.Error(err)
		}
		if err := second.keep(t.Context()); err != nil {
			t.Errorf("after the release of the lost lock: %v", err)
		}
		if err := second.release(t.Context()); err != nil {
			t.Error(err)
		}
		state, err := a.Read(t.Context())
		if err != nil || len(state.of(document.KindSchedulingPolicy)) > 0 {
			t.Errorf("%v, %v", state, err)
		}
		if third, err := (&Runner{Account: a, Who: "ann@laptop"}).take(t.Context()); err != nil {
			t.Error(err)
		} else if err := third.release(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// world is a random document: some of a few names, with random members.
func world(t *rapid.T, label string) string {
	some := func(names ...string) []string {
		return slices.DeleteFunc(names, func(name string) bool { return !rapid.Bool().Draw(t, label+" "+name) })
	}
	oneOf := func(what string, values ...any) any { return rapid.SampledFrom(values).Draw(t, label+" "+what) }
	names := some("a", "b", "c")
	if len(names) == 0 {
		names = []string{"a"}
	}
	var environments, queues, policies, consumables []string
	for _, name := range names {
		environments = append(environments, environment(name, object{
			"maxvCpus":           oneOf("maxvCpus", 2, 4, 8),
			"instanceTypes":      oneOf("instanceTypes", []string{"c5.large"}, []string{"c5.large", "m5.large"}, []string{"m5.large"}),
			"allocationStrategy": oneOf("allocationStrategy", nil, "BEST_FIT_PROGRESSIVE", "BEST_FIT_PROGRESSIVE"),
			"tags":               oneOf("tags", nil, object{"Team": "x"}, object{"Team": "y", "Cost": "1"}),
			"imageId":            oneOf("imageId", nil, nil, "ami-1"),
		}))
	}
	for _, name := range some("q1", "q2") {
		order := rapid.Permutation(names).Draw(t, label+" order")
		queues = append(queues, queue(name, oneOf("priority", 1, 5).(int), order[:rapid.IntRange(1, len(order)).Draw(t, label+" environments")]...))
	}
	for _, name := range some("fair", "other") {
		policies = append(policies, fmt.Sprintf(`{"name": %q, "fairsharePolicy": {"shareDecaySeconds": %d, "shareDistribution": %s}}`, name, oneOf("decay", 0, 60),
			oneOf("shares", `[]`, `[{"shareIdentifier": "x"}]`, `[{"shareIdentifier": "y", "weightFactor": 2}, {"shareIdentifier": "x"}]`)))
	}
	for _, name := range some("licences") {
		consumables = append(consumables, fmt.Sprintf(`{"consumableResourceName": %q, "totalQuantity": %d, "tags": %s}`, name, oneOf("quantity", 0, 3), oneOf("tags of it", `{}`, `{"a": "b"}`)))
	}
	return resources(environments, queues, `"schedulingPolicies": [`+strings.Join(policies, ", ")+`]`, `"consumableResources": [`+strings.Join(consumables, ", ")+`]`)
}

// TestInterrupted applies random documents one after the other, with a call that fails again and again, before or after
// the server has carried it out. At the end the account equals the files, no queue was ever without environments, and
// every job has succeeded.
func TestInterrupted(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var trial trial // synctest takes no draws
		for round := range 3 {
			trial.texts = append(trial.texts, world(rt, fmt.Sprint(round)))
			trial.wait = append(trial.wait, rapid.Bool().Draw(rt, "let the jobs end"))
		}
		trial.cuts = rapid.SliceOfN(rapid.IntRange(1, 40), 10, 60).Draw(rt, "cuts")
		trial.after = rapid.SliceOfN(rapid.Bool(), len(trial.cuts), len(trial.cuts)).Draw(rt, "after")
		var problem error
		synctest.Test(t, func(t *testing.T) { problem = trial.run(t) })
		if problem != nil {
			rt.Fatal(problem)
		}
	})
}

// trial is one case of TestInterrupted.
type trial struct {
	texts []string
	wait  []bool // whether the jobs end before the next text is applied
	// cuts are the calls after which one fails, one for each attempt; after says whether the server has carried it out.
	cuts  []int
	after []bool
}

func (trial *trial) run(t *testing.T) error {
	a, cut := engine(t)
	o := Options{Owner: "test", Prune: true}
	var jobs []string
	cut.answer = func(string) { everyQueueRuns(t, a) }
	for round, text := range trial.texts {
		for {
			cut.in = 0
			if len(trial.cuts) > 0 {
				cut.in, cut.after = trial.cuts[0], trial.after[0]
				trial.cuts, trial.after = trial.cuts[1:], trial.after[1:]
			}
			err := apply(t.Context(), a, o, text)
			if err == nil {
				break
			}
			if !errors.Is(err, errCut) {
				return fmt.Errorf("%s\n%w", text, err)
			}
			time.Sleep(lockTime + time.Second)
		}
		cut.in = 0
		state, err := a.Read(t.Context())
		if err != nil {
			return err
		}
		f := file(t, text)
		ours := slices.DeleteFunc(slices.Clone(state.resources), func(r *Resource) bool { return r.owner != o.Owner })
		if plan, problems := NewPlan([]*document.File{f}, state, o); len(plan.Steps) > 0 || len(problems) > 0 || len(ours) != len(f.Requests) {
			return fmt.Errorf("%s\nagain: %s%v, %d resources", text, plan.text(), problems, len(ours))
		}
		for _, q := range ours {
			if q.kind.Kind == document.KindJobQueue {
				jobs = append(jobs, submitted(t, a, q.Name, 2)...)
			}
		}
		if trial.wait[round] {
			time.Sleep(10 * time.Minute)
		}
	}
	time.Sleep(time.Hour)
	for some := range slices.Chunk(jobs, mostDescribed) {
		out, err := a.API.DescribeJobs(t.Context(), &awsbatch.DescribeJobsInput{Jobs: some})
		if err != nil {
			return err
		}
		for _, j := range out.Jobs {
			if j.Status != types.JobStatusSucceeded {
				return fmt.Errorf("job of %s: %s %s", aws.ToString(j.JobQueue), j.Status, aws.ToString(j.StatusReason))
			}
		}
	}
	return nil
}

// TestEveryCall replaces one setup by another, and cuts off each call of that in turn.
func TestEveryCall(t *testing.T) {
	before := resources([]string{environment("a", nil), environment("b", nil), environment("c", nil)}, []string{queue("q1", 1, "a", "b"), queue("q2", 1, "c")},
		`"schedulingPolicies": [{"name": "fair"}]`, `"consumableResources": [{"consumableResourceName": "licences", "totalQuantity": 3}]`)
	after := resources([]string{environment("a", object{"instanceTypes": []string{"m5.large"}}), environment("b", object{"maxvCpus": 8}), environment("d", nil)}, []string{queue("q1", 2, "b", "a", "d")},
		`"schedulingPolicies": [{"name": "other", "fairsharePolicy": {"shareDecaySeconds": 60}}]`)
	o := Options{Owner: "test", Prune: true}
	for _, answered := range []bool{false, true} {
		for cutOff, calls := 1, 1; cutOff <= calls; cutOff++ {
			synctest.Test(t, func(t *testing.T) {
				a, cut := engine(t)
				applied(t, a, o, before)
				jobs := submitted(t, a, "q1", 6)
				cut.answer = func(string) { everyQueueRuns(t, a) }
				cut.in, cut.after = cutOff, answered
				err := apply(t.Context(), a, o, after)
				calls = cutOff - cut.in                    // where it was not reached, they are all
				if err != nil && !errors.Is(err, errCut) { // taking and releasing the lock survive the failure of a call
					t.Fatalf("call %d is cut off, and the error is %v", cutOff, err)
				}
				cut.in = 0
				time.Sleep(lockTime + time.Second)
				if err := apply(t.Context(), a, o, after); err != nil {
					t.Fatalf("after call %d (answered: %v): %v", cutOff, answered, err)
				}
				state, err := a.Read(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if plan, problems := NewPlan([]*document.File{file(t, after)}, state, o); len(plan.Steps) > 0 || len(problems) > 0 {
					t.Errorf("after call %d (answered: %v) again:\n%s%v", cutOff, answered, plan.text(), problems)
				}
				time.Sleep(time.Hour)
				out, err := a.API.DescribeJobs(t.Context(), &awsbatch.DescribeJobsInput{Jobs: jobs})
				if err != nil {
					t.Fatal(err)
				}
				for _, j := range out.Jobs {
					if j.Status != types.JobStatusSucceeded {
						t.Errorf("after call %d: %s %s", cutOff, j.Status, aws.ToString(j.StatusReason))
					}
				}
			})
			if cutOff > 200 || t.Failed() {
				break
			}
		}
	}
}

// apply applies a document under the lock, once no job is stranded.
func apply(ctx context.Context, a *Account, o Options, text string) error {
	f, _ := document.Load(diag.NewSource("queues.json", text), document.Options{})
	r := &Runner{Account: a, Settle: time.Minute, Drain: time.Hour}
	if err := r.Lock(ctx); err != nil {
		return err
	}
	state, err := a.Read(ctx)
	if err != nil {
		return err
	}
	plan, problems := NewPlan([]*document.File{f}, state, o)
	for len(problems) == 0 {
		stranded, err := a.Stranded(ctx, plan, state)
		if err != nil {
			return err
		}
		if len(stranded) == 0 {
			break
		}
		time.Sleep(time.Minute)
	}
	if len(problems) > 0 {
		return problems[0]
	}
	if err := r.Run(ctx, plan, state); err != nil {
		return err
	}
	return r.Unlock(ctx)
}

// everyQueueRuns checks that every queue has an ENABLED environment, or is DISABLED because it is being deleted.
func everyQueueRuns(t *testing.T, a *Account) {
	queues, err := a.API.DescribeJobQueues(context.Background(), &awsbatch.DescribeJobQueuesInput{})
	if err != nil {
		return // the call that fails
	}
	environments, err := a.API.DescribeComputeEnvironments(context.Background(), &awsbatch.DescribeComputeEnvironmentsInput{})
	if err != nil {
		return
	}
	enabled := map[string]bool{}
	for _, e := range environments.ComputeEnvironments {
		enabled[aws.ToString(e.ComputeEnvironmentArn)] = e.State == types.CEStateEnabled
	}
	for _, q := range queues.JobQueues {
		if q.State == types.JQStateEnabled && !slices.ContainsFunc(q.ComputeEnvironmentOrder, func(o types.ComputeEnvironmentOrder) bool { return enabled[aws.ToString(o.ComputeEnvironment)] }) {
			t.Errorf("queue %s has no environment that runs jobs", aws.ToString(q.JobQueueName))
		}
	}
}

// TestExport applies random documents and exports the account. Applying the export changes nothing.
func TestExport(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		before, after := world(rt, "before"), world(rt, "after")
		var problem error
		synctest.Test(t, func(t *testing.T) {
			a, _ := engine(t)
			applied(t, a, Options{Owner: "test"}, before)
			applied(t, a, Options{Owner: "test", Prune: true}, after) // with environments that replace others
			state, err := a.Read(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			text, err := state.Export("resources.schema.json")
			if err != nil {
				t.Fatal(err)
			}
			plan, problems := NewPlan([]*document.File{file(t, string(text))}, state, Options{})
			if len(plan.Steps) > 0 || len(problems) > 0 || plan.Equal != state.Count() {
				problem = fmt.Errorf("%s\n%s%v, %d of %d are equal", text, plan.text(), problems, plan.Equal, state.Count())
			}
		})
		if problem != nil {
			rt.Fatal(problem)
		}
	})
}
