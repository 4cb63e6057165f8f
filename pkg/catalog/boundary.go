package catalog

import (
	"slices"
)

// Saving is the gain of a slightly smaller request.
type Saving struct {
	// Request is the smaller request: the job's own, reduced where it is just over a
	// boundary.
	Request Request
	// Instance is the type that fits it, PerInstance times at once.
	Instance    InstanceType
	PerInstance int
}

// JustOver returns the gain of a slightly smaller request, for a request with its current
// placement: a smaller type among the environments, or else one more job on each instance.
// A request is just over a boundary if it asks for
//
//   - more memory than that many jobs can each have on the type (UsableMiB), but at most
//     5 % more, or at most their share of its nominal memory;
//   - more vCPUs than their share, but at most 5 % more, or one more if the share is 4 or
//     above, since vCPUs are whole.
//
// A smaller type has no larger figure, and at most three quarters of the vCPUs, the memory
// or the GPUs. One more job counts only if no type of the environments packs the current
// request nearly as well (within a quarter). ok is false on Fargate, for a placement
// without proof, and if the catalogue does not know all types of the environments.
func JustOver(environments []Environment, r Request, now Placement) (s Saving, ok bool) {
	if r.Fargate || now.Instance.Name == "" || now.Reason != "" {
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

// smallerThan reports whether t is a smaller type, by enough to matter.
func (t InstanceType) smallerThan(than InstanceType) bool {
	worth := func(a, b int) bool { return b > 0 && 4*a <= 3*b }
	return t.VCPUs <= than.VCPUs && t.MemoryMiB <= than.MemoryMiB && t.GPUs <= than.GPUs &&
		(worth(t.VCPUs, than.VCPUs) || worth(t.MemoryMiB, than.MemoryMiB) || worth(t.GPUs, than.GPUs))
}

// justOver reduces the request to its share of the type, which fits n such jobs, if the
// request is slightly larger.
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

// shareOf returns the part of the instance that one of n jobs uses: of its GPUs for a GPU
// job, or else of its vCPUs.
func (t InstanceType) shareOf(r Request, n int) float64 {
	size := t.VCPUs
	if r.GPUs > 0 {
		size = t.GPUs
	}
	return float64(size) / float64(n)
}

// leastShare returns the share on the type that packs the request best.
func leastShare(types []InstanceType, r Request) float64 {
	least := 0.0
	for _, t := range types {
		if n := t.capacity(r); n > 0 && (least == 0 || t.shareOf(r, n) < least) {
			least = t.shareOf(r, n)
		}
	}
	return least
}
