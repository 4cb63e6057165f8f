package catalog

import (
	"cmp"
	_ "embed" // for the tables
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/batchctl/batchctl/pkg/packed"
)

// InstanceTypesDate is the date of instance-types.csv, which has the output of EC2
// DescribeInstanceTypes in all Regions.
const InstanceTypesDate = "2026-11-20"

// Catalog holds the instance types for checks of jobs: batchctl's own, and those supplied
// in addition (Read). A nil Catalog has only the former.
type Catalog struct {
	types    []InstanceType // from small to large
	byName   map[string]int // their indexes
	byFamily map[string][]int
	// supplied is the name of the file with additional types; "" if there are none.
	supplied string
}

// embedded parses the tables on first use, since many commands place no jobs. retired-types.csv has the families that
// EC2 no longer offers to new accounts, and that long-lived compute environments still name, with figures from the EC2
// user guide. measured-memory.csv has the memory that hosts were seen to register with ECS, before AgentReserveMiB,
// with the AMI if it was published; a figure with >= is the size of a job that ran.
var embedded = sync.OnceValue(func() *Catalog {
	measured := map[string][]MemoryFigure{}
	for _, row := range rows(packed.Text(files(), "measured-memory.csv")) {
		figure, atLeast := strings.CutPrefix(row[1], ">=")
		measured[row[0]] = append(measured[row[0]], MemoryFigure{MiB: number(figure), AtLeast: atLeast, AMI: row[2],
			Source: row[3]})
	}
	var types []InstanceType
	for _, row := range slices.Concat(rows(packed.Text(files(), "instance-types.csv")),
		rows(packed.Text(files(), "retired-types.csv"))) {
		if isMac(row[3]) {
			continue
		}
		types = append(types, InstanceType{
			Name: row[0], VCPUs: number(row[1]), MemoryMiB: number(row[2]), Arch: arch(row[3]),
			GPUs: number(row[4]), GPUMaker: row[5], GPUName: row[6], measured: measured[row[0]],
		})
	}
	return newCatalog(types)
})

// newCatalog sorts the types, whose names must differ.
func newCatalog(types []InstanceType) *Catalog {
	c := &Catalog{types: types, byName: make(map[string]int, len(types)), byFamily: map[string][]int{}}
	slices.SortStableFunc(c.types, bySize)
	for i, it := range c.types {
		c.byName[it.Name] = i
		family, _, _ := strings.Cut(it.Name, ".")
		c.byFamily[family] = append(c.byFamily[family], i)
	}
	return c
}

func (c *Catalog) orEmbedded() *Catalog {
	if c == nil {
		return embedded()
	}
	return c
}

// String names the catalogue by its date, and by the additional file: "the catalogue of
// 2026-11-20 with types.json".
func (c *Catalog) String() string {
	if c == nil || c.supplied == "" {
		return "the catalogue of " + InstanceTypesDate
	}
	return "the catalogue of " + InstanceTypesDate + " with " + c.supplied
}

// rows splits an embedded table, in which no value has a comma or a quote.
func rows(text string) [][]string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	all := make([][]string, len(lines)-1)
	for i := range all {
		all[i] = strings.Split(lines[i+1], ",")
	}
	return all
}

func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		panic(err)
	}
	return n
}

// arch removes the 32-bit part of the first generation's "i386+x86_64".
func arch(s string) string { return strings.TrimPrefix(s, "i386+") }

// isMac reports whether an architecture is that of a Mac, which AWS Batch does not use.
func isMac(arch string) bool { return strings.HasSuffix(arch, "_mac") }

// bySize orders types from the cheapest that fits a job to the most expensive: GPUs first,
// since an unused GPU wastes the most money.
func bySize(a, b InstanceType) int {
	return cmp.Or(
		cmp.Compare(a.GPUs, b.GPUs),
		cmp.Compare(a.VCPUs, b.VCPUs),
		cmp.Compare(a.MemoryMiB, b.MemoryMiB),
		strings.Compare(a.Name, b.Name),
	)
}

// Lookup returns the instance type of a name ("g5.8xlarge").
func (c *Catalog) Lookup(name string) (InstanceType, bool) {
	c = c.orEmbedded()
	i, ok := c.byName[name]
	if !ok {
		return InstanceType{}, false
	}
	return c.types[i], true
}

// bundle returns the families of a bundle; nil for a type or a family. Since 2025-11,
// "optimal" launches the same as default_x86_64 (user guide, managed compute
// environments).
func bundle(entry string) []string {
	switch entry {
	case "optimal", "default_x86_64":
		return []string{"m6i", "c6i", "r6i", "c7i"}
	case "default_arm64":
		return []string{"m6g", "c6g", "r6g", "c7g"}
	}
	return nil
}

// Expand returns the instance types of an entry of instanceTypes in a compute environment,
// from small to large. The entry is a type, a family, "optimal", "default_x86_64" or
// "default_arm64". Expand returns none for an unknown entry.
func (c *Catalog) Expand(entry string) []InstanceType {
	c = c.orEmbedded()
	return c.at(c.indexes(entry))
}

// indexes returns where the instance types of an entry are in the catalogue; none for an unknown entry.
func (c *Catalog) indexes(entry string) (found []int) {
	if one, ok := c.byName[entry]; ok {
		return []int{one}
	}
	families := bundle(entry)
	if families == nil {
		return c.byFamily[entry]
	}
	for _, family := range families {
		found = append(found, c.byFamily[family]...)
	}
	return found
}

// at returns the instance types at these indexes, from small to large; nil without one.
func (c *Catalog) at(indexes []int) []InstanceType {
	if len(indexes) == 0 {
		return nil
	}
	list := make([]InstanceType, len(indexes))
	for i, at := range slices.Sorted(slices.Values(indexes)) {
		list[i] = c.types[at]
	}
	return list
}

// ArchOf returns the architecture of the first known entry of instanceTypes, or "". All instance types of a compute
// environment have the same.
func (c *Catalog) ArchOf(entries []string) string {
	for _, e := range entries {
		if types := c.Expand(e); len(types) > 0 {
			return types[0].Arch
		}
	}
	return ""
}

// Entries returns every entry that Expand knows, sorted, for hints.
func (c *Catalog) Entries() []string {
	c = c.orEmbedded()
	entries := []string{"default_arm64", "default_x86_64", "optimal"}
	for family := range c.byFamily {
		entries = append(entries, family)
	}
	for name := range c.byName {
		entries = append(entries, name)
	}
	slices.Sort(entries)
	return entries
}
