// Package intrinsic evaluates the intrinsic functions and the conditions of CloudFormation templates.
package intrinsic

import (
	"regexp"
	"strings"
	"sync"

	"github.com/batchctl/batchctl/pkg/jsontree"
)

// Result is the part of a value that the template determines.
type Result uint8

// The results.
const (
	Unknown Result = iota // Node is the function that cannot be evaluated, and Why the reason
	Known                 // Node is the value; its members and elements can be functions
	Absent                // AWS::NoValue: the member or the element does not exist
)

// Value is the result of evaluating a node. A computed value has the position of its function. A value that Fn::If,
// Fn::Select or Fn::FindInMap chooses has its own position, because that is the place to edit.
type Value struct {
	Result Result
	Node   *jsontree.Node
	Why    Reason
}

// Reason says why a value or a condition is unknown. It is formatted only for a message.
type Reason struct{ format, name string }

// String returns the reason as a clause: "the parameter Image has no default value".
func (r Reason) String() string { return strings.Replace(r.format, "%s", r.name, 1) }

// OnlyDeployed is the reason that only CloudFormation can resolve what has this name.
func OnlyDeployed(name string) Reason { return Reason{onlyDeployed, name} }

// Because is a reason outside the functions of a template, as a clause.
func Because(clause string) Reason { return Reason{"%s", clause} }

// NoModel is the reason that batchctl does not know a type of resource.
func NoModel(name string) Reason { return Reason{noModel, name} }

// The reasons. Each %s is the name of a parameter, a condition or a resource, or else of the function.
const (
	malformed    = "%s has the wrong arguments"
	onlyDeployed = "only CloudFormation can resolve %s"
	noModel      = "batchctl has no API model of %s"
	tooDeep      = "the functions are nested more than 100 levels deep"
	tooLong      = "the text is longer than 1 MiB"
	replaced     = "a part of the text is replaced later"
	noValue      = "the parameter %s has no default value"
	lookedUp     = "the parameter %s is a name in Parameter Store"
	otherValue   = "the parameter %s can have another value"
	undeclared   = "the template has no parameter or resource %s"
	noCondition  = "the template has no condition %s"
	openIf       = "only CloudFormation knows whether the condition %s holds"
	cycle        = "the condition %s refers to itself"
	noEntry      = "the mapping %s has no such entry"
	noElement    = "%s has no element of that number"
	noList       = "%s needs a list"
	noText       = "%s needs a text"
)

// The bounds of an evaluation, which tooDeep and tooLong name. Nested texts of Fn::Sub can double their length at each
// level.
const (
	maxNested = 100
	maxText   = 1 << 20
)

// Other is the value of a parameter that differs from every text of the template.
const Other = "\x00"

// Evaluator evaluates one template. Its results are those for one set of parameters, so an Evaluator with other
// values is another one; see With.
type Evaluator struct {
	root *jsontree.Node
	// resources are those of the template by logical id, from the first use on; of two with the same id, the first counts.
	resources map[string]*jsontree.Node
	// values are those of the parameters. Conditions compare only those in compared.
	values, compared map[string]string

	// Exports are the values that Fn::ImportValue finds.
	Exports map[string]string
	// Region is the value of AWS::Region; "" means that it is unknown.
	Region string
	// Assigned returns the text that stands for one that CloudFormation assigns: an attribute of a resource, its
	// Ref where the attribute is "", or a pseudo parameter, which has no resource. It can be nil.
	Assigned func(name string, resource *jsontree.Node, attribute string) (string, bool)
	// Decide decides a comparison that the parameters do not determine. It can be nil.
	Decide func(comparison *jsontree.Node) Truth

	truths    map[string]truth
	depth     int // of functions
	comparing int // depth of comparisons
	assigned  int // number of texts that Assigned returned
}

// New returns an evaluator of a template without values for its parameters.
func New(root *jsontree.Node) *Evaluator {
	return &Evaluator{root: root, truths: map[string]truth{}}
}

// With returns an evaluator of the same template with values for its parameters. Conditions compare only the
// parameters in compared, which can be fewer: those of the others are defaults that a deployment can change.
func (e *Evaluator) With(values, compared map[string]string) *Evaluator {
	out := *e
	out.values, out.compared, out.truths = values, compared, map[string]truth{}
	return &out
}

// Resource returns a resource by its logical id; nil if the template has no such one.
func (e *Evaluator) Resource(name string) *jsontree.Node {
	if e.resources == nil {
		all := e.root.Get("Resources")
		e.resources = make(map[string]*jsontree.Node, all.Len())
		for r := range all.Children() {
			if e.resources[r.Name] == nil {
				e.resources[r.Name] = r
			}
		}
	}
	return e.resources[name]
}

// IsLookedUp reports whether the value of a parameter is a name in Parameter Store, which is not what Ref returns.
func IsLookedUp(parameter *jsontree.Node) bool {
	return strings.HasPrefix(parameter.Get("Type").Str(), "AWS::SSM::Parameter::")
}

// Function returns the argument of a function or a reference, with its name; nil for any other value.
func Function(n *jsontree.Node) *jsontree.Node {
	if !n.Is(jsontree.Object) || n.Len() != 1 {
		return nil
	}
	for only := range n.Children() {
		if only.Name == "Ref" || strings.HasPrefix(only.Name, "Fn::") {
			return only
		}
	}
	return nil
}

// Target returns the resource or parameter that a value refers to as a whole, by Ref, Fn::GetAtt or Fn::Sub, and the
// attribute, which is "" for Ref. The name of any other value is "".
func Target(n *jsontree.Node) (name, attribute string) {
	only, isSub := strings.CutPrefix(n.Get("Fn::Sub").Str(), "${")
	only, after, closed := strings.Cut(only, "}")
	switch get := n.Get("Fn::GetAtt"); {
	case isSub && closed && after == "":
		name, attribute, _ = strings.Cut(only, ".")
	case get.Is(jsontree.Array):
		name, attribute = get.Index(0).Str(), get.Index(1).Str()
	case get != nil:
		name, attribute, _ = strings.Cut(get.Str(), ".")
	default:
		name = n.Get("Ref").Str()
	}
	return name, attribute
}

// foreignVariable matches the variables of the Serverless Framework and of its plugin for pseudo parameters, which
// replace them before CloudFormation reads the text: ${self:custom.queue}, ${file(a.yml):b} and #{AWS::Region}.
var foreignVariable = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\$\{(?:aws|cf|env|file|git|opt|output|param|s3|self|sls|ssm|strTo[A-Z]\w*)[:.(]|#\{[A-Za-z]`)
})

// IsReplaced reports whether a text has a part that another program replaces, or CloudFormation with a secret or a
// parameter.
func IsReplaced(text string) bool {
	return strings.Contains(text, "{{resolve:") || strings.Contains(text, "{") && foreignVariable().MatchString(text)
}

// known returns a known value, and unknown an unknown one.
func known(n *jsontree.Node) Value { return Value{Result: Known, Node: n} }

func unknown(n *jsontree.Node, format, name string) Value {
	return Value{Unknown, n, Reason{format, name}}
}

// inPlace returns a text with the position of a function.
func inPlace(n *jsontree.Node, text string) Value {
	if len(text) > maxText {
		return unknown(n, tooLong, "")
	}
	return known(n.Valued(jsontree.String, text))
}

// IsScalar reports whether a value has a text, other than null.
func IsScalar(n *jsontree.Node) bool {
	return n.Is(jsontree.String) || n.Is(jsontree.Number) || n.Is(jsontree.Bool)
}
