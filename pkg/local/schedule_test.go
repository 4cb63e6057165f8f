package local

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
	"pgregory.net/rapid"
)

// jobOf is a job that stands in a line for the machine alone.
func jobOf(need amount, seq int) *task {
	j := &job{seq: int64(seq), work: work{need: need}, request: &awsbatch.SubmitJobInput{JobQueue: aws.String("gone")}}
	j.task = task{job: j, index: -1}
	return &j.task
}

// started is the tasks of one line that start, given what is free of the machine.
func started(waiting []*task, free amount) []*task {
	m := newModel(nil)
	l := m.line("gone")
	for _, t := range waiting {
		l.enter(t)
	}
	var all []*task
	for _, d := range schedule([]*picker{m.picker("gone", 0, free)}, m.room(free)) {
		if d.place != nil {
			all = append(all, d.task)
		}
	}
	return all
}

// amountsStarted is the same for jobs that are no more than what they need.
func amountsStarted(waiting []amount, free amount) []amount {
	var tasks []*task
	for i, a := range waiting {
		tasks = append(tasks, jobOf(a, i))
	}
	var all []amount
	for _, t := range started(tasks, free) {
		all = append(all, t.job.need)
	}
	return all
}

func anAmount(most amount) *rapid.Generator[amount] {
	return rapid.Custom(func(t *rapid.T) amount {
		return amount{
			MilliCPU:  250 * rapid.Int64Range(1, most.MilliCPU/250).Draw(t, "quarter vCPUs"),
			MemoryMiB: rapid.Int64Range(4, most.MemoryMiB).Draw(t, "MiB"),
			GPUs:      rapid.Int64Range(0, most.GPUs).Draw(t, "GPUs"),
		}
	})
}

var machine = amount{MilliCPU: 8000, MemoryMiB: 64, GPUs: 4}

func TestScheduleIsNeverOverCapacity(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		waiting := rapid.SliceOf(anAmount(amount{10000, 80, 5})).Draw(t, "waiting")
		free := anAmount(machine).Draw(t, "free")
		var sum amount
		for _, a := range amountsStarted(waiting, free) {
			sum = sum.plus(a)
		}
		if !free.holds(sum) {
			t.Fatalf("started %v on %v", sum, free)
		}
	})
}

// TestScheduleDelaysNobody: if the head of the line cannot start now, then all of
// its request that is free now stays free for it, whoever starts behind it.
func TestScheduleDelaysNobody(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		waiting := rapid.SliceOfN(anAmount(machine), 2, 20).Draw(t, "waiting")
		free := anAmount(machine).Draw(t, "free")
		head := waiting[0]
		started := amountsStarted(waiting, free)
		if free.holds(head) {
			if len(started) == 0 || started[0] != head {
				t.Fatalf("the head fits and did not start first")
			}
			return
		}
		left := free
		for _, a := range started {
			left = left.minus(a)
		}
		kept := amount{min(free.MilliCPU, head.MilliCPU), min(free.MemoryMiB, head.MemoryMiB), min(free.GPUs, head.GPUs)}
		if !left.holds(kept) {
			t.Fatalf("head %v, free %v: only %v was left for it", head, free, left)
		}
	})
}

// TestScheduleStarvesNobody lets jobs that fit come for ever behind one that
// does not: it starts as soon as those that ran before it have ended.
func TestScheduleStarvesNobody(t *testing.T) {
	ends := map[*task]int{}
	rapid.Check(t, func(t *rapid.T) {
		const longest = 5
		var waiting, active []*task
		clear(ends)
		arrived := 0
		free := machine
		arrive := func(need amount) *task {
			arrived++
			waiting = append(waiting, jobOf(need, arrived))
			return waiting[len(waiting)-1]
		}
		tick := func(now int) {
			for _, o := range started(waiting, free) {
				ends[o] = now + rapid.IntRange(1, longest).Draw(t, "duration")
				free = free.minus(o.job.need)
				active = append(active, o)
				waiting = slices.DeleteFunc(waiting, func(w *task) bool { return w == o })
			}
		}
		small := anAmount(amount{2000, 16, 1})
		for range 8 {
			arrive(small.Draw(t, "first"))
		}
		tick(0)
		waiting = nil
		patient := arrive(anAmount(machine).Draw(t, "patient"))
		for now := 0; ends[patient] == 0; now++ {
			if now > longest {
				t.Fatalf("%v still waits after all that ran before it has ended", patient.job.need)
			}
			active = slices.DeleteFunc(active, func(o *task) bool {
				if ends[o] <= now {
					free = free.plus(o.job.need)
				}
				return ends[o] <= now
			})
			arrive(small.Draw(t, "later"))
			arrive(small.Draw(t, "later"))
			tick(now)
		}
	})
}

func TestScheduleOrder(t *testing.T) {
	gpu := amount{1000, 8, 1}
	small := amount{1000, 8, 0}
	large := amount{6000, 8, 0}
	for _, c := range []struct {
		name    string
		waiting []amount
		free    amount
		want    []amount
	}{
		{"all fit", []amount{small, large}, machine, []amount{small, large}},
		{"a GPU job in front does not hold up others", []amount{gpu, small}, amount{2000, 64, 0}, []amount{small}},
		{"but they leave its vCPU free", []amount{gpu, small}, amount{1000, 64, 0}, nil},
		{"nobody passes a large job", []amount{large, small}, amount{2000, 64, 0}, nil},
		{"nothing is free", []amount{small}, amount{}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := amountsStarted(c.waiting, c.free); !slices.Equal(got, c.want) {
				t.Errorf("started %v, want %v", got, c.want)
			}
		})
	}
}

func TestPinUsesNoDeviceTwice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var devices []string
		for i := range rapid.IntRange(0, 8).Draw(t, "devices") {
			devices = append(devices, fmt.Sprintf("GPU-%d", i))
		}
		busy := map[string]bool{}
		var held [][]string
		for range 50 {
			if len(held) > 0 && rapid.Bool().Draw(t, "release") {
				for _, d := range held[0] {
					delete(busy, d)
				}
				held = held[1:]
			}
			n := rapid.Int64Range(0, int64(len(devices)-len(busy))).Draw(t, "ask")
			got := (&model{busy: busy}).Pin(devices, &job{work: work{need: amount{GPUs: n}}})
			if int64(len(got)) != n {
				t.Fatalf("asked for %d, got %v", n, got)
			}
			for _, d := range got {
				if busy[d] {
					t.Fatalf("%s was given twice", d)
				}
				busy[d] = true
			}
			held = append(held, got)
		}
	})
}

func TestMisfitNamesBothFigures(t *testing.T) {
	const start = "MISCONFIGURATION:JOB_RESOURCE_REQUIREMENT - "
	for _, c := range []struct {
		need amount
		want string
	}{
		{amount{1000, 8, 5}, "the job asks for 5 GPUs, this machine has 4"},
		{amount{9000, 8, 0}, "the job asks for 9 vCPUs, this machine has 8"},
		{amount{1000, 128, 0}, "the job asks for 128 MiB of memory, this machine has 64 MiB"},
		{machine, ""},
	} {
		got := misfit(c.need, machine)
		if c.want == "" && got != "" || !strings.HasSuffix(got, c.want) || c.want != "" && !strings.HasPrefix(got, start) {
			t.Errorf("%v: %q, want it to end with %q", c.need, got, c.want)
		}
	}
}

// testJob is a job in m's books that asks for need.
func testJob(m *model, need amount) *job {
	j := &job{id: newID(), seq: int64(len(m.order)), work: work{need: need}, request: &awsbatch.SubmitJobInput{JobQueue: aws.String("default")}}
	j.task = task{job: j, index: -1}
	m.order = append(m.order, j)
	return j
}

func TestOrderedKeepsOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newModel(nil)
		var all, want ordered
		for range 20 {
			all = append(all, &testJob(m, amount{}).task)
		}
		var list ordered
		for range 100 {
			v := all[rapid.IntRange(0, len(all)-1).Draw(t, "task")]
			if at := slices.Index(want, v); at >= 0 {
				list.remove(v)
				want = slices.Delete(want, at, at+1)
			} else {
				list.insert(v)
				want = append(want, v)
				slices.SortFunc(want, (*task).compare)
			}
			if !slices.Equal(list, want) {
				t.Fatalf("lists differ")
			}
		}
	})
}

// TestScheduleKeepsEnvironmentsInBounds: whatever waits, no environment gets more
// than its maxvCpus, and no consumable resource is given twice.
func TestScheduleKeepsEnvironmentsInBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newModel(nil)
		m.consumables["licence"] = &consumable{name: "licence", kind: replenishable, total: rapid.Int64Range(0, 4).Draw(t, "licences")}
		q := &queue{Queue: Queue{Name: "q"}}
		for i := range rapid.IntRange(1, 3).Draw(t, "environments") {
			name := fmt.Sprintf("e%d", i)
			m.environments[name] = &environment{name: name, request: &awsbatch.CreateComputeEnvironmentInput{
				ComputeResources: &types.ComputeResource{Type: types.CRTypeEc2, MaxvCpus: aws.Int32(rapid.Int32Range(1, 8).Draw(t, "maxvCpus"))}}}
			q.Environments = append(q.Environments, name)
		}
		m.addQueue(q)
		l := m.line("q")
		for i := range rapid.IntRange(1, 30).Draw(t, "jobs") {
			task := jobOf(amount{MilliCPU: 1000 * rapid.Int64Range(1, 4).Draw(t, "vCPUs"), MemoryMiB: 1}, i)
			task.job.request.JobQueue = aws.String("q")
			if n := rapid.Int64Range(0, 2).Draw(t, "asks"); n > 0 {
				task.job.consumes = []requirement{{"licence", n}}
				task.job.class.consumes = fmt.Sprint(n)
			}
			if len(m.fitting(task.job)) > 0 {
				l.enter(task)
			}
		}
		free := amount{MilliCPU: 16000, MemoryMiB: 100}
		used, licences, total := map[*environment]int64{}, int64(0), int64(0)
		for _, d := range schedule([]*picker{m.picker("q", 0, free)}, m.room(free)) {
			if d.place == nil {
				continue
			}
			total += d.task.job.need.MilliCPU
			if used[d.place] += d.task.job.need.MilliCPU; used[d.place] > d.place.limit() {
				t.Fatalf("%s holds %d of %d", d.place.name, used[d.place], d.place.limit())
			}
			for _, n := range d.task.job.consumes {
				licences += n.quantity
			}
		}
		if licences > m.consumables["licence"].total || total > free.MilliCPU {
			t.Fatalf("%d licences of %d, %d of the machine", licences, m.consumables["licence"].total, total)
		}
	})
}
