package catalog

import "slices"

// FargateSizesDate is the day of the Fargate size table.
const FargateSizesDate = "2026-09-01"

type fargateSize struct {
	vcpus  float64
	memory []int // MiB
}

func steps(from, to, by int) []int {
	var list []int
	for m := from; m <= to; m += by {
		list = append(list, m)
	}
	return list
}

// fargateSizes is the table of AWS Batch ResourceRequirement.value, from small to large.
func fargateSizes() []fargateSize {
	return []fargateSize{
		{0.25, []int{512, 1024, 2048}},
		{0.5, steps(1024, 4096, 1024)},
		{1, steps(2048, 8192, 1024)},
		{2, steps(4096, 16384, 1024)},
		{4, steps(8192, 30720, 1024)},
		{8, steps(16384, 61440, 4096)},
		{16, steps(32768, 122880, 8192)},
		{32, []int{61440, 122880, 249856}},
	}
}

// FargateVCPUs returns the vCPU sizes of Fargate, from small to large.
func FargateVCPUs() []float64 {
	var list []float64
	for _, s := range fargateSizes() {
		list = append(list, s.vcpus)
	}
	return list
}

// FargateMemory returns the memory sizes in MiB that Fargate offers with this number of
// vCPUs, from small to large. It returns none for an invalid number.
func FargateMemory(vcpus float64) []int {
	for _, s := range fargateSizes() {
		if s.vcpus == vcpus {
			return s.memory
		}
	}
	return nil
}

// FargateFit returns the smallest Fargate size at or above the request: the fewest vCPUs
// first, then the least memory. ok is false for a request above all sizes.
func FargateFit(vcpus float64, memoryMiB int) (vcpus2 float64, memory2 int, ok bool) {
	for _, s := range fargateSizes() {
		if s.vcpus < vcpus {
			continue
		}
		if i := slices.IndexFunc(s.memory, func(m int) bool { return m >= memoryMiB }); i >= 0 {
			return s.vcpus, s.memory[i], true
		}
	}
	return 0, 0, false
}
