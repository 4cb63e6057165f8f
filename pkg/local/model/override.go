//lint:file-ignore SA1019 the deprecated members vcpus and memory are part of the API that is served

package model

import (
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/wire"
)

// Override returns the container of a job: the definition's with the request's overrides. As in
// Batch, the legacy members vcpus and memory of the overrides do not change a resourceRequirement
// of the definition. Without overrides it returns the definition's container, which must not be
// changed.
func Override(c *types.ContainerProperties, o *types.ContainerOverrides) *types.ContainerProperties {
	if o == nil {
		return c
	}
	out := *c
	if len(o.Command) > 0 {
		out.Command = o.Command
	}
	out.Environment = MergedBy(c.Environment, o.Environment,
		func(v types.KeyValuePair) string { return aws.ToString(v.Name) })
	if out.Vcpus != nil && o.Vcpus != nil {
		out.Vcpus = o.Vcpus
	}
	if out.Memory != nil && o.Memory != nil {
		out.Memory = o.Memory
	}
	out.ResourceRequirements = MergedBy(c.ResourceRequirements, o.ResourceRequirements,
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

// MergedBy returns base with the elements of over added; an element with the same key is replaced.
func MergedBy[T any, K comparable](base, over []T, key func(T) K) []T {
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

// Merged returns a copy of base with the members of over, which win.
func Merged[V any](base, over map[string]V) map[string]V {
	out := make(map[string]V, len(base)+len(over))
	maps.Copy(out, base)
	maps.Copy(out, over)
	return out
}

// overlay returns a copy of base with the members that change has; both have the
// wire form of one shape, or of two whose members have the same names.
func overlay[T any](base *T, change any) (*T, error) {
	out := new(T)
	for _, v := range []any{base, change} {
		text, err := wire.Marshal(v)
		if err != nil {
			return nil, err
		}
		if err := wire.Unmarshal(text, out); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Substitute replaces each element that is exactly Ref::name by the parameter with that name
// (batch.ParameterReference). Inside a longer element the text stays: replacing it inside
// `sh -c` would be an injection.
func Substitute(command []string, parameters map[string]string) ([]string, error) {
	out := make([]string, len(command))
	for i, word := range command {
		name, ref := batch.ParameterReference(word)
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
