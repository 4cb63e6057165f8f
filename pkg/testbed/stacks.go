package testbed

import (
	"fmt"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/infra"
	"github.com/batchctl/batchctl/templates"
)

// Templates are the infrastructure templates in the order of their deployment. The benchmark
// deploys those of Wanted.
func Templates() (all []infra.Template) {
	for _, t := range templates.Infra() {
		all = append(all, infra.Template(t))
	}
	return all
}

// Wanted are the templates that the benchmark deploys with these parameters. Where there is a
// NAT gateway no interface endpoints are needed: they cost four times as much, and minutes.
func Wanted(parameters map[string]string) []infra.Template {
	names := []string{"network", "iam", "ecr", "gpu-host", "batch"}
	if parameters["Nat"] != "true" {
		names = append(names, "endpoints")
	}
	return slices.DeleteFunc(Templates(), func(t infra.Template) bool { return !slices.Contains(names, t.Name) })
}

// Parameters are the parameters of the templates where the benchmark wants
// something else than their defaults: one machine of each kind at most, so that nothing
// can cost more than that.
func Parameters(prefix string) map[string]string {
	return map[string]string{
		"Nat": "true", "RepositoryName": Repository(prefix), "RootVolumeSize": "60",
		"CpuInstanceTypes": "c6i.4xlarge,m6i.4xlarge", "CpuMaxvCpus": "16", "GpuInstanceTypes": "g4dn.xlarge,g5.xlarge",
		"GpuMaxvCpus": "4",
	}
}

// ValidPrefix reports whether a prefix can name the stacks and, in front of a slash, the repository.
func ValidPrefix(prefix string) bool {
	return infra.ValidPrefix(prefix) && !strings.Contains(prefix, "--")
}

// Repository is the repository of a benchmark's images. Its last part is the name
// by which the local engine knows the image of the shipped workloads.
func Repository(prefix string) string { return prefix + "/batchctl-workloads" }

// Queues are the job queues that the stacks will have with these parameters.
func Queues(prefix string, parameters map[string]string) []infra.Queue {
	var queues []infra.Queue
	for _, side := range []string{"CPU", "GPU"} {
		most := int32(0)
		_, _ = fmt.Sscan(parameters[parameter(side, "MaxvCpus")], &most) // CloudFormation refuses what is no number
		name := prefix + "-" + strings.ToLower(side)
		queues = append(queues, infra.Queue{Alias: strings.ToLower(side), JobQueue: name,
			Environments: []infra.Environment{{Name: name, Type: "EC2", InstanceTypes: InstanceTypes(parameters, side),
				MaxvCpus: most}}})
	}
	return queues
}

// InstanceTypes are those of a side, "CPU" or "GPU".
func InstanceTypes(parameters map[string]string, side string) []string {
	return strings.Split(parameters[parameter(side, "InstanceTypes")], ",")
}

// parameter is the name of a side's parameter: "CpuMaxvCpus".
func parameter(side, name string) string { return side[:1] + strings.ToLower(side[1:]) + name }
