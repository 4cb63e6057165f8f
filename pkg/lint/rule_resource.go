package lint

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// resourceRules returns the rules about vCPUs, memory and GPUs of containers. In
// resourceRequirements AWS Batch reads all of them from strings.
func resourceRules() []*Rule {
	return []*Rule{
		{
			Name: "vcpu-required", Severity: diag.Error, Confidence: High,
			Doc:    "A container has to request vCPUs. Otherwise AWS Batch rejects the definition.",
			Source: apiReference + ", ContainerProperties.vcpus" + probed,
			Run:    func(p *Pass) { lacking(p, amounts[:]) },
		},
		{
			Name: "memory-required", Severity: diag.Error, Confidence: High,
			Doc:    "A container has to request memory. Otherwise AWS Batch rejects the definition.",
			Source: apiReference + ", ContainerProperties.memory",
			Run:    func(p *Pass) { lacking(p, amounts[1:]) },
		},
		{
			Name: "memory-min-4", Severity: diag.Error, Confidence: High,
			Doc:    "A container needs at least 4 MiB. A smaller number often means GiB.",
			Source: apiReference + ", ResourceRequirement.value" + probed,
			Run:    checkMinMemory,
		},
		{
			Name: "memory-legacy-min-4", Severity: diag.Error, Confidence: High,
			Doc:    "The deprecated memory member is in MiB and at least 4.",
			Source: tried("ContainerProperties.memory"),
			Run:    checkMinLegacyMemory,
		},
		{
			Name: "memory-integer-mib", Severity: diag.Error, Confidence: Medium,
			Doc:    "MEMORY is a whole number of MiB, as a string of digits without unit or fraction.",
			Source: apiReference + ", ResourceRequirement.value",
			Run:    checkWholeMemory,
		},
		{
			Name: "vcpu-min-ec2", Severity: diag.Error, Confidence: High,
			Doc:    "On EC2, a container needs at least 1 vCPU; only Fargate has fractions. In tasks of ecsProperties, less is reported as a warning.",
			Source: apiReference + ", ResourceRequirement.value" + probed,
			Run:    checkMinVCPUs,
		},
		{
			Name: "vcpu-integer-ec2", Severity: diag.Error, Confidence: High,
			Doc:    "On EC2, vCPUs are written as whole numbers: AWS Batch rejects \"1.0\" too. Fractions are for Fargate. In tasks of ecsProperties, only a fraction is reported, as a warning.",
			Source: apiReference + ", ResourceRequirement.value; the service's error quoted in kestra-io/plugin-aws#504",
			Run:    checkWholeVCPUs,
		},
		{
			Name: "vcpu-numeric", Severity: diag.Error, Confidence: Medium,
			Doc:    "VCPU is a number written as a string of digits, such as \"4\" or \"0.25\".",
			Source: apiReference + ", ResourceRequirement.value",
			Run:    checkNumericVCPUs,
		},
		{
			Name: "gpu-integer", Severity: diag.Error, Confidence: High,
			Doc:    "GPU is a whole number: AWS Batch assigns whole GPUs.",
			Source: apiReference + ", ResourceRequirement.value" + probed,
			Run:    checkWholeGPUs,
		},
		{
			Name: "gpu-positive", Severity: diag.Warning, Confidence: Low,
			Doc:    "A job without GPUs has no GPU requirement. The documentation does not allow 0.",
			Source: apiReference + ", ResourceRequirement.value",
			Run:    checkPositiveGPUs,
		},
		{
			Name: "resource-type-enum", Severity: diag.Error, Confidence: High,
			Doc:    "A resource requirement is of type VCPU, MEMORY or GPU, in capitals.",
			Source: apiReference + ", ResourceRequirement.type" + probed,
			Run:    checkResourceTypes,
		},
		{
			Name: "resource-duplicate-type", Severity: diag.Error, Confidence: Medium,
			Doc:    "resourceRequirements lists each type once.",
			Source: "confirmed by the service's answer in 2026-09 (cdk-preflight)",
			Run:    checkDuplicateResources,
		},
	}
}

// checkMinMemory reports less memory than AWS Batch accepts.
func checkMinMemory(p *Pass) {
	for _, r := range required.of(p).memory {
		if mib, ok := number(r.value); ok && mib < catalog.MinMemoryMiB {
			r.Job.Report(fmt.Sprintf("memory is in MiB and must be at least %d, not %s", catalog.MinMemoryMiB,
				r.value.Text), inGiB(r.Job, mib), r.value)
		}
	}
}

// checkMinLegacyMemory is checkMinMemory for the deprecated member.
func checkMinLegacyMemory(p *Pass) {
	for _, s := range requirers(p) {
		n := s.Node.Get("memory")
		if mib, ok := n.Int(); ok && mib < catalog.MinMemoryMiB {
			s.Job.Report(fmt.Sprintf("memory is in MiB and must be at least %d, not %s", catalog.MinMemoryMiB, n.Text),
				inGiB(s.Job, float64(mib)), n)
		}
	}
}

// checkWholeMemory reports memory with a unit or a fraction. The fix converts it to MiB.
func checkWholeMemory(p *Pass) {
	for _, r := range required.of(p).memory {
		if r.value.Is(jsontree.String) && !isWhole(r.value.Text) {
			// The hint contains the converted value, which is also the text of the fix.
			hint := memoryHint(r.value.Text)
			value := strings.TrimSuffix(strings.TrimPrefix(hint, `write "`), `"`)
			r.Job.ReportFix(fixIf(isWhole(value), r.value, value),
				fmt.Sprintf("MEMORY must be a whole number of MiB, not %s", quote(r.value.Text)), hint, r.value)
		}
	}
}

// checkMinVCPUs reports less than 1 vCPU on EC2. There is no fix, because the job may be
// meant for Fargate.
func checkMinVCPUs(p *Pass) {
	for c, n := range p.vcpusOnEC2() {
		if v, ok := number(n); ok && v < 1 {
			c.reportAs(c.ofVCPUs(), nil, fmt.Sprintf("on EC2, a container needs at least 1 vCPU, not %s", n.Text),
				`write "1", or run on Fargate: "platformCapabilities": ["FARGATE"]`, n)
		}
	}
}

// ofVCPUs returns the severity of vCPUs that EC2 does not have. No report says what AWS Batch does with those of a task
// of several containers, of which the API reference says the same.
func (s Site) ofVCPUs() diag.Severity {
	if s.Task != nil && s.Node != s.Task {
		return diag.Warning
	}
	return diag.Error
}

// checkWholeVCPUs reports vCPUs on EC2 that are not written as a whole number. The fix rounds up. The engine
// rejects the same values (batchapi.checkWholeVCPUs).
func checkWholeVCPUs(p *Pass) {
	for c, n := range p.vcpusOnEC2() {
		v, ok := number(n)
		if !ok || v < 1 || !strings.Contains(n.Text, ".") {
			continue
		}
		severity := c.ofVCPUs()
		if severity == diag.Warning && v == math.Trunc(v) {
			continue
		}
		whole := decimal(math.Ceil(v))
		c.reportAs(severity, replace(n, whole), fmt.Sprintf("on EC2, vCPUs must be a whole number, not %s", n.Text),
			"write "+quote(whole), n)
	}
}

// checkNumericVCPUs reports vCPUs that are not a decimal number.
func checkNumericVCPUs(p *Pass) {
	for _, r := range required.of(p).vcpus {
		if r.value.Is(jsontree.String) && !isDecimal(r.value.Text) {
			r.Job.Report(fmt.Sprintf("VCPU must be a number, not %s", quote(r.value.Text)),
				`write only digits, such as "4"`, r.value)
		}
	}
}

// checkWholeGPUs reports a number of GPUs that is not whole.
func checkWholeGPUs(p *Pass) {
	for _, r := range required.of(p).gpus {
		if r.value.Is(jsontree.String) && !isWhole(r.value.Text) {
			r.Job.Report(fmt.Sprintf("GPU must be a whole number, not %s", quote(r.value.Text)), `write "1"`, r.value)
		}
	}
}

// checkPositiveGPUs reports a requirement of no GPUs.
func checkPositiveGPUs(p *Pass) {
	for _, r := range required.of(p).gpus {
		if v, ok := number(r.value); ok && v == 0 {
			r.Job.Report("GPU must be at least 1", "remove it if the job needs no GPU", r.value)
		}
	}
}

// checkResourceTypes reports unknown types in resourceRequirements.
func checkResourceTypes(p *Pass) {
	for _, c := range p.Containers() {
		for r := range c.Node.Get("resourceRequirements").Children() {
			reportEnum(c.Job, r.Get("type"), "a resource requirement's type", "VCPU", "MEMORY", "GPU")
		}
	}
}

// checkDuplicateResources reports the second requirement of a type.
func checkDuplicateResources(p *Pass) {
	for _, c := range p.Containers() {
		seen := map[string]bool{}
		for r := range c.Node.Get("resourceRequirements").Children() {
			kind := r.Get("type").Str()
			if kind != "" && seen[kind] {
				c.Report(fmt.Sprintf("%s is listed twice in resourceRequirements", kind), "keep one of them",
					r.Get("type"))
			}
			seen[kind] = true
		}
	}
}

// inGiB returns the hint for a number of MiB that is so small that the author means GiB.
func inGiB(j Job, n float64) string {
	switch {
	case n <= 0:
		return ""
	case j.compact():
		return fmt.Sprintf(`write "%g GiB" if you mean GiB`, n)
	}
	return fmt.Sprintf(`write "%d" if you mean %g GiB`, int(math.Ceil(n*1024)), n)
}

// withUnit matches a number with an optional unit; its groups are the two.
var withUnit = lazy(`^\s*([0-9]+(?:\.[0-9]+)?)\s*([a-zA-Z]*)\s*$`)

// memoryHint converts an amount of memory with a unit to MiB.
func memoryHint(s string) string {
	m := withUnit().FindStringSubmatch(s)
	if m == nil {
		return `write the number of MiB, such as "2048"`
	}
	f, err := strconv.ParseFloat(m[1], 64)
	if err != nil || f > 1<<30 {
		return ""
	}
	switch strings.ToLower(m[2]) {
	case "g", "gb", "gi", "gib":
		f *= 1024
	case "t", "tb", "ti", "tib":
		f *= 1 << 20
	}
	return fmt.Sprintf(`write "%.0f"`, math.Ceil(f))
}

// reportEnum reports a string that is not one of the values, and suggests the closest.
func reportEnum(j Job, n *jsontree.Node, what string, values ...string) {
	if n.Is(jsontree.String) && !slices.Contains(values, n.Text) {
		j.badValue(n, what, values)
	}
}
