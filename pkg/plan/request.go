package plan

import (
	"math"
	"strconv"
	"strings"

	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// RequestOf returns what one attempt of the job needs on one machine: the definition's
// requirements with the submission's overrides on top. Either request may be nil. ok is false
// if the definition is unknown here, needs more than one machine or a pod (multinode, EKS), or
// does not give its vCPUs and memory in numbers.
func RequestOf(register, submit *jsontree.Node) (r catalog.Request, ok bool) {
	r.Fargate = IsFargate(register)
	platform := register.Get("containerProperties").Get("runtimePlatform")
	switch {
	case register.Get("nodeProperties") != nil, register.Get("eksProperties") != nil:
		return r, false
	case register.Get("ecsProperties") != nil:
		task := register.Get("ecsProperties").Get("taskProperties").Index(0)
		over := submit.Get("ecsPropertiesOverride").Get("taskProperties").Index(0)
		platform = task.Get("runtimePlatform")
		ok = addTask(&r, task, over)
	case register.Get("containerProperties") != nil:
		ok = add(&r, register.Get("containerProperties"), submit.Get("containerOverrides"))
	}
	r.Arch = arch(platform)
	return r, ok
}

// IsFargate reports whether a job definition is for Fargate.
func IsFargate(register *jsontree.Node) bool {
	capabilities := register.Get("platformCapabilities")
	for i := range capabilities.Len() {
		if strings.EqualFold(capabilities.Index(i).Str(), "FARGATE") {
			return true
		}
	}
	return false
}

func arch(platform *jsontree.Node) string {
	switch strings.ToUpper(platform.Get("cpuArchitecture").Str()) {
	case "X86_64":
		return catalog.X86
	case "ARM64":
		return catalog.Arm
	}
	return ""
}

// addTask sums the containers of an ECS task: they run on one machine at once.
func addTask(r *catalog.Request, task, over *jsontree.Node) bool {
	n := 0
	for c := range task.Get("containers").Children() {
		if !add(r, c, named(over.Get("containers"), c.Get("name").Str())) {
			return false
		}
		n++
	}
	return n > 0
}

func named(list *jsontree.Node, name string) *jsontree.Node {
	if name == "" {
		return nil
	}
	return list.With("name", name)
}

func add(r *catalog.Request, container, over *jsontree.Node) bool {
	vcpus, okV := amount(Requirement(container, over, "VCPU"))
	memory, okM := amount(Requirement(container, over, "MEMORY"))
	if !okV || !okM {
		return false
	}
	if gpu := Requirement(container, over, "GPU"); gpu != nil {
		gpus, ok := amount(gpu)
		if !ok {
			return false
		}
		r.GPUs += int(gpus)
	}
	r.VCPUs += vcpus
	r.MemoryMiB += int(math.Ceil(memory))
	return true
}

// Requirement returns the effective value for one type of resource ("VCPU", "MEMORY", "GPU")
// of a container: the override before the container's own, resourceRequirements before the
// deprecated vcpus and memory. Nil if neither has it.
func Requirement(container, over *jsontree.Node, kind string) *jsontree.Node {
	for _, n := range []*jsontree.Node{over, container} {
		if v := required(n, kind); v != nil {
			return v
		}
	}
	legacy := ""
	switch kind {
	case "VCPU":
		legacy = "vcpus"
	case "MEMORY":
		legacy = "memory"
	default:
		return nil
	}
	for _, n := range []*jsontree.Node{over, container} {
		if v := n.Get(legacy); v != nil {
			return v
		}
	}
	return nil
}

func required(container *jsontree.Node, kind string) *jsontree.Node {
	return container.Get("resourceRequirements").With("type", kind).Get("value")
}

// mostAmount keeps sums of hostile figures within an int.
const mostAmount = 1 << 40

// amount reads a figure, which resourceRequirements writes as a string and the
// deprecated members as a number.
func amount(n *jsontree.Node) (float64, bool) {
	if !n.Is(jsontree.String) && !n.Is(jsontree.Number) {
		return 0, false
	}
	f, err := strconv.ParseFloat(n.Text, 64)
	return f, err == nil && f >= 0 && f <= mostAmount
}
