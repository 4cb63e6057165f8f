package testbed

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/cost"
)

func TestValidPrefix(t *testing.T) {
	for prefix, want := range map[string]bool{
		"batchctl-bench": true, "abc": true, "a1-b2": true,
		"ab": true, "": false, "a": false, "1abc": false, "-abc": false, "abc-": false, "a--b": false, "Abc": false, "a_bc": false,
		"abcdefghijklmnopqrstuvwxyz": true, "abcdefghijklmnopqrstuvwxyza": false,
	} {
		if got := ValidPrefix(prefix); got != want {
			t.Errorf("%q: %v", prefix, got)
		}
	}
}

// TestWanted: interface endpoints are for a network without a NAT gateway.
func TestWanted(t *testing.T) {
	names := func(parameters map[string]string) (names []string) {
		for _, template := range Wanted(parameters) {
			names = append(names, template.Name)
		}
		return names
	}
	with := names(Parameters("trial"))
	if slices.Contains(with, "endpoints") || !slices.Contains(with, "batch") || with[0] != "network" {
		t.Errorf("with a NAT gateway: %v", with)
	}
	if without := names(map[string]string{"Nat": "false"}); len(without) != len(with)+1 || !slices.Contains(without, "endpoints") {
		t.Errorf("without a NAT gateway: %v", without)
	}
}

func TestQueues(t *testing.T) {
	queues := Queues("trial", Parameters("trial"))
	var got []string
	for _, q := range queues {
		got = append(got, q.Alias, q.JobQueue, q.Environments[0].InstanceTypes[0])
	}
	if diff := cmp.Diff([]string{"cpu", "trial-cpu", "c6i.4xlarge", "gpu", "trial-gpu", "g4dn.xlarge"}, got); diff != "" {
		t.Error(diff)
	}
	if most := queues[1].Environments[0].MaxvCpus; most != 4 {
		t.Errorf("%d vCPUs", most)
	}
}

// TestOffer: a job costs all of its time on the most expensive type; what stands is billed by the
// started hour of the longest time.
func TestOffer(t *testing.T) {
	o := NewOffer(nil, "us-east-1")
	job := cost.Estimate{Job: "a", TimeoutSeconds: 1800, Attempts: 2}
	o.Add([]cost.Estimate{job}, []string{"g4dn.xlarge", " g5.xlarge"})
	parameters := map[string]string{"Nat": "true"}
	o.AddHourly(Wanted(parameters), parameters)
	o.Wait("a", 30*time.Minute)
	g5, _ := o.Prices.Instance("us-east-1", "g5.xlarge")
	if g5 == 0 || math.Abs(o.Most-g5) > 1e-9 || o.Why != "" {
		t.Errorf("the job costs %g USD, want %g; %s", o.Most, g5, o.Why)
	}
	if o.Longest != 2*time.Hour+30*time.Minute || o.Hours() != 3 {
		t.Errorf("it takes %v, %g hours", o.Longest, o.Hours())
	}
	if want := o.Most + 3*o.Hourly; o.Hourly == 0 || math.Abs(o.All()-want) > 1e-9 || len(o.Standing) != 2 {
		t.Errorf("all costs %g USD, want %g; standing: %v", o.All(), want, o.Standing)
	}
	o.Add([]cost.Estimate{{Job: "b", Attempts: 1}}, []string{"g5.xlarge"})
	if o.Why != cost.NoTimeout {
		t.Errorf("a job without a timeout: %q", o.Why)
	}
	for _, test := range []struct {
		parameters map[string]string
		standing   []string
		hourly     float64
	}{
		{map[string]string{"Nat": "true"}, []string{"a public IPv4 address", "a NAT gateway"}, 0.05},
		{map[string]string{"Nat": "false"}, []string{"10 interface endpoints in 2 zones"}, 0.2},
		{map[string]string{"Zones": "3"}, []string{"10 interface endpoints in 3 zones"}, 0.3},
	} {
		o := NewOffer(nil, "us-east-1")
		o.AddHourly(Wanted(test.parameters), test.parameters)
		if diff := cmp.Diff(test.standing, o.Standing); diff != "" || math.Abs(o.Hourly-test.hourly) > 1e-9 || o.Why != "" {
			t.Errorf("%v: %g USD an hour, want %g; %s%s", test.parameters, o.Hourly, test.hourly, o.Why, diff)
		}
	}
	if far := NewOffer(nil, "xx-none-1"); !far.Elsewhere || far.Region != catalog.PricesRegion {
		t.Errorf("a Region without prices: %q, %v", far.Region, far.Elsewhere)
	}
}

// TestMemory: a later process finds what was noted. A new benchmark forgets the jobs of the last
// one, and keeps the ids whose logs are to be removed.
func TestMemory(t *testing.T) {
	dir := t.TempDir()
	recall := func() *Memory {
		m, err := Recall(dir)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	check := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	m := recall()
	check(m.Begin("aws 1 us-east-1", "trial"))
	check(m.Note("CPU matrix", Jobs{Work: "f00", Asked: time.Unix(1, 0).UTC(), Jobs: []Job{{Name: "n", ID: "1"}}}))
	later := recall()
	if diff := cmp.Diff(m, later, cmpopts.IgnoreUnexported(Memory{})); diff != "" {
		t.Error(diff)
	}
	check(later.Belongs("aws 1 us-east-1", "trial", dir))
	if later.Belongs("aws 2 us-east-1", "trial", dir) == nil || later.Belongs("aws 1 us-east-1", "other", dir) == nil {
		t.Error("it belongs to another account, or has another prefix")
	}
	later.Measured = time.Unix(2, 0).UTC()
	check(later.Begin("aws 1 us-east-1", "trial"))
	if m := recall(); len(m.Jobs) != 0 || !m.Measured.IsZero() || len(m.Logs) != 1 {
		t.Errorf("a new benchmark begins with %+v", m)
	}
	check(later.Forget())
	check(later.Forget())
	if m := recall(); !m.Began.IsZero() {
		t.Error("it remembers what it has forgotten")
	}
}

// TestPrograms: the program without libraries is for the CPU's image alone, the other one serves
// both sides where it has to.
func TestPrograms(t *testing.T) {
	static, dynamic := program(elf.PT_LOAD), program(elf.PT_INTERP)
	for name, test := range map[string]struct {
		files map[string][]byte
		sides []string
		want  [][]string // nil: it cannot be done
	}{
		"both":            {map[string][]byte{"batchctl-workloads": dynamic, "batchctl-workloads-static": static}, []string{"GPU", "CPU"}, [][]string{{"CPU"}, {"GPU"}}},
		"dynamic":         {map[string][]byte{"batchctl-workloads": dynamic}, []string{"GPU", "CPU"}, [][]string{{"CPU", "GPU"}}},
		"static":          {map[string][]byte{"batchctl-workloads": static}, []string{"GPU", "CPU"}, nil},
		"static for CPU":  {map[string][]byte{"batchctl-workloads": static}, []string{"CPU"}, [][]string{{"CPU"}}},
		"another system":  {map[string][]byte{"batchctl-workloads": []byte("MZ")}, []string{"CPU"}, nil},
		"an empty folder": {nil, []string{"CPU"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for file, data := range test.files {
				if err := os.WriteFile(filepath.Join(dir, file), data, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			p, err := FindPrograms(dir)
			if err != nil {
				t.Fatal(err)
			}
			images, ok := p.Images(test.sides, "")
			var got [][]string
			for _, image := range images {
				got = append(got, image.Sides)
			}
			if diff := cmp.Diff(test.want, got); diff != "" || ok != (test.want != nil) {
				t.Errorf("%v %s", ok, diff)
			}
		})
	}
	p := Programs{dynamic: dynamic}
	plain, _ := p.Images([]string{"GPU"}, "")
	based, _ := p.Images([]string{"GPU"}, "registry.example.com/cuda")
	if plain[0].Tag == based[0].Tag {
		t.Error("images with different bases have the same tag")
	}
}

// program is a program for Linux on x86_64 with one segment of this type.
func program(segment elf.ProgType) []byte {
	var b bytes.Buffer
	h := elf.Header64{Type: uint16(elf.ET_EXEC), Machine: uint16(elf.EM_X86_64), Version: 1, Phoff: 64, Ehsize: 64, Phentsize: 56, Phnum: 1}
	copy(h.Ident[:], elf.ELFMAG+"\x02\x01\x01")
	_ = binary.Write(&b, binary.LittleEndian, h) // a buffer takes everything
	_ = binary.Write(&b, binary.LittleEndian, elf.Prog64{Type: uint32(segment)})
	return b.Bytes()
}
