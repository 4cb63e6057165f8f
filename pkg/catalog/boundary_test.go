package catalog

import (
	"testing"

	"pgregory.net/rapid"
)

func TestJustOver(t *testing.T) {
	m5 := []Environment{ec2("m5")}
	for _, tt := range []struct {
		name   string
		behind []Environment
		req    Request
		want   string // the request that would fit, and where; "" for no saving
		per    int
	}{
		{"the memory on the sheet", m5, Request{VCPUs: 4, MemoryMiB: 16384}, "4 vCPU, 15554 MiB on m5.xlarge", 1},
		{"above the sheet", m5, Request{VCPUs: 4, MemoryMiB: 17408}, "", 0},
		{"what is left to jobs", m5, Request{VCPUs: 4, MemoryMiB: 15554}, "", 0},
		{"one MiB more", m5, Request{VCPUs: 4, MemoryMiB: 15555}, "4 vCPU, 15554 MiB on m5.xlarge", 1},
		{"one vCPU over", m5, Request{VCPUs: 9, MemoryMiB: 1024}, "8 vCPU, 1024 MiB on m5.2xlarge", 1},
		{"two vCPU over", m5, Request{VCPUs: 10, MemoryMiB: 1024}, "", 0},
		{"5 % over", m5, Request{VCPUs: 50, MemoryMiB: 1024}, "48 vCPU, 1024 MiB on m5.12xlarge", 1},
		{"three of two is not slight", m5, Request{VCPUs: 3, MemoryMiB: 1024}, "", 0},
		{"both", m5, Request{VCPUs: 17, MemoryMiB: 65536}, "16 vCPU, 62928 MiB on m5.4xlarge", 1},
		{"nothing smaller there", []Environment{ec2("m5.2xlarge")}, Request{VCPUs: 8, MemoryMiB: 20000}, "", 0},
		{"in another environment", []Environment{ec2("m5.2xlarge"), {Type: "SPOT", InstanceTypes: []string{"m5.xlarge"}}}, Request{VCPUs: 4, MemoryMiB: 16384}, "4 vCPU, 15554 MiB on m5.xlarge", 1},
		{"hardly smaller", []Environment{ec2("c5.9xlarge", "m5.8xlarge")}, Request{VCPUs: 33, MemoryMiB: 4096}, "", 0},
		{"Arm is no alternative", []Environment{ec2("m6g.xlarge", "m5.2xlarge")}, Request{VCPUs: 4, MemoryMiB: 16384, Arch: X86}, "4 vCPU, 15672 MiB on m5.2xlarge", 2},

		{"half of the memory on the sheet", []Environment{ec2("m5.8xlarge")}, Request{VCPUs: 16, MemoryMiB: 65536}, "16 vCPU, 62465 MiB on m5.8xlarge", 2},
		{"just above half of the vCPUs", []Environment{ec2("m5.8xlarge")}, Request{VCPUs: 17, MemoryMiB: 4096}, "16 vCPU, 4096 MiB on m5.8xlarge", 2},
		{"one of sixteen more is little", []Environment{ec2("m5.8xlarge")}, Request{VCPUs: 2, MemoryMiB: 8192}, "", 0},
		{"a larger type packs it well", m5, Request{VCPUs: 1, MemoryMiB: 4096}, "", 0},
		{"GPUs that no job can use", []Environment{ec2("g5.12xlarge")}, Request{VCPUs: 13, MemoryMiB: 4096, GPUs: 1}, "12 vCPU, 4096 MiB on g5.12xlarge", 4},
		{"a GPU is not slight", []Environment{ec2("g5.8xlarge", "g5.12xlarge")}, Request{VCPUs: 8, MemoryMiB: 4096, GPUs: 2}, "", 0},

		{"unknown types may hold it", []Environment{ec2("m5", "z99.small")}, Request{VCPUs: 4, MemoryMiB: 16384}, "", 0},
		{"Fargate", []Environment{{Type: "FARGATE"}}, Request{VCPUs: 1, MemoryMiB: 2048, Fargate: true}, "", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			now := tightest(tt.behind, tt.req)
			if !now.Fits {
				t.Fatal(now.Reason)
			}
			s, ok := JustOver(tt.behind, tt.req, now)
			got := ""
			if ok {
				s.Request.GPUs = 0
				got = s.Request.String() + " on " + s.Instance.Name
			}
			if got != tt.want || s.PerInstance != tt.per {
				t.Errorf("%q, %d per instance; now on %s", got, s.PerInstance, now.Instance.Name)
			}
		})
	}
}

// tightest returns the smallest placement in the environments.
func tightest(behind []Environment, r Request) (best Placement) {
	for _, e := range behind {
		if p := e.Place(r); p.Fits && (!best.Fits || bySize(p.Instance, best.Instance) < 0) {
			best = p
		}
	}
	return best
}

// The request of a Saving fits, is slightly smaller in one figure and not larger in any,
// and saves something.
func TestJustOverProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		env, r := environments(t), requests(t)
		now := env.Place(r)
		s, ok := JustOver([]Environment{env}, r, now)
		if !ok {
			return
		}
		c := s.Request
		if s.Instance.capacity(c) < s.PerInstance {
			t.Fatalf("%s does not hold %d x %s", s.Instance.Name, s.PerInstance, c)
		}
		if c.VCPUs > r.VCPUs || c.MemoryMiB > r.MemoryMiB || c.GPUs != r.GPUs || c.VCPUs == r.VCPUs && c.MemoryMiB == r.MemoryMiB {
			t.Fatalf("%s is not slightly less than %s", c, r)
		}
		if c.VCPUs < r.VCPUs*.8 || float64(c.MemoryMiB) < float64(r.MemoryMiB)*.3 {
			t.Fatalf("%s is much less than %s", c, r)
		}
		if s.Instance.Name == now.Instance.Name && s.PerInstance <= now.PerInstance || s.PerInstance == 1 && bySize(s.Instance, now.Instance) >= 0 {
			t.Fatalf("%d on %s is no gain over %d on %s", s.PerInstance, s.Instance.Name, now.PerInstance, now.Instance.Name)
		}
	})
}
