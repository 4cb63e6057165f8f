package forecast

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/local/model"
)

// aMachine is a local engine with some vCPUs.
func aMachine(vcpus int64) *State {
	return &State{Queues: []Queue{{Name: "q", Priority: 1, Environments: []string{"e"}}}, Environments: []Environment{{Name: "e", Type: types.CRTypeEc2}},
		Machine: &model.Amount{MilliCPU: vcpus * 1000, MemoryMiB: 1 << 20}}
}

// TestNeverStarts checks that a job that fits nowhere never starts, in each figure and sentence.
func TestNeverStarts(t *testing.T) {
	fargate := aFleet(func(e *Environment) { e.Type, e.Types, e.Entries, e.MaxvCpus = types.CRTypeFargate, nil, nil, 512 })
	for name, s := range map[string]*State{
		"more processors than the machine": aMachine(4).with(1, 400, minute),
		"an array on a queue of 1 vCPU":    aMachine(1).with(20, 4, minute),
		"no instance type is so large":     aFleet(nil).with(3, 9, minute),
		"above maxvCpus":                   aFleet(func(e *Environment) { e.MaxvCpus = 2 }).with(3, 4, minute),
		"Fargate has no such size":         fargate.with(2, 40, minute),
		"BEST_FIT keeps below maxvCpus": aFleet(func(e *Environment) { // its only type is larger
			e.MaxvCpus, e.Types, e.Strategy = 4, e.Types[1:], types.CRAllocationStrategyBestFit
		}).with(2, 4, minute),
	} {
		for i := range s.Jobs {
			s.Jobs[i].Name = "big"
			if fargate == s {
				s.Jobs[i].Platform = types.PlatformCapabilityFargate
			}
		}
		sim, err := New(s)
		if err != nil {
			t.Fatal(err)
		}
		for _, until := range []int64{0, 60 * minute} {
			o := sim.Outlook(1, until, 0, 3, 1)
			if g := o.Groups[0]; g.Jobs != len(s.Jobs) || g.Never != g.Jobs || g.Cells()[1] != "never" || g.Cells()[2] != "never" {
				t.Errorf("%s, until %d: %d of %d never start, the waits are %v", name, until, g.Never, g.Jobs, g.Cells())
			}
			if texts := o.NeverTexts(); len(texts) != 1 || !strings.HasSuffix(texts[0], "never start: no enabled environment of the queue fits") && !strings.HasSuffix(texts[0], "never starts: no enabled environment of the queue fits") {
				t.Errorf("%s: %v", name, texts)
			}
			if text, err := json.Marshal(o); err != nil || strings.Contains(string(text), "waitP95Ms") {
				t.Errorf("%s: a wait in %s, %v", name, text, err)
			}
		}
		if a, err := When(s, []int{0}, 1, 1); err != nil || a.Never != 1 || !slices.Equal(a.Unfit, []string{"big"}) {
			t.Errorf("%s: starts at %+v, %v", name, a, err)
		}
	}
	// Another job of the plan starts.
	mixed := aMachine(4).with(1, 400, minute).with(1, 1, minute)
	mixed.Jobs[0].Name = "big"
	if a, err := When(mixed, []int{0, 1}, 1, 1); err != nil || a.Never != 0 || a.Start.High != 0 || !slices.Equal(a.Unfit, []string{"big"}) {
		t.Errorf("one of two: %+v, %v", a, err)
	}
	// 1 of 100 jobs never starts, so 95 % of the waits are known.
	few := aMachine(4).with(1, 400, minute).with(99, 1, minute)
	sim, err := New(few)
	if err != nil {
		t.Fatal(err)
	}
	if g := sim.Outlook(1, 0, 0, 1, 1).Groups[0]; g.Never != 1 || g.Jobs != 100 || g.P95 == nil || g.P95.Median != 23*minute {
		t.Errorf("1 of 100: %+v", g)
	}
}

// TestSizingsNeverStart checks the report of a trace with jobs that no set of queues can start.
func TestSizingsNeverStart(t *testing.T) {
	all, err := Sizings(aMachine(4).with(1, 400, minute).with(1, 12, minute), 30*minute, nil, nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	if best := all[0]; best.Name != "four times the vCPUs" || best.Never != 1 || best.Keeps || best.WaitText() != "never" || best.Cells()[2] != "never" {
		t.Errorf("the best set is %s: %v, %v", best.Name, best.Never, best.Cells())
	}
	for i, v := range all[1:] {
		if v.Never < all[i].Never || v.Cells()[2] != "never" {
			t.Errorf("%s after %s: %v", v.Name, all[i].Name, v.Cells())
		}
	}
	if got := Verdict(all, 30*minute); got != "no set starts all jobs: in each, at least 1 job never starts" {
		t.Error(got)
	}
	all, err = Sizings(aMachine(4).with(1, 12, minute), 30*minute, nil, nil, 1)
	if got := Verdict(all, 30*minute); err != nil || got != "the cheapest set that keeps 95 % of the waits below 30m: four times the vCPUs, maxvCpus 16, 0 USD" {
		t.Error(got, err)
	}
}

// TestSetbacks checks what a change costs the shares.
func TestSetbacks(t *testing.T) {
	outlook := func(waitMs float64, never int) Outlook {
		return Outlook{Groups: []Group{{Name: "a", Jobs: 3, Never: never, WaitMs: Band{Median: waitMs}}}}
	}
	for want, after := range map[string]Outlook{
		"the jobs of share a wait 2m longer on average":   outlook(3*minute, 0),
		"after the change, 2 jobs of share a never start": outlook(0, 2),
		"after the change, 1 job of share a never starts": outlook(9*minute, 1),
	} {
		if got := Setbacks(outlook(minute, 0), after); len(got) != 1 || got[0].Text() != want {
			t.Errorf("%+v, want %s", got, want)
		}
	}
	if got := Setbacks(outlook(minute, 1), outlook(minute, 1)); got != nil {
		t.Errorf("nothing changes: %v", got)
	}
}

// TestBillOfMachines checks the cost of a run: each Fargate task at least a minute in one of Fargate's sizes, and each
// instance at least a minute.
func TestBillOfMachines(t *testing.T) {
	s := aFleet(func(e *Environment) {
		e.Type, e.Types, e.Entries, e.MaxvCpus = types.CRTypeFargate, nil, nil, 4000
		e.Fargate = FargatePrices{map[string]catalog.FargatePrice{catalog.X86: {VCPU: 0.04, GB: 0.004}, catalog.Windows: {VCPU: 0.1, GB: 0.01}}, 0.0001, 0.005}
	}).with(1000, 1, 5000)
	for i := range s.Jobs {
		s.Jobs[i].Platform = types.PlatformCapabilityFargate
	}
	task := 0.04 + 2*0.004 // the smallest size with 1 vCPU has 2 GiB
	if _, totals := events(t, s, Ended); math.Abs(totals.Cost-1000*task/60) > 1e-9 {
		t.Errorf("1,000 tasks of 5 s cost %g, want %g", totals.Cost, 1000*task/60)
	}
	long := *s // beside a job of another share, whose tasks take as long as these together
	long.Jobs = append(slices.Clone(s.Jobs), Job{Share: "long", Platform: types.PlatformCapabilityFargate, Need: s.Jobs[0].Need, Exact: 5_000_000})
	sim, err := New(&long)
	if err != nil {
		t.Fatal(err)
	}
	groups := sim.Outlook(1, 0, 0, 1, 1).Groups
	if a, b := groups[0].CostUSD.Median, groups[1].CostUSD.Median; math.Abs(a-1000*task/60) > 1e-9 || math.Abs(b-task*5000/3600) > 1e-9 {
		t.Errorf("the short tasks cost %g, the long one %g", a, b)
	}
	s.Jobs = s.Jobs[:1]
	s.Jobs[0].Exact = 90_500
	if _, totals := events(t, s, Ended); math.Abs(totals.Cost-task*91/3600) > 1e-9 {
		t.Errorf("a task of 90.5 s costs %g, want %g", totals.Cost, task*91/3600)
	}
	s.Jobs[0].Task = Task{catalog.Windows, 10, true}
	windows := 0.1 + 2*0.01 + 10*0.0001 + 0.005
	if _, totals := events(t, s, Ended); math.Abs(totals.Cost-windows*300/3600) > 1e-9 {
		t.Errorf("90.5 s on Windows cost %g, want 5 minutes: %g", totals.Cost, windows*300/3600)
	}
	s.Jobs[0].Task = Task{}
	s.Now, s.Jobs[0].Started, s.Jobs[0].Exact = 10*minute, 1, 10*minute+30_000-1
	if _, totals := events(t, s, Ended); math.Abs(totals.Cost-task*30/3600) > 1e-9 {
		t.Errorf("the last 30 s of a task cost %g, want %g", totals.Cost, task*30/3600)
	}
	fleet := aFleet(nil).with(1, 4, 1000)
	fleet.Scaling = Scaling{Boot: 1000, Idle: 1000}
	if _, totals := events(t, fleet, Terminated); math.Abs(totals.Cost-0.2/60) > 1e-9 {
		t.Errorf("an instance of some seconds costs %g, want %g", totals.Cost, 0.2/60)
	}
}
