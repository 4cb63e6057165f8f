package spec

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/schemas"
)

// compiled holds the library's validators, the judge of ours.
var compiled = func() map[Kind]func() *jsonschema.Schema {
	out := map[Kind]func() *jsonschema.Schema{}
	for _, k := range kinds {
		out[k.kind] = sync.OnceValue(func() *jsonschema.Schema { return compileFor(k.kind) })
	}
	return out
}()

func compileFor(k Kind) *jsonschema.Schema {
	c := jsonschema.NewCompiler()
	c.LoadURL = openSchema
	return c.MustCompile(k.location())
}

// openSchema gives the library our schemas as ones of draft 2019-09. Both drafts mean the
// same by our keywords, but in those of 2020-12 it searches every file for dynamic anchors
// at every reference, which doubles the time to compile them.
func openSchema(location string) (io.ReadCloser, error) {
	text, err := schemas.FS.ReadFile(path.Base(location))
	text = bytes.Replace(text, []byte("/draft/2020-12/"), []byte("/draft/2019-09/"), 1)
	return io.NopCloser(bytes.NewReader(text)), err
}

// named gives members without a name one: of a value in such a member the library says the
// place of the object around it.
func named(root *jsontree.Node) *jsontree.Node {
	text := strings.ReplaceAll(string(root.AppendJSON(nil)), `"":`, `"no name":`)
	root, _ = jsontree.Parse(diag.NewSource("x", text))
	return root
}

// libraryFailures is what the library has against a tree, as lines: the place of the value
// and the keyword with the place of its schema.
func libraryFailures(kind Kind, root *jsontree.Node) []string {
	c := &checker{root: root, bad: map[*jsontree.Node]bool{}}
	err := compiled[kind]().Validate(c.value(root))
	invalid, ok := errors.AsType[*jsonschema.ValidationError](err)
	if !ok {
		return nil
	}
	return slices.Sorted(slices.Values(leaves(root, invalid)))
}

func leaves(root *jsontree.Node, e *jsonschema.ValidationError) (all []string) {
	at := tokens(e.InstanceLocation)
	keyword := path.Base(e.AbsoluteKeywordLocation)
	file, v := lookup(path.Dir(e.AbsoluteKeywordLocation))
	if keyword == "anyOf" && len(e.Causes) > 0 {
		for _, cause := range e.Causes {
			index, _, _ := strings.Cut(strings.TrimPrefix(cause.KeywordLocation, e.KeywordLocation+"/"), "/")
			if schema, ok := rawOf(e.AbsoluteKeywordLocation + "/" + index); ok && schema.takes(root.At(at...)) {
				return leaves(root, cause)
			}
		}
		keyword, e.Causes = "type", nil
	}
	for _, cause := range e.Causes {
		all = append(all, leaves(root, cause)...)
	}
	if len(e.Causes) > 0 {
		return all
	}
	m, _ := v.(map[string]any)
	if _, own := lookup(e.AbsoluteKeywordLocation); own == false && keyword != "additionalProperties" {
		keyword, m = "", nil // a schema that is false
	}
	return []string{line(failure{keyword, raw{file, m}, at})}
}

// ownFailures is what we have against it.
func ownFailures(kind Kind, root *jsontree.Node) (all []string) {
	c := &checker{root: root, bad: map[*jsontree.Node]bool{}}
	top, _ := rawOf(kind.location())
	for _, f := range c.failures(top.file, top.m, c.value(root), nil) {
		all = append(all, line(f))
	}
	return slices.Sorted(slices.Values(all))
}

func line(f failure) string {
	return strings.Join(f.at, "/") + " " + f.keyword + fmt.Sprintf(" of %v, %p in %s", f.schema.m["title"], f.schema.m, f.schema.file)
}
