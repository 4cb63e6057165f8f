package cfn

import (
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// template is a template with its resources of AWS Batch.
type template struct {
	file  *document.File
	batch []*jsontree.Node
	byID  map[string]*jsontree.Node
	texts []string // for guesses
}

// batchResources maps resource types to kinds of requests.
var batchResources = map[string]document.Kind{
	"AWS::Batch::JobDefinition":      document.KindJobDefinition,
	"AWS::Batch::JobQueue":           document.KindJobQueue,
	"AWS::Batch::ComputeEnvironment": document.KindComputeEnvironment,
	"AWS::Batch::SchedulingPolicy":   document.KindSchedulingPolicy,
	"AWS::Batch::ConsumableResource": document.KindConsumableResource,
}

// newTemplate finds the resources of AWS Batch in a template. Of two with the same logical
// id, the first counts.
func newTemplate(f *document.File) *template {
	t := &template{file: f, byID: map[string]*jsontree.Node{}}
	for r := range f.Root.Get("Resources").Children() {
		if _, ok := batchResources[r.Get("Type").Str()]; ok && t.byID[r.Name] == nil {
			t.batch, t.byID[r.Name] = append(t.batch, r), r
		}
	}
	t.texts = textsIn(t.batch)
	return t
}

// parameter returns the declaration of a parameter; nil if the template has no such one.
func (t *template) parameter(name string) *jsontree.Node {
	return t.file.Root.Get("Parameters").Get(name)
}

// scenario is one case of the conditions: values of parameters, and results of comparisons
// that only CloudFormation knows.
type scenario struct {
	values map[string]string
	open   map[string]bool
	// truth holds the results of conditions; a condition that refers to itself is false.
	truth map[string]bool
	// where describes the difference from the first scenario in messages.
	where   string
	differs int
}

// someValue is a value of a parameter that no condition compares with it.
const someValue = "\x00"

// maxScenarios bounds the scenarios of a template that are checked.
const maxScenarios = 24

// choice is a parameter, or an unknown comparison, with its possible values.
type choice struct {
	name   string
	open   bool
	values []string
}

// is describes a choice with a value.
func (c choice) is(value string) string {
	switch {
	case c.open && value == "true":
		return c.name + " holds"
	case c.open:
		return c.name + " does not hold"
	case value == someValue:
		return c.name + " is another value"
	}
	return c.name + " is " + diag.Quote(value)
}

// scenarios returns all cases of the conditions, sorted by their difference from the first one. If there are too
// many, it returns those that differ from the first one in a single choice.
func (t *template) scenarios() []scenario {
	choices := t.choices()
	total := 1
	for _, c := range choices {
		if total *= len(c.values); total > maxScenarios {
			break
		}
	}
	pick := func(index func(i int) int) scenario {
		w := scenario{values: map[string]string{}, open: map[string]bool{}, truth: map[string]bool{}}
		for i, c := range choices {
			value := c.values[index(i)]
			if c.open {
				w.open[c.name] = value == "true"
			} else {
				w.values[c.name] = value
			}
			if index(i) > 0 {
				w.where += map[bool]string{true: ", where ", false: " and "}[w.differs == 0] + c.is(value)
				w.differs++
			}
		}
		return w
	}
	var out []scenario
	if total <= maxScenarios {
		for n := range total {
			out = append(out, pick(func(i int) int {
				digit := n
				for _, c := range choices[:i] {
					digit /= len(c.values)
				}
				return digit % len(choices[i].values)
			}))
		}
		slices.SortStableFunc(out, func(a, b scenario) int { return a.differs - b.differs })
		return out
	}
	out = append(out, pick(func(int) int { return 0 }))
	for i, c := range choices {
		for v := 1; v < len(c.values) && len(out) < maxScenarios; v++ {
			out = append(out, pick(func(j int) int {
				if j == i {
					return v
				}
				return 0
			}))
		}
	}
	return out
}

// choices returns the parameters and comparisons of the conditions. The first value of a
// parameter is its default.
func (t *template) choices() (all []choice) {
	// compared holds the values with which conditions compare each parameter, and names
	// keeps the parameters in the order of the file.
	compared := map[string][]string{}
	var names []string
	var visit func(n *jsontree.Node)
	visit = func(n *jsontree.Node) {
		if sides := n.Get("Fn::Equals"); sides.Len() == 2 {
			a, b := sides.Index(0), sides.Index(1)
			for _, pair := range [...][2]*jsontree.Node{{a, b}, {b, a}} {
				name := pair[0].Get("Ref").Str()
				if name == "" || !IsKnown(pair[1]) {
					continue
				}
				if compared[name] == nil {
					names = append(names, name)
				}
				compared[name] = append(compared[name], pair[1].Text)
				return
			}
			if key := string(n.AppendJSON(nil)); !slices.ContainsFunc(all, func(c choice) bool { return c.name == key }) && !(IsKnown(a) && IsKnown(b)) {
				all = append(all, choice{key, true, []string{"false", "true"}})
			}
			return
		}
		for c := range n.Children() {
			visit(c)
		}
	}
	visit(t.file.Root.Get("Conditions"))
	for _, name := range names {
		all = append(all, choice{name, false, t.valuesOf(name, compared[name])})
	}
	return all
}

// valuesOf returns the values of a parameter that conditions distinguish: its default
// first, then those that it allows, or else those that conditions compare and one other.
func (t *template) valuesOf(name string, compared []string) (values []string) {
	p := t.parameter(name)
	if d := p.Get("Default"); IsKnown(d) && !isLookedUp(p) {
		values = append(values, d.Text)
	}
	if allowed := p.Get("AllowedValues"); allowed.Is(jsontree.Array) {
		for v := range allowed.Children() {
			values = append(values, v.Text)
		}
	} else {
		values = append(append(values, compared...), someValue)
	}
	var distinct []string
	for _, v := range values {
		if !slices.Contains(distinct, v) {
			distinct = append(distinct, v)
		}
	}
	return distinct
}

// isLookedUp reports whether the value of a parameter is a name in Parameter Store.
func isLookedUp(parameter *jsontree.Node) bool {
	return strings.HasPrefix(parameter.Get("Type").Str(), "AWS::SSM::Parameter::")
}

// holds reports whether a condition of the template is true.
func (w scenario) holds(t *template, name string) bool {
	truth, known := w.truth[name]
	if !known {
		w.truth[name] = false
		truth = w.is(t, t.file.Root.Get("Conditions").Get(name))
		w.truth[name] = truth
	}
	return truth
}

// is evaluates a condition. A comparison with an unknown side has the scenario's own
// result.
func (w scenario) is(t *template, n *jsontree.Node) bool {
	if name := n.Get("Condition").Str(); name != "" {
		return w.holds(t, name)
	}
	if list := n.Get("Fn::And"); list != nil {
		for c := range list.Children() {
			if !w.is(t, c) {
				return false
			}
		}
		return true
	}
	if list := n.Get("Fn::Or"); list != nil {
		for c := range list.Children() {
			if w.is(t, c) {
				return true
			}
		}
		return false
	}
	if not := n.Get("Fn::Not"); not != nil {
		if not.Is(jsontree.Array) {
			not = not.Index(0)
		}
		return !w.is(t, not)
	}
	sides := n.Get("Fn::Equals")
	a, okA := w.compared(sides.Index(0))
	b, okB := w.compared(sides.Index(1))
	if okA && okB {
		return a == b
	}
	return w.open[string(n.AppendJSON(nil))]
}

// compared returns the text of a side of Fn::Equals.
func (w scenario) compared(n *jsontree.Node) (string, bool) {
	if name := n.Get("Ref").Str(); name != "" {
		value, ok := w.values[name]
		return value, ok
	}
	if n == nil || !IsKnown(n) {
		return "", false
	}
	return n.Text, true
}

// IsKnown reports whether a value is literal and not the result of a function.
func IsKnown(n *jsontree.Node) bool { return n != nil && !n.Is(jsontree.Object) }
