// Package catalog has facts about AWS with their dates: instance types, Fargate sizes,
// limits and prices. It decides whether a request fits a compute environment.
package catalog

import (
	"strconv"
	"strings"

	"github.com/batchctl/batchctl/pkg/text"
)

// InstanceType is an EC2 instance type.
type InstanceType struct {
	Name      string
	VCPUs     int
	MemoryMiB int    // nominal; a job can use UsableMiB
	Arch      string // "x86_64" or "arm64"
	GPUs      int
	GPUMaker  string // "NVIDIA", "AMD", ...
	GPUName   string // "A10G", ...

	measured []MemoryFigure
}

// AgentReserveMiB is the memory that the default AWS Batch image reserves for the ECS
// agent and the system (user guide, compute resource memory management).
const AgentReserveMiB = 32

// RunsGPUJobs reports whether AWS Batch places GPU jobs there: only on x86_64
// instances with NVIDIA GPUs (user guide, GPU jobs).
func (t InstanceType) RunsGPUJobs() bool {
	return t.GPUs > 0 && t.GPUMaker == "NVIDIA" && t.Arch == X86
}

// The architectures as the catalogue and the bundles of compute environments name them.
// runtimePlatform in a job definition has X86_64 and ARM64.
const (
	X86 = "x86_64"
	Arm = "arm64"
)

// Request is the request of one job, or of one array child, for one machine.
type Request struct {
	VCPUs     float64
	MemoryMiB int
	GPUs      int
	// Arch is "x86_64" or "arm64"; "" if the job does not name it.
	Arch    string
	Fargate bool
}

// String returns the request for messages: "1 GPU, 8 vCPU, 30720 MiB".
func (r Request) String() string {
	var parts []string
	if r.GPUs > 0 {
		parts = append(parts, text.Count(r.GPUs, "GPU"))
	}
	parts = append(parts, VCPUs(r.VCPUs), MiB(r.MemoryMiB))
	if r.Arch == Arm {
		parts = append(parts, Arm)
	}
	return strings.Join(parts, ", ")
}

// VCPUs returns a number of vCPUs as AWS writes it: "0.25 vCPU", "8 vCPU".
func VCPUs(n float64) string { return strconv.FormatFloat(n, 'g', -1, 64) + " vCPU" }

// MiB returns an amount of memory with its unit: "30720 MiB".
func MiB(n int) string { return strconv.Itoa(n) + " MiB" }

// Environment is a compute environment, with the members that placement needs.
type Environment struct {
	Name          string
	Type          string // EC2, SPOT, FARGATE, FARGATE_SPOT
	InstanceTypes []string
	MaxvCpus      int // 0: unknown
	// Catalog holds the instance types; nil is batchctl's own catalogue.
	Catalog *Catalog
}

// IsFargate reports whether the environment is a Fargate one.
func (e Environment) IsFargate() bool { return strings.HasPrefix(e.Type, "FARGATE") }

// IsManagedInstances reports whether Amazon ECS chooses and manages the environment's instances.
func (e Environment) IsManagedInstances() bool { return e.Type == "ECS_MANAGED_INSTANCES" }

// Cause is the kind of reason why a request does not fit.
type Cause int

// The causes, in the order in which they are tested.
const (
	// Fits is no cause: the request fits.
	Fits Cause = iota
	// WrongPlatform is a Fargate job on EC2, or the reverse.
	WrongPlatform
	// OverMaxvCpus is more vCPUs than the environment's maxvCpus.
	OverMaxvCpus
	// OverFargateMaxvCpus is the same on Fargate.
	OverFargateMaxvCpus
	// NoGPUType is a GPU job in an environment without GPU instances.
	NoGPUType
	// NoGPUInBundle is the same if all entries are bundles such as optimal.
	NoGPUInBundle
	// UnsupportedGPU is a GPU job in an environment with AMD GPUs or Arm hosts.
	UnsupportedGPU
	// WrongArch is a job for the other CPU architecture.
	WrongArch
	// TooManyGPUs, TooManyVCPUs and TooMuchMemory are a single figure beyond the largest
	// type.
	TooManyGPUs
	TooManyVCPUs
	TooMuchMemory
	// NominalMemory is exactly the nominal memory of a type, of which a part is not for
	// jobs.
	NominalMemory
	// NotTogether is figures that fit separately, but not together on one type.
	NotTogether
	// NodesOnSpot is a multi-node job where all instances are Spot Instances, or those of ECS
	// Managed Instances.
	NodesOnSpot
	// NodesOverMaxvCpus is more nodes than fit into maxvCpus at once.
	NodesOverMaxvCpus
	// TightMemory is memory that the instance has or not, depending on its AMI. The request counts
	// as fitting, with the figures in Reason.
	TightMemory
	// NoFargateSize is a pair of vCPUs and memory that Fargate does not offer.
	NoFargateSize
)

// Placement is the result of comparing a request with an environment.
type Placement struct {
	Fits  bool
	Cause Cause
	// Instance is the smallest type that fits the request, and PerInstance the number of
	// such jobs that it fits at once. Both are zero on Fargate, if nothing fits, and if
	// the catalogue knows none of the environment's types.
	Instance    InstanceType
	PerInstance int
	// Reason is the reason why nothing fits, in one clause, with the figures. For a
	// request that fits without proof, it is the reason for that.
	Reason string
	// Nearest is the nearest request that fits, if there is one: a smaller one on EC2, or
	// one for the other architecture; the next valid size on Fargate, or the largest. It
	// is a suggestion only.
	Nearest *Request
	// NearestOn is the smallest type that fits Nearest; zero on Fargate.
	NearestOn InstanceType
}
