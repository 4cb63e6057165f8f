package advise

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/history"
	"github.com/batchctl/batchctl/pkg/usage"
)

// run is a measured attempt of definition d that SUCCEEDED.
func run(i int, mib, cpus float64, requested history.Resources) history.Attempt {
	bytes, seconds := int64(mib*MiB), cpus*100
	return history.Attempt{Target: "local", Job: fmt.Sprint("job-", i), Number: 1, Name: "j", Definition: "d:1", Hash: "h", Queue: "q",
		Requested: requested, Status: types.JobStatusSucceeded, StartedAt: int64(1000 + i*100_000), StoppedAt: int64(1000 + (i+1)*100_000),
		Usage: []usage.Usage{{Version: 1, Seconds: 100, PeakMemory: &bytes, CPUSeconds: &seconds, Source: "cgroup2"}}}
}

// outOfMemory is an attempt that exceeded its limit.
func outOfMemory(i, number int, limit int64) history.Attempt {
	return history.Attempt{Target: "local", Job: fmt.Sprint("job-", i), Number: number, Name: "j", Definition: "d:1", Hash: "h", Queue: "q",
		Requested: history.Resources{VCPUs: 2, MemoryMiB: limit}, Status: types.JobStatusFailed, Container: "OutOfMemoryError: Container killed due to memory usage",
		StartedAt: int64(500 + i*100_000), StoppedAt: int64(600 + i*100_000)}
}

var big = history.Resources{VCPUs: 2, MemoryMiB: 16384}

// steady returns n runs around 4000 MiB.
func steady(n int, requested history.Resources) (all []history.Attempt) {
	r := rand.New(rand.NewPCG(1, 2))
	for i := range n {
		all = append(all, run(i, 4000*math.Exp(0.03*r.NormFloat64()), 1.8, requested))
	}
	return all
}

func adviceOf(t *testing.T, attempts []history.Attempt, m Market) Advice {
	t.Helper()
	groups := Groups(attempts)
	if len(groups) != 1 {
		t.Fatalf("%d groups", len(groups))
	}
	return For(groups[0], history.Resources{}, m)
}

func TestFor(t *testing.T) {
	atLimit := steady(40, history.Resources{VCPUs: 2, MemoryMiB: 4400})
	atLimit[3] = run(3, 4400, 1, history.Resources{VCPUs: 2, MemoryMiB: 4400})
	for name, c := range map[string]struct {
		attempts    []history.Attempt
		least, most int64 // of the proposed memory; 0: none
		why         string
		note        string
	}{
		"a fourth is enough":       {steady(60, big), 4200, 5100, "", "rarer than 1 in"},
		"too few":                  {steady(LeastRuns-1, big), 0, 0, "too few runs (29; 30 give a bound)", ""},
		"fits":                     {steady(60, history.Resources{VCPUs: 2, MemoryMiB: 4800}), 0, 0, "the request fits", ""},
		"too tight":                {steady(60, history.Resources{VCPUs: 2, MemoryMiB: 4370}), 4400, 5100, "", ""},
		"sized by limit":           {atLimit, 0, 0, "1 of 40 runs used all of their limit and SUCCEEDED", ""},
		"nothing measured":         {[]history.Attempt{{Job: "a", Definition: "d:1", Status: types.JobStatusSucceeded, Requested: big}}, 0, 0, "unmeasured", ""},
		"out of memory, unsolved":  {append(steady(60, history.Resources{VCPUs: 2, MemoryMiB: 4500}), outOfMemory(99, 1, 4500)), 6750, 7000, "", "1 attempt ran out of memory at 4500 MiB"},
		"out of memory, then more": {append(steady(60, big), outOfMemory(7, 0, 3000)), 4200, 5100, "", ""},
		"a smaller limit":          {append(steady(60, big), outOfMemory(99, 1, 3000), outOfMemory(98, 1, 3000)), 4300, 5300, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			a := adviceOf(t, c.attempts, Market{})
			if !strings.HasPrefix(a.Why, c.why) || c.why != "" && a.Proposal != nil {
				t.Errorf("why is %q with %+v, want %q", a.Why, a.Proposal, c.why)
			}
			if c.least > 0 && (a.Proposal == nil || a.Proposal.MemoryMiB < c.least || a.Proposal.MemoryMiB > c.most) {
				t.Errorf("proposes %+v (%s), want %d to %d MiB", a.Proposal, a.Why, c.least, c.most)
			}
			if !strings.Contains(strings.Join(a.Notes, "\n"), c.note) {
				t.Errorf("notes are %q, want %q", a.Notes, c.note)
			}
		})
	}
}

// TestFailedRunsAreNoNeed checks that runs that ended early do not lower the bound.
func TestFailedRunsAreNoNeed(t *testing.T) {
	want := adviceOf(t, steady(60, big), Market{}).Proposal.MemoryMiB
	attempts := steady(60, big)
	for i := range 60 {
		early := run(100+i, 50, 0.1, big)
		early.Status = types.JobStatusFailed
		attempts = append(attempts, early)
	}
	if a := adviceOf(t, attempts, Market{}); a.Proposal.MemoryMiB != want || a.Runs != 60 {
		t.Errorf("proposes %d MiB from %d runs, want %d from 60", a.Proposal.MemoryMiB, a.Runs, want)
	}
	attempts[70].Usage[0].PeakMemory = new(int64)
	*attempts[70].Usage[0].PeakMemory = 9000 * MiB
	if a := adviceOf(t, attempts, Market{}); a.Runs != 60 || a.Proposal != nil || !strings.HasPrefix(a.Why, "the 60 FAILED runs used up to 9000 MiB, more than the ") {
		t.Errorf("a failed run above the bound: %+v, %s", a.Proposal, a.Why)
	}
}

// TestFailedRunsAreNoBound checks that advise proposes nothing without enough SUCCEEDED runs, however many FAILED or
// ran out of memory below them.
func TestFailedRunsAreNoBound(t *testing.T) {
	for succeeded, want := range map[int]string{
		0:             "no measured run SUCCEEDED, and the 40 FAILED runs show no need: 30 SUCCEEDED runs give a bound",
		1:             "too few runs (1; 30 give a bound); the 40 FAILED runs show no need",
		LeastRuns - 1: "too few runs (29; 30 give a bound); the 40 FAILED runs show no need",
	} {
		attempts := steady(succeeded, big)
		for i := range 40 {
			crash := run(100+i, 5000+float64(i), 0.1, big)
			crash.Status = types.JobStatusFailed
			attempts = append(attempts, crash)
		}
		if a := adviceOf(t, attempts, Market{}); a.Proposal != nil || a.Why != want || a.Runs != succeeded {
			t.Errorf("%d SUCCEEDED: %+v, %q from %d runs", succeeded, a.Proposal, a.Why, a.Runs)
		}
	}
	attempts := steady(3, big)
	for i := range 40 {
		attempts = append(attempts, outOfMemory(100+i, 1, 1000))
	}
	if a := adviceOf(t, attempts, Market{}); a.Proposal != nil || a.Why != "too few runs (3; 30 give a bound)" {
		t.Errorf("3 SUCCEEDED beside 40 that ran out of memory: %+v, %q", a.Proposal, a.Why)
	}
}

// TestSavingOnFargate checks that the amounts of short runs contain Fargate's minimum of a minute.
func TestSavingOnFargate(t *testing.T) {
	attempts := steady(60, big)
	for i := range attempts {
		attempts[i].StoppedAt = attempts[i].StartedAt + 5000
	}
	queue := document.Queue{Name: "q", Environments: []document.Environment{{Type: "FARGATE", MaxvCpus: 64}}}
	a := adviceOf(t, attempts, Market{Platform: &document.Platform{Queues: []document.Queue{queue}}})
	if a.Proposal == nil {
		t.Fatal(a.Why)
	}
	// 60 tasks of 5 s are billed as an hour of one.
	if s := a.Proposal.Saving; s.HourBefore == 0 || math.Abs(s.USDBefore-s.HourBefore) > 1e-9 || math.Abs(s.USD-(s.HourBefore-s.HourAfter)) > 1e-9 {
		t.Errorf("60 runs of 5 s cost %v of %v an hour, and save %v", s.USDBefore, s.HourBefore, s.USD)
	}
}

func TestFewerCPUs(t *testing.T) {
	attempts := steady(60, history.Resources{VCPUs: 16, MemoryMiB: 16384})
	if a := adviceOf(t, attempts, Market{}); a.Proposal.VCPUs != 2 || a.CPUs.Max != 1.8 {
		t.Errorf("16 vCPUs of which 1.8 are busy become %v (%v)", a.Proposal.VCPUs, a.CPUs)
	}
	attempts = steady(60, big)
	if a := adviceOf(t, attempts, Market{}); a.Proposal.VCPUs != 2 {
		t.Errorf("2 vCPUs of which 1.8 are busy become %v", a.Proposal.VCPUs)
	}
}

// market is a platform file with a queue of one environment.
func market(t *testing.T, environment string) Market {
	t.Helper()
	file, problems := document.Load(diag.NewSource("batchctl.json", `{"queues": {"q": {"jobQueue": "q", "computeEnvironments": [`+environment+`]}}}`), document.Options{Kind: document.KindPlatform})
	if problems.HasErrors() || file.Platform == nil {
		t.Fatal(problems)
	}
	return Market{Platform: file.Platform}
}

func TestSizesOfMachines(t *testing.T) {
	fargate := adviceOf(t, steady(60, history.Resources{VCPUs: 2, MemoryMiB: 16384}), market(t, `{"type": "FARGATE", "maxvCpus": 64}`))
	if p := fargate.Proposal; p == nil || p.VCPUs != 2 || p.MemoryMiB != 5120 {
		t.Errorf("on Fargate: %+v (%s)", p, fargate.Why)
	} else if p.Saving.USD <= 0 || p.Saving.Hours != fargate.Hours {
		t.Errorf("on Fargate it saves %+v", p.Saving)
	}
	// m5.xlarge has 4 vCPUs, and at least 14.6 GiB for jobs: one of 16384 MiB does not fit, so this one has 15000.
	ec2 := adviceOf(t, steady(60, history.Resources{VCPUs: 1, MemoryMiB: 14000}), market(t, `{"type": "EC2", "instanceTypes": ["m5.xlarge"], "maxvCpus": 64}`))
	if p := ec2.Proposal; p == nil || len(p.Saving.Places) != 1 || p.Saving.Places[0].PerBefore != 1 || p.Saving.Places[0].PerAfter != 3 || p.Saving.Parallel() != 3 {
		t.Errorf("on EC2: %+v (%s)", p, ec2.Why)
	} else if p.Saving.HourAfter*2.9 > p.Saving.HourBefore {
		t.Errorf("a third of the machine costs %v, all of it %v", p.Saving.HourAfter, p.Saving.HourBefore)
	}
}

// TestSnapsToTheMemoryOfInstances checks that a plain figure does not cost a place on the instance.
func TestSnapsToTheMemoryOfInstances(t *testing.T) {
	m := market(t, `{"type": "EC2", "instanceTypes": ["m5.xlarge"], "maxvCpus": 64}`)
	usable := m.review("q", history.Resources{VCPUs: 1, MemoryMiB: 100}, false).Environments[0].Holds[0].Instance.UsableMiB()
	share := int64(usable / 4)
	now := history.Resources{VCPUs: 1, MemoryMiB: 14000}
	if roundedMiB(share-1) <= share {
		t.Fatalf("rounding %d does not exceed the share %d", share-1, share)
	}
	if got := m.onInstances("q", now, Proposal{VCPUs: 1, MemoryMiB: share - 1}); got != share {
		t.Errorf("%d MiB become %d, want the share %d", share-1, got, share)
	}
	if got := m.onInstances("q", now, Proposal{VCPUs: 1, MemoryMiB: 2000}); got != roundedMiB(2000) {
		t.Errorf("2000 MiB become %d", got)
	}
}

func TestAxes(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var attempts []history.Attempt
	sizes := map[string]float64{"500": 400, "1000": 900, "4000": 7000}
	i := 0
	for size, mib := range sizes {
		for seed := range 12 {
			a := run(i, mib*math.Exp(0.05*r.NormFloat64()), 1, big)
			a.Cell = map[string]string{"size": size, "seed": fmt.Sprint(seed)}
			attempts = append(attempts, a)
			i++
		}
	}
	a := adviceOf(t, attempts, Market{})
	if len(a.Axes) != 1 || a.Axes[0].Name != "size" || a.Axes[0].Explained < 0.95 {
		t.Fatalf("axes are %+v", a.Axes)
	}
	if v := a.Axes[0].Values; len(v) != 3 || v[0].Value != "500" || v[2].Value != "4000" || v[2].Max < 6000 {
		t.Errorf("values are %+v", v)
	}
	// One value for each run explains nothing.
	for i := range attempts {
		attempts[i].Cell = map[string]string{"id": fmt.Sprint(i)}
	}
	if a := adviceOf(t, attempts, Market{}); a.Axes != nil {
		t.Errorf("an axis of single runs explains %+v", a.Axes)
	}
}

// TestOrderOfChildrenIsNoGrowth checks that an array whose later children need more does not grow, and that jobs do.
func TestOrderOfChildrenIsNoGrowth(t *testing.T) {
	var children, jobs []history.Attempt
	for i := range 40 {
		mib := 1000.0
		if i >= 20 {
			mib = 4000
		}
		child := run(i, mib*(1+0.001*float64(i%7)), 1, big)
		child.Job = fmt.Sprint("array:", i)
		children = append(children, child)
		jobs = append(jobs, run(i, 2000+20*float64(i)+float64(i%7), 1, big))
	}
	a := adviceOf(t, children, Market{})
	if a.Proposal == nil || a.Proposal.Bound.Growth != 0 || a.Proposal.Bound.Upper != 20 || a.Proposal.MemoryMiB > 4400 {
		t.Errorf("children: %+v (%s)", a.Proposal, a.Why)
	}
	a = adviceOf(t, jobs, Market{})
	if a.Proposal == nil || a.Proposal.Bound.Growth < 1.2 || a.Proposal.MemoryMiB < 2800 {
		t.Errorf("jobs: %+v (%s)", a.Proposal, a.Why)
	}
}

func TestGroups(t *testing.T) {
	a, b, c := run(1, 1, 1, big), run(2, 1, 1, big), run(3, 1, 1, big)
	b.Hash, c.Hash, c.Definition = "", "", "d:2"
	groups := Groups([]history.Attempt{c, b, a})
	if len(groups) != 2 || groups[0].Attempts[0].Job != "job-2" || len(groups[0].Attempts) != 2 {
		t.Errorf("groups are %+v", groups)
	}
}

func TestChanges(t *testing.T) {
	proposal := Proposal{VCPUs: 2, MemoryMiB: 5120}
	for name, c := range map[string]struct{ text, want, manual string }{
		"units":        {`{ "name": "a", "image": "b:1", "resources": { "vcpus": 8, "memory": "30 GiB" } /* kept */ }`, `{ "name": "a", "image": "b:1", "resources": { "vcpus": 2, "memory": "5 GiB" } /* kept */ }`, ""},
		"numbers":      {`{"name":"a","image":"b:1","resources":{"memory":30720,"vcpus":"8"}}`, `{"name":"a","image":"b:1","resources":{"memory":5120,"vcpus":"2"}}`, ""},
		"native":       {`{"jobDefinitionName":"a","type":"container","containerProperties":{"image":"b:1","resourceRequirements":[{"type":"MEMORY","value":"30720"},{"type":"VCPU","value":"8"}]}}`, `{"jobDefinitionName":"a","type":"container","containerProperties":{"image":"b:1","resourceRequirements":[{"type":"MEMORY","value":"5120"},{"type":"VCPU","value":"2"}]}}`, ""},
		"defaults":     {`{"name":"w","defaults":{"resources":{"memory":30720,"vcpus":2}},"jobs":[{"name":"a","image":"b:1"}]}`, "", "default of several jobs"},
		"placeholders": {`{"name":"a","image":"b:1","resources":{"memory":"${MEMORY}","vcpus":2}}`, "", "placeholder"},
		"definition":   {`{"name":"a","definition":"b:1"}`, "", "does not have it"},
	} {
		src := diag.NewSource("job.json", c.text)
		file, _ := document.Load(src, document.Options{})
		if file == nil || len(file.Jobs) != 1 {
			t.Fatalf("%s: no job", name)
		}
		changes := Changes(file, file.Jobs[0], proposal)
		text, n := Fixed(src, changes)
		if c.manual != "" {
			if len(changes) == 0 || !strings.Contains(changes[0].Manual, c.manual) || n != 0 || text != c.text {
				t.Errorf("%s: %+v", name, changes)
			}
			continue
		}
		if text != c.want || n != 2 {
			t.Errorf("%s: %d changes:\n%s\nwant\n%s", name, n, text, c.want)
		}
	}
}
