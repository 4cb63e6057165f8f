package document

import (
	"strings"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// caseOf returns the member that differs from a name only in case; "" for no such member.
func caseOf(written string, members map[string]raw) string {
	for name := range members {
		if strings.EqualFold(name, written) {
			return name
		}
	}
	return ""
}

// awsName returns the member of a native request for a name of the compact form.
func awsName(written string, members map[string]raw) string {
	for _, name := range names(members) {
		if written != "" && compactName(name) == written {
			return name
		}
	}
	return ""
}

// compactName returns the compact form's name for a member of AWS or of a container tool.
func compactName(name string) string {
	switch name {
	case "jobName", "jobDefinitionName":
		return "name"
	case "jobQueue":
		return "queue"
	case "arrayProperties":
		return "array"
	case "resourceRequirements":
		return "resources"
	case "env":
		return "environment"
	case "cpu", "cpus", "vCPU", "vcpu":
		return "vcpus"
	case "gpu":
		return "gpus"
	case "ram", "mem", "memoryMiB":
		return "memory"
	case "shm", "shmSize", "sharedMemorySize":
		return "sharedMemory"
	case "retry", "retries", "maxAttempts", "max_attempts":
		return "retryStrategy"
	case "args", "cmd", "entrypoint":
		return "command"
	}
	return ""
}

// requirementType returns the type of resource for a name in another tool; "" for other names.
func requirementType(name string) string {
	switch name {
	case "cpu", "cpus", "vcpu", "vCPU", "vcpus":
		return "VCPU"
	case "gpu", "gpus":
		return "GPU"
	case "ram", "mem", "memory", "memoryMiB":
		return "MEMORY"
	}
	return ""
}

// Meant reports whether an object of a job file has another name for a member that it
// lacks: a misspelling, or the name in another tool. That name is reported as unknown, so
// the member is not reported as missing.
func Meant(n *jsontree.Node, member string) bool {
	if n.Get(member) != nil {
		return false
	}
	for child := range n.Children() {
		if compactName(child.Name) == member ||
			diag.Near(child.Name, func(yield func(string) bool) { yield(member) }) == member {
			return true
		}
	}
	return false
}
