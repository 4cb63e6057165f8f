package catalog

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func ec2(types ...string) Environment { return Environment{Type: "EC2", InstanceTypes: types} }

func TestPlace(t *testing.T) {
	const needsGPU = "a GPU job needs instance types with NVIDIA GPUs on x86_64, such as g5"
	fargate := Environment{Type: "FARGATE_SPOT", MaxvCpus: 16}
	small := Environment{Type: "SPOT", InstanceTypes: []string{"c5"}, MaxvCpus: 4}
	for _, tt := range []struct {
		name    string
		env     Environment
		req     Request
		want    string // the instance, or "" when it does not fit
		per     int
		reason  string
		nearest string
	}{
		{"smallest of a family", ec2("c5", "m5", "r5"), Request{VCPUs: 2, MemoryMiB: 3000}, "c5.large", 1, "", ""},
		{"memory decides", ec2("c5", "m5", "r5"), Request{VCPUs: 2, MemoryMiB: 12000}, "r5.large", 1, "", ""},
		{"several on one", ec2("c5.9xlarge"), Request{VCPUs: 2, MemoryMiB: 1024}, "c5.9xlarge", 18, "", ""},
		{"one GPU", ec2("g5.8xlarge", "g5.12xlarge"), Request{VCPUs: 8, MemoryMiB: 30720, GPUs: 1}, "g5.8xlarge", 1, "", ""},
		{"four GPUs", ec2("g5.8xlarge", "g5.12xlarge"), Request{VCPUs: 8, MemoryMiB: 30720, GPUs: 4}, "g5.12xlarge", 1, "", ""},
		{"no GPU wanted, none taken", ec2("g5.xlarge", "c5.xlarge"), Request{VCPUs: 4, MemoryMiB: 4096}, "c5.xlarge", 1, "", ""},
		{"retired", ec2("p3"), Request{VCPUs: 4, MemoryMiB: 4096, GPUs: 8}, "p3.16xlarge", 1, "", ""},
		{"fraction", ec2("t3.medium"), Request{VCPUs: .5, MemoryMiB: 512}, "t3.medium", 4, "", ""},

		{"nominal memory", ec2("g4dn.xlarge"), Request{VCPUs: 4, MemoryMiB: 16384, GPUs: 1}, "", 0,
			"its largest type g4dn.xlarge leaves at most 15860 of 16384 MiB to jobs", "1 GPU, 4 vCPU, 15699 MiB on g4dn.xlarge"},
		{"too many vCPU", ec2("c5.xlarge"), Request{VCPUs: 8, MemoryMiB: 1024}, "", 0,
			"its largest type c5.xlarge has 4 vCPU", "4 vCPU, 1024 MiB on c5.xlarge"},
		{"too many GPUs", ec2("g5.xlarge"), Request{VCPUs: 4, MemoryMiB: 1024, GPUs: 2}, "", 0,
			"its largest type g5.xlarge has 1 GPU", "1 GPU, 4 vCPU, 1024 MiB on g5.xlarge"},
		{"no GPU there", ec2("c5", "optimal"), Request{VCPUs: 4, MemoryMiB: 1024, GPUs: 1}, "", 0,
			"c5, optimal: no instance type with a GPU", needsGPU},
		{"no GPU in a bundle", ec2("optimal"), Request{VCPUs: 4, MemoryMiB: 1024, GPUs: 1}, "", 0,
			"optimal: includes no instance type with a GPU", needsGPU},
		{"an AMD GPU", ec2("g4ad"), Request{VCPUs: 4, MemoryMiB: 1024, GPUs: 1}, "", 0,
			"g4ad: no NVIDIA GPU on x86_64, which is all that AWS Batch runs", needsGPU},
		{"a GPU on Arm", ec2("g5g"), Request{VCPUs: 4, MemoryMiB: 1024, GPUs: 1}, "", 0,
			"g5g: no NVIDIA GPU on x86_64, which is all that AWS Batch runs", needsGPU},
		{"an Arm job with a GPU", ec2("g5g"), Request{VCPUs: 4, MemoryMiB: 1024, GPUs: 1, Arch: Arm}, "", 0,
			"AWS Batch runs GPU jobs on x86_64 only", needsGPU},
		{"architecture", ec2("c5"), Request{VCPUs: 1, MemoryMiB: 1024, Arch: Arm}, "", 0, "c5: not arm64", "1 vCPU, 1024 MiB built for x86_64 on c5.large"},
		{"an Arm job with a GPU, and x86_64 GPUs", ec2("g5.xlarge"), Request{VCPUs: 8, MemoryMiB: 1024, GPUs: 1, Arch: Arm}, "", 0,
			"AWS Batch runs GPU jobs on x86_64 only", "1 GPU, 4 vCPU, 1024 MiB built for x86_64 on g5.xlarge"},
		{"an x86_64 job on Arm", ec2("c6g.large"), Request{VCPUs: 4, MemoryMiB: 1024, Arch: X86}, "", 0,
			"c6g.large: not x86_64", "2 vCPU, 1024 MiB built for arm64 on c6g.large"},
		{"too much memory", ec2("c5.4xlarge", "r5.large"), Request{VCPUs: 16, MemoryMiB: 50000}, "", 0,
			"its largest type c5.4xlarge leaves at most 31752 of 32768 MiB to jobs", "16 vCPU, 31120 MiB on c5.4xlarge"},
		{"together", ec2("c5.2xlarge", "r5.xlarge"), Request{VCPUs: 8, MemoryMiB: 20000}, "", 0,
			"none of its instance types has all of that", "8 vCPU, 15441 MiB on c5.2xlarge"},
		{"maxvCpus", small, Request{VCPUs: 8, MemoryMiB: 1024}, "", 0,
			"8 vCPU is more than its maxvCpus of 4", "4 vCPU, 1024 MiB on c5.xlarge"},
		{"Fargate job on EC2", ec2("c5"), Request{VCPUs: 1, MemoryMiB: 2048, Fargate: true}, "", 0, "EC2, but the job is for Fargate", ""},
		{"EC2 job on Fargate", fargate, Request{VCPUs: 1, MemoryMiB: 2048}, "", 0, "FARGATE_SPOT, but the job is for EC2", ""},
		{"no Fargate size", fargate, Request{VCPUs: 1, MemoryMiB: 2500, Fargate: true}, "", 0,
			"1 vCPU, 2500 MiB is not a Fargate size", "1 vCPU, 3072 MiB"},
		{"more than Fargate", fargate, Request{VCPUs: 64, MemoryMiB: 2500, Fargate: true}, "", 0,
			"64 vCPU, 2500 MiB is more than Fargate offers", "16 vCPU, 32768 MiB"},
		{"Fargate maxvCpus", fargate, Request{VCPUs: 32, MemoryMiB: 61440, Fargate: true}, "", 0,
			"32 vCPU is more than its maxvCpus of 16", "16 vCPU, 65536 MiB"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := tt.env.Place(tt.req)
			nearest := strings.TrimPrefix(p.Hint(tt.req), "nearest that fits: ")
			if p.Instance.Name != tt.want || p.PerInstance != tt.per || p.Reason != tt.reason || nearest != tt.nearest {
				t.Errorf("%s per %d, reason %q, nearest %q", p.Instance.Name, p.PerInstance, p.Reason, nearest)
			}
			if p.Fits != (tt.want != "") {
				t.Errorf("fits = %v", p.Fits)
			}
		})
	}
}

func TestPlaceWithoutProof(t *testing.T) {
	for reason, env := range map[string]Environment{
		"": {Type: "FARGATE"},
		"not checked: the environment lists no instance types":   {Type: "EC2"},
		"not checked: the catalogue does not know z99, y1.large": ec2("t3.nano", "z99", "y1.large"),
	} {
		p := env.Place(Request{VCPUs: 2, MemoryMiB: 4096, Fargate: env.IsFargate()})
		if !p.Fits || p.Reason != reason || p.Instance.Name != "" || p.Nearest != nil {
			t.Errorf("%v: %+v", env, p)
		}
	}
}

func requests(t *rapid.T) Request {
	return Request{
		VCPUs:     float64(rapid.IntRange(1, 800).Draw(t, "quarter vCPUs")) / 4,
		MemoryMiB: rapid.IntRange(4, 1<<21).Draw(t, "MiB"),
		GPUs:      rapid.IntRange(0, 17).Draw(t, "GPUs"),
		Arch:      rapid.SampledFrom([]string{"", X86, Arm}).Draw(t, "arch"),
		Fargate:   rapid.Bool().Draw(t, "fargate"),
	}
}

func environments(t *rapid.T) Environment {
	return Environment{
		Type:          rapid.SampledFrom([]string{"EC2", "SPOT", "FARGATE"}).Draw(t, "type"),
		InstanceTypes: rapid.SliceOfN(rapid.SampledFrom(carried.Entries()), 1, 4).Draw(t, "entries"),
		MaxvCpus:      rapid.SampledFrom([]int{0, 1, 16, 256}).Draw(t, "maxvCpus"),
	}
}

func TestPlaceProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		env, r := environments(t), requests(t)
		p := env.Place(r)
		switch {
		case p.Fits && p.Instance.Name != "":
			held := float64(p.PerInstance)
			if p.PerInstance < 1 || held*r.VCPUs > float64(p.Instance.VCPUs) ||
				p.PerInstance*r.MemoryMiB > p.Instance.UsableMiB() || p.PerInstance*r.GPUs > p.Instance.GPUs {
				t.Fatalf("%s does not hold %d x %s", p.Instance.Name, p.PerInstance, r)
			}
		case p.Fits != (p.Cause == Fits), !p.Fits && p.Reason == "":
			t.Fatalf("no reason: %+v", p)
		case p.Nearest != nil:
			n := *p.Nearest
			if again := env.Place(n); !again.Fits {
				t.Fatalf("the nearest %s does not fit either: %s", n, again.Reason)
			} else if again.Instance.Name != p.NearestOn.Name && p.NearestOn.capacity(n) < 1 {
				t.Fatalf("%s does not hold the nearest %s", p.NearestOn.Name, n)
			}
			if !r.Fargate && (n.VCPUs > r.VCPUs || n.MemoryMiB > r.MemoryMiB || n.GPUs > r.GPUs) {
				t.Fatalf("%s is not below %s", n, r)
			}
			if (n.GPUs == 0) != (r.GPUs == 0) {
				t.Fatalf("%s is another kind of job than %s", n, r)
			}
		}
	})
}

func TestFargateFit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := requests(t)
		v, m, ok := FargateFit(r.VCPUs, r.MemoryMiB)
		if !ok {
			if r.VCPUs <= 16 && r.MemoryMiB <= 122880 {
				t.Fatalf("%s has no size", r)
			}
			return
		}
		if v < r.VCPUs || m < r.MemoryMiB {
			t.Fatalf("%s shrank to %v, %d", r, v, m)
		}
		v2, m2, ok := FargateFit(v, m)
		if !ok || v2 != v || m2 != m {
			t.Fatalf("%v, %d is not its own fit", v, m)
		}
	})
}

func TestFargateMemory(t *testing.T) {
	for _, v := range FargateVCPUs() {
		for _, m := range FargateMemory(v) {
			if gotV, gotM, ok := FargateFit(v, m); !ok || gotV != v || gotM != m {
				t.Errorf("FargateFit(%v, %d) = %v, %d", v, m, gotV, gotM)
			}
		}
	}
	if list := FargateMemory(3); list != nil {
		t.Errorf("3 vCPU is not a size, got %v", list)
	}
	if v, m, _ := FargateFit(.25, 4096); v != .5 || m != 4096 {
		t.Errorf("0.25 vCPU with 4096 MiB fits %v, %d", v, m)
	}
}

// TestManagedInstances checks that the instances of ECS Managed Instances are not guessed.
func TestManagedInstances(t *testing.T) {
	e := Environment{Type: "ECS_MANAGED_INSTANCES", MaxvCpus: 16}
	if p := e.Place(Request{VCPUs: 4, MemoryMiB: 8192}); !p.Fits || p.Reason == "" {
		t.Errorf("%+v", p)
	}
	if p := e.Place(Request{VCPUs: 32, MemoryMiB: 8192}); p.Fits || p.Cause != OverMaxvCpus {
		t.Errorf("%+v", p)
	}
	if p := e.Place(Request{VCPUs: 1, MemoryMiB: 2048, Fargate: true}); p.Fits || p.Cause != WrongPlatform {
		t.Errorf("%+v", p)
	}
}
