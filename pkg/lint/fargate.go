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
)

// onFargate calls check for every container of a Fargate job.
func (p *Pass) onFargate(check func(Site)) {
	for _, c := range p.Containers() {
		if c.Fargate {
			check(c)
		}
	}
}

func fargateRules() []*Rule {
	return []*Rule{
		(&Rule{
			Name: "fargate-execution-role", Severity: diag.Error, Confidence: High,
			Doc:    "On Fargate the execution role pulls the image and writes the log, so a job needs executionRoleArn.",
			Source: apiReference + ", ContainerProperties.executionRoleArn" + probed,
			Run: func(p *Pass) {
				p.onFargate(func(c Site) {
					if c.Single && c.Node.Get("executionRoleArn") == nil {
						c.Report("a Fargate job needs executionRoleArn", roleHint, c.Register.Get("platformCapabilities"))
					}
				})
			},
		}).onlyWith("platformCapabilities"),
		(&Rule{
			Name: "fargate-vcpu-tier", Severity: diag.Error, Confidence: High,
			Doc:    "Fargate offers vCPUs in fixed sizes: 0.25, 0.5, 1, 2, 4, 8 and 16.",
			Source: apiReference + ", ResourceRequirement.value" + probed,
			Run: func(p *Pass) {
				p.onFargate(func(c Site) {
					n := plan.Requirement(c.Node, nil, "VCPU")
					if v, ok := number(n); ok && c.Single && catalog.FargateMemory(v) == nil {
						c.Report(fmt.Sprintf("Fargate offers %s vCPU, not %s", fargateVCPUs(), n.Text), nextFargate(c, v), n)
					}
				})
			},
		}).onlyWith("platformCapabilities"),
		(&Rule{
			Name: "fargate-vcpu-new", Severity: diag.Warning, Confidence: High,
			Doc:    "Amazon ECS offers 32 vCPU on Fargate since 2026, Linux only; the AWS Batch API reference of 2026-05 does not list it yet.",
			Source: "Amazon ECS Developer Guide, task size",
			Run: func(p *Pass) {
				p.onFargate(func(c Site) {
					n := plan.Requirement(c.Node, nil, "VCPU")
					if v, ok := number(n); ok && c.Single && v == catalog.FargateNewestVCPUs {
						c.Report("32 vCPU on Fargate is newer than the AWS Batch API reference", "be ready for a refusal, or write \"16\"", n)
					}
				})
			},
		}).onlyWith("platformCapabilities"),
		(&Rule{
			Name: "fargate-no-gpu", Severity: diag.Error, Confidence: High,
			Doc:    "Fargate has no GPUs.",
			Source: apiReference + ", ResourceRequirement.value" + probed,
			Run: func(p *Pass) {
				for _, c := range requirers(p) {
					for r := range c.Node.Get("resourceRequirements").Children() {
						if c.Fargate && r.Get("type").Str() == "GPU" {
							c.Report("Fargate has no GPUs", `remove the GPU, or run on EC2: "platformCapabilities": ["EC2"]`, r.Get("value"), r)
						}
					}
				}
			},
		}).onlyWith("platformCapabilities"),
		(&Rule{
			Name: "fargate-no-privileged", Severity: diag.Error, Confidence: High,
			Doc:    "Fargate gives no container the rights of root on its host.",
			Source: apiReference + ", ContainerProperties.privileged" + probed,
			Run: func(p *Pass) {
				p.onFargate(func(c Site) {
					if n := c.Node.Get("privileged"); n.Is(jsontree.Bool) && n.Text == "true" {
						c.Report("privileged does not exist on Fargate", "remove it", n)
					}
				})
			},
		}).onlyWith("platformCapabilities"),
		(&Rule{
			Name: "fargate-no-sharedmemorysize", Severity: diag.Error, Confidence: High,
			Doc:    "The size of /dev/shm cannot be set on Fargate.",
			Source: apiReference + ", LinuxParameters.sharedMemorySize" + probed,
			Run: func(p *Pass) {
				p.onFargate(func(c Site) {
					if n := c.Node.Get("linuxParameters").Get("sharedMemorySize"); n != nil {
						c.Report("shared memory cannot be set on Fargate", `remove it, or run on EC2: "platformCapabilities": ["EC2"]`, n)
					}
				})
			},
		}).onlyWith("platformCapabilities"),
		(&Rule{
			Name: "submit-fargate-override-tier", Severity: diag.Warning, Confidence: Low,
			Doc:    "With its overrides a Fargate job asks for vCPUs and memory that Fargate does not offer together.",
			Source: apiReference + ", ContainerOverrides.resourceRequirements",
			Run: func(p *Pass) {
				for _, j := range p.Submits() {
					place := firstOf(j.Submit.Get("containerOverrides").Get("resourceRequirements"), j.Submit.Get("ecsPropertiesOverride").Get("taskProperties"))
					r, ok := plan.RequestOf(j.Known(), j.Submit)
					if !ok || !r.Fargate || place == nil || slices.Contains(catalog.FargateMemory(r.VCPUs), r.MemoryMiB) {
						continue
					}
					j.Report(fmt.Sprintf("%s is not a Fargate size", r), fargateHint(r.VCPUs, r.MemoryMiB), place)
				}
			},
		}).onlyWith("containerOverrides.resourceRequirements", "ecsPropertiesOverride"),
	}
}

// fargateSizeRules is one rule for each vCPU size: which memory goes with it.
func fargateSizeRules() []*Rule {
	var rules []*Rule
	for _, vcpus := range catalog.FargateVCPUs() {
		size := strconv.FormatFloat(vcpus, 'g', -1, 64)
		list := memoryList(vcpus)
		rules = append(rules, (&Rule{
			Name: "fargate-memory-for-" + strings.ReplaceAll(size, ".", "-") + "-vcpu", Severity: diag.Error, Confidence: High,
			Doc:    fmt.Sprintf("On Fargate %s vCPU come with %s MiB of memory.", size, list),
			Source: apiReference + ", ResourceRequirement.value" + probed,
			Run: func(p *Pass) {
				p.onFargate(func(c Site) {
					v, okV := number(plan.Requirement(c.Node, nil, "VCPU"))
					n := plan.Requirement(c.Node, nil, "MEMORY")
					m, okM := number(n)
					if c.Single && okV && okM && v == vcpus && !slices.Contains(catalog.FargateMemory(v), int(m)) {
						c.ReportFix(nextMemory(v, int(m), n), fmt.Sprintf("with %s vCPU Fargate offers %s MiB, not %s", size, list, n.Text), fargateHint(v, int(m)), n)
					}
				})
			},
		}).onlyWith("platformCapabilities"))
	}
	return rules
}

// nextMemory is the fix to the next size up with the same vCPUs. A request is
// never made smaller.
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
	var words []string
	for _, m := range sizes {
		words = append(words, strconv.Itoa(m))
	}
	return either(words)
}

func fargateVCPUs() string {
	var words []string
	for _, v := range catalog.FargateVCPUs() {
		words = append(words, strconv.FormatFloat(v, 'g', -1, 64))
	}
	return either(words)
}

// nextFargate offers the size at or above what a container asks for.
func nextFargate(c Site, vcpus float64) string {
	memory, _ := number(plan.Requirement(c.Node, nil, "MEMORY"))
	return fargateHint(vcpus, int(min(memory, 1<<40)))
}

func fargateHint(vcpus float64, memory int) string {
	v, m, ok := catalog.FargateFit(vcpus, memory)
	if !ok {
		return `more than Fargate offers: run on EC2, "platformCapabilities": ["EC2"]`
	}
	return fmt.Sprintf("the next size is %s with %s", catalog.VCPUs(v), catalog.MiB(m))
}
