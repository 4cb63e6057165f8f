package jsontree_test

import (
	"encoding/json"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

func must(t interface{ Fatal(...any) }, text string) *jsontree.Node {
	n, list := parse(text)
	if len(list) != 0 {
		t.Fatal(list)
	}
	return n
}

func str(n *jsontree.Node) string { return string(n.AppendJSON(nil)) }

func TestAt(t *testing.T) {
	root := must(t, `{"a": {"b": [10, {"c": "x"}]}, "d": null}`)
	for _, c := range []struct {
		path []string
		want string
	}{
		{nil, str(root)},
		{[]string{"a", "b", "0"}, `10`},
		{[]string{"a", "b", "1", "c"}, `"x"`},
		{[]string{"d"}, `null`},
		// a wrong step stops at the nearest ancestor
		{[]string{"a", "x", "c"}, `{"b":[10,{"c":"x"}]}`},
		{[]string{"a", "b", "2"}, `[10,{"c":"x"}]`},
		{[]string{"a", "b", "-1"}, `[10,{"c":"x"}]`},
		{[]string{"a", "b", "one"}, `[10,{"c":"x"}]`},
		{[]string{"d", "e"}, `null`},
	} {
		if got := str(root.At(c.path...)); got != c.want {
			t.Errorf("%v: %s, want %s", c.path, got, c.want)
		}
	}
}

func TestWith(t *testing.T) {
	root := must(t, `{"list": [{"type": 7, "value": "number"}, {"value": "none"}, {"type": "GPU", "value": "first"}, {"type": "GPU", "value": "second"}]}`)
	list := root.Get("list")
	if got := list.With("type", "GPU").Get("value").Str(); got != "first" {
		t.Errorf("with GPU: %q", got)
	}
	for _, text := range []string{"7", "", "gpu"} {
		if n := list.With("type", text); n != nil {
			t.Errorf("with %q: %q", text, n.Get("value").Str())
		}
	}
	if root.Get("absent").With("type", "GPU") != nil {
		t.Error("an absent list has a child")
	}
}

func TestAbsent(t *testing.T) {
	var n *jsontree.Node
	if n.Get("a").Index(1).At("b", "0") != nil || n.Len() != 0 || n.Str() != "" || n.Value() != nil || n.Is(jsontree.Null) || n.Clone() != nil {
		t.Error("an absent node answers")
	}
	for range n.Children() {
		t.Error("an absent node has a child")
	}
	if src, span := n.Location(); src != nil || span != (diag.Span{}) {
		t.Error("an absent node has a place")
	}
	root := must(t, `{"a": [1], "b": "x"}`)
	if root.Index(0) != nil || root.Get("b").Get("x") != nil || root.Get("a").Get("0") != nil || root.Get("a").Index(-1) != nil {
		t.Error("a node of the wrong kind has children")
	}
	if root.Get("a").Str() != "" {
		t.Error("an array has a text")
	}
}

func TestInt(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "-0": 0, "2": 2, "2.0": 2, "2e3": 2000, "-5E+1": -50, "9223372036854775807": math.MaxInt64, "9007199254740991.0": 1<<53 - 1,
	} {
		if got, ok := must(t, text).Int(); !ok || got != want {
			t.Errorf("%s: %d, %v, want %d", text, got, ok, want)
		}
	}
	for _, text := range []string{"2.5", "1e-1", "1e400", "9223372036854775808", "-1e30", `"2"`, "null"} {
		if got, ok := must(t, text).Int(); ok {
			t.Errorf("%s is the whole number %d", text, got)
		}
	}
}

func TestSet(t *testing.T) {
	for _, c := range []struct{ before, name, after string }{
		{`{}`, "a", `{"a":9}`},
		{`{"a":1}`, "a", `{"a":9}`},
		{`{"a":1,"b":2,"c":3}`, "a", `{"a":9,"b":2,"c":3}`},
		{`{"a":1,"b":2,"c":3}`, "b", `{"a":1,"b":9,"c":3}`},
		{`{"a":1,"b":2,"c":3}`, "c", `{"a":1,"b":2,"c":9}`},
		{`{"a":1,"b":2,"c":3}`, "d", `{"a":1,"b":2,"c":3,"d":9}`},
	} {
		n := must(t, c.before)
		n.Set(c.name, jsontree.NewInt(9, nil))
		n.Set("absent", nil)
		if str(n) != c.after {
			t.Errorf("%s: %s, want %s", c.before, str(n), c.after)
		}
		n.Set("end", jsontree.NewBool(true, nil)) // the last member is still known
		if got, want := n.Len(), len(slices.Collect(n.Children())); got != want || str(n) != c.after[:len(c.after)-1]+`,"end":true}` {
			t.Errorf("then %s with %d of %d members", str(n), got, want)
		}
	}
}

func TestBuild(t *testing.T) {
	from := must(t, `{"memory": "2 GiB"}`).Get("memory")
	n := jsontree.NewObject(from)
	n.Set("type", jsontree.NewString("MEMORY", from))
	list := jsontree.NewArray(nil)
	list.Append(jsontree.NewInt(-3, nil))
	list.Append(nil)
	list.Append(jsontree.NewBool(false, nil))
	n.Set("list", list)
	if want := `{"type":"MEMORY","list":[-3,false]}`; str(n) != want {
		t.Errorf("built %s, want %s", str(n), want)
	}
	src, span := n.Get("type").Location()
	if src != from.Source || span != from.Span {
		t.Errorf("the built node stands at %v", span)
	}
	if n.Get("type").Key != from.Key || n.Get("list").Source != nil {
		t.Error("built nodes are in the wrong order")
	}
}

func TestMerge(t *testing.T) {
	for _, c := range []struct{ below, over, want string }{
		{`{}`, `{}`, `{}`},
		{`{"a":1}`, `{"b":2}`, `{"a":1,"b":2}`},
		{`{"a":1,"b":2}`, `{"a":3}`, `{"a":3,"b":2}`},
		{`{"a":{"x":1,"y":2}}`, `{"a":{"y":3,"z":4}}`, `{"a":{"x":1,"y":3,"z":4}}`},
		{`{"a":[1,2]}`, `{"a":[3]}`, `{"a":[3]}`},
		{`{"a":{"x":1}}`, `{"a":null}`, `{"a":null}`},
		{`{"a":1}`, `{"a":{"x":1}}`, `{"a":{"x":1}}`},
		{`1`, `2`, `2`},
	} {
		below, over := must(t, c.below), must(t, c.over)
		got := jsontree.Merge(below, over)
		if str(got) != c.want {
			t.Errorf("%s over %s: %s, want %s", c.over, c.below, str(got), c.want)
		}
		if str(below) != c.below || str(over) != c.over {
			t.Errorf("merging changed its arguments to %s and %s", str(below), str(over))
		}
	}
	one := must(t, `{"a":1}`)
	if str(jsontree.Merge(one, nil)) != `{"a":1}` || str(jsontree.Merge(nil, one)) != `{"a":1}` || jsontree.Merge(nil, nil) != nil {
		t.Error("merging with nothing")
	}
}

func TestClone(t *testing.T) {
	root := must(t, `{"a":[1,{"b":2}],"c":"x"}`)
	before := str(root)
	c := root.Clone()
	if str(c) != before || c.Span != root.Span || c.Get("c").Key != root.Get("c").Key {
		t.Errorf("the clone is %s", str(c))
	}
	c.Get("a").Index(1).Set("b", jsontree.NewString("new", nil))
	c.Get("a").Append(jsontree.NewInt(3, nil))
	c.Set("d", jsontree.NewObject(nil))
	if str(root) != before {
		t.Errorf("changing the clone changed the original to %s", str(root))
	}
}

func TestKindNames(t *testing.T) {
	for text, want := range map[string]string{
		"null": "null", "true": "a boolean", "1": "a number", `""`: "a string", "[]": "an array", "{}": "an object",
	} {
		if got := must(t, text).Kind.String(); got != want {
			t.Errorf("%s is %s, want %s", text, got, want)
		}
	}
}

func TestAppendJSONKeepsHTML(t *testing.T) {
	n := jsontree.NewString("<a href=\"x\">&\\\u2028\x01\x7f\t\xff", nil)
	if got, want := str(n), `"<a href=\"x\">&\\`+"\u2028"+`\u0001\u007f\t`+"\ufffd"+`"`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestRoundTrip checks that Parse reads the output of encoding/json as encoding/json does.
func TestRoundTrip(t *testing.T) {
	value := rapid.Deferred(func() *rapid.Generator[any] { return anyValue(3) })
	rapid.Check(t, func(t *rapid.T) {
		b, err := json.MarshalIndent(value.Draw(t, "value"), "", " ")
		if err != nil {
			t.Fatal(err)
		}
		want, err := decode(string(b))
		if err != nil {
			t.Fatal(err)
		}
		root := must(t, string(b))
		if diff := cmp.Diff(want, root.Value()); diff != "" {
			t.Fatalf("%s (-want +got):\n%s", b, diff)
		}
		if diff := cmp.Diff(want, must(t, str(root)).Value()); diff != "" {
			t.Fatalf("%s changes on the way out and in:\n%s", b, diff)
		}
	})
}

func anyValue(depth int) *rapid.Generator[any] {
	scalars := []*rapid.Generator[any]{
		rapid.Just[any](nil), rapid.Bool().AsAny(), rapid.Int64().AsAny(), rapid.Float64Range(-1e9, 1e9).AsAny(), rapid.String().AsAny(),
	}
	if depth == 0 {
		return rapid.OneOf(scalars...)
	}
	inner := anyValue(depth - 1)
	return rapid.OneOf(append(scalars,
		rapid.SliceOfN(inner, 0, 4).AsAny(), rapid.MapOfN(rapid.String(), inner, 0, 4).AsAny())...)
}
