package document

import (
	"bytes"
	"io"
	"path"
	"strconv"
	"strings"
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
		c.LoadURL = func(location string) (io.ReadCloser, error) { return openSchema(k, path.Base(location)) }
		return c.MustCompile(k.location())
	})
}

// openSchema gives the validator an embedded schema as a schema of draft 2019-09. Both
// drafts define these keywords alike. In draft 2020-12, the validator searches every file
// for dynamic anchors at every reference, which doubles the time to compile. Of the native
// schemas, it gives those that a kind needs, because the validator checks each.
func openSchema(k Kind, file string) (io.ReadCloser, error) {
	if file == nativeFile {
		return io.NopCloser(strings.NewReader(nativeFor(k))), nil
	}
	text, err := schemas.FS.ReadFile(file)
	text = bytes.Replace(text, []byte("/draft/2020-12/"), []byte("/draft/2019-09/"), 1)
	return io.NopCloser(bytes.NewReader(text)), err
}

// nativeFor returns the part of the native schemas that the schema of a kind refers to.
func nativeFor(k Kind) string {
	file, pointer, _ := strings.Cut(k.location(), "#/$defs/")
	wanted := []string{pointer}
	if pointer == "" {
		wanted = definitionsAt(schemaFiles[path.Base(file)]().text, nativeFile)
		wanted = append(wanted, definitionsAt(schemaFiles["job.schema.json"]().text, nativeFile)...)
	}
	var b strings.Builder
	b.WriteString(`{"$schema": "https://json-schema.org/draft/2019-09/schema", "$defs": {`)
	written := map[string]bool{}
	for i := 0; i < len(wanted); i++ {
		name := wanted[i]
		if written[name] {
			continue
		}
		written[name] = true
		text, ok := definitionIn(schemas.Native, name)
		if !ok {
			panic("no schema " + name + " in " + nativeFile)
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(strconv.Quote(name) + ": " + text)
		wanted = append(wanted, definitionsAt(text, "")...)
	}
	b.WriteString("}}")
	return b.String()
}

// definitionsAt returns the names in $defs of a file, "" for the same one, to which a schema refers.
func definitionsAt(schema, file string) (names []string) {
	for _, part := range strings.Split(schema, `"$ref": "`+file+`#/$defs/`)[1:] {
		names = append(names, part[:strings.IndexAny(part, `"/`)])
	}
	return names
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
