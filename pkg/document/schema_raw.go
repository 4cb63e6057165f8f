package document

import (
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/schemas"
)

// rawSchemas holds the schemas as decoded JSON, by file name. Messages need it, because
// the validator does not keep examples and locations.
var rawSchemas = sync.OnceValue(func() map[string]any {
	files, err := schemas.FS.ReadDir(".")
	if err != nil {
		panic(err)
	}
	docs := map[string]any{}
	for _, f := range files {
		text, err := schemas.FS.ReadFile(f.Name())
		if err != nil {
			panic(err)
		}
		var doc any
		if err := json.Unmarshal(text, &doc); err != nil {
			panic(fmt.Errorf("read %s: %w", f.Name(), err))
		}
		docs[f.Name()] = doc
	}
	return docs
})

// raw is one schema object with the name of its file, for references.
type raw struct {
	file string
	m    map[string]any
}

// lookup returns the schema at a location such as embed:///job.schema.json#/$defs/members.
func lookup(location string) (file string, v any) {
	file, pointer, _ := strings.Cut(location, "#")
	file = path.Base(file)
	v = rawSchemas()[file]
	for _, token := range tokens(pointer) {
		switch parent := v.(type) {
		case map[string]any:
			v = parent[token]
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(parent) {
				return file, nil
			}
			v = parent[i]
		default:
			return file, nil
		}
	}
	return file, v
}

// rawOf returns the text of the schema at a location; ok is false for a boolean schema.
func rawOf(location string) (raw, bool) {
	file, v := lookup(location)
	m, ok := v.(map[string]any)
	return raw{file, m}, ok
}

// alternatives yields the schema, and those that it reaches by $ref and anyOf.
func (r raw) alternatives() iter.Seq[raw] {
	return func(yield func(raw) bool) { r.each(yield) }
}

// each yields the schema and all schemas that it refers to or offers as alternatives.
func (r raw) each(yield func(raw) bool) bool {
	if !yield(r) {
		return false
	}
	if ref, ok := r.m["$ref"].(string); ok {
		if strings.HasPrefix(ref, "#") {
			ref = r.file + ref
		}
		if target, ok := rawOf(ref); ok && !target.each(yield) {
			return false
		}
	}
	list, _ := r.m["anyOf"].([]any)
	for _, branch := range list {
		if m, ok := branch.(map[string]any); ok && !(raw{r.file, m}).each(yield) {
			return false
		}
	}
	return true
}

// members returns the schemas of the members that an object of this schema can
// have, by name.
func (r raw) members() map[string]raw {
	out := map[string]raw{}
	for alt := range r.alternatives() {
		properties, _ := alt.m["properties"].(map[string]any)
		for name, v := range properties {
			if m, ok := v.(map[string]any); ok {
				out[name] = raw{alt.file, m}
			}
		}
	}
	return out
}

// step returns the schemas of the value at name (a member's name or an index)
// inside node.
func (r raw) step(node *jsontree.Node, name string) []raw {
	var out []raw
	add := func(file string, v any) {
		if m, ok := v.(map[string]any); ok {
			out = append(out, raw{file, m})
		}
	}
	for alt := range r.alternatives() {
		if node.Is(jsontree.Array) {
			add(alt.file, alt.m["items"])
			continue
		}
		properties, _ := alt.m["properties"].(map[string]any)
		if v, ok := properties[name]; ok {
			add(alt.file, v)
		} else {
			add(alt.file, alt.m["additionalProperties"])
		}
	}
	return out
}

// types returns the JSON types that the schema accepts, in its own order.
func (r raw) types() []string {
	var out []string
	for alt := range r.alternatives() {
		switch t := alt.m["type"].(type) {
		case string:
			out = append(out, t)
		case []any:
			for _, v := range t {
				out = append(out, v.(string))
			}
		}
	}
	return unique(out)
}

// unique returns a list without repetitions, in the same order.
func unique(list []string) []string {
	var out []string
	for _, s := range list {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// examples returns the examples of the schema that have the JSON type.
func (r raw) examples(typ string) []any {
	var out []any
	for alt := range r.alternatives() {
		list, _ := alt.m["examples"].([]any)
		for _, v := range list {
			if typeOf(v) == typ || typ == "integer" && typeOf(v) == "number" {
				out = append(out, v)
			}
		}
		// The first value of an enum also serves as an example.
		if list, _ := alt.m["enum"].([]any); len(list) > 0 && typeOf(list[0]) == typ {
			out = append(out, list[0])
		}
	}
	return out
}

// typeOf returns the JSON type of a decoded value.
func typeOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case float64:
		return "number"
	case string:
		return "string"
	case []any:
		return "array"
	}
	return "object"
}

func names(members map[string]raw) []string { return slices.Sorted(maps.Keys(members)) }

// takes reports whether a node of this JSON type can satisfy the schema.
func (r raw) takes(n *jsontree.Node) bool {
	for _, t := range r.types() {
		_, whole := n.Int()
		if t == jsonTypes[n.Kind] || t == "integer" && whole {
			return true
		}
	}
	return false
}
