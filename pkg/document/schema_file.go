package document

import (
	"fmt"
	"path"
	"strings"
	"sync"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/schemas"
)

// schemaFile is one schema file, with the schemas in it that others refer to.
type schemaFile struct {
	name string
	all  map[string]func() *schemaFile
	text string

	mu sync.Mutex
	// read holds the schemas that have been needed so far, by their names in $defs. The
	// name "" is the file itself.
	read map[string]*schema
}

// schema is a schema that others refer to. It is read and compiled when it is needed: a
// document needs a tenth of the native ones.
type schema struct {
	root  func() *jsontree.Node
	shape func() *shape
}

// schema returns the definition of that name, or the whole file for "".
func (f *schemaFile) schema(name string) *schema {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.read[name] == nil {
		text, ok := definitionIn(f.text, name)
		if name == "" {
			text, ok = withoutDefinitions(f.text), true
		}
		if !ok {
			panic("no schema " + name + " in " + f.name)
		}
		root := sync.OnceValue(func() *jsontree.Node { return parseSchema(f.name, text) })
		f.read[name] = &schema{root, sync.OnceValue(func() *shape { return f.compile(root()) })}
	}
	return f.read[name]
}

// parseSchema parses a schema of the binary. It panics on a mistake, which a test finds.
func parseSchema(name, text string) *jsontree.Node {
	root, diags := jsontree.Parse(diag.NewSource(name, text))
	if len(diags) > 0 {
		panic(diags[0])
	}
	return root
}

var schemaFiles = openSchemaFiles()

// openSchemaFiles returns the files of package schemas by name. Each is read on first use.
func openSchemaFiles() map[string]func() *schemaFile {
	files, err := schemas.FS.ReadDir(".")
	if err != nil {
		panic(err)
	}
	out := map[string]func() *schemaFile{}
	for _, file := range files {
		out[file.Name()] = sync.OnceValue(func() *schemaFile { return openSchemaFile(file.Name(), out) })
	}
	return out
}

// openSchemaFile reads a file. native.schema.json is long, so it is not copied out of FS.
func openSchemaFile(name string, all map[string]func() *schemaFile) *schemaFile {
	f := &schemaFile{name: name, all: all, text: schemas.Native, read: map[string]*schema{}}
	if name != "native.schema.json" {
		text, err := schemas.FS.ReadFile(name)
		if err != nil {
			panic(err)
		}
		f.text = string(text)
	}
	return f
}

// definitionIn cuts a member of $defs out of the text by its indentation, which a test checks.
// Parsing the whole file would cost more than checking a job.
func definitionIn(text, name string) (def string, ok bool) {
	_, rest, _ := strings.Cut(text, "\n  \"$defs\": {")
	_, rest, ok = strings.Cut(rest, "\n    \""+name+"\": ")
	def, _, _ = strings.Cut(rest, "\n    }")
	return def + "\n    }", ok
}

// withoutDefinitions cuts $defs out of a file.
func withoutDefinitions(text string) string {
	head, tail, found := strings.Cut(text, "\n  \"$defs\": {")
	if !found {
		return text
	}
	_, tail, _ = strings.Cut(tail, "\n  }")
	if head, more := strings.CutSuffix(head, ","); more {
		return head + tail
	}
	return head + strings.TrimPrefix(tail, ",") // $defs comes first
}

// shapeAt returns the schema at a location such as job.schema.json#/$defs/members.
func shapeAt(all map[string]func() *schemaFile, location string) func() *shape {
	file, pointer, _ := strings.Cut(location, "#")
	open := all[path.Base(file)]
	if open == nil {
		panic("no schema file " + file)
	}
	return sync.OnceValue(func() *shape { return open().at(pointer)() })
}

// at returns the shape that a JSON pointer (RFC 6901) names. It panics if there is none.
func (f *schemaFile) at(pointer string) func() *shape {
	if pointer == "" {
		return f.schema("").shape
	}
	path := tokens(pointer)
	def := f.schema(path[1])
	if len(path) == 2 {
		return def.shape
	}
	n := def.root()
	for _, token := range path[2:] {
		if n = n.Get(token); n == nil {
			panic("no schema at " + f.name + "#" + pointer)
		}
	}
	return func() *shape { return f.compile(n) }
}

// compile returns the shape of a schema. It panics on an unknown keyword: a schema of
// which shapes ignore a part would accept invalid files.
func (f *schemaFile) compile(n *jsontree.Node) *shape {
	s := newShape()
	if n.Is(jsontree.Bool) {
		s.never = n.Text == "false"
		return s
	}
	for keyword := range n.Children() {
		f.add(s, keyword)
	}
	f.require(s, n.Get("required"))
	if f.name == nativeFile && len(s.anyOf) == 2 && s.anyOf[0].enum != nil && s.anyOf[1].types == bit(jsontree.String) {
		s.enum, s.types, s.grows, s.anyOf = s.anyOf[0].enum, bit(jsontree.String), true, nil
	}
	return s
}

// add applies one keyword of JSON Schema to a shape. It panics on a keyword that shapes
// cannot express, so that no schema can use one.
func (f *schemaFile) add(s *shape, keyword *jsontree.Node) {
	switch keyword.Name {
	case "$schema", "$id", "$defs", "$comment", "title", "description", "examples":
	case "type":
		s.types = typeBits(keyword)
	case "enum":
		for v := range keyword.Children() {
			if !v.Is(jsontree.String) {
				panic(fmt.Sprintf("%s: an enum of %s", f.name, v.Kind))
			}
		}
		s.enum = texts(keyword)
	case "minimum":
		s.minimum = number(keyword.Text)
	case "maximum":
		s.maximum = number(keyword.Text)
	case "minLength":
		s.minLength = whole(keyword)
	case "maxLength":
		s.maxLength = whole(keyword)
	case "pattern":
		if keyword.Str() != namePattern {
			panic(fmt.Sprintf("%s: no evaluation of the pattern %s", f.name, keyword.Str()))
		}
		s.named = true
	case "minItems":
		s.minItems = whole(keyword)
	case "maxItems":
		s.maxItems = whole(keyword)
	case "properties":
		for m := range keyword.Children() {
			f.declare(s, m.Name, f.compile(m))
		}
	case "required": // after properties
	case "additionalProperties":
		s.others = f.compile(keyword)
	case "items":
		s.items = f.compile(keyword)
	case "anyOf":
		for branch := range keyword.Children() {
			s.anyOf = append(s.anyOf, f.compile(branch))
		}
	case "$ref":
		s.ref = f.refer(keyword.Str())
	default:
		panic(fmt.Sprintf("%s: no evaluation of keyword %q", f.name, keyword.Name))
	}
}

// refer returns the shape of a $ref. It is resolved on first use, because schemas refer to
// themselves.
func (f *schemaFile) refer(location string) func() *shape {
	if pointer, local := strings.CutPrefix(location, "#"); local {
		return sync.OnceValue(func() *shape { return f.at(pointer)() })
	}
	return shapeAt(f.all, location)
}

// declare adds a member that an object may have.
func (f *schemaFile) declare(s *shape, name string, m *shape) {
	if s.members == nil {
		s.members = map[string]shapeMember{}
	}
	s.members[name] = shapeMember{shape: m}
}

// require gives every required member a bit. A member without a schema in this object gets
// the schema that accepts anything, since its own follows from a $ref.
func (f *schemaFile) require(s *shape, required *jsontree.Node) {
	if required.Len() > 64 {
		panic(f.name + ": more than 64 required members")
	}
	next := uint64(1)
	for name := range required.Children() {
		m, known := s.members[name.Str()]
		if !known {
			if s.others != nil {
				panic(fmt.Sprintf("%s: %q is required and not declared", f.name, name.Str()))
			}
			m.shape = newShape()
		}
		f.declare(s, name.Str(), m.shape)
		s.members[name.Str()] = shapeMember{m.shape, next}
		s.required |= next
		next <<= 1
	}
}

// typeBits returns the types of a schema's "type" as bits. An integer is a number with the
// additional bit wholeNumber.
func typeBits(keyword *jsontree.Node) (bits uint8) {
	list := texts(keyword)
	if keyword.Is(jsontree.String) {
		list = []string{keyword.Text}
	}
	for _, name := range list {
		if name == "integer" {
			bits |= wholeNumber
			continue
		}
		found := false
		for kind, known := range jsonTypes {
			if known == name {
				bits |= bit(jsontree.Kind(kind))
				found = true
			}
		}
		if !found {
			panic(fmt.Sprintf("unknown type %q", name))
		}
	}
	return bits
}
