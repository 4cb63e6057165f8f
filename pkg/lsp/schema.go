package lsp

import (
	"fmt"
	"iter"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/schemas"
)

// schemaFiles holds the schemas by file name. They are trees and not maps, so that members
// keep their order, and a node knows its file, which references are relative to.
var schemaFiles = sync.OnceValue(func() map[string]*jsontree.Node {
	entries, err := schemas.FS.ReadDir(".")
	if err != nil {
		panic(err)
	}
	files := map[string]*jsontree.Node{}
	for _, e := range entries {
		text, err := schemas.FS.ReadFile(e.Name())
		if err != nil {
			panic(err)
		}
		root, problems := jsontree.Parse(diag.NewSource(e.Name(), string(text)))
		if len(problems) > 0 {
			panic(fmt.Errorf("read schema: %w", problems[0]))
		}
		files[e.Name()] = root
	}
	return files
})

// lookup returns the schema at a location such as
// job.schema.json#/$defs/members, or nil.
func lookup(location string) *jsontree.Node {
	file, pointer, _ := strings.Cut(location, "#")
	n := schemaFiles()[path.Base(file)]
	for step := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		if step != "" {
			n = n.Get(step)
		}
	}
	return n
}

// step leads from a value to a member, or to any element of an array.
type step struct {
	name    string
	element bool
}

// applicable holds all schemas that apply to a value: those of its parent for it, and
// those that they reach by references and alternatives.
type applicable []*jsontree.Node

// topOf returns the schemas of a whole document of that kind.
func topOf(kind document.Kind) applicable {
	switch kind {
	case document.KindJob, document.KindWorkflow, document.KindPlatform:
		return expand(nil, lookup(string(kind)+".schema.json"))
	case document.KindJobList:
		return expand(nil, lookup("joblist.schema.json"))
	case document.KindResources:
		return expand(nil, lookup("resources.schema.json"))
	}
	return expand(nil, lookup("native.schema.json#/$defs/"+string(kind)))
}

// at returns the schemas after the steps.
func (p applicable) at(steps []step) applicable {
	for _, s := range steps {
		p = p.step(s)
	}
	return p
}

// step returns the schemas of a member or element. A member whose schema is false has
// none.
func (p applicable) step(s step) applicable {
	var out applicable
	for _, schema := range p {
		inner := schema.Get("items")
		if !s.element {
			inner = schema.Get("properties").Get(s.name)
			if inner.Is(jsontree.Bool) && inner.Text == "false" {
				return nil
			}
			if inner == nil {
				inner = schema.Get("additionalProperties")
			}
		}
		out = expand(out, inner)
	}
	return out
}

// expand appends the schema and those that its $ref and anyOf reach.
func expand(p applicable, schema *jsontree.Node) applicable {
	if !schema.Is(jsontree.Object) || slices.Contains(p, schema) {
		return p
	}
	p = append(p, schema)
	if ref := schema.Get("$ref").Str(); ref != "" {
		if strings.HasPrefix(ref, "#") {
			ref = schema.Source.Name + ref
		}
		p = expand(p, lookup(ref))
	}
	for branch := range schema.Get("anyOf").Children() {
		p = expand(p, branch)
	}
	return p
}

// member is a member that an object can have.
type member struct {
	name     string
	place    applicable
	required bool
}

// members returns the members that an object can have, in the order of the schema: the
// required ones first, and those of every object last.
func (p applicable) members() []member {
	var required, others, general []member
	seen := map[string]bool{}
	for _, schema := range p {
		for property := range schema.Get("properties").Children() {
			m := member{name: property.Name, place: p.step(step{name: property.Name})}
			switch {
			case seen[m.name] || property.Text == "false":
			case m.name[0] == '$':
				if m.place == nil {
					m.place = expand(nil, lookup("job.schema.json#/$defs/members/properties/"+m.name))
				}
				general = append(general, m)
			case p.requires(m.name):
				m.required = true
				required = append(required, m)
			default:
				others = append(others, m)
			}
			seen[m.name] = true
		}
	}
	return slices.Concat(required, others, general)
}

// requires reports whether one of the schemas requires the member.
func (p applicable) requires(name string) bool {
	for _, schema := range p {
		for required := range schema.Get("required").Children() {
			if required.Text == name {
				return true
			}
		}
	}
	return false
}

// each yields the elements of a list keyword, such as enum, of all schemas.
func (p applicable) each(keyword string) iter.Seq[*jsontree.Node] {
	return func(yield func(*jsontree.Node) bool) {
		for _, schema := range p {
			for n := range schema.Get(keyword).Children() {
				if !yield(n) {
					return
				}
			}
		}
	}
}

// first returns the first value of a keyword that satisfies the condition.
func (p applicable) first(keyword string, fits func(string) bool) string {
	for _, schema := range p {
		if s := schema.Get(keyword).Str(); s != "" && fits(s) {
			return s
		}
	}
	return ""
}

func (p applicable) title() string { return p.first("title", func(string) bool { return true }) }

// description returns the schema's sentence. native.schema.json has no descriptions.
func (p applicable) description() string {
	return p.first("description", func(s string) bool { return !isLink(s) })
}

// link returns the page of AWS about the structure, which native.schema.json has in place
// of a description.
func (p applicable) link() string { return p.first("description", isLink) }

func isLink(s string) bool { return strings.HasPrefix(s, "https://") }

// types returns the JSON types that a value may have.
func (p applicable) types() []string {
	var out []string
	for _, schema := range p {
		list := slices.Collect(schema.Get("type").Children())
		for _, t := range append(list, schema.Get("type")) {
			if s := t.Str(); s != "" && !slices.Contains(out, s) {
				out = append(out, s)
			}
		}
	}
	return out
}
