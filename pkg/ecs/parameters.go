package ecs

import (
	"slices"
	"strings"
)

// ECS replaces nothing in a command, so that what AWS Batch would do is done here: each
// element that is Ref::name as a whole becomes the parameter's value.

// reference returns the name of the parameter that a word stands for.
func reference(word string) (name string, isRef bool) { return strings.CutPrefix(word, "Ref::") }

// substitute puts parameters into a command. A name that they do not have stays.
func substitute(command []string, parameters map[string]string) []string {
	out := slices.Clone(command)
	for i, word := range out {
		if name, isRef := reference(word); isRef {
			if value, ok := parameters[name]; ok {
				out[i] = value
			}
		}
	}
	return out
}
