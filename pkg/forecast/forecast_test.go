package forecast

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/batch/types"
	"pgregory.net/rapid"

	"github.com/batchctl/batchctl/pkg/history"
	"github.com/batchctl/batchctl/pkg/local/model"
)

const minute = 60_000

func sprint(v any) string { return fmt.Sprint(v) }

// aFleet is a queue on an environment of two instance types. Nothing in it is left to chance.
func aFleet(edit func(*Environment)) *State {
	s := &State{Scaling: Scaling{Boot: 2 * minute, Idle: 10 * minute}, Queues: []Queue{{Name: "q", Priority: 1, Environments: []string{"e"}}}}
	e := Environment{Name: "e", Type: types.CRTypeEc2, Strategy: types.CRAllocationStrategyBestFitProgressive, MaxvCpus: 16, Entries: []string{"small", "large"}, Types: []InstanceType{
		{Name: "small", Size: model.Amount{MilliCPU: 4000, MemoryMiB: 8000}, Hour: 0.2},
		{Name: "large", Size: model.Amount{MilliCPU: 8000, MemoryMiB: 16000}, Hour: 0.4}}}
	if edit != nil {
		edit(&e)
	}
	s.Environments = []Environment{e}
	return s
}

func (s *State) with(n int, vcpus, ms int64) *State {
	for range n {
		s.Jobs = append(s.Jobs, Job{Need: model.Amount{MilliCPU: vcpus * 1000, MemoryMiB: vcpus * 1000}, Exact: ms})
	}
	return s
}

// events runs a state and returns the times of one kind of events.
func events(t *testing.T, s *State, kind Kind) (at []int64, totals Totals) {
	t.Helper()
	sim, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	totals = sim.Run(1, Options{}, func(e Event) bool {
		if e.Kind == kind {
			at = append(at, e.At)
		}
		return true
	})
	return at, totals
}

func TestScaling(t *testing.T) {
	for _, c := range []struct {
		name               string
		state              *State
		launched, starting []int64
	}{
		{"eight vCPUs fill a large instance", aFleet(nil).with(2, 4, minute), []int64{0}, []int64{2 * minute, 2 * minute}},
		{"BEST_FIT takes the cheapest for one job", aFleet(func(e *Environment) { e.Strategy = types.CRAllocationStrategyBestFit }).with(2, 4, minute), []int64{0, 0}, []int64{2 * minute, 2 * minute}},
		{"maxvCpus makes jobs wait for others", aFleet(func(e *Environment) { e.MaxvCpus = 4 }).with(3, 4, minute), []int64{0}, []int64{2 * minute, 3 * minute, 4 * minute}},
		{"one instance may exceed maxvCpus", aFleet(func(e *Environment) { e.MaxvCpus, e.Types = 4, e.Types[1:] }).with(1, 4, minute), []int64{0}, []int64{2 * minute}},
		{"but not with BEST_FIT on demand", aFleet(func(e *Environment) {
			e.MaxvCpus, e.Types, e.Strategy = 4, e.Types[1:], types.CRAllocationStrategyBestFit
		}).with(1, 4, minute), nil, nil},
		{"minvCpus are there at once", aFleet(func(e *Environment) { e.MinvCpus = 8 }).with(0, 1, 1), []int64{0}, nil},
		{"a job that is too large never starts", aFleet(nil).with(1, 9, minute), nil, nil},
	} {
		launched, _ := events(t, c.state, Launched)
		started, totals := events(t, c.state, Started)
		if !slices.Equal(launched, c.launched) || !slices.Equal(started, c.starting) {
			t.Errorf("%s: launched at %d, jobs started at %d; want %d and %d", c.name, launched, started, c.launched, c.starting)
		}
		if want := len(c.state.Jobs) - len(c.starting); totals.Unstarted != want {
			t.Errorf("%s: %d unstarted, want %d", c.name, totals.Unstarted, want)
		}
	}
}

func TestIdleInstancesGoAndCost(t *testing.T) {
	s := aFleet(func(e *Environment) { e.KeepIdle = 30 * minute }).with(1, 4, minute)
	s.Jobs = append(s.Jobs, Job{Submitted: 60 * minute, Need: s.Jobs[0].Need, Exact: minute})
	gone, totals := events(t, s, Terminated)
	if len(gone) != 1 || gone[0] != 33*minute {
		t.Errorf("an instance goes 30 minutes after its job: at %d", gone)
	}
	// Two boots of 2 minutes, two jobs of a minute, 30 minutes idle.
	if want := 0.2 * 36 / 60; math.Abs(totals.Cost-want) > 1e-9 {
		t.Errorf("it costs %g, want %g", totals.Cost, want)
	}
	if want := 4.0 * 2 / 60; math.Abs(totals.UsedVCPUHours-want) > 1e-9 {
		t.Errorf("jobs used %g vCPU hours, want %g", totals.UsedVCPUHours, want)
	}
}

// TestPricesAreOrdered checks that the instance type does not depend on the order of the types, even if the first
// costs the same as the second, and the second as the third, but the first less than the third.
func TestPricesAreOrdered(t *testing.T) {
	kinds := []InstanceType{{Name: "a", Hour: 0.4}, {Name: "b", Hour: 0.2016}, {Name: "c", Hour: 0.1016}}
	for i, milli := range []int64{8000, 4000, 2000} {
		kinds[i].Size = model.Amount{MilliCPU: milli, MemoryMiB: 16000}
	}
	orders := map[string]bool{}
	for _, order := range [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
		s := aFleet(func(e *Environment) {
			e.Types = nil
			for _, i := range order {
				e.Types = append(e.Types, kinds[i])
			}
		}).with(1, 1, minute)
		sim, err := New(s)
		if err != nil {
			t.Fatal(err)
		}
		names := ""
		for _, i := range sim.fittingTypes(0, s.Jobs[0].Need) {
			names += s.Environments[0].Types[i].Name
		}
		orders[names] = true
	}
	if len(orders) != 1 || !orders["bac"] {
		t.Errorf("orders %v, want bac", orders)
	}
}

// TestUnstartedHaveCome checks that a job that may come later is not counted as one that did not start.
func TestUnstartedHaveCome(t *testing.T) {
	s := aFleet(nil).with(1, 4, minute)
	s.RateSpread = 0.1
	for i, chance := range []float64{9, 1e-9, 1e-9, 0} { // the first comes in every draw
		s.Jobs = append(s.Jobs, Job{Submitted: int64(600+i) * minute, Chance: chance, Need: s.Jobs[0].Need, Exact: minute})
	}
	sim, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	if totals := sim.Run(1, Options{Until: 60 * minute}, func(Event) bool { return true }); totals.Unstarted != 1 {
		t.Errorf("%d unstarted, want 1", totals.Unstarted)
	}
}

func TestEnvironmentOrder(t *testing.T) {
	s := aFleet(func(e *Environment) { e.MaxvCpus = 4 }).with(2, 4, minute)
	second := s.Environments[0]
	second.Name = "second"
	s.Environments = append(s.Environments, second)
	s.Queues[0].Environments = []string{"e", "second"}
	if at, _ := events(t, s, Started); !slices.Equal(at, []int64{2 * minute, 2 * minute}) {
		t.Errorf("the next environment takes what the first cannot: started at %d", at)
	}
}

// TestRunsKeepTheirRules checks random fleets: no instance has more than fits, maxvCpus is exceeded by one instance at
// most, every job that fits starts, and the same seed gives the same events.
func TestRunsKeepTheirRules(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := aFleet(func(e *Environment) {
			e.MaxvCpus, e.MinvCpus = rapid.Int64Range(4, 64).Draw(t, "maxvCpus"), rapid.Int64Range(0, 8).Draw(t, "minvCpus")
			e.Strategy = rapid.SampledFrom(types.CRAllocationStrategy("").Values()).Draw(t, "strategy")
			if e.Type = rapid.SampledFrom([]types.CRType{types.CRTypeEc2, types.CRTypeSpot}).Draw(t, "type"); e.IsSpot() {
				e.ReclaimsPerHour = rapid.Float64Range(0, 2).Draw(t, "reclaims")
			}
		})
		s.Scaling = DefaultScaling()
		at := int64(0)
		for range rapid.IntRange(1, 60).Draw(t, "jobs") {
			at += rapid.SampledFrom([]int64{0, 1000, 30 * minute}).Draw(t, "later")
			v := rapid.Int64Range(1, 4).Draw(t, "vCPUs")
			s.Jobs = append(s.Jobs, Job{Submitted: at, Need: model.Amount{MilliCPU: v * 1000, MemoryMiB: rapid.Int64Range(1, 8000).Draw(t, "MiB")},
				Exact: rapid.Int64Range(1, 60*minute).Draw(t, "duration")})
		}
		sim, err := New(s)
		if err != nil {
			t.Fatal(err)
		}
		seed := rapid.Uint64().Draw(t, "seed")
		var first, second []Event
		used, finished := map[int]model.Amount{}, 0
		sim.Run(seed, Options{}, func(e Event) bool {
			first = append(first, e)
			switch e.Kind {
			case Started:
				used[e.Instance] = plus(used[e.Instance], s.Jobs[e.Job].Need)
				if sum := used[e.Instance]; !s.Environments[0].Types[1].Size.Covers(sum) {
					t.Fatalf("instance %d has %v", e.Instance, sum)
				}
			case Ended, Interrupted:
				used[e.Instance] = minus(used[e.Instance], s.Jobs[e.Job].Need)
				if e.Kind == Ended {
					finished++
				}
			}
			return true
		})
		if finished != len(s.Jobs) {
			t.Fatalf("%d of %d jobs finished", finished, len(s.Jobs))
		}
		sim.Run(seed, Options{}, func(e Event) bool { second = append(second, e); return true })
		if !reflect.DeepEqual(first, second) {
			t.Fatal("the same seed gave other events")
		}
	})
}

// TestCoarseRunsAgree checks that the quick runs behind plan --when say the same as exact ones.
func TestCoarseRunsAgree(t *testing.T) {
	s := month(3000)
	for i := range s.Jobs {
		s.Jobs[i].Submitted = 0
	}
	s.Environments[0].MaxvCpus = 2000
	sim, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	last := func(coarse bool) (at int64) {
		sim.Run(1, Options{Coarse: coarse}, func(e Event) bool {
			if e.Kind == Started && e.Job == len(s.Jobs)-1 {
				at = e.At
			}
			return at == 0
		})
		return at
	}
	if exact, coarse := last(false), last(true); math.Abs(float64(exact-coarse)) > 0.03*float64(exact) {
		t.Errorf("the last job starts at %d, in a coarse run at %d", exact, coarse)
	}
}

// TestExpecting checks the jobs that may come: none for a FIFO queue alone, else as many as came before.
func TestExpecting(t *testing.T) {
	s := aFleet(nil)
	s.Now = 10 * 60 * minute
	for i := range int64(60) {
		s.Past = append(s.Past, Job{Submitted: i * 10 * minute, Started: i * 10 * minute, Exact: minute, Need: model.Amount{MilliCPU: 1000, MemoryMiB: 1000}})
	}
	s.Durations = []Durations{{Source: FromQueue, Known: []int64{minute}}}
	if next, rate := s.expecting(1, nil); next != s || rate != 0 {
		t.Errorf("jobs of a FIFO queue are expected: %g an hour", rate)
	}
	s.Queues[0].Policy = &types.FairsharePolicy{}
	next, rate := s.expecting(1, nil)
	if rate != 6 || len(s.Jobs) > 0 || !slices.IsSortedFunc(next.Jobs, func(a, b Job) int { return int(a.Submitted - b.Submitted) }) || next.Jobs[0].Submitted <= s.Now {
		t.Fatalf("%g an hour, the first of %d at %d", rate, len(next.Jobs), next.Jobs[0].Submitted)
	}
	sim, err := New(next)
	if err != nil {
		t.Fatal(err)
	}
	const draws = 400
	count := 0
	for seed := range uint64(draws) {
		sim.Run(seed, Options{Until: s.Now + 5*60*minute}, func(e Event) bool {
			if e.Kind == Submitted {
				count++
			}
			return true
		})
	}
	// The rates of the draws have a mean of exp(spread*spread/2), and all draws share the same possible jobs.
	if mean := float64(count) / draws; mean < 22 || mean > 45 {
		t.Errorf("%.1f jobs come in five hours, want about 30", mean)
	}
	if next, rate := s.expecting(1, nil); rate != 6 || next.RateSpread < arrivalsDrift {
		t.Errorf("the rate is %g and spreads by %g", rate, next.RateSpread)
	}
	s.Past = s.Past[:fewestArrivals-1]
	if _, rate := s.expecting(1, nil); rate != 0 {
		t.Errorf("%d submissions make a rate of %g", len(s.Past), rate)
	}
}

func TestDurations(t *testing.T) {
	row := func(definition, queue string, ms int64) history.Attempt {
		return history.Attempt{Definition: definition, Queue: queue, Status: types.JobStatusSucceeded, StartedAt: 1, StoppedAt: 1 + ms}
	}
	failed := row("train:1", "gpu", 5)
	failed.Status = types.JobStatusFailed
	r := RecordOf([]history.Attempt{row("train:1", "gpu", 100), row("train:2", "gpu", 300), row("other:1", "gpu", 200), failed})
	for _, c := range []struct {
		definition, queue string
		timeout           int64
		source            Source
		known             []int64
	}{
		{"train:3", "gpu", 60, FromDefinition, []int64{100, 300}},
		{"new:1", "gpu", 60, FromQueue, []int64{100, 200, 300}},
		{"new:1", "cpu", 60, FromTimeout, nil},
		{"new:1", "cpu", 0, FromNothing, nil},
	} {
		d := r.Durations(c.definition, c.queue, c.timeout)
		if d.Source != c.source || !slices.Equal(d.Known, c.known) || d.Most != c.timeout*1000 {
			t.Errorf("%s in %s: %+v", c.definition, c.queue, d)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		d := Durations{Known: slices.Sorted(slices.Values(rapid.SliceOfN(rapid.Int64Range(1, 1000), 0, 5).Draw(t, "known"))), Most: rapid.SampledFrom([]int64{0, 2000}).Draw(t, "timeout")}
		elapsed := rapid.Int64Range(0, 1500).Draw(t, "elapsed")
		ms := d.draw(rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1)), elapsed, rapid.Float64Range(0.3, 3).Draw(t, "factor"), d.estimate())
		if ms < 1 || ms < elapsed || d.Most > 0 && ms > max(d.Most, elapsed+d.Most/10) {
			t.Fatalf("drew %d after %d of %+v", ms, elapsed, d)
		}
	})
}

func TestChanges(t *testing.T) {
	expand := func(entry string, spot bool) ([]InstanceType, error) {
		price := 1.0
		if spot {
			price = 0.3
		}
		return []InstanceType{{Name: entry, Size: model.Amount{MilliCPU: 1000, MemoryMiB: 1}, Hour: price}}, nil
	}
	for text, want := range map[string]string{
		"e.maxvCpus=512":           `map[computeEnvironments:[map[computeEnvironmentName:e computeResources:map[maxvCpus:512]]]]`,
		"q.maxvCpus=512":           `map[computeEnvironments:[map[computeEnvironmentName:e computeResources:map[maxvCpus:512]]]]`,
		"e.instanceTypes+=g5":      `map[computeEnvironments:[map[computeEnvironmentName:e computeResources:map[instanceTypes:[small large g5]]]]]`,
		"e.instanceTypes-=small":   `map[computeEnvironments:[map[computeEnvironmentName:e computeResources:map[instanceTypes:[large]]]]]`,
		"e.type=SPOT":              `map[computeEnvironments:[map[computeEnvironmentName:e computeResources:map[type:SPOT]]]]`,
		"q.priority=7":             `map[jobQueues:[map[jobQueueName:q priority:7]]]`,
		"q.weightFactor=vision:2":  `map[schedulingPolicies:[map[fairsharePolicy:map[shareDistribution:[map[shareIdentifier:vision weightFactor:2]]] name:q]]]`,
		"e.maxvCpus=-1":            "want a whole number",
		"e.colour=red":             "unknown member",
		"x.maxvCpus=1":             "no compute environment or queue x",
		"e.allocationStrategy=ANY": "want one of",
		"maxvCpus=1":               "want NAME.MEMBER=VALUE",
	} {
		s := aFleet(nil)
		c, err := ParseChange(text)
		got := ""
		if err == nil {
			var next *State
			if next, err = s.Changed([]Change{c}, expand); err == nil {
				got = sprint(s.Patch(next))
			}
		}
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
		if !reflect.DeepEqual(s, aFleet(nil)) {
			t.Errorf("%s changed the current queues", text)
		}
	}
}

func TestPlatformPatch(t *testing.T) {
	s := aFleet(nil)
	for text, want := range map[string]string{
		"e.maxvCpus=512": `map[queues:map[alias:map[computeEnvironments:[map[computeEnvironment:e instanceTypes:[small large] maxvCpus:512 type:EC2]] jobQueue:q]]]`,
		"q.priority=7":   `map[]`,
		"e.minvCpus=4":   `map[]`,
		"e.maxvCpus=16":  `map[]`,
		"q.maxvCpus=0":   `map[queues:map[alias:map[computeEnvironments:[map[computeEnvironment:e instanceTypes:[small large] maxvCpus:0 type:EC2]] jobQueue:q]]]`,
	} {
		c, err := ParseChange(text)
		if err != nil {
			t.Fatal(err)
		}
		next, err := s.Changed([]Change{c}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := sprint(s.PlatformPatch(next, func(string) string { return "alias" })); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

func TestParsePolicy(t *testing.T) {
	for text, want := range map[string]string{
		`{"name": "p", "fairsharePolicy": {"shareDecaySeconds": 60, "shareDistribution": [{"shareIdentifier": "a", "weightFactor": 0.5}]}}`: "60 a 0.5",
		`{"shareDecaySeconds": 60, "shareDistribution": [{"shareIdentifier": "a", "weightFactor": 0.5}]}`:                                   "60 a 0.5",
		`{"name": "p"}`:                          "want a CreateSchedulingPolicy request",
		`{"shareDecaySeconds": 60, "colour": 1}`: "unknown field",
		`{"computeReservation": 100}`:            "want 0 to 99",
		`{"shareDecaySeconds": -1}`:              "want 0 to 604800",
		`{"shareDistribution": [{"shareIdentifier": "a", "weightFactor": 1000}]}`: "0.0001 to 999.9999",
		`{"shareDistribution": [{"weightFactor": 1}]}`:                            "want a shareIdentifier",
	} {
		p, err := ParsePolicy([]byte(text))
		got := sprint(err)
		if err == nil {
			got = fmt.Sprintf("%d %s %g", *p.ShareDecaySeconds, *p.ShareDistribution[0].ShareIdentifier, *p.ShareDistribution[0].WeightFactor)
		}
		if !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

func TestJain(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   float64
	}{{nil, 1}, {[]float64{2, 2, 2}, 1}, {[]float64{1, 0, 0, 0}, 0.25}} {
		if got := Jain(c.values); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("Jain(%v) is %g, want %g", c.values, got, c.want)
		}
	}
}

func TestAccuracy(t *testing.T) {
	var all []Prediction
	for i := range int64(40) {
		p := Prediction{Target: "t", Queue: "good", Made: i, Start: Interval{1000, 61_000, 121_000}, Started: 20_000 + i*2000}
		all = append(all, p)
		p.Queue, p.Started = "late", 301_000
		all = append(all, p)
	}
	all = append(all, Prediction{Target: "t", Queue: "new", Start: Interval{1, 2, 3}}, Prediction{Target: "other", Queue: "good", Started: 1})
	got := AccuracyOf("t", all)
	want := []Accuracy{
		{Queue: "good", Forecasts: 40, Coverage: 1, Bias: -2000, Stretch: 1},
		{Queue: "late", Forecasts: 40, Bias: 240_000, Stretch: 4, Poor: true},
		{Queue: "new", Open: 1, Stretch: 1},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if got, want := (Interval{10, 20, 40}).Stretched(3, 5), (Interval{5, 20, 80}); got != want {
		t.Errorf("stretched: %v, want %v", got, want)
	}
}
