package observe

import (
	"context"
	"fmt"
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
	"github.com/batchctl/batchctl/pkg/local"
	"github.com/batchctl/batchctl/pkg/local/attempt"
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

// jobsOfTrial names the number of jobs of TestIntervalsAreCalibrated.
const jobsOfTrial = "BATCHCTL_FORECAST_JOBS"

// TestIntervalsAreCalibrated submits short jobs of random shapes to an engine that they keep busy, in virtual time, and
// forecasts each start at its submission. Four of five jobs that wait start within their interval.
func TestIntervalsAreCalibrated(t *testing.T) {
	n, low, high := 150, 0.65, 0.95
	if testtool.IsLong() {
		n, low, high = 1000, 0.75, 0.88
	}
	if text := os.Getenv(jobsOfTrial); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
		low, high = 0.75, 0.88
	}
	var all []forecast.Prediction
	synctest.Test(t, func(t *testing.T) { all = predict(t, n) })
	within, waited, late := 0, 0, []int64{}
	for _, p := range all {
		if p.Started-p.Made < 1000 {
			continue // it started at once, which every forecast says
		}
		waited++
		late = append(late, p.Started-p.Start.Median)
		if p.Started >= p.Start.Low-1000 && p.Started <= p.Start.High+1000 {
			within++
		}
	}
	slices.Sort(late)
	coverage := float64(within) / float64(max(waited, 1))
	t.Logf("%d jobs, %d waited; %.1f %% of them started in the 80 %% interval; they started %d ms later than the median, in the median", len(all), waited, 100*coverage,
		forecast.Quantile(late, 0.5))
	if waited < n/3 || coverage < low || coverage > high {
		t.Errorf("%d of %d jobs waited, %.1f %% started in their interval; want %.0f to %.0f %%", waited, n, 100*coverage, 100*low, 100*high)
	}
}

// predict submits the jobs and returns the forecasts with their outcomes.
func predict(t *testing.T, n int) (all []forecast.Prediction) {
	r := rand.New(rand.NewPCG(7, 11))
	e, err := local.Open(local.Options{Dir: filepath.Join(t.TempDir(), "state"), Executor: sleeper{}, VCPUs: 16, MemoryMiB: 16 << 10, GPUs: []string{}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := e.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	c := client.New(e.Config(""))
	reader := Reader{Client: c, Config: e.Config(""), Local: true}
	const programs = 8
	for i := range programs {
		_, err := c.API.RegisterJobDefinition(t.Context(), &awsbatch.RegisterJobDefinitionInput{JobDefinitionName: aws.String(fmt.Sprint("program", i)), Type: types.JobDefinitionTypeContainer,
			Timeout:             &types.JobTimeout{AttemptDurationSeconds: aws.Int32(7200)},
			ContainerProperties: &types.ContainerProperties{Image: aws.String("busybox:1"), ResourceRequirements: needs(1, 64)}})
		if err != nil {
			t.Fatal(err)
		}
	}
	known := n / 5 // jobs that only make the record
	for i := range n + known {
		// A load of about the machine: the queue grows and shrinks.
		time.Sleep(time.Duration(r.ExpFloat64() * float64(55*time.Second)))
		program := r.IntN(programs)
		seconds := 60 * math.Exp(0.5*float64(program%4)+0.6*r.NormFloat64())
		out, err := c.API.SubmitJob(t.Context(), &awsbatch.SubmitJobInput{JobName: aws.String("job"), JobQueue: aws.String("default"), JobDefinition: aws.String(fmt.Sprint("program", program)),
			ContainerOverrides: &types.ContainerOverrides{Command: []string{fmt.Sprintf("%dms", int64(seconds*1000))}, ResourceRequirements: needs(1+r.IntN(6), 64<<r.IntN(6))}})
		if err != nil {
			t.Fatal(err)
		}
		if i < known {
			continue
		}
		now := time.Now()
		seen, err := reader.Read(t.Context(), "default", now)
		if err != nil {
			t.Fatal(err)
		}
		p := forecast.Prediction{Queue: "default", Job: *out.JobId, Made: now.UnixMilli(), Start: forecast.Interval{Low: now.UnixMilli(), Median: now.UnixMilli(), High: now.UnixMilli()}}
		if at := slices.IndexFunc(seen.State.Jobs, func(j forecast.Job) bool { return j.ID == p.Job && j.Started == 0 }); at >= 0 {
			a, err := forecast.When(seen.State, []int{at}, uint64(i), 1)
			if err != nil {
				t.Fatal(err)
			}
			p.Start = a.Start
		}
		all = append(all, p)
	}
	time.Sleep(48 * time.Hour) // longer than the queue
	for i := range all {
		d, err := c.Describe(t.Context(), all[i].Job)
		if err != nil {
			t.Fatal(err)
		}
		all[i].Started = aws.ToInt64(d[0].StartedAt)
	}
	return all
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
