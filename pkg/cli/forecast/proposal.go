package forecast

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/exit"
	simulate "github.com/batchctl/batchctl/pkg/forecast"
)

// proposal is a flag that proposes a change.
type proposal struct {
	// flag is the flag as written, and unchanged why it can have no effect on a state.
	flag, unchanged string
	needsSpot       bool // it applies only to environments on Spot
	apply           func(*simulate.State) (*simulate.State, error)
}

// noEffect says that the proposal, which turned one state into the other, changes no figure.
func (p proposal) noEffect(before, after *simulate.State) string {
	why := "no figure of this forecast changes"
	switch {
	case p.needsSpot && !slices.ContainsFunc(after.Environments, simulate.Environment.IsSpot):
		why = "no compute environment is on Spot"
	case reflect.DeepEqual(before, after):
		why = p.unchanged
	}
	return fmt.Sprintf("%s has no effect: %s", p.flag, why)
}

// queueProposals are the proposals about queues and environments: those that a replay takes too.
func (o Options) queueProposals(w *world) (list []proposal, err error) {
	if o.read.policy != nil {
		at, err := onlyQueue(o, w, "--policy changes one queue")
		if err != nil {
			return nil, err
		}
		list = append(list, proposal{"--policy " + o.Policy, "the queue has this policy already", false,
			func(s *simulate.State) (*simulate.State, error) {
				if reflect.DeepEqual(s.Queues[at].Policy, o.read.policy) {
					return s, nil
				}
				return s.WithPolicy(at, o.read.policy), nil
			}})
	}
	for _, text := range o.Set {
		c, err := simulate.ParseChange(text)
		if err != nil {
			return nil, exit.Usage("--set %v", err)
		}
		list = append(list, proposal{"--set " + text, "it is so already", false,
			func(s *simulate.State) (*simulate.State, error) {
				next, err := s.Changed([]simulate.Change{c}, w.expand)
				if err != nil {
					return nil, exit.Usage("--set %v", err)
				}
				return next, nil
			}})
	}
	if o.SetsReclaims {
		list = append(list, proposal{fmt.Sprintf("--spot-reclaims %g", o.Reclaims), "the rate is so already", true,
			func(s *simulate.State) (*simulate.State, error) { return s.Reclaimed(o.Reclaims), nil }})
	}
	return list, nil
}

// proposals are all proposals of the flags, in the order in which they apply.
func (o Options) proposals(ctx context.Context, con *term.Console, w *world) ([]proposal, error) {
	list, err := o.queueProposals(w)
	if err != nil {
		return nil, err
	}
	if share := o.WithoutShare; share != "" {
		list = append(list, proposal{"--without-share " + share, "no job of this share waits, or comes later", false,
			func(s *simulate.State) (*simulate.State, error) { return s.Without(share), nil }})
	}
	for _, arg := range o.AddJobs {
		list = append(list, proposal{"--add-jobs " + arg, "it adds no job", false,
			func(s *simulate.State) (*simulate.State, error) { return withJobs(ctx, con, o, w, s, arg) }})
	}
	return list, nil
}

// replayed returns a state after the proposals for a replay, and the texts of those without an effect. The search of a
// replay tries other queues too, so a proposal has no effect only if it changes nothing of the state.
func (o Options) replayed(w *world, state *simulate.State) (next *simulate.State, noEffect []string, err error) {
	list, err := o.queueProposals(w)
	if err != nil {
		return nil, nil, err
	}
	next = state
	for _, p := range list {
		before := next
		if next, err = p.apply(before); err != nil {
			return nil, nil, err
		}
		if reflect.DeepEqual(before, next) {
			noEffect = append(noEffect, p.noEffect(before, next))
		}
	}
	return next, slices.Clip(noEffect), nil
}
