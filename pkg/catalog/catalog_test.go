package catalog

import (
	"slices"
	"strings"
	"testing"

	"github.com/batchctl/batchctl/pkg/packed"
)

// carried is the catalogue of batchctl without other types.
var carried *Catalog

func TestTheTablesAreWhole(t *testing.T) {
	if n := len(embedded().types); n < 1260 {
		t.Fatalf("%d instance types, want at least 1260", n)
	}
	for _, name := range []string{"instance-types.csv", "retired-types.csv", "measured-memory.csv"} {
		if table := packed.Text(files(), name); strings.ContainsAny(table, "\"\r") || !strings.HasSuffix(table, "\n") {
			t.Errorf("rows does not read %s", name)
		}
	}
	for _, it := range embedded().types {
		if it.VCPUs < 1 || it.MemoryMiB < 512 || (it.Arch != X86 && it.Arch != Arm) {
			t.Errorf("%+v: not a whole row", it)
		}
		if u := it.UsableMiB(); u >= it.MemoryMiB || u <= it.MemoryMiB/3 {
			t.Errorf("%s: %d of %d MiB usable", it.Name, u, it.MemoryMiB)
		}
		if _, ok := carried.Lookup(it.Name); !ok {
			t.Errorf("Lookup(%q) finds nothing", it.Name)
		}
	}
	for _, row := range rows(packed.Text(files(), "measured-memory.csv")) {
		if _, ok := carried.Lookup(row[0]); !ok {
			t.Errorf("measured %s is not an instance type", row[0])
		}
	}
}

// The formula must stay below the memory that instances have registered; otherwise a job
// waits in RUNNABLE indefinitely. It must not be far below, or good requests are rejected.
func TestTheMemoryFormulaAgainstMeasurements(t *testing.T) {
	for _, row := range rows(packed.Text(files(), "measured-memory.csv")) {
		it, _ := carried.Lookup(row[0])
		measured := it.UsableMiB()
		if most := it.MostUsableMiB(); most < measured || most >= it.MemoryMiB {
			t.Errorf("%s: at most %d of %d MiB for jobs, and %d were measured", it.Name, most, it.MemoryMiB, measured)
		}
		it.measured = nil
		low := measured * 91 / 100
		if formula := it.UsableMiB(); formula > measured || formula < low {
			t.Errorf("%s: formula %d, measured %d", it.Name, formula, measured)
		}
	}
}

func TestUsableMiB(t *testing.T) {
	for name, want := range map[string]int{
		"m4.large":    7985 - 32,  // an example of the user guide
		"g4dn.xlarge": 15731 - 32, // two public reports: 16384 never starts
		"g5.8xlarge":  131072*955/1000 - 210 - 32,
		"p3.8xlarge":  249856*955/1000 - 210 - 32,
	} {
		it, ok := carried.Lookup(name)
		if !ok || it.UsableMiB() != want {
			t.Errorf("%s: %v %d, want %d", name, ok, it.UsableMiB(), want)
		}
	}
}

// TestTightMemory checks the three answers about memory near what a host has: it fits, it depends
// on the AMI, it never fits. The sizes that fit are those of jobs that ran.
func TestTightMemory(t *testing.T) {
	for _, c := range []struct {
		instance string
		memory   int
		fits     bool
		doubt    string
	}{
		{"r6id.xlarge", 31500, true, ""},
		{"r6id.xlarge", 31517, true, ""},
		{"r6id.xlarge", 31518, false, ""}, // more than the one AMI that was measured
		{"r6id.4xlarge", 126000, true, ""},
		{"r5d.xlarge", 31600, true, ""},
		{"r5d.2xlarge", 63500, true, ""},
		{"trn1.32xlarge", 503316, true, ""},
		{"p4d.24xlarge", 1143936, true, ""},
		{"m5.2xlarge", 31345, true, ""},
		// aws/containers-roadmap issue 2231
		{"m5.2xlarge", 31431, true, "31345 MiB (ECS users 2018 to 2024); other AMIs have up to 31752 MiB"},
		{"m5.2xlarge", 32000, false, ""},
		{"m6i.2xlarge", 31051, true, ""},
		{"m6i.2xlarge", 31500, true, "no figure is published for m6i.2xlarge; hosts with 32768 MiB have between 31051 and 31752 MiB for jobs"},
		{"m6i.2xlarge", 31800, false, ""},
		{"m4.16xlarge", 257921, true, ""},
		{"p3.8xlarge", 245000, true, "between 238370 and 245920 MiB"}, // not Nitro
		{"p3.8xlarge", 246000, false, ""},
	} {
		p := Environment{InstanceTypes: []string{c.instance}}.Place(Request{VCPUs: 1, MemoryMiB: c.memory})
		if p.Fits != c.fits || (c.doubt != "") != (p.Fits && p.Reason != "") || !strings.Contains(p.Reason, c.doubt) {
			t.Errorf("%d MiB on %s: %v %q", c.memory, c.instance, p.Fits, p.Reason)
		}
	}
}

// TestNamedResources checks the sizes that a public launcher for machine learning submits to AWS
// Batch: 96 % of the nominal memory of each type. They run, so none may be an error.
func TestNamedResources(t *testing.T) {
	types := []string{"t3.medium", "m5.2xlarge", "c5.18xlarge"}
	for _, family := range []string{"p3", "p3dn", "p4d", "p4de", "p5", "g4dn", "g5", "g6", "g6e", "trn1", "c5", "m5", "r5"} {
		for _, it := range carried.Expand(family) {
			types = append(types, it.Name)
		}
	}
	for _, name := range types {
		it, ok := carried.Lookup(name)
		request := Request{VCPUs: 1, MemoryMiB: it.MemoryMiB * 96 / 100}
		if p := (Environment{InstanceTypes: []string{name}}).Place(request); !ok || !p.Fits {
			t.Errorf("%s on %s: %s", request, name, p.Reason)
		}
	}
	if len(types) < 55 {
		t.Errorf("%d types", len(types))
	}
}

func TestExpand(t *testing.T) {
	for entry, want := range map[string]string{
		"g5.8xlarge":    "g5.8xlarge",
		"g3":            "g3.4xlarge g3.8xlarge g3.16xlarge",
		"p3":            "p3.2xlarge p3.8xlarge p3.16xlarge",
		"p3dn":          "p3dn.24xlarge",
		"x9.wide":       "",
		"mac1":          "",
		"":              "",
		"G5.8XLARGE":    "",
		"default_arm32": "",
	} {
		var names []string
		for _, it := range carried.Expand(entry) {
			names = append(names, it.Name)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("Expand(%q) = %q, want %q", entry, got, want)
		}
	}
}

func TestBundlesHaveOneArchitectureAndNoGPU(t *testing.T) {
	for entry, arch := range map[string]string{"optimal": X86, "default_x86_64": X86, "default_arm64": Arm} {
		list := carried.Expand(entry)
		if len(list) < 30 {
			t.Errorf("%s: only %d types", entry, len(list))
		}
		for _, it := range list {
			if it.Arch != arch || it.GPUs != 0 {
				t.Errorf("%s holds %+v", entry, it)
			}
		}
		if !slices.IsSortedFunc(list, bySize) {
			t.Errorf("%s is not sorted by size", entry)
		}
	}
}

func TestEveryEntryExpands(t *testing.T) {
	entries := carried.Entries()
	if !slices.IsSorted(entries) {
		t.Error("entries are not sorted")
	}
	for _, e := range entries {
		if len(carried.Expand(e)) == 0 {
			t.Errorf("Expand(%q) is empty", e)
		}
	}
}

func TestRequestString(t *testing.T) {
	for want, r := range map[string]Request{
		"1 GPU, 8 vCPU, 30720 MiB":    {VCPUs: 8, MemoryMiB: 30720, GPUs: 1},
		"4 GPUs, 0.5 vCPU, 4 MiB":     {VCPUs: .5, MemoryMiB: 4, GPUs: 4},
		"0.25 vCPU, 512 MiB, arm64":   {VCPUs: .25, MemoryMiB: 512, Arch: Arm},
		"100000 vCPU, 2000000000 MiB": {VCPUs: 100000, MemoryMiB: 2000000000},
	} {
		if got := r.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
