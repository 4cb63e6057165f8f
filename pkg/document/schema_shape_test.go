package document

import (
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/schemas"
)

// TestEverySchemaCompiles compiles every definition of every schema, since a
// keyword without an evaluation panics only when its schema is needed.
func TestEverySchemaCompiles(t *testing.T) {
	files, err := schemas.FS.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	done := map[*shape]bool{}
	var visit func(s *shape)
	visit = func(s *shape) {
		if s == nil || done[s] {
			return
		}
		done[s] = true
		for _, m := range s.members {
			visit(m.shape)
		}
		for _, branch := range s.anyOf {
			visit(branch)
		}
		visit(s.items)
		visit(s.others)
		if s.ref != nil {
			visit(s.ref())
		}
	}
	for _, f := range files {
		l := schemaFiles[f.Name()]()
		visit(l.schema("").shape())
		whole := parseSchema(l.name, l.text)
		top := without(whole, []string{"$defs"})
		if got := l.schema("").root(); string(got.AppendJSON(nil)) != string(top.AppendJSON(nil)) {
			t.Errorf("%s without $defs is %s", f.Name(), got.AppendJSON(nil))
		}
		for def := range whole.Get("$defs").Children() {
			got := l.schema(def.Name).root()
			if string(got.AppendJSON(nil)) != string(def.AppendJSON(nil)) {
				t.Errorf("%s: $defs/%s is found as %s", f.Name(), def.Name, got.AppendJSON(nil))
			}
			visit(l.schema(def.Name).shape())
		}

	}
	if len(done) < 500 {
		t.Errorf("only %d schemas", len(done))
	}
}

func TestUnknownKeyword(t *testing.T) {
	for _, text := range []string{
		`{"pattern": "^a"}`, `{"properties": {"a": {"multipleOf": 3}}}`, `{"enum": [1]}`, `{"type": "int"}`,
		`{"properties": {}, "required": ["a"], "additionalProperties": false}`,
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s was compiled", text)
				}
			}()
			n, _ := jsontree.Parse(diag.NewSource("x", text))
			(&schemaFile{}).compile(n)
		}()
	}
}

// verdicts returns the decisions of the shape and of the validator library about a tree. The library accepts any value
// of an enumeration that grows.
func verdicts(kind Kind, root *jsontree.Node) (fast, library bool) {
	c := &checker{root: root, bad: map[*jsontree.Node]bool{}}
	err := compiled[kind]().Validate(c.value(root))
	if err == nil {
		c.newerValues(root, shapes[kind](), nil)
	}
	return readable(root) && shapes[kind]().takes(root), err == nil && len(c.diags) == 0
}

// TestVerdictsAgree changes one node of valid documents of every kind, and checks that the
// shape decides as the validator library does.
func TestVerdictsAgree(t *testing.T) {
	n, refused := 0, 0
	agree := func(t *rapid.T, kind Kind, root *jsontree.Node) {
		fast, library := verdicts(kind, root)
		if fast != library {
			t.Fatalf("%s: the shape returned %v, the library %v of\n%s", kind, fast, library, root.AppendJSON(nil))
		}
		if n++; !fast {
			refused++
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom(slices.Sorted(maps.Keys(shapes))).Draw(t, "kind")
		root := valid(shapes[kind]()).Draw(t, "document")
		if _, library := verdicts(kind, root); !library {
			t.Fatalf("%s: the generator built an invalid document:\n%s", kind, root.AppendJSON(nil))
		}
		agree(t, kind, root)
		nodes := all(root)
		for range 250 {
			agree(t, kind, spoilt(t, root, rapid.SampledFrom(nodes).Draw(t, "node"), nodes))
		}
	})
	t.Logf("%d documents, %d of them wrong", n, refused)
	if n < 20000 || refused < n/4 || refused > n*9/10 {
		t.Errorf("%d documents, %d of them wrong", n, refused)
	}
}

// spoilt replaces, deletes or renames one node of a document.
func spoilt(t *rapid.T, root, node *jsontree.Node, nodes []*jsontree.Node) *jsontree.Node {
	var out *jsontree.Node
	switch rapid.IntRange(0, 3).Draw(t, "how") {
	case 0:
		out = replaced(root, node, nil, "")
	case 1:
		other := rapid.SampledFrom(nodes).Draw(t, "name").Name
		if node.Name == other {
			other += "x"
		}
		out = replaced(root, node, node, other)
	case 2:
		out = replaced(root, node, rapid.SampledFrom(nodes).Draw(t, "other"), "")
	default:
		with, _ := jsontree.Parse(diag.NewSource("x", rapid.SampledFrom(oddities).Draw(t, "value")))
		out = replaced(root, node, with, "")
	}
	if out == nil {
		return jsontree.NewObject(nil)
	}
	return out
}

var oddities = []string{`null`, `true`, `0`, `-0`, `-1`, `1.0`, `1.5`, `1e3`, `1e-3`, `1e308`, `1e309`, `1e999999`, `1e-999999`, `0e9`,
	`123456789012345678901234567890`, `9007199254740993.5`, `""`, `"x"`, `"1"`, `[]`, `[[]]`, `{}`, `{"a": 1e999}`, `{"$comment": 1}`,
	`[{"name": "a", "value": "b"}]`, `[{"name": "a"}]`}

// FuzzVerdict checks the same for any text. Of two members with the same name, the library
// reads the first; the shape may reject such a text.
func FuzzVerdict(f *testing.F) {
	for _, text := range documents(f, "problems", "lower") {
		for i := range kinds {
			f.Add(text, uint8(i))
		}
	}
	f.Fuzz(func(t *testing.T, text string, kind uint8) {
		root, diags := jsontree.Parse(diag.NewSource("x", text))
		if root == nil {
			return
		}
		k := kinds[int(kind)%len(kinds)].kind
		fast, library := verdicts(k, root)
		if fast && !library || fast != library && len(diags) == 0 {
			t.Errorf("%s: the shape returned %v, the library %v", k, fast, library)
		}
	})
}
