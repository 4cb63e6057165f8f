package spec

import (
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// failure is a keyword of a schema that a value does not satisfy.
type failure struct {
	keyword string // "" stands for a schema that is false
	schema  raw
	at      []string // the path of the value
}

// failures returns all that a schema has against a value of the document. It is what
// santhosh-tekuri/jsonschema/v5 finds, with two differences: where none of several schemas
// takes a value, there is only what the first for its type has against it, or the type if
// it is wrong for all of them. Tests hold it to the library.
//
// The keywords come in the order of their names: they are those that shape knows, and compile
// panics for any other.
func (c *checker) failures(file string, schema, v any, at []string) (all []failure) {
	m, ok := schema.(map[string]any)
	if !ok {
		if schema == false {
			all = append(all, failure{"", raw{file: file}, at})
		}
		return all
	}
	r := raw{file, m}
	fail := func(keyword string) { all = append(all, failure{keyword, r, at}) }
	inside := func(schema, v any, name string) {
		all = append(all, c.failures(file, schema, v, append(slices.Clip(at), name))...)
	}
	if !r.fits(v) {
		fail("type")
		return all
	}
	if target, ok := r.target(); ok {
		all = append(all, c.failures(target.file, target.m, v, at)...)
	}
	object, _ := v.(map[string]any)
	array, _ := v.([]any)
	properties, _ := m["properties"].(map[string]any)
	names := slices.Sorted(maps.Keys(object))
	others := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return properties[name] != nil })
	if rest, given := m["additionalProperties"]; given && rest != false {
		for _, name := range others {
			inside(rest, object[name], name)
		}
	} else if given && len(others) > 0 {
		fail("additionalProperties")
	}
	if branches, ok := m["anyOf"].([]any); ok {
		all = append(all, c.anyOf(r, branches, v, at)...)
	}
	if list, ok := m["enum"].([]any); ok && !slices.ContainsFunc(list, func(one any) bool { return reflect.DeepEqual(one, v) }) {
		fail("enum")
	}
	if items, ok := m["items"]; ok {
		for i, item := range array {
			inside(items, item, strconv.Itoa(i))
		}
	}
	if least, ok := m["minItems"].(float64); ok && array != nil && float64(len(array)) < least {
		fail("minItems")
	}
	if least, ok := m["minimum"].(float64); ok {
		if n, is := v.(float64); is && n < least {
			fail("minimum")
		}
	}
	for _, name := range names {
		if own, known := properties[name]; known {
			inside(own, object[name], name)
		}
	}
	required, _ := m["required"].([]any)
	if object != nil && slices.ContainsFunc(required, func(name any) bool { _, there := object[name.(string)]; return !there }) {
		fail("required")
	}
	return all
}

// anyOf returns what the schema for the value's type has against it, where none takes it.
func (c *checker) anyOf(r raw, branches []any, v any, at []string) (chosen []failure) {
	node := c.root.At(at...)
	for _, branch := range branches {
		against := c.failures(r.file, branch, v, at)
		if len(against) == 0 {
			return nil
		}
		if m, ok := branch.(map[string]any); ok && chosen == nil && (raw{r.file, m}).takes(node) {
			chosen = against
		}
	}
	if chosen == nil {
		return []failure{{"type", r, at}}
	}
	return chosen
}

// fits reports whether a value is of a type that the schema itself names.
func (r raw) fits(v any) bool {
	types, ok := r.m["type"].([]any)
	if !ok {
		types = []any{r.m["type"]}
	}
	own := typeOf(v)
	return slices.ContainsFunc(types, func(t any) bool {
		f, _ := v.(float64)
		return t == nil || t == own || t == "integer" && own == "number" && f == math.Trunc(f)
	})
}

// inOrder sorts failures by their places, as the paths are written; those of one place stay.
func inOrder(all []failure) []failure {
	slices.SortStableFunc(all, func(a, b failure) int { return strings.Compare(strings.Join(a.at, "/"), strings.Join(b.at, "/")) })
	return all
}
