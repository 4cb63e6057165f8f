package cfn

import (
	"maps"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/intrinsic"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// template is a template with its resources of AWS Batch and those that send requests to it, or a document of another
// service, whose root takes the place of a resource.
type template struct {
	file     *document.File
	batch    []*jsontree.Node
	texts    []string // for guesses
	values   *intrinsic.Evaluator
	defaults map[string]string // of the parameters
	naming   int               // depth of names being resolved, which can refer to themselves
	building string            // path of the member whose value is being evaluated
	inTexts  map[*jsontree.Node]inText
}

// batchResources maps resource types to kinds of requests.
var batchResources = map[string]document.Kind{
	"AWS::Batch::JobDefinition":      document.KindJobDefinition,
	"AWS::Batch::JobQueue":           document.KindJobQueue,
	"AWS::Batch::ComputeEnvironment": document.KindComputeEnvironment,
	"AWS::Batch::SchedulingPolicy":   document.KindSchedulingPolicy,
	"AWS::Batch::ConsumableResource": document.KindConsumableResource,
	"AWS::Batch::QuotaShare":         document.KindQuotaShare,
	"AWS::Batch::ServiceEnvironment": document.KindServiceEnvironment,
}

// newTemplate finds the resources of AWS Batch in a template. Of two with the same logical
// id, the first counts.
func newTemplate(f *document.File) *template {
	t := &template{file: f, values: intrinsic.New(f.Root)}
	if f.Kind != document.KindTemplate {
		t.batch = []*jsontree.Node{f.Root}
	}
	for r := range f.Root.Get("Resources").Children() {
		if _, ok := batchResources[r.Get("Type").Str()]; (ok || sends(f, r)) && t.values.Resource(r.Name) == r {
			t.batch = append(t.batch, r)
		}
	}
	if len(t.batch) > 0 {
		t.texts, t.defaults = textsIn(t.batch), defaults(f.Root)
	}
	return t
}

// defaults returns the default values of parameters that a reference returns if a deployment does not change them. You
// fill in an empty default, and the placeholders of others, such as <account>.dkr.ecr.<region>.amazonaws.com/a.
func defaults(root *jsontree.Node) map[string]string {
	all := map[string]string{}
	for p := range root.Get("Parameters").Children() {
		if d := p.Get("Default"); IsKnown(d) && d.Text != "" && isWhole(p, d.Text) {
			all[p.Name] = d.Text
		}
	}
	return all
}

// isWhole reports whether a reference returns this value of a parameter.
func isWhole(parameter *jsontree.Node, value string) bool {
	start, _ := jsontree.FindPlaceholder(value)
	return parameter != nil && start < 0 && !intrinsic.IsLookedUp(parameter)
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
	// where describes the difference from the first scenario in messages.
	where   string
	differs int
}

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
	case value == intrinsic.Other:
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
		w := scenario{values: map[string]string{}, open: map[string]bool{}}
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
			if key := string(n.AppendJSON(nil)); !slices.ContainsFunc(all,
				func(c choice) bool { return c.name == key }) && !(IsKnown(a) && IsKnown(b)) {
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
	if d := p.Get("Default"); IsKnown(d) && !intrinsic.IsLookedUp(p) {
		values = append(values, d.Text)
	}
	if allowed := p.Get("AllowedValues"); allowed.Is(jsontree.Array) {
		for v := range allowed.Children() {
			values = append(values, v.Text)
		}
	} else {
		values = append(append(values, compared...), intrinsic.Other)
	}
	var distinct []string
	for _, v := range values {
		if !slices.Contains(distinct, v) {
			distinct = append(distinct, v)
		}
	}
	return distinct
}

// evaluator returns an evaluator of the template in a scenario.
func (t *template) evaluator(w scenario) *intrinsic.Evaluator {
	values := map[string]string{}
	maps.Copy(values, t.defaults)
	for name, value := range w.values {
		if delete(values, name); isWhole(t.parameter(name), value) {
			values[name] = value
		}
	}
	e := t.values.With(values, w.values)
	e.Decide = func(comparison *jsontree.Node) intrinsic.Truth {
		if w.open[string(comparison.AppendJSON(nil))] {
			return intrinsic.Yes
		}
		return intrinsic.No
	}
	e.Assigned = func(_ string, r *jsontree.Node, attribute string) (string, bool) {
		return t.assigned(e, r,
			attribute)
	}
	return e
}

// assigned returns the text that stands for an attribute of a resource, or for its Ref.
func (t *template) assigned(e *intrinsic.Evaluator, r *jsontree.Node, attribute string) (string, bool) {
	kind, isBatch := batchResources[r.Get("Type").Str()]
	if !isBatch {
		return t.mistaken(r, attribute)
	}
	if arnTypes[kind] == "" || attribute != "" && !strings.HasSuffix(attribute, "Arn") {
		return "", false
	}
	arn := "arn:aws:batch:us-east-1:123456789012:" + arnTypes[kind] + "/" + t.nameOf(e, r, kind)
	if arnTypes[kind] == "job-definition" {
		arn += ":1"
	}
	return arn, true
}

// mistaken returns the name of a resource of another service if the member that is being built needs its ARN. All other
// texts are unknown, because no rule is about them.
func (t *template) mistaken(r *jsontree.Node, attribute string) (string, bool) {
	member, path := t.building[strings.LastIndexByte(t.building, '.')+1:], r.Get("Properties").Get("Path").Str()
	switch kind := r.Get("Type").Str(); kind + "." + attribute {
	case "AWS::IAM::Role.":
		// AWS Batch finds a role without a path also by its name.
		return ownName(r), isTaskRole(member) || member == "InfrastructureRoleArn" ||
			(member == "ServiceRole" || member == "SpotIamFleetRole") && path != "" && path != "/"
	case "AWS::IAM::InstanceProfile.":
		return ownName(r), member == "Ec2InstanceProfileArn"
	case "AWS::EKS::Cluster.":
		return ownName(r), member == "EksClusterArn"
	}
	return "", false
}

// nameOf returns the name under which the request of a resource creates it.
func (t *template) nameOf(e *intrinsic.Evaluator, r *jsontree.Node, kind document.Kind) string {
	if written := r.Get("Properties").Get(capital(kind.NameMember())); t.naming == 0 && written != nil {
		t.naming++
		defer func() { t.naming-- }()
		if name, ok := e.Text(written); ok && name != "" {
			return name
		}
	}
	return ownName(r)
}

// IsKnown reports whether a value is literal and not the result of a function.
func IsKnown(n *jsontree.Node) bool { return n != nil && !n.Is(jsontree.Object) }
