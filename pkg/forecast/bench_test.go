package forecast

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/local/model"
)

// month is a month of n jobs for a fleet of 500 machines that it keeps nine tenths busy: four shares, sizes and
// durations over three orders of magnitude, and more jobs by day than by night.
func month(n int) *State {
	r := rand.New(rand.NewPCG(1, 2))
	s := &State{Scaling: DefaultScaling(), Queues: []Queue{{Name: "q", Priority: 1, Environments: []string{"e"}, Policy: &types.FairsharePolicy{
		ShareDecaySeconds: aws.Int32(3600), ShareDistribution: []types.ShareAttributes{{ShareIdentifier: aws.String("a"), WeightFactor: aws.Float32(0.5)}}}}}}
	var list []InstanceType
	for _, v := range []int64{16, 32, 64} {
		list = append(list, InstanceType{Name: "m", Size: model.Amount{MilliCPU: v * 1000, MemoryMiB: v * 4000}, Hour: float64(v) * 0.048})
	}
	s.Environments = []Environment{{Name: "e", Type: types.CRTypeEc2, Strategy: types.CRAllocationStrategyBestFitProgressive, MaxvCpus: 500 * 64, Types: list}}
	const span = 30 * 24 * 3_600_000
	load := 0.0
	for i := range n {
		at := (int64(i)*span + int64(r.IntN(1000))) / int64(n)
		vcpus := int64(1) << r.IntN(6)
		j := Job{Submitted: at, Share: string(rune('a' + r.IntN(4))), Need: model.Amount{MilliCPU: vcpus * 1000, MemoryMiB: vcpus * int64(1+r.IntN(4)) * 1000},
			Exact: int64(math.Exp(7+1.5*r.NormFloat64())) + 1}
		load += float64(vcpus) * float64(j.Exact)
		s.Jobs = append(s.Jobs, j)
	}
	scale := 0.9 * 500 * 64 * span / load
	for i := range s.Jobs {
		s.Jobs[i].Exact = int64(float64(s.Jobs[i].Exact)*scale) + 1
	}
	return s
}

func benchmarkMonth(b *testing.B, n int) {
	state := month(n)
	for b.Loop() {
		s, err := New(state)
		if err != nil {
			b.Fatal(err)
		}
		instances, started := 0, 0
		s.Run(1, Options{}, func(e Event) bool {
			switch e.Kind {
			case Launched:
				instances = max(instances, e.Instance+1)
			case Started:
				started++
			}
			return true
		})
		if started != n {
			b.Fatalf("%d of %d jobs started", started, n)
		}
		b.ReportMetric(float64(instances), "instances")
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b.ReportMetric(float64(m.Sys)/(1<<20), "MiB")
}

// BenchmarkMonth is a month of jobs on 500 machines. Its time grows with n log n at most.
func BenchmarkMonth(b *testing.B) {
	b.Run("10000", func(b *testing.B) { benchmarkMonth(b, 10_000) })
	b.Run("100000", func(b *testing.B) { benchmarkMonth(b, 100_000) })
	b.Run("1000000", func(b *testing.B) { benchmarkMonth(b, 1_000_000) })
}

// BenchmarkWhen is the question when the last of 10,000 jobs starts that wait on 64 instances, in 200 draws.
func BenchmarkWhen(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	state := month(0)
	state.Now = 1
	state.Environments[0].DesiredvCpus, state.Environments[0].MaxvCpus = 4096, 4096
	var known []int64
	for i := range int64(100) {
		known = append(known, 60_000+i*10_000)
	}
	state.Durations = []Durations{{Source: FromDefinition, Known: known}}
	for i := range 11_000 {
		vcpus := int64(1) << r.IntN(4)
		j := Job{Submitted: 1, Share: string(rune('a' + r.IntN(4))), Need: model.Amount{MilliCPU: vcpus * 1000, MemoryMiB: vcpus * 2000}}
		if i < 1000 {
			j.Started = 1
		}
		state.Jobs = append(state.Jobs, j)
	}
	for b.Loop() {
		s, err := New(state)
		if err != nil {
			b.Fatal(err)
		}
		if starts := s.Starts([]int{len(state.Jobs) - 1}, 1, 200, runtime.GOMAXPROCS(0)); slices.Contains(starts, never) {
			b.Fatal("the job did not start")
		}
	}
}

// BenchmarkSizings is the search for the cheapest queues of a month of 100,000 jobs on 500 machines.
func BenchmarkSizings(b *testing.B) {
	state := month(100_000)
	for b.Loop() {
		all, err := Sizings(state, 3_600_000, nil, nil, runtime.GOMAXPROCS(0))
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(len(all)), "sets")
	}
}
