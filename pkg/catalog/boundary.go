package catalog

import "slices"

// Saving is what a job would gain that asked for slightly less.
type Saving struct {
	// Request is what would fit: the job's own, cut where it is just over.
	Request Request
	// Instance would hold it, PerInstance times at once.
	Instance    InstanceType
	PerInstance int
}

// JustOver says what a request with its current placement would gain by asking for
// slightly less: a smaller type among the environments, or else one job more on
// each instance. A request is just over a boundary if it asks for
//
//   - more memory than the type leaves to that many jobs (UsableMiB), but at most
//     5 % more, or no more than their share of its nominal memory;
//   - more vCPUs than their share, but at most 5 % more, or one more where the
//     share is 4 or above, vCPUs being whole.
//
// A smaller type has no more of anything and at most three quarters of the vCPUs,
// the memory or the GPUs. One more job counts only if no type of the environments
// packs the current request nearly as well (within a quarter). ok is false on
// Fargate, for a placement without proof, and where an environment names types
// that the catalogue does not know.
func JustOver(environments []Environment, r Request, now Placement) (s Saving, ok bool) {
	if r.Fargate || now.Instance.Name == "" {
		return s, false
	}
	r.Arch = now.Instance.Arch
	var types []InstanceType
	for _, e := range environments {
		some, unknown := e.expand()
		if len(unknown) > 0 {
			return s, false
		}
		types = append(types, some...)
	}
	types = slices.DeleteFunc(types, func(t InstanceType) bool { return !t.suits(r) })
	slices.SortFunc(types, bySize)
	for _, t := range slices.Backward(types) {
		if c, over := r.justOver(t, 1); over && t.smallerThan(now.Instance) {
			return Saving{c, t, 1}, true
		}
	}
	more := now.PerInstance + 1
	if c, over := r.justOver(now.Instance, more); over && 4*now.Instance.shareOf(r, more) <= 3*leastShare(types, r) {
		return Saving{c, now.Instance, more}, true
	}
	return s, false
}

// smallerThan reports whether t is a smaller type that is worth a change.
func (t InstanceType) smallerThan(than InstanceType) bool {
	worth := func(a, b int) bool { return b > 0 && 4*a <= 3*b }
	return t.VCPUs <= than.VCPUs && t.MemoryMiB <= than.MemoryMiB && t.GPUs <= than.GPUs &&
		(worth(t.VCPUs, than.VCPUs) || worth(t.MemoryMiB, than.MemoryMiB) || worth(t.GPUs, than.GPUs))
}

// justOver cuts the request to its share of the type, which holds n such jobs,
// if it asks for slightly more than that.
func (r Request) justOver(t InstanceType, n int) (cut Request, over bool) {
	cut = r
	if r.GPUs > t.GPUs/n {
		return cut, false
	}
	vcpus, memory := float64(t.VCPUs/n), t.UsableMiB()/n
	if r.VCPUs > vcpus {
		if r.VCPUs > vcpus*1.05 && (vcpus < 4 || r.VCPUs > vcpus+1) {
			return cut, false
		}
		cut.VCPUs = vcpus
	}
	if r.MemoryMiB > memory {
		if r.MemoryMiB > max(memory*105/100, t.MemoryMiB/n) {
			return cut, false
		}
		cut.MemoryMiB = memory
	}
	return cut, cut != r
}

// shareOf is what one of n jobs takes of the instance: in GPUs for a GPU job, else
// in vCPUs.
func (t InstanceType) shareOf(r Request, n int) float64 {
	size := t.VCPUs
	if r.GPUs > 0 {
		size = t.GPUs
	}
	return float64(size) / float64(n)
}

// leastShare is the share on the type that packs the request best.
func leastShare(types []InstanceType, r Request) float64 {
	least := 0.0
	for _, t := range types {
		if n := t.capacity(r); n > 0 && (least == 0 || t.shareOf(r, n) < least) {
			least = t.shareOf(r, n)
		}
	}
	return least
}
