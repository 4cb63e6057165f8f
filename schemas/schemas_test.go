package schemas

import (
	"io"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

var handWritten = []string{"job.schema.json", "workflow.schema.json", "platform.schema.json", "joblist.schema.json", "resources.schema.json"}

func compiler() *jsonschema.Compiler {
	c := jsonschema.NewCompiler()
	c.LoadURL = func(url string) (io.ReadCloser, error) { return FS.Open(path.Base(url)) }
	return c
}

func compile(t *testing.T, c *jsonschema.Compiler, location string) *jsonschema.Schema {
	t.Helper()
	s, err := c.Compile("embed:///" + location)
	if err != nil {
		t.Fatalf("%s: %#v", location, err)
	}
	return s
}

func TestCompile(t *testing.T) {
	for _, name := range append(handWritten, "native.schema.json") {
		compile(t, compiler(), name)
		doc := read(t, name)
		if doc["$id"] != name {
			t.Errorf("%s: $id is %v; only the file's own name lets an editor resolve it on disk", name, doc["$id"])
		}
		if doc["$schema"] != "https://json-schema.org/draft/2020-12/schema" {
			t.Errorf("%s: $schema is %v", name, doc["$schema"])
		}
	}
}

// TestKeywords checks that the schemas use only keywords for which package document has
// messages, and that every object is closed.
func TestKeywords(t *testing.T) {
	known := []string{"$schema", "$id", "$ref", "$defs", "$comment", "title", "description", "examples", "type",
		"properties", "additionalProperties", "required", "items", "anyOf", "enum", "minimum", "maximum", "minLength", "maxLength", "pattern", "minItems", "maxItems"}
	for _, name := range append(handWritten, "native.schema.json") {
		each(read(t, name), name+"#", func(at string, schema object) {
			for keyword := range schema {
				if !slices.Contains(known, keyword) {
					t.Errorf("%s: no message for keyword %s", at, keyword)
				}
			}
			if schema["properties"] == nil || schema["$ref"] != nil {
				return
			}
			if schema["additionalProperties"] == nil {
				t.Errorf("%s: takes unknown members", at)
			}
			if schema["properties"].(object)["$comment"] == nil {
				t.Errorf("%s: takes no $comment", at)
			}
		})
	}
}

// TestMembersAreExplained checks that every member has a description, and that the
// examples are valid.
func TestMembersAreExplained(t *testing.T) {
	c := compiler()
	for _, name := range handWritten {
		each(read(t, name), name+"#", func(at string, schema object) {
			properties, _ := schema["properties"].(object)
			for member, v := range properties {
				m, ok := v.(object)
				if !ok { // a plain true or false
					continue
				}
				at := at + "/properties/" + member
				for _, keyword := range []string{"title", "description"} {
					if text, _ := m[keyword].(string); text == "" {
						t.Errorf("%s has no %s", at, keyword)
					}
				}
				examples, _ := m["examples"].([]any)
				if len(examples) == 0 {
					t.Errorf("%s has no examples", at)
				}
				s := compile(t, c, at)
				for _, example := range examples {
					if err := s.Validate(example); err != nil {
						t.Errorf("%s: example %v: %v", at, example, err)
					}
				}
			}
		})
	}
}

// each calls f for a schema and all schemas inside of it.
func each(schema object, at string, f func(at string, schema object)) {
	f(at, schema)
	visit := func(v any, at string) {
		if m, ok := v.(object); ok {
			each(m, at, f)
		}
	}
	for _, keyword := range []string{"properties", "$defs"} {
		members, _ := schema[keyword].(object)
		for name, v := range members {
			visit(v, strings.Join([]string{at, keyword, name}, "/"))
		}
	}
	for _, keyword := range []string{"items", "additionalProperties"} {
		visit(schema[keyword], at+"/"+keyword)
	}
	list, _ := schema["anyOf"].([]any)
	for _, v := range list {
		visit(v, at+"/anyOf")
	}
}
