package ecs

import (
	"slices"
	"strings"
)

// ECS replaces no parameters in a command. This file does it as AWS Batch would: an argument
// that is exactly Ref::name becomes the parameter's value.

// reference returns the name of the parameter that an argument stands for.
func reference(arg string) (name string, isRef bool) { return strings.CutPrefix(arg, "Ref::") }

// substitute replaces the parameters in a command. It keeps references to unknown
// parameters.
func substitute(command []string, parameters map[string]string) []string {
	out := slices.Clone(command)
	for i, arg := range out {
		if name, isRef := reference(arg); isRef {
			if value, ok := parameters[name]; ok {
				out[i] = value
			}
		}
	}
	return out
}
