package forecast

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/local/model"
)

// Sizing is one set of queues in a sizing report.
type Sizing struct {
	Name string `json:"name"`
	// MaxvCpus is the sum of its environments, or the vCPUs of a local engine's machine.
	MaxvCpus int64   `json:"maxvCpus"`
	Outlook  Outlook `json:"outlook"`
	// P95Ms is the 95th percentile of the waits of all jobs, in milliseconds: of the group that waits most. Absent
	// means that such a job never starts, and Never is how many never start.
	P95Ms *float64 `json:"waitP95Ms,omitempty"`
	Never int      `json:"neverStart,omitempty"`
	// Keeps is true if that is within the limit, and all jobs start.
	Keeps bool `json:"keepsLimit"`
	state *State
}

// State returns the queues of the set.
func (s Sizing) State() *State { return s.state }

// spotReclaims is how often a Spot instance is taken back in an hour, in a sizing report. The Spot Instance Advisor's
// steadiest class of instance types is interrupted in less than 5 % of the cases, the next in 5 to 10 %; this is far
// on the careful side of both.
const spotReclaims = 0.01

// Expander returns the instance types of an entry of instanceTypes, with the prices on demand or on Spot.
type Expander func(entry string, spot bool) ([]InstanceType, error)

// Sizings searches for the cheapest queues that keep a limit of waiting for the jobs of a State. It tries the present
// queues with a quarter to four times the vCPUs, on demand and on Spot. From the best set on, it changes one thing at a
// time: maxvCpus, Spot, or an instance type, also one of offers. It follows each gain, and ends without one. So a
// cheaper set may exist. The result is sorted: sets within the limit first, the cheapest of them at the top.
func Sizings(s *State, limit int64, offers []string, expand Expander, workers int) ([]Sizing, error) {
	v := search{present: s, limit: limit, offers: offers, expand: expand, workers: workers, tried: map[string]bool{}}
	if err := v.begin(); err != nil {
		return nil, err
	}
	most := mostSizings(len(s.Jobs))
	for _, step := range []float64{2, 1.25} {
		for len(v.all) < most && s.Machine == nil {
			before := v.all[0]
			if err := v.try(v.neighbours(before, step), most); err != nil {
				return nil, err
			}
			if !v.all[0].gains(before) {
				break
			}
		}
	}
	return v.all, nil
}

// mostSizings bounds how many sets are tried: 30 with a month of 100,000 jobs, which take about 10 seconds on two
// cores.
func mostSizings(jobs int) int { return min(max(3_000_000/max(jobs, 1), 20), 100) }

// search is a search for a set of queues.
type search struct {
	present *State
	limit   int64
	offers  []string
	expand  Expander
	workers int
	tried   map[string]bool
	all     []Sizing // the best first
}

// begin tries the present queues with other numbers of vCPUs.
func (v *search) begin() error {
	factors := []struct {
		name     string
		part, of int64
	}{{"a quarter of the vCPUs", 1, 4}, {"half the vCPUs", 1, 2}, {"the current vCPUs", 1, 1},
		{"twice the vCPUs", 2, 1}, {"four times the vCPUs", 4, 1}}
	var first []Sizing
	for _, kind := range []types.CRType{"", types.CRTypeEc2, types.CRTypeSpot} {
		state, changed, err := v.onKind(kind)
		if err != nil {
			return err
		}
		if !changed && kind != "" {
			continue
		}
		for _, f := range factors {
			next := *state
			next.Environments = slices.Clone(state.Environments)
			name := f.name
			if kind != "" {
				name += ", " + kindText(kind)
			}
			for i := range next.Environments {
				if e := &next.Environments[i]; e.MaxvCpus > 0 {
					e.MaxvCpus = max(e.MaxvCpus*f.part/f.of, e.MinvCpus, 1)
				}
			}
			if m := state.Machine; m != nil {
				next.Machine = &model.Amount{MilliCPU: max(m.MilliCPU*f.part/f.of, 1),
					MemoryMiB: max(m.MemoryMiB*f.part/f.of, 1), GPUs: m.GPUs}
			}
			first = append(first, Sizing{Name: name, state: &next})
		}
	}
	return v.try(first, len(first))
}

// kindText is how a set with environments of a type is named.
func kindText(kind types.CRType) string {
	if kind == types.CRTypeSpot {
		return "on Spot"
	}
	return "on demand"
}

// try simulates sets that were not tried before, until there are so many in all, and sorts them.
func (v *search) try(sets []Sizing, most int) error {
	sets = slices.DeleteFunc(sets, func(one Sizing) bool {
		key := one.key()
		again := v.tried[key]
		v.tried[key] = true
		return again
	})
	sets = sets[:min(len(sets), max(most-len(v.all), 0))]
	errs := make([]error, len(sets))
	EachDraw(len(sets), v.workers, func(i int) { errs[i] = sets[i].try(v.limit) })
	if err := errors.Join(errs...); err != nil {
		return err
	}
	v.all = append(v.all, sets...)
	slices.SortStableFunc(v.all, func(a, b Sizing) int {
		switch {
		case a.Keeps != b.Keeps && a.Keeps:
			return -1
		case a.Keeps != b.Keeps:
			return 1
		case !a.Keeps:
			return cmp.Or(cmp.Compare(a.Never, b.Never), cmp.Compare(a.wait(), b.wait()))
		}
		return cmp.Compare(a.Outlook.CostUSD.Median, b.Outlook.CostUSD.Median)
	})
	return nil
}

// gains reports whether a set is better than another, by more than the draws tell apart.
func (v Sizing) gains(other Sizing) bool {
	switch {
	case v.Keeps != other.Keeps:
		return v.Keeps
	case !v.Keeps:
		return v.Never < other.Never || v.Never == other.Never && v.wait() < 0.99*other.wait()
	}
	return v.Outlook.CostUSD.Median < 0.99*other.Outlook.CostUSD.Median
}

// wait is the 95th percentile of the waits; infinite if such a job never starts.
func (v Sizing) wait() float64 {
	if v.P95Ms == nil {
		return math.Inf(1)
	}
	return *v.P95Ms
}

// key is the same for sets with the same environments.
func (v Sizing) key() string {
	text := ""
	if m := v.state.Machine; m != nil {
		text = fmt.Sprint(*m)
	}
	for _, e := range v.state.Environments {
		text += fmt.Sprintln(e.MaxvCpus, e.Type, slices.Sorted(slices.Values(e.Entries)))
	}
	return text
}

// neighbours returns the sets that differ from one in one thing. step is the factor for maxvCpus.
func (v *search) neighbours(of Sizing, step float64) (list []Sizing) {
	add := func(changes ...Change) {
		next, err := of.state.Changed(changes, v.expand)
		if err != nil {
			return // an instance type without a price
		}
		v.reclaim(next)
		list = append(list, Sizing{Name: v.name(next), state: next})
	}
	for _, e := range of.state.Environments {
		for _, n := range []int64{int64(float64(e.MaxvCpus) / step), int64(math.Ceil(float64(e.MaxvCpus) * step))} {
			add(Change{e.Name, "maxvCpus", "=", fmt.Sprint(max(n, e.MinvCpus, 1))})
		}
		if e.IsFargate() || len(e.Entries) == 0 {
			continue
		}
		other := types.CRTypeSpot
		if e.IsSpot() {
			other = types.CRTypeEc2
		}
		add(Change{e.Name, "type", "=", string(other)})
		for _, entry := range e.Entries {
			if len(e.Entries) > 1 {
				add(Change{e.Name, "instanceTypes", "-=", entry})
			}
		}
		for _, entry := range v.offers {
			if !slices.Contains(e.Entries, entry) {
				add(Change{e.Name, "instanceTypes", "+=", entry})
				add(Change{e.Name, "instanceTypes", "=", entry})
			}
		}
	}
	return list
}

// name names a set by what differs from the present queues.
func (v *search) name(next *State) string {
	var parts []string
	for i, e := range next.Environments {
		was := v.present.Environments[i]
		var part []string
		if e.MaxvCpus != was.MaxvCpus {
			part = append(part, fmt.Sprintf("maxvCpus %d", e.MaxvCpus))
		}
		if e.Type != was.Type {
			part = append(part, kindText(e.Type))
		}
		for _, entry := range e.Entries {
			if !slices.Contains(was.Entries, entry) {
				part = append(part, "with "+entry)
			}
		}
		for _, entry := range was.Entries {
			if !slices.Contains(e.Entries, entry) {
				part = append(part, "without "+entry)
			}
		}
		if len(part) > 0 {
			parts = append(parts, e.Name+" "+strings.Join(part, " "))
		}
	}
	return cmp.Or(strings.Join(parts, ", "), "the current queues")
}

// reclaim sets how often EC2 takes Spot instances back, as in the present queues if they have a rate.
func (v *search) reclaim(s *State) {
	rate := 0.0
	for _, e := range v.present.Environments {
		rate = max(rate, e.ReclaimsPerHour)
	}
	*s = *s.Reclaimed(cmp.Or(rate, spotReclaims))
}

// sizingDraws is how many draws a set gets: the jobs and their durations are known, only instances vary.
const sizingDraws = 3

// try simulates a set.
func (v *Sizing) try(limit int64) error {
	sim, err := New(v.state)
	if err != nil {
		return err
	}
	v.MaxvCpus = 0
	for _, e := range v.state.Environments {
		v.MaxvCpus += e.MaxvCpus
	}
	if m := v.state.Machine; m != nil {
		v.MaxvCpus = m.MilliCPU / 1000
	}
	v.Outlook = sim.Outlook(1, 0, 0, sizingDraws, 1)
	longest := 0.0
	for _, g := range v.Outlook.Groups {
		v.Never += g.Never
		if g.P95 == nil {
			longest = math.Inf(1)
		} else {
			longest = max(longest, g.P95.Median)
		}
	}
	if !math.IsInf(longest, 1) {
		v.P95Ms = &longest
	}
	v.Keeps = v.wait() <= float64(limit) && v.Never == 0
	return nil
}

// onKind returns a State whose environments of instances are all on demand or on Spot. changed is false if they
// were already.
func (v *search) onKind(kind types.CRType) (next *State, changed bool, err error) {
	if kind == "" || v.present.Machine != nil {
		return v.present, false, nil
	}
	var changes []Change
	for _, e := range v.present.Environments {
		if !e.IsFargate() && e.Type != kind {
			changes = append(changes, Change{e.Name, "type", "=", string(kind)})
		}
	}
	if next, err = v.present.Changed(changes, v.expand); err != nil {
		return nil, false, err
	}
	v.reclaim(next)
	return next, len(changes) > 0, nil
}
