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
	const confirmed = "confirmed by the service's answer in 2026-09 (cdk-preflight)"
	return []*Rule{
		rule("vcpu-required", High, func(p *Pass) { lacking(p, amounts[:]) },
			"A container has to request vCPUs. Otherwise AWS Batch rejects the definition.",
			tried("ContainerProperties.vcpus")),
		rule("memory-required", High, func(p *Pass) { lacking(p, amounts[1:]) },
			"A container has to request memory. Otherwise AWS Batch rejects the definition.",
			api("ContainerProperties.memory")),
		over("memory-min-4", High, memoryRequirements, func(r requirement) { checkMinMemory(r.Job, r.value) },
			"A container needs at least 4 MiB. A smaller number often means GiB.", tried("ResourceRequirement.value")),
		row("memory-legacy-min-4", High, in(requirers, "memory"), func(s Site, n *jsontree.Node, _ string) {
			if _, whole := n.Int(); whole {
				checkMinMemory(s.Job, n)
			}
		}, "The deprecated memory member is in MiB and at least 4.", tried("ContainerProperties.memory")),
		over("memory-integer-mib", Medium, memoryRequirements, checkWholeMemory,
			"MEMORY is a whole number of MiB, as a string of digits without unit or fraction.",
			api("ResourceRequirement.value")),
		rule("vcpu-min-ec2", High, checkMinVCPUs,
			"On EC2, a container needs at least 1 vCPU; only Fargate has fractions. In tasks of ecsProperties, less is reported as a warning.",
			tried("ResourceRequirement.value")).sometimesWarns(),
		rule("vcpu-integer-ec2", High, checkWholeVCPUs,
			"On EC2, vCPUs are written as whole numbers: AWS Batch rejects \"1.0\" too. Fractions are for Fargate. In tasks of ecsProperties, only a fraction is reported, as a warning.",
			api("ResourceRequirement.value")+"; the service's error quoted in kestra-io/plugin-aws#504").
			sometimesWarns(),
		over("vcpu-numeric", Medium, vcpuRequirements, checkNumericVCPUs,
			"VCPU is a number written as a string of digits, such as \"4\" or \"0.25\".",
			api("ResourceRequirement.value")),
		over("gpu-integer", High, gpuRequirements, checkWholeGPUs,
			"GPU is a whole number: AWS Batch assigns whole GPUs.", tried("ResourceRequirement.value")),
		over("gpu-positive", Low, gpuRequirements, checkPositiveGPUs,
			"A job without GPUs has no GPU requirement. The documentation does not allow 0.",
			api("ResourceRequirement.value")),
		row("resource-type-enum", High, in(requirers, "resourceRequirements[].type"),
			called("a resource requirement's type", oneOf("VCPU", "MEMORY", "GPU")),
			"A resource requirement of a definition or an override is of type VCPU, MEMORY or GPU, in capitals.",
			tried("ResourceRequirement.type")),
		row("resource-duplicate-type", Medium, in(requirers, "resourceRequirements"), checkDuplicateResources,
			"resourceRequirements of a definition or an override lists each type once.", confirmed),
	}
}

// The requirements of each type.
func vcpuRequirements(p *Pass) []requirement   { return required.of(p).vcpus }
func memoryRequirements(p *Pass) []requirement { return required.of(p).memory }
func gpuRequirements(p *Pass) []requirement    { return required.of(p).gpus }

// checkMinMemory reports less memory than AWS Batch accepts.
func checkMinMemory(j Job, n *jsontree.Node) {
	if mib, ok := number(n); ok && mib < catalog.MinMemoryMiB {
		j.Report(fmt.Sprintf("memory is in MiB and must be at least %d, not %s", catalog.MinMemoryMiB, n.Text),
			inGiB(j, mib), n)
	}
}

// checkWholeMemory reports memory with a unit or a fraction. The fix converts it to MiB.
func checkWholeMemory(r requirement) {
	if r.value.Is(jsontree.String) && !isWhole(r.value.Text) {
		// The hint contains the converted value, which is also the text of the fix.
		hint := memoryHint(r.value.Text)
		value := strings.TrimSuffix(strings.TrimPrefix(hint, `write "`), `"`)
		r.Job.ReportFix(fixIf(isWhole(value), r.value, value),
			fmt.Sprintf("MEMORY must be a whole number of MiB, not %s", quote(r.value.Text)), hint, r.value)
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
func checkNumericVCPUs(r requirement) {
	if r.value.Is(jsontree.String) && !isDecimal(r.value.Text) {
		r.Job.Report(fmt.Sprintf("VCPU must be a number, not %s", quote(r.value.Text)),
			`write only digits, such as "4"`, r.value)
	}
}

// checkWholeGPUs reports a number of GPUs that is not whole.
func checkWholeGPUs(r requirement) {
	if r.value.Is(jsontree.String) && !isWhole(r.value.Text) {
		r.Job.Report(fmt.Sprintf("GPU must be a whole number, not %s", quote(r.value.Text)), `write "1"`, r.value)
	}
}

// checkPositiveGPUs reports a requirement of no GPUs.
func checkPositiveGPUs(r requirement) {
	if v, ok := number(r.value); ok && v == 0 {
		r.Job.Report("GPU must be at least 1", "remove it if the job needs no GPU", r.value)
	}
}

// checkDuplicateResources reports the second requirement of a type.
func checkDuplicateResources(s Site, list *jsontree.Node, label string) {
	seen := map[string]bool{}
	for r := range list.Children() {
		kind := r.Get("type").Str()
		if kind != "" && seen[kind] {
			s.Report(fmt.Sprintf("%s is listed twice in %s", kind, label), "keep one of them", r.Get("type"))
		}
		seen[kind] = true
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
