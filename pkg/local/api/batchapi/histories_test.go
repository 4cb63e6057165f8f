package batchapi

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/batchctl/batchctl/pkg/local/model"
	"github.com/batchctl/batchctl/pkg/local/model/modeltest"
	"github.com/batchctl/batchctl/pkg/wire"
)

// everything returns all resources that the API shows, as text.
func (w *testAPI) everything() string {
	w.t.Helper()
	var b strings.Builder
	for _, shown := range []any{
		must(w.t, w.describeComputeEnvironments, &awsbatch.DescribeComputeEnvironmentsInput{}),
		must(w.t, w.describeJobQueues, &awsbatch.DescribeJobQueuesInput{}),
		must(w.t, w.describeSchedulingPolicies, &awsbatch.DescribeSchedulingPoliciesInput{Arns: []string{model.ARN(model.KindPolicy, "fair")}}),
		must(w.t, w.listConsumableResources, &awsbatch.ListConsumableResourcesInput{}),
		must(w.t, w.describeConsumableResource, &awsbatch.DescribeConsumableResourceInput{ConsumableResource: aws.String("licence")}),
		must(w.t, w.describeJobDefinitions, &awsbatch.DescribeJobDefinitionsInput{}),
	} {
		b.WriteString(w.text(shown))
	}
	return b.String()
}

// text returns an answer as JSON.
func (w *testAPI) text(answer any) string {
	w.t.Helper()
	text, err := wire.Marshal(answer)
	if err != nil {
		w.t.Fatal(err)
	}
	return string(text) + "\n"
}

func TestRestartKeepsResources(t *testing.T) {
	w := newAPI(t, modeltest.Options{})
	w.Register("work", "1", "64", func(in *awsbatch.RegisterJobDefinitionInput) { in.Tags = map[string]string{"a": "1"} })
	w.Environment("big", types.CRTypeEc2, 8)
	w.Environment("spot", types.CRTypeSpot, 4)
	w.Environment("gone", types.CRTypeFargate, 4)
	must(w.t, w.updateComputeEnvironment, &awsbatch.UpdateComputeEnvironmentInput{ComputeEnvironment: aws.String("gone"), State: types.CEStateDisabled})
	must(t, w.deleteComputeEnvironment, &awsbatch.DeleteComputeEnvironmentInput{ComputeEnvironment: aws.String("gone")})
	must(w.t, w.updateComputeEnvironment, &awsbatch.UpdateComputeEnvironmentInput{ComputeEnvironment: aws.String(model.ARN(model.KindEnvironment, "big")),
		ComputeResources: &types.ComputeResourceUpdate{MaxvCpus: aws.Int32(16)}})
	policy := must(t, w.createSchedulingPolicy, &awsbatch.CreateSchedulingPolicyInput{Name: aws.String("fair"), Tags: map[string]string{"p": "1"}})
	must(t, w.updateSchedulingPolicy, &awsbatch.UpdateSchedulingPolicyInput{Arn: policy.Arn, FairsharePolicy: &types.FairsharePolicy{
		ShareDecaySeconds: aws.Int32(60), ShareDistribution: []types.ShareAttributes{{ShareIdentifier: aws.String("a*"), WeightFactor: aws.Float32(0.5)}}}})
	// A fair-share policy that was set cannot be removed.
	must(t, w.updateSchedulingPolicy, &awsbatch.UpdateSchedulingPolicyInput{Arn: policy.Arn})
	w.Queue("main", []string{"big", "spot"}, func(in *awsbatch.CreateJobQueueInput) {
		in.SchedulingPolicyArn, in.Tags = policy.Arn, map[string]string{"q": "1"}
		in.JobStateTimeLimitActions = []types.JobStateTimeLimitAction{{Action: "CANCEL", MaxTimeSeconds: aws.Int32(600), Reason: aws.String("CAPACITY:INSUFFICIENT_INSTANCE_CAPACITY"), State: "RUNNABLE"}}
	})
	must(w.t, w.updateJobQueue, &awsbatch.UpdateJobQueueInput{JobQueue: aws.String("main"), State: types.JQStateDisabled, Priority: aws.Int32(9)})
	must(t, w.createConsumableResource, &awsbatch.CreateConsumableResourceInput{ConsumableResourceName: aws.String("licence"), TotalQuantity: aws.Int64(3)})
	update := &awsbatch.UpdateConsumableResourceInput{ConsumableResource: aws.String("licence"), Operation: aws.String("ADD"), Quantity: aws.Int64(2), ClientToken: aws.String("once")}
	for range 2 {
		if out, err := do(w.updateConsumableResource, update); err != nil || *out.TotalQuantity != 5 {
			t.Fatalf("%+v, %v; want a total of 5", out, err)
		}
	}
	must(t, w.tagResource, &awsbatch.TagResourceInput{ResourceArn: aws.String(model.ARN(model.KindDefinition, "work:1")), Tags: map[string]string{"b": "2"}})
	before := w.everything()
	for _, want := range []string{`"maxvCpus":16`, `"priority":9`, `"state":"DISABLED"`, `"weightFactor":0.5`, `"totalQuantity":5`, `{"a":"1","b":"2"}`, `{"q":"1"}`, `"maxTimeSeconds":600`} {
		if !strings.Contains(before, want) {
			t.Errorf("%s is missing in\n%s", want, before)
		}
	}
	w = w.restart(modeltest.Options{})
	if diff := cmp.Diff(before, w.everything()); diff != "" {
		t.Errorf("after the restart:\n%s", diff)
	}
	if out, err := do(w.updateConsumableResource, update); err != nil || *out.TotalQuantity != 5 {
		t.Errorf("the client token is forgotten: %+v, %v", out, err)
	}
	// For names that the options now configure, the options count.
	w = w.restart(modeltest.Options{Queues: []model.QueueSpec{{Name: "main", Priority: 2, Environments: []string{"big"}}}})
	out, err := do(w.describeJobQueues, &awsbatch.DescribeJobQueuesInput{JobQueues: []string{"main"}})
	if err != nil || len(out.JobQueues) != 1 || *out.JobQueues[0].Priority != 2 || out.JobQueues[0].State != "ENABLED" {
		t.Errorf("configured queue: %+v, %v", out, err)
	}
}

// turn is one action in a history of an account with queues of all kinds.
type turn struct {
	what   string
	on, to int
	word   string
	flag   bool
}

var turns = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) turn {
	return turn{
		what: rapid.SampledFrom([]string{"submit", "submit", "submit", "submit", "environment", "queue", "resource", "policy", "tag", "end", "wait"}).Draw(t, "what"),
		on:   rapid.IntRange(0, 20).Draw(t, "on"),
		to:   rapid.IntRange(0, 5).Draw(t, "to"),
		word: rapid.SampledFrom([]string{"0s", "1m", "1h", "fail"}).Draw(t, "word"),
		flag: rapid.Bool().Draw(t, "flag"),
	}
}), 1, 20)

// TestHistoriesWithResources plays random histories of an account. At no time is more in use than
// exists, and the journal rebuilds the same state. Once all resources are available again, every
// job ends and nothing stays in use.
func TestHistoriesWithResources(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		history := turns.Draw(r, "history")
		var problem error
		synctest.Test(t, func(t *testing.T) { problem = playTurns(t, history) })
		if problem != nil {
			r.Fatal(problem)
		}
	})
}

// populated creates the account in which the histories play.
func populated(w *testAPI) {
	w.Register("work", "1", "64")
	must(w.t, w.registerJobDefinition, modeltest.Tasks("task", modeltest.Part("main", "1m", true), modeltest.Part("side", "0s", false)))
	must(w.t, w.registerJobDefinition, modeltest.Nodes(2, 0, modeltest.NodeRange("0:", "1m")))
	w.Environment("one", types.CRTypeEc2, 2)
	w.Environment("two", types.CRTypeSpot, 1)
	w.Queue("plain", []string{"one", "two"})
	w.FairQueue(types.FairsharePolicy{ShareDecaySeconds: aws.Int32(60), ComputeReservation: aws.Int32(10)})
	w.Consumable("licence", model.Replenishable, 2)
}

func playTurns(t *testing.T, history []turn) error {
	o := modeltest.Options{VCPUs: 3, MemoryMiB: 8192}
	w := newAPI(t, o)
	populated(w)
	var ids []string
	for _, v := range history {
		id, err := w.play(v, ids)
		if id != "" {
			ids = append(ids, id)
		}
		if err = errors.Join(err, w.Model().Overbooked(w.Capacity())); err != nil {
			return fmt.Errorf("%+v: %w", v, err)
		}
	}
	before := w.account()
	again := apiOn(t, w.Engine.Restart(o), Settings{})
	if diff := cmp.Diff(before, again.account()); diff != "" {
		return fmt.Errorf("the journal leads to another state:\n%s", diff)
	}
	return errors.Join(w.restart(o).settle(ids), w.settle(ids))
}

// play takes one turn and returns the id of the job that it submitted, if any.
func (w *testAPI) play(v turn, ids []string) (id string, err error) {
	state := map[bool]string{true: "ENABLED", false: "DISABLED"}[v.flag]
	environment := []string{"one", "two"}[v.on%2]
	switch v.what {
	case "submit":
		return w.submitAny(v)
	case "environment":
		in := &awsbatch.UpdateComputeEnvironmentInput{ComputeEnvironment: &environment, State: types.CEState(state)}
		if v.to > 0 {
			in.ComputeResources = &types.ComputeResourceUpdate{MaxvCpus: aws.Int32(int32(v.to))}
		}
		_, err = do(w.updateComputeEnvironment, in)
	case "queue":
		_, err = do(w.updateJobQueue, &awsbatch.UpdateJobQueueInput{JobQueue: aws.String("plain"), State: types.JQState(state), Priority: aws.Int32(int32(v.to))})
	case "resource":
		_, err = do(w.updateConsumableResource, &awsbatch.UpdateConsumableResourceInput{ConsumableResource: aws.String("licence"), Operation: aws.String("ADD"),
			Quantity: aws.Int64(int64(v.to % 2))})
	case "policy":
		_, err = do(w.updateSchedulingPolicy, &awsbatch.UpdateSchedulingPolicyInput{Arn: aws.String(model.ARN(model.KindPolicy, "fair")), FairsharePolicy: &types.FairsharePolicy{
			ShareDistribution: []types.ShareAttributes{{ShareIdentifier: aws.String("a*"), WeightFactor: aws.Float32(float32(v.to) + 0.5)}}}})
	case "wait":
		time.Sleep(time.Duration(v.to) * time.Minute)
	case "tag":
		if len(ids) > 0 {
			_, err = do(w.tagResource, &awsbatch.TagResourceInput{ResourceArn: aws.String(model.ARN(model.KindJob, ids[v.on%len(ids)])), Tags: map[string]string{"a": v.word}})
		}
	case "end":
		if len(ids) > 0 {
			w.terminate(ids[v.on%len(ids)], "enough")
		}
	}
	return "", err
}

// submitAny submits a job of a kind; a disabled queue may reject it.
func (w *testAPI) submitAny(v turn) (string, error) {
	in := modeltest.Request("work", modeltest.To("plain"))
	switch v.to {
	case 0:
		in.JobDefinition = aws.String("task")
	case 1:
		in.JobDefinition = aws.String("multi")
	case 2:
		modeltest.Array(3)(in)
		modeltest.Words(v.word)(in)
	default:
		modeltest.Words(v.word)(in)
	}
	if v.on%3 == 0 {
		in.JobQueue, in.ShareIdentifier, in.SchedulingPriorityOverride = aws.String("shared"), aws.String(fmt.Sprint("a", v.on%2)), aws.Int32(int32(v.on))
	}
	if v.flag && v.to != 1 {
		in.ConsumableResourcePropertiesOverride = modeltest.Asks(int64(1+v.on%2), "licence")
	}
	out, err := do(w.submitJob, in)
	if _, refused := errors.AsType[*wire.Fault](err); refused {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return *out.JobId, nil
}

// account returns everything that the API shows of jobs and resources.
func (w *testAPI) account() string {
	text := w.everything()
	for _, j := range w.Model().BySubmission {
		text += w.text(w.job(j.ID))
	}
	return text
}

// settle makes all resources available again and waits until everything has run.
func (w *testAPI) settle(ids []string) error {
	for _, name := range []string{"one", "two"} {
		must(w.t, w.updateComputeEnvironment, &awsbatch.UpdateComputeEnvironmentInput{ComputeEnvironment: &name, State: types.CEStateEnabled,
			ComputeResources: &types.ComputeResourceUpdate{MaxvCpus: aws.Int32(8)}})
	}
	w.Idle()
	for _, id := range ids {
		if !w.Task(id).State.Ended() {
			return fmt.Errorf("job %s is %s, and the engine idle", id, w.Task(id).State)
		}
	}
	return errors.Join(w.Model().Overbooked(w.Capacity()), w.Model().Unreleased())
}
