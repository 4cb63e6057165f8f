//lint:file-ignore SA1019 the deprecated members vcpus and memory are part of the API that is served

package local

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/wire"
)

// override returns the container of a job: the definition's with the request's
// overrides. As in Batch the legacy members vcpus and memory of the overrides
// do not touch a resourceRequirement of the definition. Without overrides it is the
// definition's own: nobody changes it.
func override(c *types.ContainerProperties, o *types.ContainerOverrides) *types.ContainerProperties {
	if o == nil {
		return c
	}
	out := *c
	if len(o.Command) > 0 {
		out.Command = o.Command
	}
	out.Environment = mergedBy(c.Environment, o.Environment, func(v types.KeyValuePair) string { return aws.ToString(v.Name) })
	if out.Vcpus != nil && o.Vcpus != nil {
		out.Vcpus = o.Vcpus
	}
	if out.Memory != nil && o.Memory != nil {
		out.Memory = o.Memory
	}
	out.ResourceRequirements = mergedBy(c.ResourceRequirements, o.ResourceRequirements,
		func(r types.ResourceRequirement) types.ResourceType { return r.Type })
	for _, r := range o.ResourceRequirements {
		switch r.Type {
		case types.ResourceTypeVcpu:
			out.Vcpus = nil
		case types.ResourceTypeMemory:
			out.Memory = nil
		}
	}
	return &out
}

// ignored names the overrides that override does not apply.
func ignored(c *types.ContainerProperties, o *types.ContainerOverrides) []string {
	var names []string
	if o != nil && o.Vcpus != nil && c.Vcpus == nil {
		names = append(names, "containerOverrides.vcpus (the definition has a resourceRequirement)")
	}
	if o != nil && o.Memory != nil && c.Memory == nil {
		names = append(names, "containerOverrides.memory (the definition has a resourceRequirement)")
	}
	return names
}

// mergedBy returns base with the elements of over in place of those with the
// same key, and the rest of over behind.
func mergedBy[T any, K comparable](base, over []T, key func(T) K) []T {
	out := slices.Clone(base)
	for _, v := range over {
		at := slices.IndexFunc(out, func(w T) bool { return key(w) == key(v) })
		if at < 0 {
			out = append(out, v)
		} else {
			out[at] = v
		}
	}
	return out
}

func merged[V any](base, over map[string]V) map[string]V {
	out := make(map[string]V, len(base)+len(over))
	maps.Copy(out, base)
	maps.Copy(out, over)
	return out
}

// asked returns what a container asks of the machine, as far as it can be read.
func asked(c *types.ContainerProperties) (amount, error) {
	var a amount
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

func (a *amount) set(r types.ResourceRequirement) error {
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

// check refuses what Batch refuses of what a job asks for.
func (a amount) check(fargate bool) error {
	least := int64(1000)
	if fargate {
		least = 250
	}
	switch {
	case a.MilliCPU == 0:
		return wire.ClientException("vCPU is required.")
	case a.MemoryMiB == 0:
		return wire.ClientException("Memory is required.")
	case a.MemoryMiB < 4:
		return wire.ClientException("Memory must be at least 4 Mib, got %d Mib.", a.MemoryMiB)
	case a.MilliCPU < least:
		return faulty("vCPU must be at least %g, got %g.", float64(least)/1000, float64(a.MilliCPU)/1000)
	}
	return nil
}

// substitute replaces each element that is Ref::name as a whole by the parameter
// of that name. Inside a longer element the text stays: definitions use it only
// whole, and replacing inside `sh -c` would be an injection.
func substitute(command []string, parameters map[string]string) ([]string, error) {
	out := make([]string, len(command))
	for i, word := range command {
		name, ref := strings.CutPrefix(word, "Ref::")
		if !ref {
			out[i] = word
			continue
		}
		value, ok := parameters[name]
		if !ok {
			return nil, wire.ClientException("Unable to substitute value. No parameter found for reference %s", name)
		}
		out[i] = value
	}
	return out, nil
}
