package batch

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
	"github.com/batchctl/batchctl/pkg/text"
)

// Capacity is what a machine offers to jobs, or a part of it.
type Capacity struct {
	VCPUs     float64 `json:"vcpus"`
	MemoryMiB int64   `json:"memoryMiB"`
	GPUs      int64   `json:"gpus"`
}

// Machine is an instance in the cluster of a compute environment.
type Machine struct {
	// Total is what the machine offers to jobs, and Free the part that no job uses.
	Total Capacity `json:"total"`
	Free  Capacity `json:"free"`
}

// HasFixedMachines reports whether AWS Batch does not scale the machines of an environment: it is unmanaged, or on the
// local engine. What fits there is then what its machines offer, and not a list of instance types.
func HasFixedMachines(e types.ComputeEnvironmentDetail) bool {
	return IsLocal(aws.ToString(e.ComputeEnvironmentArn)) || e.Type == types.CETypeUnmanaged
}

// Sum returns several machines as one.
func Sum(machines []Machine) (sum Machine) {
	for _, m := range machines {
		sum.Total, sum.Free = sum.Total.plus(m.Total), sum.Free.plus(m.Free)
	}
	return sum
}

// plus returns the sum of two amounts.
func (c Capacity) plus(d Capacity) Capacity {
	return Capacity{c.VCPUs + d.VCPUs, c.MemoryMiB + d.MemoryMiB, c.GPUs + d.GPUs}
}

// Excess returns the parts of a request that are more than c, such as "1 GPU is more than its 0"; "" if the request
// fits.
func (c Capacity) Excess(need Capacity) string {
	var parts []string
	if need.GPUs > c.GPUs {
		parts = append(parts, fmt.Sprintf("%d GPU is more than its %d", need.GPUs, c.GPUs))
	}
	if need.VCPUs > c.VCPUs {
		parts = append(parts, fmt.Sprintf("%s vCPU is more than its %s", number(need.VCPUs), number(c.VCPUs)))
	}
	if need.MemoryMiB > c.MemoryMiB {
		parts = append(parts, fmt.Sprintf("%d MiB is more than its %d MiB", need.MemoryMiB, c.MemoryMiB))
	}
	return strings.Join(parts, ", ")
}

// Of compares c with a whole: "1 of 2 vCPU, 512 MiB of 7.6 GiB". GPUs appear only if one of the two has some.
func (c Capacity) Of(whole Capacity) string {
	text := fmt.Sprintf("%s of %s vCPU, %s of %s", number(c.VCPUs), number(whole.VCPUs), text.Size(c.MemoryMiB<<20),
		text.Size(whole.MemoryMiB<<20))
	if c.GPUs > 0 || whole.GPUs > 0 {
		text += fmt.Sprintf(", %d of %d GPU", c.GPUs, whole.GPUs)
	}
	return text
}

// InUse returns how much of the machine jobs use, as Of does.
func (m Machine) InUse() string {
	used := Capacity{m.Total.VCPUs - m.Free.VCPUs, m.Total.MemoryMiB - m.Free.MemoryMiB, m.Total.GPUs - m.Free.GPUs}
	return used.Of(m.Total)
}

// number formats a number of vCPUs.
func number(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
