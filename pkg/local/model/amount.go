//lint:file-ignore SA1019 the deprecated members vcpus and memory are part of the API that is served

package model

import (
	"fmt"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/wire"
)

// Requested returns the vCPUs, memory and GPUs that a container requests. The error is Batch's
// answer to an invalid request; the amount then has the valid part.
func Requested(c *types.ContainerProperties) (Amount, error) {
	var a Amount
	if c.Vcpus != nil {
		a.MilliCPU = int64(*c.Vcpus) * 1000
	}
	if c.Memory != nil {
		a.MemoryMiB = int64(*c.Memory)
	}
	seen := map[types.ResourceType]bool{}
	for _, r := range c.ResourceRequirements {
		if seen[r.Type] {
			return a, wire.ClientException("Cannot provide duplicates in resourceRequirements.")
		}
		seen[r.Type] = true
		if err := a.set(r); err != nil {
			return a, err
		}
	}
	if seen[types.ResourceTypeVcpu] && c.Vcpus != nil {
		return a, wire.ClientException("Cannot use both ECS containerProperties Vcpus and resourceRequirement VCPU.")
	}
	if seen[types.ResourceTypeMemory] && c.Memory != nil {
		return a, wire.ClientException("Cannot use both ECS containerProperties Memory and resourceRequirement MEMORY.")
	}
	return a, nil
}

// Amount is what an attempt requests, or what the machine offers.
type Amount struct {
	MilliCPU  int64 // thousandths of a vCPU: Fargate sizes go down to 0.25
	MemoryMiB int64
	GPUs      int64 // devices
}

// set parses one resource requirement. The error is Batch's answer to an invalid value.
func (a *Amount) set(r types.ResourceRequirement) error {
	text := aws.ToString(r.Value)
	bad := func() error {
		return wire.ClientException("Value %s for type %s in resourceRequirement is not valid. Please provide a numeric value.", text, r.Type)
	}
	switch r.Type {
	case types.ResourceTypeVcpu:
		v, err := strconv.ParseFloat(text, 64)
		if err != nil || !(v >= 0 && v <= 1<<20) {
			return bad()
		}
		a.MilliCPU = int64(v*1000 + 0.5)
		return nil
	case types.ResourceTypeMemory, types.ResourceTypeGpu:
		v, err := strconv.ParseUint(text, 10, 31)
		if err != nil {
			return bad()
		}
		if r.Type == types.ResourceTypeGpu {
			a.GPUs = int64(v)
		} else {
			a.MemoryMiB = int64(v)
		}
		return nil
	}
	return wire.ClientException("ResourceRequirement type %s is not valid. Valid types: [GPU, MEMORY, VCPU]", r.Type)
}

func (a Amount) plus(b Amount) Amount {
	return Amount{a.MilliCPU + b.MilliCPU, a.MemoryMiB + b.MemoryMiB, a.GPUs + b.GPUs}
}

func (a Amount) minus(b Amount) Amount {
	return Amount{a.MilliCPU - b.MilliCPU, a.MemoryMiB - b.MemoryMiB, a.GPUs - b.GPUs}
}

// Covers reports whether b fits in a.
func (a Amount) Covers(b Amount) bool {
	return a.MilliCPU >= b.MilliCPU && a.MemoryMiB >= b.MemoryMiB && a.GPUs >= b.GPUs
}

// less returns a without b, never below zero.
func (a Amount) less(b Amount) Amount {
	d := a.minus(b)
	return Amount{max(d.MilliCPU, 0), max(d.MemoryMiB, 0), max(d.GPUs, 0)}
}

// most returns the larger of each resource.
func (a Amount) most(b Amount) Amount {
	return Amount{max(a.MilliCPU, b.MilliCPU), max(a.MemoryMiB, b.MemoryMiB), max(a.GPUs, b.GPUs)}
}

// exhausted reports that no job fits any more: each needs some vCPU and memory.
func (a Amount) exhausted() bool { return a.MilliCPU <= 0 || a.MemoryMiB <= 0 }

// requirements returns the amount in the form of a container on ECS.
func (a Amount) requirements() (all []types.ResourceRequirement) {
	add := func(kind types.ResourceType, value string) {
		all = append(all, types.ResourceRequirement{Type: kind, Value: &value})
	}
	if a.MilliCPU > 0 {
		add(types.ResourceTypeVcpu, strconv.FormatFloat(float64(a.MilliCPU)/1000, 'f', -1, 64))
	}
	if a.MemoryMiB > 0 {
		add(types.ResourceTypeMemory, strconv.FormatInt(a.MemoryMiB, 10))
	}
	if a.GPUs > 0 {
		add(types.ResourceTypeGpu, strconv.FormatInt(a.GPUs, 10))
	}
	return all
}

// vcpus formats thousandths of a vCPU.
func vcpus(milli int64) string {
	if milli == 1000 {
		return "1 vCPU"
	}
	return fmt.Sprintf("%g vCPUs", float64(milli)/1000)
}
