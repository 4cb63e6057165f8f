package document

import (
	"bytes"
	"io"
	"path"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/batchctl/batchctl/schemas"
)

// compiled holds the validators. Each is built when a document first needs it
// and never changes after that.
var compiled = compileEach()

// compileEach returns the schema of each kind, compiled on first use.
func compileEach() map[Kind]func() *jsonschema.Schema {
	out := map[Kind]func() *jsonschema.Schema{}
	for _, k := range kinds {
		out[k.kind] = compileOnce(k.kind)
	}
	for k := range operationKinds {
		out[k] = compileOnce(k)
	}
	return out
}

// compileOnce compiles the schema of a kind for the validator, which finds all errors of a
// document but takes much longer than a shape.
func compileOnce(k Kind) func() *jsonschema.Schema {
	return sync.OnceValue(func() *jsonschema.Schema {
		c := jsonschema.NewCompiler()
		c.LoadURL = openSchema
		return c.MustCompile(k.location())
	})
}

// openSchema gives the validator the embedded schemas as schemas of draft 2019-09. Both
// drafts define these keywords alike. In draft 2020-12, the validator searches every file
// for dynamic anchors at every reference, which doubles the time to compile.
func openSchema(location string) (io.ReadCloser, error) {
	text, err := schemas.FS.ReadFile(path.Base(location))
	text = bytes.Replace(text, []byte("/draft/2020-12/"), []byte("/draft/2019-09/"), 1)
	return io.NopCloser(bytes.NewReader(text)), err
}

// shapes holds the same schemas as compiled, for a fast decision.
var shapes = shapeEach()

// shapeEach returns the shape of each kind, compiled on first use.
func shapeEach() map[Kind]func() *shape {
	out := map[Kind]func() *shape{}
	for _, k := range kinds {
		out[k.kind] = shapeAt(schemaFiles, k.kind.location())
	}
	for k := range operationKinds {
		out[k] = shapeAt(schemaFiles, k.location())
	}
	return out
}
