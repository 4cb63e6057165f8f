// Package catalog is dated facts about AWS as data: instance types, Fargate
// sizes and limits, and what holds what.
package catalog

import (
	"fmt"
	"strconv"
	"strings"
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

// AgentReserveMiB is what the default AWS Batch image keeps back for the ECS
// agent and the system (user guide, compute resource memory management).
const AgentReserveMiB = 32

// RunsGPUJobs reports whether AWS Batch places GPU jobs there: only on x86_64
// instances with NVIDIA GPUs (user guide, GPU jobs).
func (t InstanceType) RunsGPUJobs() bool {
	return t.GPUs > 0 && t.GPUMaker == "NVIDIA" && t.Arch == X86
}

// The architectures, as the catalogue and a compute environment's bundles name
// them. A job definition's runtimePlatform writes X86_64 and ARM64.
const (
	X86 = "x86_64"
	Arm = "arm64"
)

// Request is what one job (or array child) asks of one machine.
type Request struct {
	VCPUs     float64
	MemoryMiB int
	GPUs      int
	// Arch is "x86_64", "arm64", or "" when the job does not say.
	Arch    string
	Fargate bool
}

// String returns the request as people say it: "1 GPU, 8 vCPU, 30720 MiB".
func (r Request) String() string {
	var parts []string
	if r.GPUs > 0 {
		parts = append(parts, GPUs(r.GPUs))
	}
	parts = append(parts, VCPUs(r.VCPUs), MiB(r.MemoryMiB))
	if r.Arch == Arm {
		parts = append(parts, Arm)
	}
	return strings.Join(parts, ", ")
}

// GPUs returns a count of GPUs as people say it: "1 GPU", "4 GPUs".
func GPUs(n int) string {
	if n == 1 {
		return "1 GPU"
	}
	return fmt.Sprintf("%d GPUs", n)
}

// VCPUs returns a number of vCPUs as AWS writes it: "0.25 vCPU", "8 vCPU".
func VCPUs(n float64) string { return strconv.FormatFloat(n, 'g', -1, 64) + " vCPU" }

// MiB returns an amount of memory with its unit: "30720 MiB".
func MiB(n int) string { return strconv.Itoa(n) + " MiB" }

// Environment is a compute environment as far as placement needs it.
type Environment struct {
	Name          string
	Type          string // EC2, SPOT, FARGATE, FARGATE_SPOT
	InstanceTypes []string
	MaxvCpus      int // 0: unknown
	// Catalog knows the instance types; nil is the one that batchctl carries.
	Catalog *Catalog
}

// IsFargate reports whether the environment is a Fargate one.
func (e Environment) IsFargate() bool { return strings.HasPrefix(e.Type, "FARGATE") }

// Cause is the kind of reason why a request does not fit.
type Cause int

// The causes, in the order in which they are looked for.
const (
	// Fits is no cause: the request fits.
	Fits Cause = iota
	// WrongPlatform is a Fargate job on EC2, or the reverse.
	WrongPlatform
	// OverMaxvCpus is more vCPUs than the environment may ever have.
	OverMaxvCpus
	// OverFargateMaxvCpus is the same on Fargate.
	OverFargateMaxvCpus
	// NoGPUType is a GPU job where no instance type has a GPU.
	NoGPUType
	// NoGPUInBundle is the same where all entries are bundles such as optimal.
	NoGPUInBundle
	// UnsupportedGPU is a GPU job where the GPUs are AMD's, or the host is Arm.
	UnsupportedGPU
	// WrongArch is a job for the other CPU architecture.
	WrongArch
	// TooManyGPUs, TooManyVCPUs and TooMuchMemory is a figure that is beyond the
	// largest type, each on its own.
	TooManyGPUs
	TooManyVCPUs
	TooMuchMemory
	// NominalMemory is exactly what the sheet says and the instance does not have.
	NominalMemory
	// NotTogether is figures that fit one by one, but on no type together.
	NotTogether
	// NodesOnSpot is a multi-node job where all instances are Spot Instances.
	NodesOnSpot
	// NodesOverMaxvCpus is more nodes than fit into maxvCpus at once.
	NodesOverMaxvCpus
	// TightMemory is memory that the instance has or not, depending on its AMI. The request counts
	// as fitting, with the figures in Reason.
	TightMemory
	// NoFargateSize is a pair of vCPUs and memory that Fargate does not offer.
	NoFargateSize
)

// Placement is the outcome of holding a request against an environment.
type Placement struct {
	Fits  bool
	Cause Cause
	// Instance is the smallest type that holds the request, and PerInstance how
	// many such jobs it holds at once. Zero on Fargate, when nothing fits, and
	// when the environment names only types that the catalogue does not know.
	Instance    InstanceType
	PerInstance int
	// Reason says why nothing fits, in one clause, with the figures. On a fit
	// that cannot be proven it says why not.
	Reason string
	// Nearest is the nearest request that would fit, if there is one: a smaller
	// one on EC2, or one for the other architecture; the next valid size on
	// Fargate, or the largest. Nothing is ever shrunk without being asked for.
	Nearest *Request
	// NearestOn is the smallest type that would hold Nearest; zero on Fargate.
	NearestOn InstanceType
}
