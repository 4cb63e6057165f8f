package observe

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/forecast"
	"github.com/batchctl/batchctl/pkg/history"
	"github.com/batchctl/batchctl/pkg/local"
	"github.com/batchctl/batchctl/pkg/local/attempt"
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

// jobsOfTrial and seedsOfTrial name the number of jobs of each trial, and the number of trials of each load.
const (
	jobsOfTrial  = "BATCHCTL_FORECAST_JOBS"
	seedsOfTrial = "BATCHCTL_FORECAST_SEEDS"
)

// load is how busy jobs keep an engine of 16 vCPUs.
type load struct {
	name string
	// gap is the mean time between two submissions. A job uses 620 vCPU seconds on average.
	gap time.Duration
	// isFair is whether the jobs are of three shares, of which one has half the weight factor.
	isFair bool
	// every is how many submissions there are for each forecast.
	every int
}

var loads = []load{
	{"idle", 160 * time.Second, false, 1},
	{"half", 80 * time.Second, false, 2},
	{"busy", 55 * time.Second, false, 4},
	{"saturated", 30 * time.Second, false, 4},
	{"idle, shares", 160 * time.Second, true, 1},
	{"half, shares", 80 * time.Second, true, 2},
	{"busy, shares", 55 * time.Second, true, 4},
	{"saturated, shares", 30 * time.Second, true, 4},
}

// TestIntervalsAreCalibrated submits short jobs of random shapes to an engine, in virtual time, and forecasts the
// starts of those that wait. Four of five start within their interval, whatever the load.
func TestIntervalsAreCalibrated(t *testing.T) {
	n, seeds, fewest, low, high := 150, 1, 20, 0.6, 0.97
	tried := []load{loads[2], loads[6]}
	if testtool.IsLong() {
		tried = loads
	}
	if text := os.Getenv(jobsOfTrial); text != "" {
		var err, bad error
		n, err = strconv.Atoi(text)
		if seeds, bad = strconv.Atoi(os.Getenv(seedsOfTrial)); err != nil || bad != nil {
			t.Fatal(errors.Join(err, bad))
		}
		tried, fewest, low, high = loads, 40, 0.75, 0.88
	}
	for _, l := range tried {
		t.Run(l.name, func(t *testing.T) {
			var all []forecast.Prediction
			for seed := range uint64(seeds) {
				synctest.Test(t, func(t *testing.T) { all = append(all, predict(t, l, seed+1, n)...) })
			}
			r := resultOf(all)
			t.Log(r)
			if len(all) >= fewest && (r.within < low || r.within > high) {
				t.Errorf("%.1f %% of %d jobs started in their interval; want %.0f to %.0f %%", 100*r.within, r.jobs, 100*low, 100*high)
			}
		})
	}
}

// result is how good the forecasts of a load were.
type result struct {
	jobs                   int
	within, earlier, later float64 // parts of the jobs
	// width is the width of the interval, and bias how much later than the median a job started: medians, as parts of
	// the wait.
	width, bias float64
}

func (r result) String() string {
	return fmt.Sprintf("%d jobs waited: %.1f %% in the interval, %.1f %% earlier, %.1f %% later; width %.2f of the wait, bias %+.2f", r.jobs, 100*r.within, 100*r.earlier, 100*r.later, r.width, r.bias)
}

func resultOf(all []forecast.Prediction) result {
	r := result{jobs: len(all)}
	var widths, biases []float64
	part := 1 / float64(max(len(all), 1))
	for _, p := range all {
		switch {
		case p.Started < p.Start.Low-1000: // a second is no error
			r.earlier += part
		case p.Started > p.Start.High+1000:
			r.later += part
		default:
			r.within += part
		}
		wait := float64(p.Started - p.Made)
		widths, biases = append(widths, float64(p.Start.High-p.Start.Low)/wait), append(biases, float64(p.Started-p.Start.Median)/wait)
	}
	slices.Sort(widths)
	slices.Sort(biases)
	if len(all) > 0 {
		r.width, r.bias = widths[len(all)/2], biases[len(all)/2]
	}
	return r
}

// predict returns the forecasts for the jobs of a load that wait, with their outcomes.
func predict(t *testing.T, l load, seed uint64, n int) (all []forecast.Prediction) {
	e, err := local.Open(local.Options{Dir: filepath.Join(t.TempDir(), "state"), Executor: sleeper{}, VCPUs: 16, MemoryMiB: 16 << 10, GPUs: []string{}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := e.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	c := client.New(e.Config())
	queue := l.create(t, c)
	reader := Reader{Client: c, Config: e.Config(), Local: true}
	r := rand.New(rand.NewPCG(seed, 11))
	open := map[string]int{}      // forecasts without an outcome
	known := max(n/5, 40)         // the first jobs only make the record
	for i := range 10*n + known { // and the last ones only come later
		if i%100 == 0 {
			learn(t, c, all, open)
		}
		if i >= n+known && len(open) == 0 {
			break
		}
		time.Sleep(time.Duration(r.ExpFloat64() * float64(l.gap)))
		id := l.submit(t, c, queue, r)
		if i < known || i >= n+known || i%l.every != 0 {
			continue
		}
		synctest.Wait() // until the scheduler has run
		now := time.Now()
		if d, err := c.Describe(t.Context(), id); err != nil || d[0].Status != types.JobStatusRunnable {
			if err != nil {
				t.Fatal(err)
			}
			continue // it started at once, which every forecast says
		}
		seen, err := reader.Read(t.Context(), queue, now)
		if err != nil {
			t.Fatal(err)
		}
		at := slices.IndexFunc(seen.State.Jobs, func(j forecast.Job) bool { return j.ID == id && j.Started == 0 })
		a, err := forecast.When(seen.State, []int{at}, uint64(i), 1)
		if err != nil {
			t.Fatal(err)
		}
		open[id] = len(all)
		all = append(all, forecast.Prediction{Queue: queue, Job: id, Made: now.UnixMilli(), Start: a.Start})
	}
	time.Sleep(20 * 24 * time.Hour) // longer than the queue
	if learn(t, c, all, open); len(open) > 0 {
		t.Fatalf("%d jobs did not start", len(open))
	}
	return all
}

// learn adds the outcomes of jobs that have started.
func learn(t *testing.T, c *client.Client, all []forecast.Prediction, open map[string]int) {
	found, err := c.ByID(t.Context(), slices.Collect(maps.Keys(open)))
	if err != nil {
		t.Fatal(err)
	}
	for id, d := range found {
		if d.StartedAt != nil {
			all[open[id]].Started = *d.StartedAt
			delete(open, id)
		}
	}
}

const programs = 8

// create creates job definitions and returns the name of the queue.
func (l load) create(t *testing.T, c *client.Client) string {
	for i := range programs {
		_, err := c.API.RegisterJobDefinition(t.Context(), &awsbatch.RegisterJobDefinitionInput{JobDefinitionName: aws.String(fmt.Sprint("program", i)), Type: types.JobDefinitionTypeContainer,
			Timeout:             &types.JobTimeout{AttemptDurationSeconds: aws.Int32(7200)},
			ContainerProperties: &types.ContainerProperties{Image: aws.String("busybox:1"), ResourceRequirements: needs(1, 64)}})
		if err != nil {
			t.Fatal(err)
		}
	}
	if !l.isFair {
		return "default"
	}
	p, err := c.API.CreateSchedulingPolicy(t.Context(), &awsbatch.CreateSchedulingPolicyInput{Name: aws.String("fair"), FairsharePolicy: &types.FairsharePolicy{
		ShareDecaySeconds: aws.Int32(3600), ShareDistribution: []types.ShareAttributes{{ShareIdentifier: aws.String("s0"), WeightFactor: aws.Float32(0.5)}}}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.API.CreateJobQueue(t.Context(), &awsbatch.CreateJobQueueInput{JobQueueName: aws.String("fair"), Priority: aws.Int32(1), SchedulingPolicyArn: p.Arn,
		ComputeEnvironmentOrder: []types.ComputeEnvironmentOrder{{Order: aws.Int32(1), ComputeEnvironment: aws.String(model.ComputeEnvironment)}}})
	if err != nil {
		t.Fatal(err)
	}
	return "fair"
}

// submit submits a job of a random shape.
func (l load) submit(t *testing.T, c *client.Client, queue string, r *rand.Rand) string {
	program := r.IntN(programs)
	seconds := 60 * math.Exp(0.5*float64(program%4)+0.6*r.NormFloat64())
	in := &awsbatch.SubmitJobInput{JobName: aws.String("job"), JobQueue: &queue, JobDefinition: aws.String(fmt.Sprint("program", program)),
		ContainerOverrides: &types.ContainerOverrides{Command: []string{fmt.Sprintf("%dms", int64(seconds*1000))}, ResourceRequirements: needs(1+r.IntN(6), 64<<r.IntN(6))}}
	if l.isFair {
		in.ShareIdentifier, in.SchedulingPriorityOverride = aws.String(fmt.Sprint("s", r.IntN(3))), aws.Int32(1)
	}
	out, err := c.API.SubmitJob(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return *out.JobId
}

func needs(vcpus, memory int) []types.ResourceRequirement {
	return []types.ResourceRequirement{{Type: types.ResourceTypeVcpu, Value: aws.String(fmt.Sprint(vcpus))}, {Type: types.ResourceTypeMemory, Value: aws.String(fmt.Sprint(memory))}}
}

func TestStore(t *testing.T) {
	s := Store{Dir: filepath.Join(t.TempDir(), "ledger")}
	if all, err := s.All(); err != nil || len(all) != 0 {
		t.Fatalf("without a file: %v, %v", all, err)
	}
	one := forecast.Prediction{Target: "local", Queue: "q", Job: "1", Made: 5}
	if err := s.Add(one, forecast.Prediction{Target: "local", Queue: "q", Job: "2", Made: 6}); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(s.path(), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteString("{\"target\": torn\n")
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Learn("local", map[string]int64{"1": 9, "3": 9}); err != nil {
		t.Fatal(err)
	}
	all, err := s.All()
	if err != nil || len(all) != 2 || all[0].Started != 9 || all[1].Started != 0 {
		t.Fatalf("%+v, %v", all, err)
	}
	if _, err := s.Learn("another", map[string]int64{"2": 9}); err != nil {
		t.Fatal(err)
	}
	if all, err = s.All(); err != nil || all[1].Started != 0 {
		t.Fatalf("an outcome of another target was taken: %+v, %v", all, err)
	}
}

// TestReplay checks that the recorded attempts and the listed jobs make one trace, in which each run is there once.
func TestReplay(t *testing.T) {
	o := Observation{State: &forecast.State{Queues: []forecast.Queue{{Name: "q", Environments: []string{"e"}}}, Environments: []forecast.Environment{{Name: "e", Type: types.CRTypeFargate}},
		Past: []forecast.Job{{ID: "both", Submitted: 100, Started: 150, Exact: 50}, {ID: "listed", Submitted: 300, Started: 300, Exact: 10}}}}
	row := func(job string, number int, created, started, stopped int64) history.Attempt {
		return history.Attempt{Job: job, Number: number, Queue: "q", Share: "s", Requested: history.Resources{VCPUs: 2, MemoryMiB: 64}, CreatedAt: created, StartedAt: started, StoppedAt: stopped}
	}
	elsewhere, unknown := row("elsewhere", 1, 1, 2, 3), row("unknown", 1, 1, 2, 3)
	elsewhere.Queue, unknown.Requested = "r", history.Resources{}
	trace := o.Replay([]history.Attempt{row("both", 2, 100, 220, 250), row("both", 1, 100, 150, 200), elsewhere, unknown, row("never", 1, 5, 0, 0)})
	var got []string
	for i, j := range trace.Jobs {
		got = append(got, fmt.Sprint(j.ID, " at ", j.Submitted, " for ", j.Exact, " after ", trace.Waits[i]))
	}
	if want := []string{"both at 0 for 50 after 50", "both at 100 for 30 after 20", "listed at 200 for 10 after 0"}; !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if want := map[string]int{"of another queue": 1, "without a run time": 1, "without recorded requests": 1}; !maps.Equal(trace.Skipped, want) {
		t.Errorf("skipped %v, want %v", trace.Skipped, want)
	}
	if j := trace.Jobs[0]; j.Need != (model.Amount{MilliCPU: 2000, MemoryMiB: 64}) || j.Share != "s" || j.Platform != types.PlatformCapabilityFargate {
		t.Errorf("%+v", j)
	}
}

// TestOffers checks that the offered families are cheap, new to the queue, of its architecture, and large enough.
func TestOffers(t *testing.T) {
	r := Reader{Config: aws.Config{Region: "us-east-1"}}
	s := &forecast.State{Jobs: []forecast.Job{{Need: model.Amount{MilliCPU: 4000, MemoryMiB: 4000, GPUs: 1}}},
		Environments: []forecast.Environment{{Name: "e", Types: Types(nil, nil, "us-east-1", false, []string{"g5"})}}}
	offers := r.Offers(s)
	if len(offers) == 0 || slices.Contains(offers, "g5") {
		t.Fatalf("offers %v", offers)
	}
	for _, family := range offers {
		list := Types(nil, nil, "us-east-1", false, []string{family})
		if !slices.ContainsFunc(list, func(v forecast.InstanceType) bool { return v.Size.Covers(s.Jobs[0].Need) && v.Hour > 0 }) {
			t.Errorf("%s does not fit the job", family)
		}
	}
	s.Jobs[0].Need.GPUs = 100
	if offers := r.Offers(s); len(offers) > 0 {
		t.Errorf("offers %v for 100 GPUs", offers)
	}
}
