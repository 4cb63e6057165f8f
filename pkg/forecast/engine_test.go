package forecast

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
	"pgregory.net/rapid"

	"github.com/batchctl/batchctl/pkg/local"
	"github.com/batchctl/batchctl/pkg/local/attempt"
	"github.com/batchctl/batchctl/pkg/local/journal"
	"github.com/batchctl/batchctl/pkg/local/model"
	"github.com/batchctl/batchctl/pkg/testtool"
)

func TestMain(m *testing.M) { testtool.Main(m) }

// sleeper is an executor whose commands last as long as their word says, in virtual time.
type sleeper struct{}

func (sleeper) Run(ctx context.Context, a attempt.Attempt, _ *os.File) (int, error) {
	a.Started("sleeper " + a.Job)
	d, err := time.ParseDuration(a.Command[0])
	if err != nil {
		return 1, err
	}
	select {
	case <-time.After(d):
	case <-ctx.Done():
		return 143, nil
	}
	return 0, nil
}

func (sleeper) Clear(string, string) error { return nil }

func (sleeper) Unhonoured(*types.ContainerProperties) []attempt.Member { return nil }

// aHistory draws a machine with a FIFO queue and a fair-share queue, and jobs for them. All submissions and ends are
// at different times, because the engine has no order for ends of one moment.
func aHistory(t *rapid.T) *State {
	machine := model.Amount{MilliCPU: 1000 * rapid.Int64Range(1, 8).Draw(t, "vCPUs"), MemoryMiB: 64 * rapid.Int64Range(1, 16).Draw(t, "64 MiB")}
	s := &State{Machine: &machine, Environments: []Environment{
		{Name: model.ComputeEnvironment},
		{Name: "small", Type: types.CRTypeEc2, MaxvCpus: rapid.Int64Range(1, 8).Draw(t, "maxvCpus")},
	}}
	policy := &types.FairsharePolicy{ShareDecaySeconds: aws.Int32(rapid.Int32Range(1, 600).Draw(t, "decay")),
		ComputeReservation: aws.Int32(rapid.SampledFrom([]int32{0, 0, 25, 50}).Draw(t, "reservation"))}
	for _, id := range []string{"a", "b*"} {
		weight := rapid.SampledFrom([]float32{0.25, 0.5, 1, 3}).Draw(t, "weight")
		policy.ShareDistribution = append(policy.ShareDistribution, types.ShareAttributes{ShareIdentifier: aws.String(id), WeightFactor: aws.Float32(weight)})
	}
	order := [][]string{{model.ComputeEnvironment}, {"small"}, {"small", model.ComputeEnvironment}}
	s.Queues = []Queue{
		{Name: "fifo", Priority: rapid.Int32Range(1, 2).Draw(t, "priority"), Environments: rapid.SampledFrom(order).Draw(t, "environments")},
		{Name: "fair", Priority: 1, Environments: rapid.SampledFrom(order).Draw(t, "environments"), Policy: policy},
	}
	at := int64(1)
	for i := range rapid.IntRange(2, 30).Draw(t, "jobs") {
		at += rapid.SampledFrom([]int64{1, 1, 7, 60_000}).Draw(t, "later")
		j := Job{ID: fmt.Sprint(i), Queue: rapid.IntRange(0, 1).Draw(t, "queue"), Submitted: at,
			Need:  model.Amount{MilliCPU: 1000 * rapid.Int64Range(1, 8).Draw(t, "vCPUs"), MemoryMiB: 64 * rapid.Int64Range(1, 8).Draw(t, "64 MiB")},
			Exact: rapid.Int64Range(1, 300_000).Draw(t, "duration")}
		if j.Queue == 1 {
			j.Share, j.Priority = rapid.SampledFrom([]string{"a", "b1", "b2", "c"}).Draw(t, "share"), rapid.Int32Range(0, 2).Draw(t, "priority")
		}
		s.Jobs = append(s.Jobs, j)
	}
	return s
}

// TestOrderOfStartsIsTheEngines plays random histories in the simulator and in an engine. The jobs start in
// the same order, at the same times and in the same environments.
func TestOrderOfStartsIsTheEngines(t *testing.T) {
	testtool.ShortChecks(t, 40)
	rapid.Check(t, func(r *rapid.T) {
		state := aHistory(r)
		simulated, moments := starts(r, state)
		if len(slices.Compact(slices.Sorted(slices.Values(moments)))) < len(moments) {
			r.Skip("two events at the same time")
		}
		var played []string
		var problem error
		synctest.Test(t, func(t *testing.T) { played, problem = play(t, state) })
		if problem != nil {
			r.Fatal(problem)
		}
		if !slices.Equal(simulated, played) {
			r.Fatalf("the simulator starts %v\nthe engine starts %v", simulated, played)
		}
	})
}

// starts returns the starts in the simulator, and the times of submissions and ends.
func starts(t *rapid.T, state *State) (all []string, moments []int64) {
	s, err := New(state)
	if err != nil {
		t.Fatal(err)
	}
	s.Run(1, Options{}, func(e Event) bool {
		switch e.Kind {
		case Started:
			all = append(all, fmt.Sprintf("%s at %d in %s", state.Jobs[e.Job].ID, e.At, state.Environments[e.Environment].Name))
		case Submitted, Ended:
			moments = append(moments, e.At)
		}
		return true
	})
	return all, moments
}

// play submits the jobs of a state to an engine at their times, and returns the starts from its journal.
func play(t *testing.T, state *State) ([]string, error) {
	dir := filepath.Join(t.TempDir(), "state")
	e, err := local.Open(local.Options{Dir: dir, Executor: sleeper{}, VCPUs: float64(state.Machine.MilliCPU) / 1000, MemoryMiB: int(state.Machine.MemoryMiB), GPUs: []string{}})
	if err != nil {
		return nil, err
	}
	begin := time.Now()
	c := awsbatch.NewFromConfig(e.Config())
	names, err := submitAll(t, c, state, begin)
	if err == nil {
		time.Sleep(24 * time.Hour) // longer than all jobs together
	}
	if closed := e.Close(t.Context()); err == nil {
		err = closed
	}
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	var all []string
	err = journal.Read(root, "journal", func(record []byte) error {
		r, err := model.ReadRecord(record)
		for _, v := range r.Events {
			if v.Started != nil {
				all = append(all, fmt.Sprintf("%s at %d in %s", names[v.Started.Job], r.At-begin.UnixMilli(), v.Started.Environment))
			}
		}
		return err
	})
	return all, err
}

// submitAll creates what a state needs and submits its jobs. It returns the names of the jobs by their ids.
func submitAll(t *testing.T, c *awsbatch.Client, state *State, begin time.Time) (map[string]string, error) {
	small := state.Environments[1]
	_, err := c.CreateComputeEnvironment(t.Context(), &awsbatch.CreateComputeEnvironmentInput{ComputeEnvironmentName: &small.Name, Type: types.CETypeManaged,
		ComputeResources: &types.ComputeResource{Type: small.Type, MaxvCpus: aws.Int32(int32(small.MaxvCpus)), MinvCpus: aws.Int32(0),
			Subnets: []string{"subnet-1"}, InstanceRole: aws.String("ecsInstanceRole"), InstanceTypes: []string{"optimal"}}})
	if err != nil {
		return nil, err
	}
	for _, q := range state.Queues {
		in := &awsbatch.CreateJobQueueInput{JobQueueName: &q.Name, Priority: &q.Priority, State: types.JQStateEnabled}
		for i, name := range q.Environments {
			in.ComputeEnvironmentOrder = append(in.ComputeEnvironmentOrder, types.ComputeEnvironmentOrder{Order: aws.Int32(int32(i + 1)), ComputeEnvironment: aws.String(name)})
		}
		if q.Policy != nil {
			out, err := c.CreateSchedulingPolicy(t.Context(), &awsbatch.CreateSchedulingPolicyInput{Name: &q.Name, FairsharePolicy: q.Policy})
			if err != nil {
				return nil, err
			}
			in.SchedulingPolicyArn = out.Arn
		}
		if _, err := c.CreateJobQueue(t.Context(), in); err != nil {
			return nil, err
		}
	}
	_, err = c.RegisterJobDefinition(t.Context(), &awsbatch.RegisterJobDefinitionInput{JobDefinitionName: aws.String("work"), Type: types.JobDefinitionTypeContainer,
		ContainerProperties: &types.ContainerProperties{Image: aws.String("busybox:1"), ResourceRequirements: requirements(model.Amount{MilliCPU: 1000, MemoryMiB: 64})}})
	if err != nil {
		return nil, err
	}
	names := map[string]string{}
	for _, j := range state.Jobs {
		time.Sleep(time.Until(begin.Add(time.Duration(j.Submitted) * time.Millisecond)))
		in := &awsbatch.SubmitJobInput{JobName: aws.String("job"), JobQueue: &state.Queues[j.Queue].Name, JobDefinition: aws.String("work"),
			ContainerOverrides: &types.ContainerOverrides{Command: []string{fmt.Sprintf("%dms", j.Exact)}, ResourceRequirements: requirements(j.Need)}}
		if j.Share != "" {
			in.ShareIdentifier, in.SchedulingPriorityOverride = &j.Share, &j.Priority
		}
		out, err := c.SubmitJob(t.Context(), in)
		if err != nil {
			return nil, err
		}
		names[*out.JobId] = j.ID
	}
	return names, nil
}

func requirements(need model.Amount) []types.ResourceRequirement {
	return []types.ResourceRequirement{{Type: types.ResourceTypeVcpu, Value: aws.String(fmt.Sprint(need.MilliCPU / 1000))},
		{Type: types.ResourceTypeMemory, Value: aws.String(fmt.Sprint(need.MemoryMiB))}}
}
