package lint

import (
	"encoding/json"
	pathpkg "path"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/schemas"
)

// nativeSchema generates documents of native.schema.json, which schemas/native_test.go
// compares with the SDK.
type nativeSchema struct {
	defs map[string]any
	// members counts what a document uses.
	members int
}

func (s *nativeSchema) resolve(def map[string]any) map[string]any {
	for def["$ref"] != nil {
		def = s.defs[pathpkg.Base(def["$ref"].(string))].(map[string]any)
	}
	return def
}

// example returns a value with every member of the definition.
func (s *nativeSchema) example(def map[string]any) any {
	def = s.resolve(def)
	for _, keyword := range []string{"enum", "examples"} {
		if values, ok := def[keyword].([]any); ok {
			return values[0]
		}
	}
	if either, ok := def["anyOf"].([]any); ok {
		return s.example(either[0].(map[string]any))
	}
	switch def["type"] {
	case "object":
		return s.object(def)
	case "array":
		return []any{s.example(def["items"].(map[string]any))}
	case "integer", "number":
		if least, ok := def["minimum"].(float64); ok && least > 1 {
			return least
		}
		return 1
	case "boolean":
		return true
	}
	return "x"
}

func (s *nativeSchema) object(def map[string]any) any {
	members, _ := def["properties"].(map[string]any)
	object := map[string]any{}
	for name, member := range members {
		if !strings.HasPrefix(name, "$") {
			s.members++
			object[name] = s.example(member.(map[string]any))
		}
	}
	if len(object) == 0 { // a map
		object["key"] = "x"
	}
	return object
}

// Each request can have every member of the API: none is unknown, of another type, or lost
// in the request.
func TestEveryMemberOfTheAPI(t *testing.T) {
	text, err := schemas.FS.ReadFile("native.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Defs map[string]any `json:"$defs"`
	}
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	for kind, least := range map[document.Kind]int{
		document.KindJobDefinition: 500, document.KindSubmitJob: 135, document.KindComputeEnvironment: 44,
		document.KindJobQueue: 17, document.KindSchedulingPolicy: 10, document.KindConsumableResource: 4,
	} {
		t.Run(string(kind), func(t *testing.T) {
			s := &nativeSchema{defs: schema.Defs}
			example := s.example(schema.Defs[string(kind)].(map[string]any))
			if s.members < least {
				t.Errorf("only %d members, the API has %d", s.members, least)
			}
			doc, err := json.MarshalIndent(example, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			f := takesAll(t, string(doc), kind)
			request := f.Requests
			for _, j := range f.Jobs {
				request = append(request, document.Request{Node: j.Register}, document.Request{Node: j.Submit})
			}
			for _, r := range request {
				if r.Node == nil {
					continue
				}
				var got any
				if err := json.Unmarshal(r.AppendJSON(nil), &got); err != nil {
					t.Fatal(err)
				}
				var want any
				if err := json.Unmarshal(doc, &want); err != nil {
					t.Fatal(err)
				}
				if d := cmp.Diff(want, got); d != "" {
					t.Errorf("lost on the way (-want +got):\n%s", d)
				}
			}
			if member := map[document.Kind]string{document.KindJobDefinition: "jobDefinition", document.KindSubmitJob: "submitJob"}[kind]; member != "" {
				takesAll(t, `{ "name": "x", "`+member+`": `+string(doc)+` }`, document.KindJob)
			}
		})
	}
}

// takesAll loads a document that must be of the kind and have no member that is unknown or
// of another type.
func takesAll(t *testing.T, text string, kind document.Kind) *document.File {
	t.Helper()
	f, found := document.Load(diag.NewSource("all.json", text), document.Options{})
	if f == nil || f.Kind != kind {
		t.Fatalf("taken for %v", f)
	}
	for _, d := range append(found, Check([]*document.File{f}, nil, Rules())...) {
		switch d.Rule {
		case document.RuleUnknownMember, document.RuleWrongType, document.RuleBadValue, document.RuleDocumentKind,
			"jobdef-unknown-member", "jobdef-wrong-json-type", "parameters-string-map", "log-options-string-map", "tag-value-string", "array-size-integer":
			t.Error(d)
		}
	}
	return f
}

// A value of another type is rejected at any location: the same documents, with one value
// each replaced.
func TestEveryMemberHasItsType(t *testing.T) {
	text, err := schemas.FS.ReadFile("native.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Defs map[string]any `json:"$defs"`
	}
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	tried := 0
	for _, kind := range []document.Kind{document.KindJobDefinition, document.KindSubmitJob, document.KindComputeEnvironment, document.KindJobQueue, document.KindSchedulingPolicy, document.KindConsumableResource} {
		s := &nativeSchema{defs: schema.Defs}
		doc, err := json.Marshal(s.example(schema.Defs[string(kind)].(map[string]any)))
		if err != nil {
			t.Fatal(err)
		}
		root, _ := jsontree.Parse(diag.NewSource("all.json", string(doc)))
		var visit func(n *jsontree.Node)
		visit = func(n *jsontree.Node) {
			for c := range n.Children() {
				visit(c)
				other := `"x"`
				if c.Is(jsontree.String) {
					other = "[]"
				}
				wrong := string(doc[:c.Span.Start]) + other + string(doc[c.Span.End:])
				_, found := document.Load(diag.NewSource("wrong.json", wrong), document.Options{Kind: kind})
				if len(byRule(found, document.RuleWrongType))+len(byRule(found, document.RuleBadValue)) == 0 {
					t.Errorf("%s: %s is taken for %s", kind, other, c.Name)
				}
				tried++
			}
		}
		visit(root)
	}
	if tried < 710 {
		t.Errorf("only %d values", tried)
	}
}
