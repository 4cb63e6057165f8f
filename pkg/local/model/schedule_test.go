package model

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
	"pgregory.net/rapid"

	"crypto/rand"
)

// jobOf returns a job that waits only for the machine.
func jobOf(need Amount, seq int) *Task {
	j := &Job{Seq: int64(seq), Work: Work{Need: need}, Request: &awsbatch.SubmitJobInput{JobQueue: aws.String("gone")}}
	j.Task = Task{Job: j, Index: -1}
	return &j.Task
}

// started returns the tasks of one list that start, given the free part of the machine.
func started(waiting []*Task, free Amount) []*Task {
	m := New(nil)
	l := m.QueueJobs("gone")
	for _, t := range waiting {
		l.enter(t)
	}
	var all []*Task
	s := m.scheduler()
	for _, d := range schedule([]*picker{s.picker("gone", 0, free)}, s.freeCapacity(free), nil) {
		if d.Environment != nil {
			all = append(all, d.Task)
		}
	}
	return all
}

// amountsStarted does the same for jobs that have only an amount.
func amountsStarted(waiting []Amount, free Amount) []Amount {
	var tasks []*Task
	for i, a := range waiting {
		tasks = append(tasks, jobOf(a, i))
	}
	var all []Amount
	for _, t := range started(tasks, free) {
		all = append(all, t.Job.Need)
	}
	return all
}

func anAmount(most Amount) *rapid.Generator[Amount] {
	return rapid.Custom(func(t *rapid.T) Amount {
		return Amount{
			MilliCPU:  250 * rapid.Int64Range(1, most.MilliCPU/250).Draw(t, "quarter vCPUs"),
			MemoryMiB: rapid.Int64Range(4, most.MemoryMiB).Draw(t, "MiB"),
			GPUs:      rapid.Int64Range(0, most.GPUs).Draw(t, "GPUs"),
		}
	})
}

var machine = Amount{MilliCPU: 8000, MemoryMiB: 64, GPUs: 4}

func TestScheduleIsNeverOverCapacity(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		waiting := rapid.SliceOf(anAmount(Amount{10000, 80, 5})).Draw(t, "waiting")
		free := anAmount(machine).Draw(t, "free")
		var sum Amount
		for _, a := range amountsStarted(waiting, free) {
			sum = sum.plus(a)
		}
		if !free.Covers(sum) {
			t.Fatalf("started %v on %v", sum, free)
		}
	})
}

// TestScheduleDelaysNoHead checks that if the head of a queue cannot start, the free part of its
// request stays free for it, whichever job starts after it.
func TestScheduleDelaysNoHead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		waiting := rapid.SliceOfN(anAmount(machine), 2, 20).Draw(t, "waiting")
		free := anAmount(machine).Draw(t, "free")
		head := waiting[0]
		started := amountsStarted(waiting, free)
		if free.Covers(head) {
			if len(started) == 0 || started[0] != head {
				t.Fatalf("the head fits and did not start first")
			}
			return
		}
		left := free
		for _, a := range started {
			left = left.minus(a)
		}
		kept := Amount{min(free.MilliCPU, head.MilliCPU), min(free.MemoryMiB, head.MemoryMiB), min(free.GPUs, head.GPUs)}
		if !left.Covers(kept) {
			t.Fatalf("head %v, free %v: only %v was left for it", head, free, left)
		}
	})
}

// TestScheduleStarvesNoHead lets fitting jobs arrive indefinitely after one that does not fit. It
// must start as soon as the jobs that ran before it have ended.
func TestScheduleStarvesNoHead(t *testing.T) {
	ends := map[*Task]int{}
	rapid.Check(t, func(t *rapid.T) {
		const longest = 5
		var waiting, active []*Task
		clear(ends)
		arrived := 0
		free := machine
		arrive := func(need Amount) *Task {
			arrived++
			waiting = append(waiting, jobOf(need, arrived))
			return waiting[len(waiting)-1]
		}
		tick := func(now int) {
			for _, o := range started(waiting, free) {
				ends[o] = now + rapid.IntRange(1, longest).Draw(t, "duration")
				free = free.minus(o.Job.Need)
				active = append(active, o)
				waiting = slices.DeleteFunc(waiting, func(w *Task) bool { return w == o })
			}
		}
		small := anAmount(Amount{2000, 16, 1})
		for range 8 {
			arrive(small.Draw(t, "first"))
		}
		tick(0)
		waiting = nil
		patient := arrive(anAmount(machine).Draw(t, "patient"))
		for now := 0; ends[patient] == 0; now++ {
			if now > longest {
				t.Fatalf("%v still waits after all that ran before it has ended", patient.Job.Need)
			}
			active = slices.DeleteFunc(active, func(o *Task) bool {
				if ends[o] <= now {
					free = free.plus(o.Job.Need)
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
	gpu := Amount{1000, 8, 1}
	small := Amount{1000, 8, 0}
	large := Amount{6000, 8, 0}
	for _, c := range []struct {
		name    string
		waiting []Amount
		free    Amount
		want    []Amount
	}{
		{"all fit", []Amount{small, large}, machine, []Amount{small, large}},
		{"a GPU job in front does not hold up others", []Amount{gpu, small}, Amount{2000, 64, 0}, []Amount{small}},
		{"but they leave its vCPU free", []Amount{gpu, small}, Amount{1000, 64, 0}, nil},
		{"no job passes a large job", []Amount{large, small}, Amount{2000, 64, 0}, nil},
		{"nothing is free", []Amount{small}, Amount{}, nil},
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
			got := (&Machine{busy: busy}).Pin(devices, &Job{Work: Work{Need: Amount{GPUs: n}}})
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
		need Amount
		want string
	}{
		{Amount{1000, 8, 5}, "the job asks for 5 GPUs, this machine has 4"},
		{Amount{9000, 8, 0}, "the job asks for 9 vCPUs, this machine has 8"},
		{Amount{1000, 128, 0}, "the job asks for 128 MiB of memory, this machine has 64 MiB"},
		{machine, ""},
	} {
		got := misfit(c.need, machine)
		if c.want == "" && got != "" || !strings.HasSuffix(got, c.want) || c.want != "" && !strings.HasPrefix(got, start) {
			t.Errorf("%v: %q, want it to end with %q", c.need, got, c.want)
		}
	}
}

// testJob returns a job in m that requests need.
func testJob(m *Model, need Amount) *Job {
	j := &Job{ID: rand.Text(), Seq: int64(len(m.BySubmission)), Work: Work{Need: need}, Request: &awsbatch.SubmitJobInput{JobQueue: aws.String("default")}}
	j.Task = Task{Job: j, Index: -1}
	m.BySubmission = append(m.BySubmission, j)
	return j
}

func TestOrderedKeepsOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := New(nil)
		var all, want Ordered
		for range 20 {
			all = append(all, &testJob(m, Amount{}).Task)
		}
		var list Ordered
		for range 100 {
			v := all[rapid.IntRange(0, len(all)-1).Draw(t, "task")]
			if at := slices.Index(want, v); at >= 0 {
				list.remove(v)
				want = slices.Delete(want, at, at+1)
			} else {
				list.insert(v)
				want = append(want, v)
				slices.SortFunc(want, (*Task).compare)
			}
			if !slices.Equal(list, want) {
				t.Fatalf("lists differ")
			}
		}
	})
}

// TestScheduleKeepsEnvironmentsInBounds checks that, whatever waits, no environment gets more
// than its maxvCpus and no consumable resource is reserved twice.
func TestScheduleKeepsEnvironmentsInBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := New(nil)
		m.Consumables["licence"] = &Consumable{Name: "licence", Kind: Replenishable, Total: rapid.Int64Range(0, 4).Draw(t, "licences")}
		q := &Queue{QueueSpec: QueueSpec{Name: "q"}}
		for i := range rapid.IntRange(1, 3).Draw(t, "environments") {
			name := fmt.Sprintf("e%d", i)
			m.Environments[name] = &Environment{Name: name, Request: &awsbatch.CreateComputeEnvironmentInput{
				ComputeResources: &types.ComputeResource{Type: types.CRTypeEc2, MaxvCpus: aws.Int32(rapid.Int32Range(1, 8).Draw(t, "maxvCpus"))}}}
			q.Environments = append(q.Environments, name)
		}
		m.addQueue(q)
		l := m.QueueJobs("q")
		for i := range rapid.IntRange(1, 30).Draw(t, "jobs") {
			task := jobOf(Amount{MilliCPU: 1000 * rapid.Int64Range(1, 4).Draw(t, "vCPUs"), MemoryMiB: 1}, i)
			task.Job.Request.JobQueue = aws.String("q")
			if n := rapid.Int64Range(0, 2).Draw(t, "asks"); n > 0 {
				task.Job.Consumes = []Requirement{{"licence", n}}
				task.Job.class.consumes = fmt.Sprint(n)
			}
			if len(m.fitting(task.Job)) > 0 {
				l.enter(task)
			}
		}
		free := Amount{MilliCPU: 16000, MemoryMiB: 100}
		used, licences, total := map[*Environment]int64{}, int64(0), int64(0)
		s := m.scheduler()
		for _, d := range schedule([]*picker{s.picker("q", 0, free)}, s.freeCapacity(free), nil) {
			if d.Environment == nil {
				continue
			}
			total += d.Task.Job.Need.MilliCPU
			if used[d.Environment] += d.Task.Job.Need.MilliCPU; used[d.Environment] > d.Environment.limit("") {
				t.Fatalf("environment %s uses %d of %d", d.Environment.Name, used[d.Environment], d.Environment.limit(""))
			}
			for _, n := range d.Task.Job.Consumes {
				licences += n.Quantity
			}
		}
		if licences > m.Consumables["licence"].Total || total > free.MilliCPU {
			t.Fatalf("%d licences of %d, %d of the machine", licences, m.Consumables["licence"].Total, total)
		}
	})
}
