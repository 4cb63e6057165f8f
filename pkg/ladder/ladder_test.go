package ladder

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
)

// full is a ladder with all rungs.
var full = Ladder{
	{Cause: OutOfMemory, Factor: 1.5, UpToMiB: 122880},
	{Cause: SpotReclaim, Attempts: 2, Queue: "on-demand"},
	{Cause: NoCapacity, After: 20 * time.Minute, Queue: "b"},
	{Cause: HostError, Attempts: 1},
	{Cause: ExitCodes, Attempts: 2, Codes: []int32{75}},
}

// failed returns a FAILED job with the reasons of its last attempt; exit -1 means none.
func failed(exit int, status, reason string) *types.JobDetail {
	job := &types.JobDetail{Status: types.JobStatusFailed, StatusReason: &status, StartedAt: aws.Int64(1),
		Container: &types.ContainerDetail{Reason: &reason}}
	if exit >= 0 {
		job.Container.ExitCode = aws.Int32(int32(exit))
	}
	return job
}

func TestCauses(t *testing.T) {
	cancelled := failed(-1, CancelReason+"20m0s", "")
	cancelled.StartedAt, cancelled.IsCancelled = nil, aws.Bool(true)
	byUser := failed(137, "no longer needed", "")
	byUser.IsTerminated = aws.Bool(true)
	started := failed(-1, CancelReason+"20m0s", "")
	started.IsCancelled = aws.Bool(true)
	for name, c := range map[string]struct {
		job  *types.JobDetail
		want []Cause
	}{
		"killed":                {failed(137, "Essential container in task exited", "OutOfMemoryError: Container killed due to memory usage"), []Cause{OutOfMemory}},
		"killed, exit code 1":   {failed(1, "Essential container in task exited", "OutOfMemoryError: Container killed due to memory usage"), []Cause{OutOfMemory}},
		"exit code 137 alone":   {failed(137, "Essential container in task exited", ""), []Cause{ExitCodes}},
		"own exit code":         {failed(3, "Essential container in task exited", ""), []Cause{ExitCodes}},
		"instance":              {failed(-1, "Host EC2 (instance i-0123) terminated.", ""), []Cause{SpotReclaim, HostError}},
		"Spot on Fargate":       {failed(143, "Your Spot Task was interrupted.", ""), []Cause{SpotReclaim}},
		"host":                  {failed(-1, "Task failed to start", "DockerTimeoutError: Could not transition to started; timed out after waiting 3m0s"), []Cause{HostError}},
		"timeout":               {failed(137, "Job attempt duration exceeded timeout", ""), nil},
		"dependency":            {failed(-1, "Dependent Job failed", ""), nil},
		"terminated by a user":  {byUser, nil},
		"cancelled by a client": {cancelled, []Cause{NoCapacity}},
		"started meanwhile":     {started, nil},
	} {
		if got := CausesOf(c.job); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: causes %v; want %v", name, got, c.want)
		}
	}
}

func TestNext(t *testing.T) {
	oom := failed(1, "Essential container in task exited", "OutOfMemoryError: Container killed due to memory usage")
	lost := failed(-1, "Host EC2 (instance i-0123) terminated.", "")
	waited := failed(-1, CancelReason+"20m0s", "")
	waited.StartedAt = nil
	steps := func(causes ...Cause) (taken []Step) {
		for _, c := range causes {
			taken = append(taken, Step{Cause: c})
		}
		return taken
	}
	a := Need{Queue: "a", MemoryMiB: 30720, VCPUs: 4}
	fargate := Need{Queue: "f", MemoryMiB: 30720, VCPUs: 4, Fargate: true}
	for name, c := range map[string]struct {
		taken []Step
		need  Need
		job   *types.JobDetail
		want  Step
		why   string
	}{
		"memory":              {nil, a, oom, Step{Cause: OutOfMemory, Need: Need{Queue: "a", MemoryMiB: 46080, VCPUs: 4}}, ""},
		"memory to the limit": {nil, Need{MemoryMiB: 100000}, oom, Step{Cause: OutOfMemory, Need: Need{MemoryMiB: 122880}}, ""},
		"memory at the limit": {nil, Need{MemoryMiB: 122880}, oom, Step{}, "outOfMemory: the limit of 122880 MiB is reached"},
		"memory on Fargate":   {nil, fargate, oom, Step{Cause: OutOfMemory, Need: Need{Queue: "f", MemoryMiB: 49152, VCPUs: 8, Fargate: true}}, ""},
		"memory unknown":      {nil, Need{}, oom, Step{}, "outOfMemory: the limit of 122880 MiB is reached"},
		"reclaim":             {nil, a, lost, Step{Cause: SpotReclaim, Need: a}, ""},
		"second reclaim":      {steps(SpotReclaim), a, lost, Step{Cause: SpotReclaim, Need: a}, ""},
		"third reclaim":       {steps(SpotReclaim, SpotReclaim), a, lost, Step{Cause: SpotReclaim, Need: Need{Queue: "on-demand", MemoryMiB: 30720, VCPUs: 4}}, ""},
		"fourth reclaim":      {steps(SpotReclaim, SpotReclaim, SpotReclaim), a, lost, Step{Cause: HostError, Need: a}, ""},
		"fifth reclaim":       {steps(SpotReclaim, SpotReclaim, SpotReclaim, HostError), a, lost, Step{}, "hostError: all 1 steps are used"},
		"no capacity":         {nil, a, waited, Step{Cause: NoCapacity, Need: Need{Queue: "b", MemoryMiB: 30720, VCPUs: 4}}, ""},
		"no capacity there":   {steps(NoCapacity), Need{Queue: "b"}, waited, Step{}, "noCapacity: all 1 steps are used"},
		"listed code":         {nil, a, failed(75, "", ""), Step{Cause: ExitCodes, Need: a}, ""},
		"other code":          {nil, a, failed(1, "", ""), Step{}, "no rung lists its exit code 1"},
		"137 without reason":  {nil, a, failed(137, "", ""), Step{}, "no rung lists its exit code 137"},
		"bounded": {steps(OutOfMemory, OutOfMemory, OutOfMemory, OutOfMemory, OutOfMemory, OutOfMemory, OutOfMemory, OutOfMemory, OutOfMemory, OutOfMemory),
			Need{MemoryMiB: 100}, oom, Step{}, "all 10 steps are used"},
	} {
		if got, why := full.Next(c.taken, c.need, c.job); got != c.want || why != c.why {
			t.Errorf("%s: %+v, %q; want %+v, %q", name, got, why, c.want, c.why)
		}
	}
	if _, why := (Ladder{}).Next(nil, a, oom); why != "no rung is about outOfMemory" {
		t.Errorf("an empty ladder says %q", why)
	}
}

// TestFargateLimit checks the last step on Fargate: the largest size up to the limit.
func TestFargateLimit(t *testing.T) {
	l := Ladder{{Cause: OutOfMemory, Factor: 2, UpToMiB: 60000}}
	need := Need{MemoryMiB: 30720, VCPUs: 4, Fargate: true}
	most, _ := l.Most(need)
	if most.MemoryMiB != 57344 || most.VCPUs != 8 {
		t.Errorf("the most is %+v; want 57344 MiB with 8 vCPUs", most)
	}
}

// TestMost checks the bound on the jobs: each rung with all of its steps, and never more than the
// limit.
func TestMost(t *testing.T) {
	most, jobs := Ladder{{Cause: OutOfMemory, Factor: 2, UpToMiB: 500}, {Cause: SpotReclaim, Attempts: 2, Queue: "b"}}.Most(Need{MemoryMiB: 100})
	if most.MemoryMiB != 500 || jobs != 1+3+3 {
		t.Errorf("%d MiB, %d jobs; want 500 MiB, 7 jobs", most.MemoryMiB, jobs)
	}
	if _, jobs := full.Most(Need{MemoryMiB: 100}); jobs != MaxSteps+1 {
		t.Errorf("%d jobs; want %d", jobs, MaxSteps+1)
	}
}

func TestFormat(t *testing.T) {
	text := full.Format()
	again, err := Parse(text)
	if err != nil || !reflect.DeepEqual(again, full) {
		t.Errorf("Parse(%s) = %+v, %v", text, again, err)
	}
	for text, want := range map[string]string{
		`[{"outOfMemory":{"memory":1.05,"upTo":10}}]`:                 "want a factor",
		`[{"outOfMemory":{"memory":2}}]`:                              "upTo is missing",
		`[{"spotReclaim":{}}]`:                                        "write attempts, queue, or both",
		`[{"noCapacity":{"queue":"b"}}]`:                              "write after, and queue or target",
		`[{"hostError":{"attempts":11}}]`:                             "want 0 to 10",
		`[{"hostError":{"attempts":1}},{"hostError":{"attempts":1}}]`: "two rungs",
		`[{"exitCodes":{"attempts":1}}]`:                              "codes is empty",
		`[{"exitCodes":{"attempts":1,"codes":[0]}}]`:                  "from 1 to 255",
		`[{"weather":{"attempts":1}}]`:                                "unknown cause",
		`[{"hostError":{"attempts":1,"until":3}}]`:                    "unknown field",
		`[{"hostError":{"attempts":1},"spotReclaim":{"attempts":1}}]`: "2 causes",
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Parse(%s): %v; want %q", text, err, want)
		}
	}
}

func TestWaiting(t *testing.T) {
	if _, _, ok := full.Patience([]Step{{Cause: NoCapacity}}, Need{Queue: "b"}); ok {
		t.Error("a job that has changed its queue would change it again")
	}
	if after, _, ok := full.Patience(nil, Need{Queue: "a"}); !ok || after != 20*time.Minute {
		t.Errorf("patience %v, %v; want 20m", after, ok)
	}
	created, seen := time.UnixMilli(1000), time.UnixMilli(5000)
	job := &types.JobDetail{Status: types.JobStatusRunnable, CreatedAt: aws.Int64(1000)}
	if got := RunnableSince(job, seen); !got.Equal(created) {
		t.Errorf("a job without dependencies waits since %v", got)
	}
	job.DependsOn = []types.JobDependency{{JobId: aws.String("x")}}
	if got := RunnableSince(job, seen); !got.Equal(seen) {
		t.Errorf("a job with dependencies waits since %v", got)
	}
	job.StartedAt = aws.Int64(1)
	if got := RunnableSince(job, seen); !got.IsZero() {
		t.Errorf("a job that has started waits since %v", got)
	}
}

// simulated is a job with a true need that its user does not know.
type simulated struct {
	need, asked int // MiB
	hours       float64
	peak        float64   // when its memory is at its peak, as a part of its time
	reclaims    []float64 // when attempt i is reclaimed, as a part of its time; 1 means never
}

// outcome counts what a strategy does with jobs.
type outcome struct {
	lost, twice, attempts, succeeded int
	waste                            float64 // GiB-hours: of failed attempts, and unused ones
}

// run runs a job until it succeeds, or next returns no memory for another attempt.
func (o *outcome) run(j simulated, next func(memory int, job *types.JobDetail) int) {
	done := 0
	for memory, i := j.asked, 0; memory > 0; i++ {
		o.attempts++
		reclaimed, part := j.reclaims[min(i, len(j.reclaims)-1)], 1.0
		var end *types.JobDetail
		switch {
		case j.need > memory && j.peak < reclaimed:
			part, end = j.peak, failed(137, "Essential container in task exited", "OutOfMemoryError: Container killed due to memory usage")
		case reclaimed < 1:
			part, end = reclaimed, failed(-1, "Host EC2 (instance i-0123) terminated.", "")
		}
		if end == nil {
			done++
			o.waste += float64(memory-j.need) / 1024 * j.hours
			break
		}
		o.waste += float64(memory) / 1024 * j.hours * part
		memory = next(memory, end)
	}
	o.succeeded += done
	switch {
	case done == 0:
		o.lost++
	case done > 1:
		o.twice++
	}
}

// TestSimulation compares the ladder with two common strategies, for 10,000 random pairs of true
// need and request. Run it with -v for the table.
func TestSimulation(t *testing.T) {
	const jobs, limit = 10000, 245760
	random := rand.New(rand.NewPCG(36, 4))
	var fixed, doubling, climbing, once outcome
	l := Ladder{{Cause: OutOfMemory, Factor: 1.5, UpToMiB: limit}, {Cause: SpotReclaim, Attempts: 3, Queue: "on-demand"}}
	for range jobs {
		j := simulated{need: int(1024 * math.Exp(random.NormFloat64()+2)), hours: 0.2 + 10*random.Float64(), peak: random.Float64()}
		j.need = min(max(j.need, 256), 200*1024)
		j.asked = max(128, int(float64(j.need)*math.Exp(0.8*random.NormFloat64()+0.3)))
		for range 6 {
			part := 1.0
			if random.Float64() < 0.15 {
				part = random.Float64()
			}
			j.reclaims = append(j.reclaims, part)
		}
		j.reclaims = append(j.reclaims, 1)
		fixed.run(j, again(4))
		n := 0
		doubling.run(j, func(memory int, _ *types.JobDetail) int {
			if n++; n > 10 {
				return 0
			}
			return min(2*memory, limit)
		})
		once.run(j, func(int, *types.JobDetail) int { return 0 })
		var taken []Step
		onDemand := j
		climbing.run(onDemand, func(memory int, job *types.JobDetail) int {
			step, why := l.Next(taken, Need{Queue: queueOf(taken), MemoryMiB: memory}, job)
			if why != "" {
				return 0
			}
			taken = append(taken, step)
			return step.MemoryMiB
		})
	}
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "strategy\tlost\tran twice\tattempts\twasted GiB-hours\tper succeeded job")
	for _, row := range []struct {
		name string
		outcome
	}{{"no retry", once}, {"fixed retry (4 attempts)", fixed}, {"doubling after every failure", doubling}, {"ladder x1.5", climbing}} {
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%.0f\t%.1f\n", row.name, row.lost, row.twice, row.attempts, row.waste, row.waste/float64(max(row.succeeded, 1)))
	}
	w.Flush()
	t.Logf("%d jobs:\n%s", jobs, b.String())
	if climbing.lost != 0 || climbing.twice != 0 {
		t.Errorf("the ladder lost %d jobs and ran %d twice", climbing.lost, climbing.twice)
	}
	if climbing.waste >= doubling.waste {
		t.Errorf("the ladder wasted %.0f GiB-hours, and doubling %.0f", climbing.waste, doubling.waste)
	}
	if fixed.lost == 0 {
		t.Error("fixed retry lost no job: the simulation has no job that needs more memory")
	}
}

// again returns a strategy of n attempts with the same memory.
func again(n int) func(int, *types.JobDetail) int {
	return func(memory int, _ *types.JobDetail) int {
		if n--; n == 0 {
			return 0
		}
		return memory
	}
}

// queueOf returns the queue after the steps.
func queueOf(taken []Step) string {
	if len(taken) == 0 {
		return "spot"
	}
	return taken[len(taken)-1].Queue
}

// TestCancellation reads back what a job was seen to wait for, from the reason that AWS Batch keeps.
func TestCancellation(t *testing.T) {
	l := Ladder{{Cause: NoCapacity, After: time.Minute, Target: "west"}}
	for _, saw := range []string{"", "at-maxvcpus", strings.Repeat("long ", 100)} {
		reason := Cancellation(time.Minute, saw)
		if len(reason) > maxReason {
			t.Errorf("%d characters", len(reason))
		}
		step, why := l.Next(nil, Need{Queue: "a"}, &types.JobDetail{StatusReason: &reason, Status: types.JobStatusFailed})
		if why != "" || !strings.HasPrefix(saw, step.Saw) || saw != "" && step.Saw == "" || step.Target != "west" || step.Queue != "a" {
			t.Errorf("%q: %+v %s", saw, step, why)
		}
		if _, why := l.Next([]Step{step}, step.Need, &types.JobDetail{StatusReason: &reason, Status: types.JobStatusFailed}); why == "" {
			t.Error("it moves twice")
		}
	}
}
