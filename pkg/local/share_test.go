package local

import (
	"fmt"
	"math"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
	"pgregory.net/rapid"
)

// shared is a queue on a machine, played in steps of one second: a share always
// has jobs that wait.
type shared struct {
	m       *model
	weights []float64
	ends    map[*task]int64
	spent   []float64 // vCPU seconds of each share
	started []int
	seq     int
}

func share0(i int) string { return fmt.Sprintf("share%d", i) }

func newShared(weights []float64, decay int32) *shared {
	s := &shared{m: newModel(nil), weights: weights, ends: map[*task]int64{}, spent: make([]float64, len(weights)), started: make([]int, len(weights))}
	p := &types.FairsharePolicy{ShareDecaySeconds: &decay}
	for i, w := range weights {
		p.ShareDistribution = append(p.ShareDistribution, types.ShareAttributes{ShareIdentifier: aws.String(share0(i)), WeightFactor: aws.Float32(float32(w))})
	}
	s.m.policies["fair"] = &policy{"fair", p}
	s.m.addQueue(&queue{Queue: Queue{Name: "q", Environments: []string{"e"}}, policy: "fair"})
	return s
}

// add puts a job of a share into the line.
func (s *shared) add(i int, need amount) {
	s.seq++
	id := share0(i)
	j := &job{id: newID(), seq: int64(s.seq), work: work{need: need}, request: &awsbatch.SubmitJobInput{JobQueue: aws.String("q")}, class: class{share: id}}
	j.task = task{job: j, index: -1, state: runnable}
	l := s.m.line("q")
	if l.shares[id] == nil {
		l.shares[id] = &share{}
	}
	l.shares[id].open++
	l.enter(&j.task)
}

// tick ends what is over and starts what may.
func (s *shared) tick(now int64, machine amount, duration func() int64) {
	l := s.m.line("q")
	for t, end := range s.ends {
		if end <= now {
			delete(s.ends, t)
			s.m.used = s.m.used.minus(t.job.need)
			s.m.occupy(now, t, s.m.environments["e"], -1)
			l.shares[t.job.class.share].open--
		}
	}
	for _, d := range schedule([]*picker{s.m.picker("q", now, machine)}, s.m.room(machine.minus(s.m.used))) {
		if d.place == nil {
			continue
		}
		l.leave(d.task)
		seconds := duration()
		s.ends[d.task] = now + seconds*1000
		s.m.used = s.m.used.plus(d.task.job.need)
		s.m.occupy(now, d.task, d.place, 1)
		var i int
		fmt.Sscanf(d.task.job.class.share, "share%d", &i)
		s.spent[i] += float64(seconds) * float64(d.task.job.need.MilliCPU) / 1000
		s.started[i]++
	}
}

// TestSharesGetWhatTheyWeigh: while all shares want more than there is, what each
// uses goes to the inverse of its weight.
func TestSharesGetWhatTheyWeigh(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		weights := rapid.SliceOfN(rapid.SampledFrom([]float64{0.25, 0.5, 1, 2}), 2, 4).Draw(t, "weights")
		s := newShared(weights, rapid.Int32Range(30, 600).Draw(t, "decay"))
		one := amount{MilliCPU: 1000, MemoryMiB: 1}
		machine := amount{MilliCPU: 16000, MemoryMiB: 16}
		durations := rapid.Int64Range(1, 20)
		backlog := make([]int, len(weights))
		for now := int64(1); now < 3000; now++ {
			for i := range weights {
				for ; backlog[i]-s.started[i] < 20; backlog[i]++ {
					s.add(i, one)
				}
			}
			s.tick(now*1000, machine, func() int64 { return durations.Draw(t, "duration") })
		}
		sum, inverse := 0.0, 0.0
		for i, w := range weights {
			sum += s.spent[i]
			inverse += 1 / w
		}
		for i, w := range weights {
			got, want := s.spent[i]/sum, 1/w/inverse
			if math.Abs(got-want) > 0.06 {
				t.Fatalf("weights %v: share %d got %.3f of all, want %.3f", weights, i, got, want)
			}
		}
	})
}

// TestNoShareStarves: however the others crowd the queue, and however little the
// share counts, its job starts in the end.
func TestNoShareStarves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		weights := []float64{rapid.Float64Range(0.001, 1).Draw(t, "weight of the crowd"), rapid.Float64Range(1, 999).Draw(t, "weight of the one")}
		s := newShared(weights, rapid.Int32Range(1, 600).Draw(t, "decay"))
		machine := amount{MilliCPU: 4000, MemoryMiB: 64}
		s.add(1, amount{MilliCPU: rapid.Int64Range(1, 4).Draw(t, "vCPUs") * 1000, MemoryMiB: 1})
		for now, crowd := int64(1), 0; s.started[1] == 0; now++ {
			if now > 60 {
				t.Fatalf("after a minute the share has started nothing, the crowd %d", s.started[0])
			}
			for ; crowd-s.started[0] < 8; crowd++ {
				s.add(0, amount{MilliCPU: 1000, MemoryMiB: 1})
			}
			s.tick(now*1000, machine, func() int64 { return 5 })
		}
	})
}

func TestUsageDecays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		decay := rapid.Int64Range(1000, 600000).Draw(t, "decay")
		var s, steps share
		use := rapid.Int64Range(0, 64000).Draw(t, "use")
		s.use(1, use, decay)
		steps.use(1, use, decay)
		at := int64(1)
		for range rapid.IntRange(1, 5).Draw(t, "moments") {
			at += rapid.Int64Range(0, 600000).Draw(t, "later")
			steps.use(at, 0, decay) // looking more often must not matter
		}
		a, b := s.average(at, decay), steps.average(at, decay)
		if math.Abs(a-b) > 1e-6*(1+a) || a > float64(use) {
			t.Fatalf("average %g and %g, %d in use", a, b, use)
		}
		s.use(at, -use, decay)
		if half := s.average(at+decay, decay); math.Abs(half-a/2) > 1e-6*(1+a) {
			t.Fatalf("%g is left of %g after one decay period", half, a)
		}
	})
}

func TestComputeReservation(t *testing.T) {
	p := &policy{"p", &types.FairsharePolicy{ComputeReservation: aws.Int32(50)}}
	for active, want := range []int64{0, 8000, 12000, 14000} {
		if got := p.usable(16000, active); got != want {
			t.Errorf("%d shares may use %d, want %d", active, got, want)
		}
	}
	if got := (&policy{"p", nil}).usable(16000, 3); got != 16000 {
		t.Errorf("without a reservation: %d", got)
	}
}
