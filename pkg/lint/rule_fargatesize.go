package lint

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/plan"
	"github.com/batchctl/batchctl/pkg/text"
)

// checkFargateMemory reports memory that Fargate does not offer with the vCPUs of the job.
func checkFargateMemory(s Site) {
	v, okV := number(plan.Requirement(s.Node, nil, "VCPU"))
	n := plan.Requirement(s.Node, nil, "MEMORY")
	m, okM := number(n)
	if sizes := catalog.FargateMemory(v); okV && okM && sizes != nil && !slices.Contains(sizes, int(m)) {
		s.ReportFix(nextMemory(v, int(m), n), fmt.Sprintf("with %s vCPU, Fargate offers %s MiB, not %s", decimal(v),
			memoryList(v), n.Text), fargateHint(v, int(m)), n)
	}
}

// memoryLists writes the sizes of memory for each number of vCPUs.
func memoryLists() string {
	var lists []string
	for _, vcpus := range catalog.FargateVCPUs() {
		lists = append(lists, fmt.Sprintf("with %s vCPU %s", decimal(vcpus), memoryList(vcpus)))
	}
	return strings.Join(lists, "; ")
}

// nextMemory returns the fix to the next size up with the same vCPUs. It never
// reduces a request.
func nextMemory(vcpus float64, memory int, n *jsontree.Node) *diag.Fix {
	sizes := catalog.FargateMemory(vcpus)
	i := slices.IndexFunc(sizes, func(m int) bool { return m >= memory })
	if i < 0 {
		return nil
	}
	return replace(n, strconv.Itoa(sizes[i]))
}

// memoryList writes the sizes that go with a number of vCPUs: "512, 1024 or
// 2048", or "2048 to 8192 in steps of 1024".
func memoryList(vcpus float64) string {
	sizes := catalog.FargateMemory(vcpus)
	if len(sizes) > 3 {
		return fmt.Sprintf("%d to %d in steps of %d", sizes[0], sizes[len(sizes)-1], sizes[1]-sizes[0])
	}
	var list []string
	for _, m := range sizes {
		list = append(list, strconv.Itoa(m))
	}
	return text.Or(list)
}

// fargateVCPUs lists the numbers of vCPUs that Fargate offers: "0.25, 0.5, ... or 16".
func fargateVCPUs() string {
	var list []string
	for _, v := range catalog.FargateVCPUs() {
		list = append(list, strconv.FormatFloat(v, 'g', -1, 64))
	}
	return text.Or(list)
}

// nextFargate suggests the smallest Fargate size that fits the request.
func nextFargate(c Site, vcpus float64) string {
	memory, _ := number(plan.Requirement(c.Node, nil, "MEMORY"))
	return fargateHint(vcpus, int(min(memory, 1<<40)))
}

// fargateHint suggests the smallest Fargate size with at least these vCPUs and MiB of
// memory, or EC2 if there is none.
func fargateHint(vcpus float64, memory int) string {
	v, m, ok := catalog.FargateFit(vcpus, memory)
	if !ok {
		return `run on EC2, which offers more: "platformCapabilities": ["EC2"]`
	}
	return fmt.Sprintf("write the next size, %s with %s", catalog.VCPUs(v), catalog.MiB(m))
}
