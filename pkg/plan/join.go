package plan

import (
	"fmt"
	"slices"

	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/document"
)

// maxWaits is the maximum number of dependencies of a job (API reference of SubmitJob,
// dependsOn).
const maxWaits = catalog.MaxDependencies

// shorten reduces the dependencies of a group's jobs to the maximum of AWS Batch. It removes
// those that others imply, and replaces several by an inserted step.
func (b *builder) shorten(g *group, waits [][]wait) [][]wait {
	common := slices.DeleteFunc(slices.Clone(waits[0]), func(w wait) bool { return !w.isCommon() })
	common = b.withoutImplied(common)
	var fixed []wait // of the part with the most
	for i, list := range waits {
		if waits[i] = slices.DeleteFunc(list, wait.isCommon); len(waits[i]) > len(fixed) {
			fixed = waits[i]
		}
	}
	slots := maxWaits - len(fixed)
	if slots < min(1, len(common)) {
		b.refuseMany(fixed, len(common))
		return waits
	}
	common = b.join(g, common, slots)
	for i := range waits {
		waits[i] = append(waits[i], common...)
	}
	return waits
}

// refuseMany reports too many dependencies that no step can replace: child by child, or of one
// child for the one before it.
func (b *builder) refuseMany(fixed []wait, common int) {
	more := ""
	if common > 0 {
		more = fmt.Sprintf(", and for %d more", common)
	}
	b.fail(fixed[min(len(fixed), maxWaits+1)-1].Node, "dep-max-20",
		fmt.Sprintf("a job waits for at most %d others, and this one waits for %d child by child, which no step in between can replace%s", maxWaits, len(fixed), more),
		"leave out the type of some dependencies, or make the others one array")
}

// withoutImplied removes duplicates, and jobs that must have succeeded if another job of the list
// has.
func (b *builder) withoutImplied(list []wait) []wait {
	implied := b.impliedBy(list)
	var kept []wait
	for _, w := range list {
		if !slices.ContainsFunc(kept, w.isSame) && !implied[w.key()] {
			kept = append(kept, w)
		}
	}
	return kept
}

// key identifies a job that others wait for.
type key struct {
	on   *Job
	isID bool
	job  string
}

// key returns the key of the job.
func (w wait) key() key { return key{w.on, w.isID, w.Job} }

// impliedBy returns the jobs that the jobs of a list wait for, directly or indirectly. A job with
// a condition implies nothing, because it may start after a failure.
func (b *builder) impliedBy(list []wait) map[key]bool {
	implied := map[key]bool{}
	var visit func(*Job)
	visit = func(j *Job) {
		if j == nil || j.When != "" {
			return
		}
		for _, w := range b.waits[j] {
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

// impliesAll reports whether the success of j implies that the whole job it waits for succeeded.
func (w wait) impliesAll(j *Job) bool {
	return w.Type == "" || w.Type == nToN && w.on != nil && w.on.size() == j.size()
}

// join replaces dependencies by inserted steps until at most slots are left. A step replaces up
// to 20 dependencies, which may be other steps.
func (b *builder) join(g *group, list []wait, slots int) []wait {
	surplus := len(list) - slots
	if surplus <= 0 {
		return list
	}
	count := (surplus + maxWaits - 2) / (maxWaits - 1) // each removes 20 and adds itself
	common, ok := b.joint(g)
	if !ok {
		return list
	}
	for n := range count {
		ending := "-join"
		if count > 1 {
			ending = fmt.Sprintf("-join%d", n+1)
		}
		size := min(maxWaits, len(list)-slots+1)
		step := common.step(b.names.free(g.Name, ending))
		step.wait(list[:size])
		b.waits[step] = slices.Clone(list[:size])
		b.plan.Jobs = append(b.plan.Jobs, step)
		list = append(list[size:], wait{Dependency: document.Dependency{Job: step.Name, Node: list[0].Node}, on: step})
	}
	return list
}
