package lint

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/catalog"
)

// instanceTypes are the instance types with which jobs are compared. Without a platform file they
// are those of the embedded catalogue.
type instanceTypes struct{ *catalog.Catalog }

// archOf returns the common architecture of instance types, or "" if it is unknown.
func (t instanceTypes) archOf(entries []string) string {
	for _, e := range entries {
		if types := t.Expand(e); len(types) > 0 {
			return types[0].Arch
		}
	}
	return ""
}

// familyOf returns the family of an instance type: c5 for c5.large. A family is its own
// family.
func familyOf(entry string) string {
	family, _, _ := strings.Cut(entry, ".")
	return family
}

// usableOnNode returns the capacity of an EKS node for pods. Kubernetes reserves cpu
// by the number of cores and memory by the number of pods. The smallest number of pods
// is assumed, so that the rule does not report a pod that fits.
func usableOnNode(t catalog.InstanceType) (cpu float64, memoryMiB int) {
	reserved := 0.0
	for i := range t.VCPUs {
		reserved += []float64{0.06, 0.01, 0.005, 0.005, 0.0025}[min(i, 4)]
	}
	// Amazon EKS reserves 11 MiB for each pod and 255 MiB for the kubelet, and evicts pods
	// below 100 MiB of free memory.
	const leastPods, kubelet, eviction = 8, 255, 100
	return float64(t.VCPUs) - math.Round(reserved*1000)/1000, t.MemoryMiB - 11*leastPods - kubelet - eviction
}

// hasFamily returns the first entry that is of one of the families, or "".
func hasFamily(entries []string, families ...string) string {
	for _, e := range entries {
		if slices.Contains(families, familyOf(e)) {
			return e
		}
	}
	return ""
}

// hasGPU reports whether all instance types of an entry have NVIDIA GPUs.
func (t instanceTypes) hasGPU(entry string) bool {
	types := t.Expand(entry)
	return len(types) > 0 && !slices.ContainsFunc(types, func(one catalog.InstanceType) bool { return !one.RunsGPUJobs() })
}

// isBundle reports whether an entry of instanceTypes stands for types that AWS Batch
// selects, such as optimal or default_x86_64.
func isBundle(entry string) bool {
	return entry == "optimal" || strings.HasPrefix(entry, "default_")
}

// within reports whether a bundle contains all types of an entry.
func (t instanceTypes) within(entry, bundle string) bool {
	all := t.Expand(bundle)
	for _, one := range t.Expand(entry) {
		if !slices.ContainsFunc(all, func(b catalog.InstanceType) bool { return b.Name == one.Name }) {
			return false
		}
	}
	return true
}

// launches reports whether an environment of these entries launches the type.
func (t instanceTypes) launches(entries []string, name string) bool {
	for _, e := range entries {
		types := t.Expand(e)
		if len(types) == 0 || slices.ContainsFunc(types, func(one catalog.InstanceType) bool { return one.Name == name }) {
			return true
		}
	}
	return len(entries) == 0
}

// unknown returns the message and the hint about an entry of instanceTypes that is not in the catalogue. The hint is
// a known entry of the same letter: f1 has FPGAs, and a1 has Arm processors. The catalogue has a date, so the hint
// also names the option for newer types.
func (t instanceTypes) unknown(entry string) (message, hint string) {
	if t.MayBeNewer(entry) {
		return fmt.Sprintf("%s may be newer than %s", quote(entry), t), "to check jobs against it, give a file with its size: --catalog FILE"
	}
	hint = "write a type (g5.8xlarge), a family (c5) or optimal"
	if near := near(entry, t.Entries()); near != "" && strings.EqualFold(near[:1], entry[:1]) {
		hint = "write " + quote(near)
	}
	return fmt.Sprintf("%s is not an instance type in %s", quote(entry), t), hint + ", or give a file with newer types: --catalog FILE"
}
