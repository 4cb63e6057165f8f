package lint

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/text"
)

// instanceTypes are the instance types with which jobs are compared. Without a platform file they
// are those of the embedded catalogue.
type instanceTypes struct{ *catalog.Catalog }

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
	return len(types) > 0 &&
		!slices.ContainsFunc(types, func(one catalog.InstanceType) bool { return !one.RunsGPUJobs() })
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
		if len(types) == 0 || slices.ContainsFunc(types,
			func(one catalog.InstanceType) bool { return one.Name == name }) {
			return true
		}
	}
	return len(entries) == 0
}

// unknownIn returns the entries of instanceTypes that are not in the catalogue: those of one unknown family together,
// because they are one mistake, and any other alone.
func (t instanceTypes) unknownIn(list *jsontree.Node) [][]*jsontree.Node {
	var mistakes [][]*jsontree.Node
	for n := range list.Children() {
		if !n.Is(jsontree.String) || isPlaceholder(n.Text) || t.Expand(n.Text) != nil {
			continue
		}
		family, _, _ := strings.Cut(n.Text, ".")
		i := slices.IndexFunc(mistakes, func(m []*jsontree.Node) bool {
			of, _, _ := strings.Cut(m[0].Text, ".")
			return of == family && t.Expand(family) == nil
		})
		if i < 0 {
			mistakes, i = append(mistakes, nil), len(mistakes)
		}
		mistakes[i] = append(mistakes[i], n)
	}
	return mistakes
}

// unknown returns the message and the hint about entries of instanceTypes that are not in the catalogue. The hint is
// a known entry of the same letter: f1 has FPGAs, and a1 has Arm processors. The catalogue has a date, so the hint
// also names the option for newer types.
func (t instanceTypes) unknown(entries []*jsontree.Node) (message, hint string) {
	var names []string
	for _, n := range entries {
		names = append(names, quote(n.Text))
	}
	first := entries[0].Text
	if t.MayBeNewer(first) {
		return fmt.Sprintf("%s may be newer than %s", text.And(names), t),
			"to check jobs against it, give a file with its size: --catalog FILE"
	}
	hint = "write a type (g5.8xlarge), a family (c5) or optimal"
	if near := near(first, t.Entries()); near != "" && strings.EqualFold(near[:1], first[:1]) {
		hint = "write " + quote(near)
	}
	hint += ", or give a file with newer types: --catalog FILE"
	if len(names) > 1 {
		return fmt.Sprintf("%s are not instance types in %s", text.And(names), t), hint
	}
	return fmt.Sprintf("%s is not an instance type in %s", names[0], t), hint
}
