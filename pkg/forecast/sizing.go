package forecast

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/stable"
)

// Sizing is one set of queues in a sizing report.
type Sizing struct {
	Name string `json:"name"`
	// MaxvCpus is the sum of its environments.
	MaxvCpus int64   `json:"maxvCpus"`
	Outlook  Outlook `json:"outlook"`
	// P95Ms is the 95th percentile of the waits of all jobs, in milliseconds: of the group that waits most.
	P95Ms float64 `json:"waitP95Ms"`
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

// Sizings tries sets of queues for the jobs of a State: the present ones, and each with a half to four times the
// vCPUs, on demand and on Spot. expand returns instance types with the prices of the other kind. The result is
// sorted: sets within the limit first, the cheapest of them at the top.
func Sizings(s *State, limit int64, expand func(entry string, spot bool) ([]InstanceType, error), workers int) ([]Sizing, error) {
	var all []Sizing
	factors := []struct {
		name     string
		part, of int64
	}{{"a quarter of the vCPUs", 1, 4}, {"half the vCPUs", 1, 2}, {"the present vCPUs", 1, 1}, {"twice the vCPUs", 2, 1}, {"four times the vCPUs", 4, 1}}
	for _, kind := range []types.CRType{"", types.CRTypeEc2, types.CRTypeSpot} {
		state, changed, err := s.onKind(kind, expand)
		if err != nil {
			return nil, err
		}
		if !changed && kind != "" {
			continue
		}
		for _, f := range factors {
			next := *state
			next.Environments = slices.Clone(state.Environments)
			one := Sizing{Name: f.name, state: &next}
			if kind != "" {
				one.Name = fmt.Sprintf("%s, %s", f.name, map[types.CRType]string{types.CRTypeEc2: "on demand", types.CRTypeSpot: "on Spot"}[kind])
			}
			for i := range next.Environments {
				e := &next.Environments[i]
				e.MaxvCpus = max(e.MaxvCpus*f.part/f.of, e.MinvCpus, 1)
				one.MaxvCpus += e.MaxvCpus
			}
			all = append(all, one)
		}
	}
	errs := make([]error, len(all))
	EachDraw(len(all), workers, func(i int) { errs[i] = all[i].try(limit) })
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	stable.Sort(all, func(a, b Sizing) int {
		switch {
		case a.Keeps != b.Keeps && a.Keeps:
			return -1
		case a.Keeps != b.Keeps:
			return 1
		case !a.Keeps:
			return cmp.Compare(a.P95Ms, b.P95Ms)
		}
		return cmp.Compare(a.Outlook.CostUSD.Median, b.Outlook.CostUSD.Median)
	})
	return all, nil
}

// sizingDraws is how many draws a set gets: the jobs and their durations are known, only instances vary.
const sizingDraws = 3

// try simulates a set.
func (v *Sizing) try(limit int64) error {
	sim, err := New(v.state)
	if err != nil {
		return err
	}
	v.Outlook = sim.Outlook(1, 0, 0, sizingDraws, 1)
	for _, g := range v.Outlook.Groups {
		v.P95Ms = max(v.P95Ms, g.P95.Median)
	}
	v.Keeps = v.P95Ms <= float64(limit) && v.Outlook.Unstarted.High == 0
	return nil
}

// onKind returns a State whose environments of instances are all on demand or on Spot. changed is false if they
// were already.
func (s *State) onKind(kind types.CRType, expand func(string, bool) ([]InstanceType, error)) (next *State, changed bool, err error) {
	if kind == "" || s.Machine != nil {
		return s, false, nil
	}
	var changes []Change
	for _, e := range s.Environments {
		if !e.IsFargate() && e.Type != kind {
			changes = append(changes, Change{e.Name, "type", "=", string(kind)})
		}
	}
	if next, err = s.Changed(changes, expand); err != nil {
		return nil, false, err
	}
	if kind == types.CRTypeSpot {
		next = next.Reclaimed(spotReclaims)
	}
	return next, len(changes) > 0, nil
}
