package infra

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/intrinsic"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/yamltree"
)

// Evaluation is a template with the values of its parameters. It calculates what CloudFormation would: which
// resources exist, and their properties.
type Evaluation struct {
	root *jsontree.Node
	*intrinsic.Evaluator
}

// EvaluatedResource is a resource of an evaluation.
type EvaluatedResource struct {
	Name, Type string
	// Maybe reports that only CloudFormation knows whether the resource exists.
	Maybe bool
	// Retained reports that CloudFormation keeps the resource when it leaves the stack.
	Retained bool
	// properties are evaluated when they are read. A reference to a resource is a text that only that resource has.
	properties value
}

// value is a value of a template that is evaluated when it is read.
type value struct {
	intrinsic.Value
	of *Evaluation
}

// errNoTemplate is the error of a text that is neither JSON nor YAML of an object.
var errNoTemplate = errors.New("batchctl cannot read the template")

// Evaluate evaluates a template. A parameter without a value in given has its default. exports are the values of
// other stacks' exports.
func Evaluate(body []byte, given, exports map[string]string, region string) (*Evaluation, error) {
	source := diag.NewSource("", string(body))
	root, problems := jsontree.Parse(source)
	if problems.HasErrors() {
		root, problems = yamltree.Parse(source)
	}
	if problems.HasErrors() || !root.Is(jsontree.Object) {
		return nil, errNoTemplate
	}
	values := map[string]string{}
	for p := range root.Get("Parameters").Children() {
		value, ok := given[p.Name]
		if fallback := p.Get("Default"); !ok && intrinsic.IsScalar(fallback) {
			value, ok = fallback.Text, true
		}
		if ok && !intrinsic.IsLookedUp(p) {
			values[p.Name] = value
		}
	}
	e := intrinsic.New(root).With(values, values)
	e.Exports, e.Region = exports, region
	e.Assigned = func(name string, _ *jsontree.Node, attribute string) (string, bool) {
		if attribute != "" {
			name += "." + attribute
		}
		return idOf(name), true
	}
	return &Evaluation{root, e}, nil
}

// Resources returns the resources that exist, or may exist, sorted by their names.
func (e *Evaluation) Resources() (list []EvaluatedResource) {
	for n := range e.root.Get("Resources").Children() {
		if r, ok := e.resource(n.Name); ok {
			list = append(list, r)
		}
	}
	slices.SortFunc(list, func(a, b EvaluatedResource) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// resource returns a resource; false if the template does not create it.
func (e *Evaluation) resource(name string) (r EvaluatedResource, ok bool) {
	declared := e.Resource(name)
	exists, _ := e.Exists(declared)
	if !declared.Is(jsontree.Object) || exists == intrinsic.No {
		return r, false
	}
	return EvaluatedResource{
		Name: name, Type: declared.Get("Type").Str(), Maybe: exists == intrinsic.Open,
		Retained:   strings.HasPrefix(declared.Get("DeletionPolicy").Str(), "Retain"),
		properties: e.value(declared.Get("Properties")),
	}, true
}

// Exports returns the known values of the template's exports, by their names.
func (e *Evaluation) Exports() map[string]string {
	all := map[string]string{}
	for o := range e.root.Get("Outputs").Children() {
		if exists, _ := e.Exists(o); exists == intrinsic.No {
			continue
		}
		name, named := e.Text(o.Get("Export").Get("Name"))
		value, known := e.Text(o.Get("Value"))
		if named && known {
			all[name] = value
		}
	}
	return all
}

// idOf is the text that stands for the physical id of a resource.
func idOf(resource string) string { return "id of " + resource }

// value evaluates a value.
func (e *Evaluation) value(n *jsontree.Node) value { return value{e.Value(n), e} }

// get returns a property.
func (r EvaluatedResource) get(name string) value { return r.properties.get(name) }

// Text returns the text below the properties at a path of names and of indices in lists; false if it is unknown, or no
// text.
func (r EvaluatedResource) Text(path ...string) (string, bool) {
	v := r.properties
	for _, name := range path {
		if i, err := strconv.Atoi(name); err == nil {
			list, ok := v.list()
			if !ok || i < 0 || i >= len(list) {
				return "", false
			}
			v = list[i]
			continue
		}
		v = v.get(name)
	}
	return v.text()
}

// get returns a member of an object. The members of an unknown value are unknown.
func (v value) get(name string) value {
	if v.Result == intrinsic.Known {
		return v.of.value(v.Node.Get(name))
	}
	return v
}

// isAbsent reports whether there is no such member.
func (v value) isAbsent() bool { return v.Result == intrinsic.Absent }

// text returns a scalar as text; false for any other value.
func (v value) text() (string, bool) {
	if v.Result != intrinsic.Known || !intrinsic.IsScalar(v.Node) {
		return "", false
	}
	return v.Node.Text, true
}

// str returns a scalar as text; "" for any other value.
func (v value) str() string {
	text, _ := v.text()
	return text
}

// list returns the elements of a list; false if their number is unknown.
func (v value) list() (list []value, ok bool) {
	if v.Result != intrinsic.Known {
		return nil, false
	}
	elements, whole := v.of.Elements(v.Node)
	for _, element := range elements {
		list = append(list, value{element, v.of})
	}
	return list, whole.Result == intrinsic.Known
}
