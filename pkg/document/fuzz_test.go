package document

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// sound loads a text and checks what is true of every text: no panic, every problem with a
// location in its source, and valid requests if there is no problem.
func sound(t interface {
	Helper()
	Fatalf(string, ...any)
}, text string) {
	t.Helper()
	soundWith(t, text, Options{})
	soundWith(t, text, Options{FromDescribe: true})
	soundWith(t, text, Options{Read: func(path string) (*diag.Source, error) {
		return diag.NewSource(path, "lr,seed\n0.1,1\n0.2,1\n"), nil // not a document, but a list of commands
	}})
}

func soundWith(t interface {
	Helper()
	Fatalf(string, ...any)
}, text string, o Options) {
	t.Helper()
	f, diags := Load(diag.NewSource("x", text), o)
	for _, d := range diags {
		if d.Source == nil || !within(d.Source, d.Span) || d.Rule == "" || strings.Contains(d.Message, "\n") {
			t.Fatalf("%s\n%+v", text, d)
		}
	}
	if f == nil {
		return
	}
	for _, j := range f.Jobs {
		if len(diags) == 0 {
			convertible(t, j)
		}
		if j.Node == nil {
			t.Fatalf("%s\njob without node", text)
		}
		for kind, request := range map[Kind]*jsontree.Node{KindJobDefinition: j.Register, KindSubmitJob: j.Submit} {
			if request == nil {
				continue
			}
			if !inside(request) {
				t.Fatalf("%s\n%s has a node outside of the text", text, kind)
			}
			if request.Get("jobQueue") == nil && kind == KindSubmitJob {
				request.Set("jobQueue", jsontree.NewString("q", nil))
			}
			// Rules report limits.
			problems := slices.DeleteFunc(check(request, kind).diags, func(d diag.Diagnostic) bool { return d.Rule == RuleBadValue })
			if len(diags) == 0 && len(problems) > 0 {
				t.Fatalf("%s\n%s: %v", text, kind, problems)
			}
		}
	}
}

// convertible checks that the compact form of a job without problems has the same meaning.
func convertible(t interface{ Fatalf(string, ...any) }, j *Job) {
	register, submit := Native(j)
	compact := Compact(register, submit)
	if why, _ := NoNative(j); compact == nil || why != "" {
		return
	}
	f, diags := Load(diag.NewSource("x", string(compact.AppendJSON(nil))), Options{Kind: KindJob})
	if diags.HasErrors() {
		t.Fatalf("%s\n%v", compact.AppendJSON(nil), diags)
	}
	r, s := Native(f.Jobs[0])
	for _, pair := range [][2]*jsontree.Node{{register, r}, {submit, s}} {
		if pair[0] != nil && !reflect.DeepEqual(pair[0].Value(), pair[1].Value()) {
			t.Fatalf("%s\nbecame\n%s", pair[0].AppendJSON(nil), pair[1].AppendJSON(nil))
		}
	}
}

func FuzzLoad(f *testing.F) {
	for _, text := range documents(f, "problems", "lower", "describe") {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) { sound(t, text) })
}

// TestAnyDocument loads documents that consist of the names and values of real documents,
// so that they satisfy the schema far more often than random text.
func TestAnyDocument(t *testing.T) {
	words := map[string]bool{"": true, "x": true, "$comment": true, "~1/%": true}
	var collect func(v any)
	collect = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for name, child := range v {
				words[name] = true
				collect(child)
			}
		case []any:
			for _, child := range v {
				collect(child)
			}
		}
	}
	for _, kind := range []Kind{KindJob, KindWorkflow, KindPlatform} {
		_, doc := lookup(kind.location())
		collect(doc)
	}
	names := rapid.SampledFrom(slices.Sorted(maps.Keys(words)))
	scalars := rapid.SampledFrom([]any{nil, true, 0, -1, 2, 1.5, 1e300, "", "a", "3", "2h", "30 GiB", "30GB", "true"})
	var of func(depth int) *rapid.Generator[any]
	of = func(depth int) *rapid.Generator[any] {
		if depth == 0 {
			return scalars
		}
		inner := rapid.Deferred(func() *rapid.Generator[any] { return of(depth - 1) })
		return rapid.OneOf(scalars,
			rapid.Map(rapid.SliceOfN(inner, 0, 3), func(l []any) any { return l }),
			rapid.Map(rapid.MapOfN(names, inner, 0, 4), func(m map[string]any) any { return m }))
	}
	rapid.Check(t, func(t *rapid.T) {
		text, err := json.Marshal(of(4).Draw(t, "document"))
		if err != nil {
			t.Fatal(err)
		}
		sound(t, string(text))
	})
}

// TestAnyJob builds jobs from the schema's own examples: all are valid. It then makes some
// of the examples invalid.
func TestAnyJob(t *testing.T) {
	top, _ := rawOf(KindJob.location())
	members := top.members()
	bad := []any{nil, 1.5, "x", []any{}, map[string]any{}, true, -1}
	rapid.Check(t, func(t *rapid.T) {
		job := map[string]any{"name": "a"}
		for _, name := range rapid.SliceOfDistinct(rapid.SampledFrom(names(members)), rapid.ID).Draw(t, "members") {
			examples, _ := members[name].m["examples"].([]any)
			job[name] = rapid.SampledFrom(examples).Draw(t, name)
			if rapid.IntRange(0, 9).Draw(t, "spoil") == 0 {
				job[name] = rapid.SampledFrom(bad).Draw(t, name)
			}
		}
		text, err := json.Marshal(job)
		if err != nil {
			t.Fatal(err)
		}
		sound(t, string(text))
	})
}
