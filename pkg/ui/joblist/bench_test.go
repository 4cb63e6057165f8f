package joblist

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
)

// typicalJobs returns jobs with strings as in a busy account: 200 jobs per run, unique names, five
// tags, one job of 20 an array.
func typicalJobs(n int) []Job {
	random := rand.New(rand.NewPCG(1, 2))
	id := func() string {
		return fmt.Sprintf("%08x-%04x-4%03x", random.Uint32(), random.Uint32()&0xffff, random.Uint32()&0xfff)
	}
	jobs := make([]Job, n)
	run, start := "", int64(1_760_000_000_000)
	for i := range jobs {
		if i%200 == 0 {
			run = id()
		}
		created := start + int64(i)*600 + random.Int64N(60_000)
		j := Job{
			ID: id() + fmt.Sprintf("-8abc-%012x", i), Name: fmt.Sprintf("train-resnet-%06d", random.IntN(1e6)), Status: lifeOrder[min(random.IntN(12), 6)],
			Queue: fmt.Sprintf("queue-%d", random.IntN(8)), Definition: fmt.Sprintf("definition-%d:%d", random.IntN(30), random.IntN(9)),
			Run: run, Workflow: fmt.Sprintf("nightly-%d", i/1000), Created: created,
			Tags: map[string]string{"team": []string{"vision", "speech"}[i%2], "stage": "prod", "batchctl:run": run,
				"batchctl:job": fmt.Sprintf("cell-%d", i%200), "cost-center": fmt.Sprint(i % 40)},
		}
		if j.Status == "FAILED" || j.Status == "SUCCEEDED" {
			j.Started, j.Stopped = created+30_000, created+30_000+random.Int64N(3_600_000)
			j.Reason = []string{"Essential container in task exited", "Host EC2 (instance i-0123456789abcdef0) terminated."}[random.IntN(2)]
		}
		if i%20 == 0 {
			j.Size, j.Counts = 1000, map[string]int{"SUCCEEDED": 990, "FAILED": 3, "RUNNING": 7}
		}
		jobs[i] = j
	}
	return jobs
}

const many = 100_000

// TestMemory measures the memory of a list, with the results of three queries.
func TestMemory(t *testing.T) {
	heap := func() int64 {
		runtime.GC()
		runtime.GC()
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		return int64(stats.HeapAlloc)
	}
	before := heap()
	var l List
	l.Replace(typicalJobs(many))
	l.Window(Query{})
	l.Window(Query{SortBy: "name", Text: "train"})
	l.Window(Query{GroupBy: "workflow"})
	perJob := (heap() - before) / many
	t.Logf("%d bytes per job", perJob)
	if perJob > 600 {
		t.Errorf("%d bytes per job, at most 600", perJob)
	}
	runtime.KeepAlive(&l)
}

func BenchmarkNewQuery(b *testing.B) {
	var l List
	l.Replace(typicalJobs(many))
	for _, bench := range []struct {
		name string
		q    Query
	}{
		{"all", Query{}},
		{"text", Query{Text: "resnet-0001"}},
		{"words", Query{Text: "train vision terminated"}},
		{"miss", Query{Text: "nothing"}},
		{"filter", Query{Statuses: []string{"FAILED"}, Queues: []string{"queue-1", "queue-2"}}},
		{"name", Query{SortBy: "name"}},
		{"ran", Query{SortBy: "ran", Reverse: true}},
		{"status", Query{SortBy: "status"}},
		{"workflow", Query{GroupBy: "workflow"}},
		{"tag", Query{GroupBy: "tag:team", SortBy: "name", Text: "resnet"}},
		{"largest", Query{GroupBy: "tag:batchctl:job", SortBy: "ran", Text: "train-resnet prod"}},
	} {
		b.Run(bench.name, func(b *testing.B) {
			bench.q.Count, bench.q.Now = 50, 1_770_000_000_000
			for b.Loop() {
				l.cache.results = nil
				l.Window(bench.q)
			}
		})
	}
}

func BenchmarkCachedWindow(b *testing.B) {
	var l List
	l.Replace(typicalJobs(many))
	q := Query{Text: "train", SortBy: "name", GroupBy: "tag:team", Open: []string{"=vision", "=speech"}, Count: 50}
	for b.Loop() {
		q.From = (q.From + 5000) % many
		l.Window(q)
	}
}

func BenchmarkReplace(b *testing.B) {
	jobs := typicalJobs(many)
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			var l List
			l.Replace(jobs)
		}
	})
	b.Run("again", func(b *testing.B) {
		var l List
		l.Replace(jobs)
		for b.Loop() {
			l.Replace(jobs)
		}
	})
}

func BenchmarkUpdate(b *testing.B) {
	var l List
	l.Replace(typicalJobs(many))
	some := typicalJobs(1000)
	for i := 0; b.Loop(); i++ {
		for j := range some {
			some[j].Status, some[j].Stopped = "FAILED", int64(i)
		}
		l.Update(some)
	}
}
