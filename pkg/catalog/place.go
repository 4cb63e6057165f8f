package catalog

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/text"
)

// Place compares a request with the environment's instance types. An environment whose
// types the catalogue does not know fits it, with a note in Reason.
func (e Environment) Place(r Request) Placement {
	switch {
	case r.Fargate && !e.IsFargate():
		return refuse(WrongPlatform, "%s, but the job is for Fargate", cmp.Or(e.Type, "EC2"))
	case !r.Fargate && e.IsFargate():
		return refuse(WrongPlatform, "%s, but the job is for EC2", e.Type)
	case r.Fargate:
		return e.placeFargate(r)
	case e.IsManagedInstances() && e.tooWide(r.VCPUs):
		return e.overMax(OverMaxvCpus, r.VCPUs)
	case e.IsManagedInstances():
		return Placement{Fits: true, Reason: "not checked: Amazon ECS chooses the instances of ECS_MANAGED_INSTANCES"}
	}
	return e.placeEC2(r)
}

// Hint names the nearest request that fits, and where: "nearest that fits: 4 vCPU, 15404
// MiB on m5.xlarge". Without one, it names what a GPU job needs; for other jobs it is
// empty. r is the original request.
func (p Placement) Hint(r Request) string {
	if p.Nearest == nil {
		switch p.Cause {
		case NoGPUType, NoGPUInBundle, UnsupportedGPU:
			return "a GPU job needs instance types with NVIDIA GPUs on x86_64, such as g5"
		}
		return ""
	}
	near, built := *p.Nearest, ""
	if near.Arch != r.Arch {
		near.Arch, built = "", " built for "+near.Arch
	}
	hint := "nearest that fits: " + near.String() + built
	if p.NearestOn.Name != "" {
		hint += " on " + p.NearestOn.Name
	}
	return hint
}

func refuse(c Cause, format string, args ...any) Placement {
	return Placement{Cause: c, Reason: fmt.Sprintf(format, args...)}
}

func (e Environment) placeFargate(r Request) Placement {
	if r.GPUs > 0 {
		return refuse(NoGPUType, "Fargate has no GPUs")
	}
	vcpus, memory, ok := FargateFit(r.VCPUs, r.MemoryMiB)
	switch {
	case !ok:
		p := refuse(NoFargateSize, "%s is more than Fargate offers", r)
		p.Nearest = e.nearestOnFargate(r)
		return p
	case e.tooWide(vcpus):
		p := e.overMax(OverFargateMaxvCpus, vcpus)
		p.Nearest = e.nearestOnFargate(r)
		return p
	}
	if vcpus != r.VCPUs || memory != r.MemoryMiB {
		p := refuse(NoFargateSize, "%s is not a Fargate size", r)
		fit := r
		fit.VCPUs, fit.MemoryMiB = vcpus, memory
		p.Nearest = &fit
		return p
	}
	return Placement{Fits: true}
}

// nearestOnFargate returns the size closest to a request that is larger than all sizes.
func (e Environment) nearestOnFargate(r Request) *Request {
	var best *Request
	for _, s := range fargateSizes() {
		if e.tooWide(s.vcpus) {
			continue
		}
		c := r
		c.VCPUs, c.MemoryMiB = s.vcpus, s.memory[len(s.memory)-1]
		if i := slices.IndexFunc(s.memory, func(m int) bool { return m >= r.MemoryMiB }); i >= 0 {
			c.MemoryMiB = s.memory[i]
		}
		best = r.Nearer(best, &c)
	}
	return best
}

func (e Environment) tooWide(vcpus float64) bool {
	return e.MaxvCpus > 0 && vcpus > float64(e.MaxvCpus)
}

func (e Environment) overMax(c Cause, vcpus float64) Placement {
	return refuse(c, "%s is more than its maxvCpus of %d", VCPUs(vcpus), e.MaxvCpus)
}

func (e Environment) placeEC2(r Request) Placement {
	types, unknown := e.expand()
	suiting := slices.DeleteFunc(slices.Clone(types), func(t InstanceType) bool { return !t.suits(r) })
	if e.tooWide(r.VCPUs) {
		p := e.overMax(OverMaxvCpus, r.VCPUs)
		p.Nearest, p.NearestOn = e.nearest(suiting, r)
		return p
	}
	if i := slices.IndexFunc(suiting, func(t InstanceType) bool { return t.capacity(r) > 0 }); i >= 0 {
		return Placement{Fits: true, Instance: suiting[i], PerInstance: suiting[i].capacity(r)}
	}
	if i := slices.IndexFunc(suiting, func(t InstanceType) bool { return t.mayHold(r) }); i >= 0 {
		p := Placement{Fits: true, Cause: TightMemory, Instance: suiting[i], PerInstance: 1,
			Reason: "may not fit: " + suiting[i].memoryDoubt()}
		p.Nearest, p.NearestOn = e.nearest(suiting, r)
		return p
	}
	switch {
	case len(e.InstanceTypes) == 0:
		return Placement{Fits: true, Reason: "not checked: the environment lists no instance types"}
	case len(unknown) > 0:
		return Placement{Fits: true, Reason: "not checked: the catalogue does not know " + strings.Join(unknown, ", ")}
	case len(suiting) == 0:
		p := e.wrongKind(types, r)
		p.Nearest, p.NearestOn = e.nearest(otherArch(types, &r), r)
		return p
	}
	p := tooBig(suiting, r)
	p.Nearest, p.NearestOn = e.nearest(suiting, r)
	return p
}

// expand returns the environment's types from small to large, and the entries
// that the catalogue does not know.
func (e Environment) expand() (types []InstanceType, unknown []string) {
	c := e.Catalog.orEmbedded()
	var all []int
	for _, entry := range e.InstanceTypes {
		found := c.indexes(entry)
		if found == nil {
			unknown = append(unknown, entry)
		}
		all = append(all, found...)
	}
	return c.at(all), unknown
}

// suits reports whether the type has the right architecture and GPUs, whatever its size.
func (t InstanceType) suits(r Request) bool {
	return (r.Arch == "" || r.Arch == t.Arch) && (r.GPUs == 0 || t.RunsGPUJobs())
}

// capacity returns the number of such jobs that the type fits at once.
func (t InstanceType) capacity(r Request) int { return t.capacityWithin(r, t.UsableMiB()) }

// mayHold reports whether one such job starts on a host whose AMI leaves the most memory to jobs.
func (t InstanceType) mayHold(r Request) bool { return t.capacityWithin(r, t.MostUsableMiB()) > 0 }

// capacityWithin is capacity with an amount of memory for jobs.
func (t InstanceType) capacityWithin(r Request, memoryMiB int) int {
	n := memoryMiB / max(r.MemoryMiB, MinMemoryMiB)
	if r.VCPUs > 0 {
		n = min(n, int(float64(t.VCPUs)/r.VCPUs))
	}
	if r.GPUs > 0 {
		n = min(n, t.GPUs/r.GPUs)
	}
	return n
}

// wrongKind returns the reason why no type has the right architecture or GPUs.
func (e Environment) wrongKind(types []InstanceType, r Request) Placement {
	list := strings.Join(e.InstanceTypes, ", ")
	switch {
	case r.GPUs > 0 && r.Arch == Arm:
		return refuse(UnsupportedGPU, "AWS Batch runs GPU jobs on x86_64 only")
	case r.GPUs > 0 && slices.ContainsFunc(types, func(t InstanceType) bool { return t.GPUs > 0 }):
		return refuse(UnsupportedGPU, "%s: no NVIDIA GPU on x86_64, which is all that AWS Batch runs", list)
	case r.GPUs > 0 && !slices.ContainsFunc(e.InstanceTypes, func(entry string) bool { return bundle(entry) == nil }):
		return refuse(NoGPUInBundle, "%s: includes no instance type with a GPU", list)
	case r.GPUs > 0:
		return refuse(NoGPUType, "%s: no instance type with a GPU", list)
	}
	return refuse(WrongArch, "%s: not %s", list, r.Arch)
}

// tooBig returns the figure that is too large for every type, if there is one.
func tooBig(types []InstanceType, r Request) Placement {
	most := func(size func(InstanceType) int) InstanceType {
		return slices.MaxFunc(types, func(a, b InstanceType) int { return size(a) - size(b) })
	}
	if t := most(func(t InstanceType) int { return t.GPUs }); t.GPUs < r.GPUs {
		return refuse(TooManyGPUs, "its largest type %s has %s", t.Name, text.Count(t.GPUs, "GPU"))
	}
	if t := most(func(t InstanceType) int { return t.VCPUs }); float64(t.VCPUs) < r.VCPUs {
		return refuse(TooManyVCPUs, "its largest type %s has %s", t.Name, VCPUs(float64(t.VCPUs)))
	}
	if t := most(InstanceType.MostUsableMiB); t.MostUsableMiB() < r.MemoryMiB {
		p := refuse(TooMuchMemory, "its largest type %s leaves at most %d of %d MiB to jobs", t.Name, t.MostUsableMiB(),
			t.MemoryMiB)
		if r.MemoryMiB == t.MemoryMiB {
			p.Cause = NominalMemory
		}
		return p
	}
	return refuse(NotTogether, "none of its instance types has all of that")
}

// otherArch changes a request to the other architecture, and returns the types for it.
func otherArch(types []InstanceType, r *Request) []InstanceType {
	switch r.Arch {
	case "":
		return nil
	case Arm:
		r.Arch = X86
	default:
		r.Arch = Arm
	}
	return slices.DeleteFunc(slices.Clone(types), func(t InstanceType) bool { return !t.suits(*r) })
}

// nearest reduces the request to each type and returns the best result, on the smallest
// type that fits it.
func (e Environment) nearest(types []InstanceType, r Request) (best *Request, on InstanceType) {
	for _, t := range types {
		c := r
		c.VCPUs = min(r.VCPUs, float64(t.VCPUs))
		if e.tooWide(c.VCPUs) {
			c.VCPUs = float64(e.MaxvCpus)
		}
		c.MemoryMiB = min(r.MemoryMiB, t.UsableMiB())
		c.GPUs = min(r.GPUs, t.GPUs)
		if t.capacity(c) > 0 && r.Nearer(best, &c) == &c {
			best, on = &c, t
		}
	}
	return best, on
}

// Nearer returns the request that loses less of r. Each figure counts by the lost share,
// and another architecture as a whole figure. On a tie it returns a. Either may be nil.
func (r Request) Nearer(a, b *Request) *Request {
	if a == nil || (b != nil && r.loss(*b) < r.loss(*a)) {
		return b
	}
	return a
}

func (r Request) loss(c Request) float64 {
	share := func(wanted, got float64) float64 {
		if wanted <= 0 || got > wanted {
			return 0
		}
		return (wanted - got) / wanted
	}
	loss := share(r.VCPUs, c.VCPUs) + share(float64(r.MemoryMiB), float64(c.MemoryMiB)) +
		share(float64(r.GPUs), float64(c.GPUs))
	if c.Arch != r.Arch {
		loss++
	}
	return loss
}
