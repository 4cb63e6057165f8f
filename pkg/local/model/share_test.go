package model

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
	"pgregory.net/rapid"

	"crypto/rand"
)

// shared is a queue on a machine, simulated in steps of one second. Every share always has jobs
// that wait.
type shared struct {
	m       *Model
	weights []float64
	ends    map[*Task]int64
	spent   []float64 // vCPU seconds of each share
	started []int
	seq     int
}

func share0(i int) string { return fmt.Sprintf("share%d", i) }

func newShared(weights []float64, decay int32) *shared {
	s := &shared{m: New(nil), weights: weights, ends: map[*Task]int64{}, spent: make([]float64, len(weights)), started: make([]int, len(weights))}
	p := &types.FairsharePolicy{ShareDecaySeconds: &decay}
	for i, w := range weights {
		p.ShareDistribution = append(p.ShareDistribution, types.ShareAttributes{ShareIdentifier: aws.String(share0(i)), WeightFactor: aws.Float32(float32(w))})
	}
	s.m.Policies["fair"] = &Policy{Name: "fair", Share: p}
	s.m.addQueue(&Queue{QueueSpec: QueueSpec{Name: "q", Environments: []string{"e"}}, Policy: "fair"})
	return s
}

// add appends a job of a share to the queue.
func (s *shared) add(i int, need Amount) {
	s.seq++
	id := share0(i)
	j := &Job{ID: rand.Text(), Seq: int64(s.seq), Work: Work{Need: need}, Request: &awsbatch.SubmitJobInput{JobQueue: aws.String("q")}, class: class{share: id}}
	j.Task = Task{Job: j, Index: -1, State: Runnable}
	l := s.m.QueueJobs("q")
	l.share(id).open++
	l.enter(&j.Task)
}

// tick ends the jobs that are over and starts those that may start.
func (s *shared) tick(now int64, machine Amount, duration func() int64) {
	l := s.m.QueueJobs("q")
	for t, end := range s.ends {
		if end <= now {
			delete(s.ends, t)
			s.m.used = s.m.used.minus(t.Job.Need)
			s.m.occupy(now, t, s.m.Environments["e"], -1)
			l.shares[t.Job.class.share].open--
		}
	}
	x := s.m.scheduler()
	for _, d := range schedule([]*picker{x.picker("q", now, machine)}, x.freeCapacity(machine.minus(s.m.used)), nil) {
		if d.Environment == nil {
			continue
		}
		l.leave(d.Task)
		seconds := duration()
		s.ends[d.Task] = now + seconds*1000
		s.m.used = s.m.used.plus(d.Task.Job.Need)
		s.m.occupy(now, d.Task, d.Environment, 1)
		var i int
		fmt.Sscanf(d.Task.Job.class.share, "share%d", &i)
		s.spent[i] += float64(seconds) * float64(d.Task.Job.Need.MilliCPU) / 1000
		s.started[i]++
	}
}

// TestSharesGetWhatTheyWeigh checks that the usage of shares is in inverse proportion to their
// weights while all of them want more than exists.
func TestSharesGetWhatTheyWeigh(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		weights := rapid.SliceOfN(rapid.SampledFrom([]float64{0.25, 0.5, 1, 2}), 2, 4).Draw(t, "weights")
		s := newShared(weights, rapid.Int32Range(30, 600).Draw(t, "decay"))
		one := Amount{MilliCPU: 1000, MemoryMiB: 1}
		machine := Amount{MilliCPU: 16000, MemoryMiB: 16}
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

// TestNoShareStarves checks that the job of a share starts eventually, however many jobs the
// others have and however little the share counts.
func TestNoShareStarves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		weights := []float64{rapid.Float64Range(0.001, 1).Draw(t, "weight of the crowd"), rapid.Float64Range(1, 999).Draw(t, "weight of the one")}
		s := newShared(weights, rapid.Int32Range(1, 600).Draw(t, "decay"))
		machine := Amount{MilliCPU: 4000, MemoryMiB: 64}
		s.add(1, Amount{MilliCPU: rapid.Int64Range(1, 4).Draw(t, "vCPUs") * 1000, MemoryMiB: 1})
		for now, crowd := int64(1), 0; s.started[1] == 0; now++ {
			if now > 60 {
				t.Fatalf("after a minute the share has started nothing, the crowd %d", s.started[0])
			}
			for ; crowd-s.started[0] < 8; crowd++ {
				s.add(0, Amount{MilliCPU: 1000, MemoryMiB: 1})
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
			steps.use(at, 0, decay) // the result must not depend on how often it is computed
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
	p := &Policy{Name: "p", Share: &types.FairsharePolicy{ComputeReservation: aws.Int32(50)}}
	for active, want := range []int64{0, 8000, 12000, 14000} {
		if got := p.usable(16000, active); got != want {
			t.Errorf("%d shares may use %d, want %d", active, got, want)
		}
	}
	if got := (&Policy{Name: "p"}).usable(16000, 3); got != 16000 {
		t.Errorf("without a reservation: %d", got)
	}
}

// TestOrderOfSharesIsOne checks that the order is the same in every pass, also if no share has used anything: the
// lists of a queue are in a map, and priorities count within a share only.
func TestOrderOfSharesIsOne(t *testing.T) {
	for range 100 {
		s := newShared([]float64{1, 1}, 600)
		for _, c := range []struct {
			share    int
			priority int32
		}{{0, 0}, {1, 0}, {0, 2}} {
			s.add(c.share, Amount{MilliCPU: 1000, MemoryMiB: 1})
			all := s.m.Lines["q"].waiting[class{share: share0(c.share)}]
			last := (*all)[len(*all)-1]
			s.m.Lines["q"].leave(last)
			last.Job.class.priority = c.priority
			s.m.Lines["q"].enter(last)
		}
		var got []int64
		for p := s.m.scheduler().picker("q", 1, Amount{MilliCPU: 4000, MemoryMiB: 4}); p.head() != nil; p.next(starts) {
			got = append(got, p.head().Job.Seq)
		}
		if want := []int64{2, 3, 1}; !slices.Equal(got, want) {
			t.Fatalf("the order is %d, want %d", got, want)
		}
	}
}
