package plan

import (
	"fmt"
	"slices"

	"github.com/batchctl/batchctl/pkg/document"
)

// joins shortens the dependencies of the jobs of one file.
type joins struct {
	joints
	// names are those that generated jobs must not have.
	names taken
	// waits are the dependencies of the jobs so far.
	waits map[*Job][]wait
}

// shorten reduces the dependencies of a group's jobs to the maximum of AWS Batch. It removes
// those that others imply, and replaces several by the inserted steps that it returns.
func (js *joins) shorten(g *group, waits [][]wait) (short [][]wait, steps []*Job) {
	common := slices.DeleteFunc(slices.Clone(waits[0]), func(w wait) bool { return !w.isCommon() })
	common = js.withoutImplied(common)
	var fixed []wait // of the part with the most
	for i, list := range waits {
		if waits[i] = slices.DeleteFunc(list, wait.isCommon); len(waits[i]) > len(fixed) {
			fixed = waits[i]
		}
	}
	slots := maxWaits - len(fixed)
	if slots < min(1, len(common)) {
		js.refuseMany(fixed, len(common))
		return waits, nil
	}
	common, steps = js.join(g, common, slots)
	for i := range waits {
		waits[i] = append(waits[i], common...)
	}
	return waits, steps
}

// refuseMany reports too many dependencies that no step can replace: child by child, or of one
// child for the one before it.
func (js *joins) refuseMany(fixed []wait, common int) {
	more := ""
	if common > 0 {
		more = fmt.Sprintf(", and for %d more", common)
	}
	js.fail(fixed[min(len(fixed), maxWaits+1)-1].Node, "dep-max-20",
		fmt.Sprintf("a job waits for at most %d others, but this one waits for %d with N_TO_N, which an intermediate job cannot replace%s", maxWaits, len(fixed), more),
		"remove the type of some dependencies, or combine the others into one array")
}

// withoutImplied removes duplicates, and jobs that must have succeeded if another job of the list
// has.
func (js *joins) withoutImplied(list []wait) []wait {
	implied := js.impliedBy(list)
	var kept []wait
	for _, w := range list {
		if !slices.ContainsFunc(kept, w.isSame) && !implied[w.key()] {
			kept = append(kept, w)
		}
	}
	return kept
}

// impliedBy returns the jobs that the jobs of a list wait for, directly or indirectly. A job with
// a condition implies nothing, because it may start after a failure.
func (js *joins) impliedBy(list []wait) map[key]bool {
	implied := map[key]bool{}
	var visit func(*Job)
	visit = func(j *Job) {
		if j == nil || j.When != "" {
			return
		}
		for _, w := range js.waits[j] {
			if w.impliesAll(j) && !implied[w.key()] {
				implied[w.key()] = true
				visit(w.on)
			}
		}
	}
	for _, w := range list {
		visit(w.on)
	}
	return implied
}

// join replaces dependencies by inserted steps until at most slots are left. A step replaces up
// to 20 dependencies, which may be other steps.
func (js *joins) join(g *group, list []wait, slots int) (short []wait, steps []*Job) {
	surplus := len(list) - slots
	if surplus <= 0 {
		return list, nil
	}
	count := (surplus + maxWaits - 2) / (maxWaits - 1) // each removes 20 and adds itself
	common, ok := js.joint(g)
	if !ok {
		return list, nil
	}
	for n := range count {
		ending := "-join"
		if count > 1 {
			ending = fmt.Sprintf("-join%d", n+1)
		}
		size := min(maxWaits, len(list)-slots+1)
		step := common.step(js.names.free(g.Name, ending))
		step.wait(list[:size])
		js.waits[step] = slices.Clone(list[:size])
		steps = append(steps, step)
		list = append(list[size:], wait{Dependency: document.Dependency{Job: step.Name, Node: list[0].Node}, on: step})
	}
	return list, steps
}
