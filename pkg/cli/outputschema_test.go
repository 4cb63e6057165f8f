package cli

import (
	"cmp"
	"encoding"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/batchctl/batchctl/pkg/cli/cmdline"
	"github.com/batchctl/batchctl/pkg/cli/jobs"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/testtool/golden"
	"github.com/batchctl/batchctl/schemas"
)

// module and sdk begin the paths of the packages whose types batchctl prints.
const (
	module    = "github.com/batchctl/batchctl/"
	sdk       = "github.com/aws/aws-sdk-go-v2/service/"
	reference = "https://docs.aws.amazon.com/batch/latest/APIReference/API_"
)

// openTypes are the named types whose constants are not all values.
var openTypes = []string{"cost.By"}

// TestOutputSchema compares the schema of the JSON output with the Go types that the commands print. The schema is
// the record of what scripts may rely on, so its diff shows each change of the output.
func TestOutputSchema(t *testing.T) {
	g := &generator{t: t, defs: object{}, sources: map[string]*source{}}
	for command, forms := range outputForms() {
		var all []any
		for _, f := range forms {
			s := g.of(reflect.TypeOf(f.Type).Elem())
			s["title"] = strings.TrimSuffix("batchctl "+command+" --"+f.Flag, " --")
			all = append(all, s)
		}
		g.defs["batchctl "+command] = object{"anyOf": all}
	}
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(object{"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "v1.schema.json",
		"$comment": "Generated from the Go types by go test ./pkg/cli -run TestOutputSchema -update.",
		"title":    "JSON output of batchctl, version 1", "$defs": g.defs}); err != nil {
		t.Fatal(err)
	}
	golden.File(t, "../../schemas/output/v1.schema.json", b.String())
}

// TestOutputCommands checks that every command with --json has a schema, that batchctl schema output lists it, and that
// a test calls it with --json. The test program compares what it prints with the schema.
func TestOutputCommands(t *testing.T) {
	var tests strings.Builder
	for _, pattern := range []string{"testdata/script/*.txtar", "*/testdata/script/*.txtar", "*_test.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(files), err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			tests.Write(text)
		}
	}
	var names []string
	for command, forms := range outputForms() {
		names = append(names, command)
		if len(forms) == 0 {
			t.Errorf("batchctl %s prints JSON without a form", command)
		}
		// A script writes exec batchctl status --json; Go has "status --json", or "status", "--json".
		const asked = `(--json|(--output|-o)[ =]json)\b`
		call := regexp.MustCompile(`(?m)(batchctl |")` + command + ` ([^\n"]* )?` + asked + `|"` + strings.ReplaceAll(command, " ", `", "`) + `", [^\n]*("--json"|"--output", "json")`)
		if !call.MatchString(tests.String()) {
			t.Errorf("no test calls batchctl %s with --json", command)
		}
	}
	slices.Sort(names)
	if got := schemas.OutputCommands(); !slices.Equal(got, names) {
		t.Errorf("schemas for %q, want %q", got, names)
	}
}

// outputForms returns the forms of each command with --json.
func outputForms() map[string][]cmdline.Form {
	all := map[string][]cmdline.Form{}
	var visit func(path string, commands []*cli.Command)
	visit = func(path string, commands []*cli.Command) {
		for _, c := range commands {
			if slices.ContainsFunc(c.Flags, func(f cli.Flag) bool { return slices.Contains(f.Names(), "json") }) {
				all[path+c.Name] = cmdline.Forms(c)
			}
			visit(path+c.Name+" ", c.Subcommands)
		}
	}
	visit("", app(&term.Console{Streams: term.Streams{Out: io.Discard, Err: io.Discard}}).Commands)
	return all
}

// object is a JSON object.
type object = map[string]any

// generator derives JSON Schemas from Go types and the comments in their source.
type generator struct {
	t       *testing.T
	defs    object
	sources map[string]*source
}

// of returns the schema of a type as encoding/json writes it.
func (g *generator) of(t reflect.Type) object {
	switch {
	case t == reflect.TypeFor[time.Time]():
		return object{"type": "string", "format": "date-time"}
	case t == reflect.TypeFor[json.RawMessage](), t.Kind() == reflect.Interface:
		return object{}
	case strings.HasPrefix(t.Name(), "Native["):
		return g.shape(t.Field(0).Type)
	case strings.HasPrefix(t.PkgPath(), sdk):
		return g.shape(t)
	case t.Kind() != reflect.Pointer && t.Implements(reflect.TypeFor[encoding.TextMarshaler]()):
		return object{"type": "string"}
	case t.Kind() != reflect.Pointer && t.Implements(reflect.TypeFor[json.Marshaler]()) && t != reflect.TypeFor[jobs.Row]():
		g.t.Fatalf("%s has a MarshalJSON; add it to the generator", t)
	}
	switch t.Kind() {
	case reflect.Pointer:
		return g.of(t.Elem())
	case reflect.Struct:
		return g.define(path(t), t, g.members)
	case reflect.Slice:
		return object{"type": "array", "items": g.of(t.Elem())}
	case reflect.Array:
		return object{"type": "array", "items": g.of(t.Elem()), "minItems": t.Len(), "maxItems": t.Len()}
	case reflect.Map:
		return object{"type": "object", "additionalProperties": g.of(t.Elem())}
	case reflect.String:
		if values := g.constants(t); len(values) > 0 && !slices.Contains(openTypes, path(t)) {
			return object{"enum": values}
		}
	}
	return basic(g.t, t)
}

// basic returns the schema of a type that is neither a struct nor a list.
func basic(t *testing.T, typ reflect.Type) object {
	switch typ.Kind() {
	case reflect.String:
		return object{"type": "string"}
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Int, reflect.Int32, reflect.Int64, reflect.Uint64:
		return object{"type": "integer"}
	case reflect.Float32, reflect.Float64:
		return object{"type": "number"}
	}
	t.Fatalf("no schema for %s", typ)
	return nil
}

// published are the names in the schema of types that have moved, or been exported, since: scripts may refer to them.
var published = map[string]string{
	"jobqueue.Queue":       "jobs.QueueState",
	"jobqueue.Environment": "jobs.EnvironmentState",

	"forecast.OutlookDocument": "forecast.outlookDocument",
	"forecast.SizingDocument":  "forecast.sizingDocument",

	"results.OutputRow": "results.outputRow",
	"infra.Deployed":    "cloud.deployed",
	"ecs.Row":           "cloud.ecsRow",
	"ecs.ContainerRow":  "cloud.ecsContainerRow",

	"cost.PriceTable":          "preview.priceTable",
	"diagnose.AttemptRow":      "history.attemptRow",
	"diagnose.JobAdvice":       "history.jobAdvice",
	"jobs.Added":               "jobs.addedRow",
	"jobs.Row":                 "jobs.jobRow",
	"jobs.StopRow":             "jobs.stopRow",
	"platform.ecsRequestRow":   "cloud.ecsRequestRow",
	"platform.ecsRunRow":       "cloud.ecsRunRow",
	"platform.outputsDocument": "cloud.outputsDocument",
	"preview.EstimateDocument": "preview.estimateDocument",
	"preview.SpentDocument":    "preview.spentDocument",
	"submit.SubmittedRow":      "submit.submittedRow",
	"top.Head":                 "top.topHead",
	"top.Job":                  "top.topJob",
	"top.Queue":                "top.topQueue",
	"top.Snapshot":             "top.topSnapshot",
}

// path returns the name of a type with that of its package.
func path(t reflect.Type) string {
	name := t.PkgPath()[strings.LastIndex(t.PkgPath(), "/")+1:] + "." + t.Name()
	return cmp.Or(published[name], name)
}

// define adds the definition of a struct and returns a reference to it.
func (g *generator) define(name string, t reflect.Type, members func(reflect.Type, object) []string) object {
	ref := object{"$ref": "#/$defs/" + name}
	if g.defs[name] != nil {
		return ref
	}
	properties := object{}
	def := object{"type": "object", "properties": properties}
	g.defs[name] = def
	if required := members(t, properties); len(required) > 0 {
		slices.Sort(required)
		def["required"] = required
	}
	if strings.HasPrefix(t.PkgPath(), sdk) {
		def["description"] = reference + t.Name() + ".html"
	} else if doc := g.source(t).types[t.Name()]; doc != nil {
		def["description"] = sentence(t.Name(), "", doc.doc)
	}
	return ref
}

// members adds the members of a struct as encoding/json writes them. It returns the names of those that are always
// there.
func (g *generator) members(t reflect.Type, properties object) (required []string) {
	for i := range t.NumField() {
		f := t.Field(i)
		tag, tagged := f.Tag.Lookup("json")
		name, options, _ := strings.Cut(tag, ",")
		switch {
		case tag == "-" || !f.IsExported() && !f.Anonymous:
			continue
		case f.Anonymous && !tagged && strings.HasPrefix(f.Type.PkgPath(), sdk):
			g.shapeMembers(f.Type, properties)
			continue
		case f.Anonymous && !tagged:
			embedded := f.Type
			if embedded.Kind() == reflect.Pointer {
				embedded = embedded.Elem()
			}
			required = append(required, g.members(embedded, properties)...)
			continue
		case name == "":
			g.t.Fatalf("%s.%s has no name in JSON", t, f.Name)
		}
		s := g.of(f.Type)
		optional := strings.Contains(options, "omitempty") || strings.Contains(options, "omitzero")
		if !optional {
			required = append(required, name)
			if f.Type.Kind() == reflect.Pointer {
				s = object{"anyOf": []any{s, object{"type": "null"}}}
			}
		}
		if doc := g.source(t).types[t.Name()]; doc != nil && doc.fields[f.Name] != "" {
			s["description"] = sentence(f.Name, name, doc.fields[f.Name])
		}
		properties[name] = s
	}
	return required
}

// shape returns the schema of an SDK shape as package wire writes it. All its members are optional.
func (g *generator) shape(t reflect.Type) object {
	switch t.Kind() {
	case reflect.Pointer:
		return g.shape(t.Elem())
	case reflect.Struct:
		return g.define(t.Name(), t, func(t reflect.Type, properties object) []string {
			g.shapeMembers(t, properties)
			return nil
		})
	case reflect.Slice:
		return object{"type": "array", "items": g.shape(t.Elem())}
	case reflect.Map:
		return object{"type": "object", "additionalProperties": g.shape(t.Elem())}
	case reflect.String:
		if values := reflect.Zero(t).MethodByName("Values"); values.IsValid() {
			// The service gets new values before the SDK, so other texts are valid too.
			return object{"anyOf": []any{object{"enum": values.Call(nil)[0].Interface()}, object{"type": "string"}}}
		}
	}
	return basic(g.t, t)
}

// shapeMembers adds the members of an SDK shape.
func (g *generator) shapeMembers(t reflect.Type, properties object) {
	for i := range t.NumField() {
		if f := t.Field(i); f.IsExported() {
			properties[strings.ToLower(f.Name[:1])+f.Name[1:]] = g.shape(f.Type)
		}
	}
}

// sentence returns a comment as the description of a member: without the Go name at its start.
func sentence(field, member, doc string) string {
	doc = strings.Join(strings.Fields(doc), " ")
	for _, verb := range []string{" is ", " are ", " reports ", " contains ", " describes ", " describe ", " names "} {
		if rest, ok := strings.CutPrefix(doc, field+verb); ok {
			if verb != " is " && verb != " are " {
				rest = strings.TrimSpace(verb) + " " + rest
			}
			doc = rest
			break
		}
	}
	if !strings.EqualFold(field, member) && member != "" {
		doc = regexp.MustCompile(`\b`+field+`\b`).ReplaceAllString(doc, member)
	}
	doc = regexp.MustCompile(`\bnil\b`).ReplaceAllString(doc, "absent")
	if doc == "" {
		return ""
	}
	return strings.ToUpper(doc[:1]) + doc[1:]
}

// source is what the generator takes from the files of a package.
type source struct {
	types     map[string]*typeDoc
	constants map[string][]string
}

// typeDoc is the comments of a struct.
type typeDoc struct {
	doc    string
	fields map[string]string
}

// constants returns the values of the constants of a type.
func (g *generator) constants(t reflect.Type) []string {
	if !strings.HasPrefix(t.PkgPath(), module) {
		return nil
	}
	return g.source(t).constants[t.Name()]
}

// source reads the package of a type.
func (g *generator) source(t reflect.Type) *source {
	g.t.Helper()
	if s := g.sources[t.PkgPath()]; s != nil {
		return s
	}
	s := &source{types: map[string]*typeDoc{}, constants: map[string][]string{}}
	g.sources[t.PkgPath()] = s
	dir, ours := strings.CutPrefix(t.PkgPath(), module)
	if !ours {
		return s
	}
	files, err := filepath.Glob(filepath.Join("..", "..", filepath.FromSlash(dir), "*.go"))
	if err != nil || len(files) == 0 {
		g.t.Fatalf("%s: %d files, %v", dir, len(files), err)
	}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			g.t.Fatal(err)
		}
		for _, d := range parsed.Decls {
			if d, ok := d.(*ast.GenDecl); ok {
				s.add(d)
			}
		}
	}
	return s
}

// add adds the types and constants of a declaration.
func (s *source) add(d *ast.GenDecl) {
	for _, spec := range d.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			doc := &typeDoc{fields: map[string]string{}, doc: spec.Doc.Text()}
			if doc.doc == "" {
				doc.doc = d.Doc.Text()
			}
			s.types[spec.Name.Name] = doc
			if st, ok := spec.Type.(*ast.StructType); ok {
				for _, f := range st.Fields.List {
					for _, name := range f.Names {
						doc.fields[name.Name] = strings.TrimSpace(f.Doc.Text() + f.Comment.Text())
					}
				}
			}
		case *ast.ValueSpec:
			typ, ok := spec.Type.(*ast.Ident)
			if d.Tok != token.CONST || !ok {
				continue
			}
			for _, v := range spec.Values {
				if lit, ok := v.(*ast.BasicLit); ok && lit.Kind == token.STRING {
					if text, err := strconv.Unquote(lit.Value); err == nil {
						s.constants[typ.Name] = append(s.constants[typ.Name], text)
					}
				}
			}
		}
	}
}
