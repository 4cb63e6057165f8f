package local

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/batchctl/batchctl/pkg/local/model"
	"github.com/batchctl/batchctl/pkg/testtool"
)

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
	testtool.ShortChecks(t, 25)
	rapid.Check(t, func(r *rapid.T) {
		history := turns.Draw(r, "history")
		var problem error
		synctest.Test(t, func(t *testing.T) { problem = playTurns(t, history) })
		if problem != nil {
			r.Fatal(problem)
		}
	})
}

// accountOf creates the account in which the histories play.
func accountOf(w *testEngine) {
	w.register("work", "1", "64")
	w.registerTask("task", aPart("main", "1m", true), aPart("side", "0s", false))
	if _, err := w.RegisterJobDefinition(w.t.Context(), multiNode(2, 0, aRange("0:", "1m"))); err != nil {
		w.t.Fatal(err)
	}
	w.environment("one", types.CRTypeEc2, 2)
	w.environment("two", types.CRTypeSpot, 1)
	w.Queue("plain", []string{"one", "two"})
	w.fairQueue(types.FairsharePolicy{ShareDecaySeconds: aws.Int32(60), ComputeReservation: aws.Int32(10)})
	_, err := w.CreateConsumableResource(w.t.Context(), &awsbatch.CreateConsumableResourceInput{ConsumableResourceName: aws.String("licence"), TotalQuantity: aws.Int64(2)})
	if err != nil {
		w.t.Fatal(err)
	}
}

func playTurns(t *testing.T, history []turn) error {
	o := Options{VCPUs: 3, MemoryMiB: 8192}
	w := open(t, o)
	accountOf(w)
	var ids []string
	for _, v := range history {
		id, err := w.play(v, ids)
		if id != "" {
			ids = append(ids, id)
		}
		if err = errors.Join(err, w.overbooked()); err != nil {
			return fmt.Errorf("%+v: %w", v, err)
		}
	}
	synctest.Wait()
	before := w.account()
	again := w.crash(Options{VCPUs: 3, MemoryMiB: 8192, ReadOnly: true})
	again.engine.absentSince = 0 // compare the journal's state, as if its engine still ran
	if diff := cmp.Diff(before, again.account()); diff != "" {
		return fmt.Errorf("the journal leads to another state:\n%s", diff)
	}
	return errors.Join(w.crash(o).settle(ids), w.settle(ids))
}

// play takes one turn and returns the id of the job that it submitted, if any.
func (w *testEngine) play(v turn, ids []string) (id string, err error) {
	ctx := w.t.Context()
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
		_, err = w.UpdateComputeEnvironment(ctx, in)
	case "queue":
		_, err = w.UpdateJobQueue(ctx, &awsbatch.UpdateJobQueueInput{JobQueue: aws.String("plain"), State: types.JQState(state), Priority: aws.Int32(int32(v.to))})
	case "resource":
		_, err = w.UpdateConsumableResource(ctx, &awsbatch.UpdateConsumableResourceInput{ConsumableResource: aws.String("licence"), Operation: aws.String("ADD"),
			Quantity: aws.Int64(int64(v.to % 2))})
	case "policy":
		_, err = w.UpdateSchedulingPolicy(ctx, &awsbatch.UpdateSchedulingPolicyInput{Arn: aws.String(model.ARN(model.KindPolicy, "fair")), FairsharePolicy: &types.FairsharePolicy{
			ShareDistribution: []types.ShareAttributes{{ShareIdentifier: aws.String("a*"), WeightFactor: aws.Float32(float32(v.to) + 0.5)}}}})
	case "wait":
		synctest.Wait()
	case "tag":
		if len(ids) > 0 {
			_, err = w.TagResource(ctx, &awsbatch.TagResourceInput{ResourceArn: aws.String(model.ARN(model.KindJob, ids[v.on%len(ids)])), Tags: map[string]string{"a": v.word}})
		}
	case "end":
		if len(ids) > 0 {
			w.terminate(ids[v.on%len(ids)], "enough")
		}
	}
	return "", err
}

// submitAny submits a job of a kind; a disabled queue may reject it.
func (w *testEngine) submitAny(v turn) (string, error) {
	in := &awsbatch.SubmitJobInput{JobName: aws.String("job"), JobQueue: aws.String("plain"), JobDefinition: aws.String("work")}
	switch v.to {
	case 0:
		in.JobDefinition = aws.String("task")
	case 1:
		in.JobDefinition = aws.String("multi")
	case 2:
		array(3)(in)
		words(v.word)(in)
	default:
		words(v.word)(in)
	}
	if v.on%3 == 0 {
		in.JobQueue, in.ShareIdentifier, in.SchedulingPriorityOverride = aws.String("shared"), aws.String(fmt.Sprint("a", v.on%2)), aws.Int32(int32(v.on))
	}
	if v.flag && v.to != 1 {
		in.ConsumableResourcePropertiesOverride = asks("licence", int64(1+v.on%2))
	}
	out, err := w.SubmitJob(w.t.Context(), in)
	if _, refused := errors.AsType[*types.ClientException](err); refused {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return *out.JobId, nil
}

// account returns everything that the engine's API shows of jobs and resources.
func (w *testEngine) account() string {
	text := w.everything()
	for _, j := range w.engine.model.BySubmission {
		more, err := shapeText(w.job(j.ID))
		if err != nil {
			w.t.Fatal(err)
		}
		text += more + "\n"
	}
	return text
}

// settle makes all resources available again and waits until everything has run.
func (w *testEngine) settle(ids []string) error {
	for _, name := range []string{"one", "two"} {
		w.updateEnvironment(&awsbatch.UpdateComputeEnvironmentInput{ComputeEnvironment: &name, State: types.CEStateEnabled,
			ComputeResources: &types.ComputeResourceUpdate{MaxvCpus: aws.Int32(8)}})
	}
	if err := w.finish(ids); err != nil {
		return err
	}
	if err := w.overbooked(); err != nil {
		return err
	}
	return w.engine.model.Unreleased()
}

// overbooked returns an error if more of a resource is in use than exists.
func (w *testEngine) overbooked() error {
	w.engine.mu.Lock()
	defer w.engine.mu.Unlock()
	return w.engine.model.Overbooked(w.engine.options.capacity())
}
