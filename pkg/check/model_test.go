package check

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/batchctl/batchctl/pkg/apimodel"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/schemas"
)

// notFound are the slips that a check need not find, with the reason. The keys are "SLIP FORM REQUEST.path".
var notFound = map[string]string{}

// object is a decoded JSON object.
type object = map[string]any

// slip is one way to violate the API model: a member that has one wrong value, or that is absent.
type slip struct {
	// name says what is wrong.
	name string
	kind document.Kind
	// steps lead to the member, with "0" for the element of a list and "key" for the value of a map.
	steps []string
	// wrong returns the wrong value for a right one; nil removes the member.
	wrong func(right any) any
}

// model walks the requests of the API model.
type model struct {
	defs  object
	slips []slip
	// seen holds what the walk has reached, as apimodel names it.
	seen map[string]bool
}

// TestModelSlips takes every enumeration, required member, limit, pattern and type of the API model, and checks that a
// wrong value is found in a request and in the resource of CloudFormation: a minimal document has a problem at the
// member that it does not have with a right value.
func TestModelSlips(t *testing.T) {
	m := readModel(t)
	forms := map[string]func(slip, object) (object, []string){"request": asRequest, "template": asTemplate}
	var documents []Document
	trees := map[*diag.Source]*jsontree.Node{}
	add := func(name string, root object) *diag.Source {
		text, err := json.MarshalIndent(root, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		src := diag.NewSource(name+".json", string(text))
		trees[src], _ = jsontree.Parse(src)
		documents = append(documents, Document{Path: src.Name, Named: true, Source: src, Alone: true})
		return src
	}
	type trial struct {
		id, form     string
		steps        []string
		right, wrong *diag.Source
	}
	var trials []trial
	rights := map[string]*diag.Source{} // by the place of the member
	for _, s := range m.slips {
		for form, write := range forms {
			root, steps := write(s, m.document(s))
			if root == nil {
				continue // CloudFormation has no such member
			}
			place := fmt.Sprintf("%s %s.%s", form, s.kind, strings.Join(s.steps, "."))
			if rights[place] == nil {
				rights[place] = add(place, root)
			}
			if s.wrong == nil {
				remove(root, steps)
			} else {
				replace(root, steps, s.wrong)
			}
			trials = append(trials, trial{s.name + " " + place, form, steps, rights[place], add(s.name+" "+place, root)})
		}
	}
	result := New(Options{}).Check(documents)
	if len(result.Checked) != len(documents) {
		t.Fatalf("%d of %d documents were checked", len(result.Checked), len(documents))
	}
	problems := map[*diag.Source]diag.List{}
	for _, d := range result.Problems {
		problems[d.Source] = append(problems[d.Source], d)
	}
	counts, stale := map[string]int{}, maps.Clone(notFound)
	for _, r := range trials {
		hit := slices.ContainsFunc(problems[r.wrong], func(d diag.Diagnostic) bool {
			isOld := slices.ContainsFunc(problems[r.right], func(b diag.Diagnostic) bool { return b.Rule == d.Rule && b.Message == d.Message })
			return !isOld && isAbout(d, trees[r.wrong], r.steps)
		})
		_, excepted := notFound[r.id]
		switch delete(stale, r.id); {
		case excepted && hit:
			t.Errorf("%s is found: remove the exception", r.id)
		case !excepted && !hit:
			t.Errorf("%s is not found:\n%s\n%v", r.id, r.wrong.Text, problems[r.wrong])
		}
		counts[r.form]++
	}
	for id := range stale {
		t.Errorf("%s is no slip: remove the exception", id)
	}
	if counts["request"] < 800 || counts["template"] < 500 {
		t.Errorf("only %v slips", counts)
	}
}

// readModel returns the slips of all requests. It fails if it does not reach everything that apimodel adds to the SDK.
func readModel(t *testing.T) *model {
	var schema struct {
		AnyOf []struct {
			Ref string `json:"$ref"`
		} `json:"anyOf"`
		Defs object `json:"$defs"`
	}
	if err := json.Unmarshal([]byte(schemas.Native), &schema); err != nil {
		t.Fatal(err)
	}
	m := &model{defs: schema.Defs, seen: map[string]bool{}}
	for _, request := range schema.AnyOf {
		kind := document.Kind(path.Base(request.Ref))
		m.walk(kind, m.resolve(object{"$ref": request.Ref}), nil, map[string]bool{})
	}
	newer := apimodel.Get()
	for member := range newer.Values {
		if !m.seen[strings.Replace(member, "Input.", ".", 1)] {
			t.Errorf("the schema has no values of %s", member)
		}
	}
	for member := range newer.Limits {
		if !m.seen[strings.Replace(member, "Input.", ".", 1)] {
			t.Errorf("the schema has no limit of %s", member)
		}
	}
	for _, member := range newer.Names {
		if !m.seen[strings.Replace(member, "Input.", ".", 1)] {
			t.Errorf("the schema has no pattern of %s", member)
		}
	}
	for structure, members := range newer.Required {
		for _, member := range members {
			if !m.seen[structure+"."+member+" required"] {
				t.Errorf("the schema does not require %s.%s", structure, member)
			}
		}
	}
	return m
}

func (m *model) resolve(def object) object {
	for def["$ref"] != nil {
		def = m.defs[path.Base(def["$ref"].(string))].(object)
	}
	return def
}

// walk adds the slips of a structure and of those below it, each structure once for each request.
func (m *model) walk(kind document.Kind, def object, steps []string, done map[string]bool) {
	name := strings.TrimSuffix(strings.TrimPrefix(path.Base(fmt.Sprint(def["description"])), "API_"), ".html")
	members, _ := def["properties"].(object)
	if done[name] || members == nil {
		return
	}
	done[name] = true
	required, _ := def["required"].([]any)
	for _, member := range slices.Sorted(maps.Keys(members)) {
		below, ok := members[member].(object)
		if !ok || strings.HasPrefix(member, "$") {
			continue
		}
		at := append(slices.Clone(steps), member)
		add := func(name string, wrong func(any) any) { m.slips = append(m.slips, slip{name, kind, at, wrong}) }
		if slices.Contains(required, any(member)) {
			m.seen[name+"."+member+" required"] = true
			add("required", nil)
		}
		m.value(kind, name+"."+member, below, at, done)
	}
}

// value adds the slips of one value and of those below it.
func (m *model) value(kind document.Kind, name string, def object, at []string, done map[string]bool) {
	add := func(name string, wrong func(any) any) { m.slips = append(m.slips, slip{name, kind, at, wrong}) }
	def = m.resolve(def)
	if values, listed := enumeration(def); listed {
		m.seen[name] = true
		add("value", func(any) any { return values[0].(string) + "_WRONG" })
	}
	for keyword, wrong := range limits {
		if bound, ok := def[keyword].(float64); ok {
			m.seen[name] = true
			add("limit "+keyword, func(right any) any { return wrong(bound, right) })
		}
	}
	if def["pattern"] != nil {
		m.seen[name] = true
		add("pattern", func(any) any { return "a b" })
	}
	add("type", func(right any) any {
		if _, isText := right.(string); isText {
			return []any{[]any{}}
		}
		return "wrong"
	})
	switch def["type"] {
	case "array":
		m.value(kind, name, def["items"].(object), append(slices.Clone(at), "0"), done)
	case "object":
		if values, isMap := def["additionalProperties"].(object); isMap {
			m.value(kind, name, values, append(slices.Clone(at), "key"), done)
		}
		m.walk(kind, def, at, done)
	}
}

// enumeration returns the values that a string can have.
func enumeration(def object) ([]any, bool) {
	if values, ok := def["examples"].([]any); ok {
		return values, true
	}
	either, ok := def["anyOf"].([]any)
	if !ok {
		return nil, false
	}
	values, ok := either[0].(object)["enum"].([]any)
	return values, ok
}

// limits make values that exceed a bound.
var limits = map[string]func(bound float64, right any) any{
	"minimum":   func(bound float64, _ any) any { return bound - 1 },
	"maximum":   func(bound float64, _ any) any { return bound + 1 },
	"minLength": func(bound float64, _ any) any { return strings.Repeat("x", int(bound)-1) },
	"maxLength": func(bound float64, _ any) any { return strings.Repeat("x", int(bound)+1) },
	"minItems":  func(bound float64, _ any) any { return []any{} },
	"maxItems": func(bound float64, right any) any {
		return slices.Repeat(right.([]any)[:1], int(bound)+1)
	},
}

// document returns a minimal request that has the member of a slip.
func (m *model) document(s slip) object {
	return m.right(m.resolve(object{"$ref": "#/$defs/" + string(s.kind)}), s.steps).(object)
}

// right returns a minimal value of a definition, with the members that steps name.
func (m *model) right(def object, steps []string) any {
	def = m.resolve(def)
	if values, listed := enumeration(def); listed {
		return values[0]
	}
	next := func() (rest []string) {
		if len(steps) > 0 {
			rest = steps[1:]
		}
		return rest
	}
	switch def["type"] {
	case "object":
		out := object{}
		members, _ := def["properties"].(object)
		required, _ := def["required"].([]any)
		for _, name := range required {
			out[name.(string)] = m.right(members[name.(string)].(object), nil)
		}
		if values, isMap := def["additionalProperties"].(object); isMap {
			out["key"] = m.right(values, next())
		} else if len(steps) > 0 {
			out[steps[0]] = m.right(members[steps[0]].(object), next())
		}
		return out
	case "array":
		return []any{m.right(def["items"].(object), next())}
	case "integer", "number":
		least, _ := def["minimum"].(float64)
		return max(least, 1)
	case "boolean":
		return true
	}
	return "x"
}

// asRequest returns the request with a $schema, so that its kind is certain.
func asRequest(s slip, root object) (object, []string) {
	root["$schema"] = "native.schema.json#/$defs/" + string(s.kind)
	return root, s.steps
}

// updated are the members of UpdateComputeEnvironment that a template has too.
var updated = []string{"updatePolicy", "eksConfiguration.accessEntry", "computeResources.updateToLatestImageVersion"}

// asTemplate returns the template that has the request as its only resource; nil if CloudFormation has no such
// resource, or no such member.
func asTemplate(s slip, root object) (object, []string) {
	member := strings.Join(s.steps, ".")
	resource, creates := strings.CutPrefix(strings.Replace(string(s.kind), "Register", "Create", 1), "Create")
	switch {
	case s.kind == document.KindUpdateComputeEnvironment && slices.ContainsFunc(updated, func(m string) bool { return member == m || strings.HasPrefix(member, m+".") }):
		resource = "ComputeEnvironment"
		delete(root, "computeEnvironment")
	case !creates, s.wrong == nil && member == s.kind.NameMember(), member == "containerProperties.instanceType":
		return nil, nil
	}
	steps := []string{"Resources", "R", "Properties"}
	at := any(root)
	for _, step := range s.steps {
		if o, ok := at.(object); ok {
			at = o[step]
			if step != "key" {
				step = capital(step)
			}
		} else {
			at = at.([]any)[0]
		}
		steps = append(steps, step)
	}
	return object{"Resources": object{"R": object{"Type": "AWS::Batch::" + resource, "Properties": capitals(root)}}}, steps
}

// capital returns the name of a member in CloudFormation.
func capital(member string) string {
	if member == "s3filesVolumeConfiguration" {
		return "S3FilesVolumeConfiguration"
	}
	return strings.ToUpper(member[:1]) + member[1:]
}

// capitals returns a value in the form of CloudFormation.
func capitals(v any) any {
	switch v := v.(type) {
	case object:
		out := object{}
		for name, below := range v {
			if name != "key" {
				name = capital(name)
			}
			out[name] = capitals(below)
		}
		return out
	case []any:
		for i := range v {
			v[i] = capitals(v[i])
		}
	}
	return v
}

// replace changes the value at the end of steps.
func replace(root object, steps []string, wrong func(any) any) {
	at := any(root)
	for i, step := range steps {
		last := i == len(steps)-1
		switch n := at.(type) {
		case object:
			if last {
				n[step] = wrong(n[step])
			}
			at = n[step]
		case []any:
			if last {
				n[0] = wrong(n[0])
			}
			at = n[0]
		}
	}
}

// remove deletes the member at the end of steps.
func remove(root object, steps []string) {
	last := len(steps) - 1
	if last == 0 {
		delete(root, steps[0])
		return
	}
	replace(root, steps[:last], func(v any) any {
		delete(v.(object), steps[last])
		return v
	})
}

// isAbout reports whether a problem is at the member, or names it at an object around it.
func isAbout(d diag.Diagnostic, root *jsontree.Node, steps []string) bool {
	if n := root.At(steps...); n != nil {
		start := n.Span.Start
		if n.Key.End > n.Key.Start {
			start = n.Key.Start
		}
		return start <= d.Span.Start && d.Span.Start <= n.Span.End
	}
	around := root.At(steps[:len(steps)-1]...)
	start := around.Span.Start
	if around.Key.End > around.Key.Start {
		start = around.Key.Start
	}
	return start <= d.Span.Start && d.Span.Start <= around.Span.End && strings.Contains(strings.ToLower(d.Message+d.Hint), strings.ToLower(steps[len(steps)-1]))
}
