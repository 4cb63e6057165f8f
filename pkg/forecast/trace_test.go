package forecast

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/local"
	"github.com/batchctl/batchctl/pkg/local/model"
	"github.com/batchctl/batchctl/pkg/testtool"
)

// traceJobs generates jobs like those of Alibaba's cluster-trace-gpu-v2023. The repository alibaba/clusterdata names no
// licence, so no excerpt is here. The GPUs of a job are distributed as num_gpu in its openb_pod_list_default.csv,
// counted in the file: 1088, 6989, 16, 15 and 44 of 8152 tasks. A part of a GPU is a whole one here. Durations have
// a heavy tail; their distribution is an assumption.
func traceJobs(n int, machine model.Amount) (jobs []Job) {
	r := rand.New(rand.NewPCG(3, 5))
	gpus := []struct {
		part  float64
		count int64
	}{{1088.0 / 8152, 0}, {6989.0 / 8152, 1}, {16.0 / 8152, 2}, {15.0 / 8152, 4}, {44.0 / 8152, 8}}
	at := int64(0)
	for i := range n {
		j := Job{ID: fmt.Sprintf("openb-pod-%04d", i), Exact: int64(1000*math.Exp(5+1.5*r.NormFloat64())) + 1}
		for part, k := r.Float64(), 0; k < len(gpus); k++ {
			if part -= gpus[k].part; part < 0 {
				j.Need.GPUs = gpus[k].count
				break
			}
		}
		j.Need.MilliCPU = 1000 * (1 + int64(r.IntN(12)))
		j.Need.MemoryMiB = j.Need.MilliCPU / 1000 * (1 + int64(r.IntN(4))) * 1024
		// A mean of 450 s on a GPU: the jobs want more GPUs than the machine has.
		at += 1 + int64(r.ExpFloat64()*360_000/float64(machine.GPUs))
		j.Submitted = at
		jobs = append(jobs, j)
	}
	return jobs
}

// TestReplayOfATraceWaitsAsLong plays generated jobs in an engine, in virtual time, writes what happened in the form of
// Alibaba's trace, and replays that file: the waits agree within 10 % in the median and at the 95th percentile.
func TestReplayOfATraceWaitsAsLong(t *testing.T) {
	n := testtool.Count(3000, 300)
	machine := model.Amount{MilliCPU: 192_000, MemoryMiB: 768 << 10, GPUs: 16}
	var text []byte
	synctest.Test(t, func(t *testing.T) { text = traceOf(t, traceJobs(n, machine), machine) })
	trace, err := ReadCSV(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if len(trace.Jobs) != n || len(trace.Skipped) > 0 {
		t.Fatalf("%d of %d jobs, %v skipped", len(trace.Jobs), n, trace.Skipped)
	}
	state := trace.Replay(&State{Machine: &machine, Environments: []Environment{{Name: "local"}}, Queues: []Queue{{Name: "q", Priority: 1, Environments: []string{"local"}}}}, func(Job) int { return 0 })
	sim, err := New(state)
	if err != nil {
		t.Fatal(err)
	}
	waits := make([]int64, 0, n)
	sim.Run(1, Options{}, func(e Event) bool {
		if e.Kind == Started {
			waits = append(waits, e.At-state.Jobs[e.Job].Submitted)
		}
		return true
	})
	slices.Sort(waits)
	slices.Sort(trace.Waits)
	for _, q := range []float64{0.5, 0.95} {
		got, want := Quantile(waits, q), Quantile(trace.Waits, q)
		t.Logf("quantile %g: %d ms waited, %d ms replayed", q, want, got)
		if want < 1000 || math.Abs(float64(got-want)) > 0.1*float64(want) {
			t.Errorf("quantile %g of the waits is %d ms, in the trace %d ms", q, got, want)
		}
	}
}

// traceOf runs jobs in an engine and returns what happened as CSV.
func traceOf(t *testing.T, jobs []Job, machine model.Amount) []byte {
	var devices []string
	for i := range machine.GPUs {
		devices = append(devices, fmt.Sprint(i))
	}
	e, err := local.Open(local.Options{Dir: filepath.Join(t.TempDir(), "state"), Executor: sleeper{}, VCPUs: float64(machine.MilliCPU) / 1000, MemoryMiB: int(machine.MemoryMiB), GPUs: devices})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := e.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	c := awsbatch.NewFromConfig(e.Config())
	if _, err := c.RegisterJobDefinition(t.Context(), &awsbatch.RegisterJobDefinitionInput{JobDefinitionName: aws.String("work"), Type: types.JobDefinitionTypeContainer,
		ContainerProperties: &types.ContainerProperties{Image: aws.String("busybox:1"), ResourceRequirements: requirements(model.Amount{MilliCPU: 1000, MemoryMiB: 64})}}); err != nil {
		t.Fatal(err)
	}
	begin, ids := time.Now(), []string{}
	for _, j := range jobs {
		time.Sleep(time.Until(begin.Add(time.Duration(j.Submitted) * time.Millisecond)))
		need := requirements(j.Need)
		if j.Need.GPUs > 0 {
			need = append(need, types.ResourceRequirement{Type: types.ResourceTypeGpu, Value: aws.String(fmt.Sprint(j.Need.GPUs))})
		}
		out, err := c.SubmitJob(t.Context(), &awsbatch.SubmitJobInput{JobName: &j.ID, JobQueue: aws.String("default"), JobDefinition: aws.String("work"),
			ContainerOverrides: &types.ContainerOverrides{Command: []string{fmt.Sprintf("%dms", j.Exact)}, ResourceRequirements: need}})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, *out.JobId)
	}
	time.Sleep(30 * 24 * time.Hour) // longer than the queue
	var text bytes.Buffer
	w := csv.NewWriter(&text)
	rows := [][]string{strings.Split("name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time", ",")}
	seconds := func(ms *int64) string { return fmt.Sprintf("%.3f", float64(*ms-begin.UnixMilli())/1000) }
	for i, j := range jobs {
		out, err := c.DescribeJobs(t.Context(), &awsbatch.DescribeJobsInput{Jobs: ids[i : i+1]})
		if err != nil {
			t.Fatal(err)
		}
		d := out.Jobs[0]
		rows = append(rows, []string{j.ID, fmt.Sprint(j.Need.MilliCPU), fmt.Sprint(j.Need.MemoryMiB), fmt.Sprint(j.Need.GPUs), "1000", "", "LS", "Succeeded",
			seconds(d.CreatedAt), seconds(d.StoppedAt), seconds(d.StartedAt)})
	}
	if err := w.WriteAll(rows); err != nil {
		t.Fatal(err)
	}
	return text.Bytes()
}

func TestReadTraces(t *testing.T) {
	swf, err := ReadSWF(strings.NewReader("; MaxProcs: 4\n\n2 100 30 60 2 -1 1024 -1 90 -1 1 7 1 1 1 -1 -1 -1\n1 40 -1 5 4 -1 -1 8 90 2048 1 8 1 1 1 -1 -1 -1\n3 200 1 -1 2 -1 -1 -1 -1 -1 0 7 1 1 1 -1 -1 -1\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := []Job{
		{ID: "1", Name: "1", Share: "user8", Exact: 5000, Need: model.Amount{MilliCPU: 4000, MemoryMiB: 8}},
		{ID: "2", Name: "2", Share: "user7", Submitted: 60_000, Exact: 60_000, Need: model.Amount{MilliCPU: 2000, MemoryMiB: 2}},
	}
	if !slices.Equal(swf.Jobs, want) || !slices.Equal(swf.Waits, []int64{-1, 30_000}) || swf.Skipped["without a run time"] != 1 {
		t.Errorf("%+v", swf)
	}
	for text, want := range map[string]string{
		"1 2 3\n": "line 1: 3 fields, want 18",
		"1 x 0 1 1 -1 -1 -1 -1 -1 1 1 1 1 1 -1 -1 -1\n":      `line 1: field 2: "x" is not a number`,
		"1 0 0 1 NaN -1 -1 -1 -1 -1 1 1 1 1 1 -1 -1 -1\n":    `line 1: field 5: NaN is out of range: want at most 1e+12`,
		"1 0 0 1e300 1 -1 -1 -1 -1 -1 1 1 1 1 1 -1 -1 -1\n":  `line 1: field 4: 1e300 is out of range: want at most 1e+12`,
		"1 0 0 1 -9e999 -1 -1 -1 -1 -1 1 1 1 1 1 -1 -1 -1\n": `line 1: field 5: -9e999 is out of range: want at most 1e+12`,
		"; x\n" + strings.Repeat("1 ", longestLine):          `line 2 is longer than 1 MiB`,
	} {
		if _, err := ReadSWF(strings.NewReader(text)); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	for text, want := range map[string]string{
		"":       "read the header: EOF",
		"name\n": "no column cpu_milli: want " + strings.Join(csvColumns, ","),
		strings.Join(csvColumns, ",") + "\na,many,1,0,1,2,3\n": `line 2: cpu_milli: "many" is not a number`,
		strings.Join(csvColumns, ",") + "\na,1,1,0,1,Inf,3\n":  `line 2: deletion_time: Inf is out of range: want at most 1e+12`,
	} {
		if _, err := ReadCSV(strings.NewReader(text)); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// TestSizings finds that a cheaper instance type on Spot is the cheapest that keeps the limit.
func TestSizings(t *testing.T) {
	s := aFleet(func(e *Environment) { e.MaxvCpus = 64 })
	for i := range int64(40) {
		s.Jobs = append(s.Jobs, Job{Submitted: i * 5 * minute, Need: model.Amount{MilliCPU: 4000, MemoryMiB: 4000}, Exact: 9 * minute})
	}
	expand := func(entry string, spot bool) ([]InstanceType, error) {
		types := append(slices.Clone(s.Environments[0].Types), InstanceType{Name: "cheap", Size: model.Amount{MilliCPU: 4000, MemoryMiB: 8000}, Hour: 0.1})
		one := types[slices.IndexFunc(types, func(t InstanceType) bool { return t.Name == entry })]
		if spot {
			one.Hour /= 3
		}
		return []InstanceType{one}, nil
	}
	all, err := Sizings(s, 10*minute, []string{"cheap"}, expand, 1)
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 12 || len(all) > 100 {
		t.Errorf("%d sets, want five sizes on demand and on Spot, and a search", len(all))
	}
	best := all[0]
	if e := best.State().Environments[0]; !best.Keeps || !e.IsSpot() || !slices.Contains(e.Entries, "cheap") || e.ReclaimsPerHour != spotReclaims {
		t.Errorf("the cheapest is %s, keeps the limit: %v", best.Name, best.Keeps)
	}
	keys := map[string]bool{}
	for _, v := range all {
		if keys[v.key()] {
			t.Errorf("%s was tried twice", v.Name)
		}
		keys[v.key()] = true
	}
	for i, v := range all[1:] {
		if v.Keeps && !all[i].Keeps || v.Keeps && v.Outlook.CostUSD.Median < all[i].Outlook.CostUSD.Median {
			t.Errorf("%s is after %s", v.Name, all[i].Name)
		}
	}
	if none, err := Sizings(s, 0, nil, expand, 1); err != nil || none[0].Keeps {
		t.Errorf("no set has no waits at all: %v, %v", none[0].Keeps, err)
	}
}
