package infra

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/yamltree"
)

// Unknown is a value that only CloudFormation knows.
type Unknown struct{}

// Evaluation is a template with the values of its parameters. It calculates what CloudFormation would: which
// resources exist, and their properties.
type Evaluation struct {
	root map[string]any
	// values are the parameters with a known value.
	values map[string]string
	// exports are the values that Fn::ImportValue finds.
	exports map[string]string
	region  string
	// truths are the conditions evaluated so far; one that refers to itself is open.
	truths map[string]truth
}

// EvaluatedResource is a resource of an evaluation.
type EvaluatedResource struct {
	Name, Type string
	// Properties are as in JSON, with Unknown for some values. A reference to a resource is a text
	// that only that resource has.
	Properties map[string]any
	// Maybe reports that only CloudFormation knows whether the resource exists.
	Maybe bool
	// Retained reports that CloudFormation keeps the resource when it leaves the stack.
	Retained bool
}

// truth is the result of a condition.
type truth int8

// The results; open is one that only CloudFormation knows.
const (
	open truth = iota
	yes
	no
)

// errNoTemplate is the error of a text that is neither JSON nor YAML of an object.
var errNoTemplate = errors.New("batchctl cannot read the template")

// Evaluate evaluates a template. A parameter without a value in given has its default. exports are the values of
// other stacks' exports.
func Evaluate(body []byte, given, exports map[string]string, region string) (*Evaluation, error) {
	e := &Evaluation{values: map[string]string{}, exports: exports, region: region, truths: map[string]truth{}}
	if json.Unmarshal(body, &e.root) != nil {
		node, problems := yamltree.Parse(diag.NewSource("", string(body)))
		if problems.HasErrors() || node == nil || node.Kind != jsontree.Object || json.Unmarshal(node.AppendJSON(nil), &e.root) != nil {
			return nil, errNoTemplate
		}
	}
	if e.root == nil {
		return nil, errNoTemplate
	}
	for name, declared := range objectOf(e.root["Parameters"]) {
		value, ok := given[name]
		if fallback, has := objectOf(declared)["Default"]; !ok && has {
			value, ok = textOf(fallback)
		}
		kind, _ := objectOf(declared)["Type"].(string)
		// The value of such a parameter is a name in Parameter Store, not what a reference gets.
		if ok && !strings.HasPrefix(kind, "AWS::SSM::Parameter::") {
			e.values[name] = value
		}
	}
	return e, nil
}

// Resources returns the resources that exist, or may exist, sorted by their names.
func (e *Evaluation) Resources() (list []EvaluatedResource) {
	all := objectOf(e.root["Resources"])
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if r, ok := e.resource(name); ok {
			list = append(list, r)
		}
	}
	return list
}

// declares reports whether the template's text has a resource, whether its condition holds or not.
func (e *Evaluation) declares(name string) bool { return objectOf(e.root["Resources"])[name] != nil }

// resource returns a resource; false if the template does not create it.
func (e *Evaluation) resource(name string) (r EvaluatedResource, ok bool) {
	declared := objectOf(objectOf(e.root["Resources"])[name])
	condition, isConditional := declared["Condition"].(string)
	exists := yes
	if isConditional {
		exists = e.condition(condition)
	}
	if declared == nil || exists == no {
		return r, false
	}
	kind, _ := declared["Type"].(string)
	policy, _ := declared["DeletionPolicy"].(string)
	properties, _ := e.value(declared["Properties"], 0)
	return EvaluatedResource{Name: name, Type: kind, Properties: objectOf(properties), Maybe: exists == open, Retained: strings.HasPrefix(policy, "Retain")}, true
}

// Exports returns the known values of the template's exports, by their names.
func (e *Evaluation) Exports() map[string]string {
	all := map[string]string{}
	for _, output := range objectOf(e.root["Outputs"]) {
		o := objectOf(output)
		if condition, isConditional := o["Condition"].(string); isConditional && e.condition(condition) == no {
			continue
		}
		name, named := e.text(objectOf(o["Export"])["Name"], 0)
		value, known := e.text(o["Value"], 0)
		if named && known {
			all[name] = value
		}
	}
	return all
}

// objectOf returns a value as an object; nil for any other.
func objectOf(v any) map[string]any {
	o, _ := v.(map[string]any)
	return o
}

// textOf returns a scalar as text.
func textOf(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, !strings.Contains(v, "{{resolve:")
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64), true
	case bool:
		return strconv.FormatBool(v), true
	}
	return "", false
}

// deepest bounds the nesting of functions.
const deepest = 100

// value evaluates a value. It is nil for AWS::NoValue, and false if only CloudFormation knows it. Unknown members and
// elements are Unknown. A list is unknown if its length is: an element that Fn::If chooses can be absent.
func (e *Evaluation) value(v any, depth int) (any, bool) {
	if depth > deepest {
		return nil, false
	}
	switch v := v.(type) {
	case map[string]any:
		if name, argument, ok := function(v); ok {
			return e.call(name, argument, depth+1)
		}
		out := map[string]any{}
		for name, member := range v {
			if inner, ok := e.value(member, depth+1); !ok {
				out[name] = Unknown{}
			} else if inner != nil {
				out[name] = inner
			}
		}
		return out, true
	case []any:
		out := []any{}
		for _, element := range v {
			inner, ok := e.value(element, depth+1)
			if name, _, _ := function(objectOf(element)); !ok && name == "Fn::If" {
				return nil, false
			} else if !ok {
				inner = Unknown{}
			}
			if inner != nil {
				out = append(out, inner)
			}
		}
		return out, true
	case string:
		return v, !strings.Contains(v, "{{resolve:")
	}
	return v, true
}

// function returns the name and the argument of a function of CloudFormation.
func function(o map[string]any) (name string, argument any, ok bool) {
	if len(o) != 1 {
		return "", nil, false
	}
	for name, argument = range o {
	}
	return name, argument, name == "Ref" || strings.HasPrefix(name, "Fn::")
}

// text evaluates a value that has to be a scalar.
func (e *Evaluation) text(v any, depth int) (string, bool) {
	result, ok := e.value(v, depth)
	if !ok {
		return "", false
	}
	return textOf(result)
}

// call evaluates a function.
func (e *Evaluation) call(name string, argument any, depth int) (any, bool) {
	list, _ := argument.([]any)
	switch {
	case name == "Ref":
		word, _ := argument.(string)
		return e.reference(word)
	case name == "Fn::GetAtt" && len(list) == 2:
		id, _ := list[0].(string)
		attribute, ok := e.text(list[1], depth)
		return idOf(id) + "." + attribute, ok
	case name == "Fn::GetAtt":
		word, ok := argument.(string)
		return idOf(word), ok
	case name == "Fn::If" && len(list) == 3:
		condition, _ := list[0].(string)
		switch e.condition(condition) {
		case yes:
			return e.value(list[1], depth)
		case no:
			return e.value(list[2], depth)
		}
	case name == "Fn::Sub":
		return e.substitute(argument, depth)
	case name == "Fn::Join" && len(list) == 2:
		return e.join(list[0], list[1], depth)
	case name == "Fn::Split" && len(list) == 2:
		separator, okA := e.text(list[0], depth)
		text, okB := e.text(list[1], depth)
		var parts []any
		for part := range strings.SplitSeq(text, separator) {
			parts = append(parts, part)
		}
		return parts, okA && okB
	case name == "Fn::Select" && len(list) == 2:
		index, okA := e.text(list[0], depth)
		from, okB := e.value(list[1], depth)
		elements, _ := from.([]any)
		if i, err := strconv.Atoi(index); err == nil && okA && okB && i >= 0 && i < len(elements) {
			return elements[i], elements[i] != Unknown{}
		}
	case name == "Fn::FindInMap" && len(list) >= 3:
		return e.findInMap(list, depth)
	case name == "Fn::ImportValue":
		export, ok := e.text(argument, depth)
		value, known := e.exports[export]
		return value, ok && known
	case name == "Fn::Base64":
		return e.value(argument, depth)
	}
	return nil, false
}

// idOf is the text that stands for the physical id of a resource.
func idOf(resource string) string { return "id of " + resource }

// reference returns the value of Ref.
func (e *Evaluation) reference(name string) (any, bool) {
	switch name {
	case "AWS::NoValue":
		return nil, true
	case "AWS::Region":
		return e.region, e.region != ""
	case "AWS::Partition":
		return e.partition(), e.region != ""
	case "AWS::URLSuffix":
		return map[bool]string{true: "amazonaws.com.cn", false: "amazonaws.com"}[e.partition() == "aws-cn"], e.region != ""
	case "AWS::AccountId", "AWS::StackName", "AWS::StackId":
		return idOf(name), true
	}
	if e.declares(name) {
		return idOf(name), true
	}
	value, ok := e.values[name]
	kind, _ := objectOf(objectOf(e.root["Parameters"])[name])["Type"].(string)
	if ok && (kind == "CommaDelimitedList" || strings.HasPrefix(kind, "List<")) {
		list := []any{}
		for part := range strings.SplitSeq(value, ",") {
			if part = strings.TrimSpace(part); part != "" {
				list = append(list, part)
			}
		}
		return list, true
	}
	return value, ok
}

// partition returns the partition of the Region.
func (e *Evaluation) partition() string {
	for prefix, partition := range map[string]string{"cn-": "aws-cn", "us-gov-": "aws-us-gov", "us-iso-": "aws-iso", "us-isob-": "aws-iso-b"} {
		if strings.HasPrefix(e.region, prefix) {
			return partition
		}
	}
	return "aws"
}

// substitute returns the result of Fn::Sub.
func (e *Evaluation) substitute(argument any, depth int) (any, bool) {
	var own map[string]any
	if pair, ok := argument.([]any); ok && len(pair) == 2 {
		argument, own = pair[0], objectOf(pair[1])
	}
	rest, ok := textOf(argument)
	if !ok {
		return nil, false
	}
	var out strings.Builder
	for {
		before, tail, found := strings.Cut(rest, "${")
		out.WriteString(before)
		if !found {
			return out.String(), true
		}
		name, after, closed := strings.Cut(tail, "}")
		value, known := "", true
		resource, _, isAttribute := strings.Cut(name, ".")
		switch {
		case !closed:
			return out.String() + "${" + tail, true
		case strings.HasPrefix(name, "!"):
			value = "${" + name[1:] + "}"
		case own[name] != nil:
			value, known = e.text(own[name], depth)
		case isAttribute && e.declares(resource):
			value = idOf(name)
		default:
			v, ok := e.reference(name)
			value, known = textOf(v)
			known = known && ok
		}
		if !known {
			return nil, false
		}
		out.WriteString(value)
		rest = after
	}
}

// join returns the result of Fn::Join.
func (e *Evaluation) join(separator, of any, depth int) (any, bool) {
	between, ok := e.text(separator, depth)
	from, known := e.value(of, depth)
	elements, isList := from.([]any)
	if !ok || !known || !isList {
		return nil, false
	}
	var parts []string
	for _, element := range elements {
		part, ok := textOf(element)
		if !ok {
			return nil, false
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, between), true
}

// findInMap returns the result of Fn::FindInMap.
func (e *Evaluation) findInMap(keys []any, depth int) (any, bool) {
	v := e.root["Mappings"]
	for _, key := range keys[:3] {
		word, ok := e.text(key, depth)
		if !ok {
			return nil, false
		}
		v = objectOf(v)[word]
	}
	return v, v != nil
}

// condition evaluates a condition of the template.
func (e *Evaluation) condition(name string) truth {
	result, known := e.truths[name]
	if !known {
		e.truths[name] = open
		result = e.holds(objectOf(e.root["Conditions"])[name], 0)
		e.truths[name] = result
	}
	return result
}

// holds evaluates the expression of a condition.
func (e *Evaluation) holds(v any, depth int) truth {
	o := objectOf(v)
	if name, ok := o["Condition"].(string); ok {
		return e.condition(name)
	}
	name, argument, ok := function(o)
	list, _ := argument.([]any)
	switch {
	case !ok || depth > deepest:
		return open
	case name == "Fn::Not" && len(list) == 1:
		return map[truth]truth{yes: no, no: yes, open: open}[e.holds(list[0], depth+1)]
	case name == "Fn::And":
		return e.allOf(list, yes, no, depth)
	case name == "Fn::Or":
		return e.allOf(list, no, yes, depth)
	case name == "Fn::Equals" && len(list) == 2:
		a, okA := e.text(list[0], depth+1)
		b, okB := e.text(list[1], depth+1)
		switch {
		case !okA || !okB:
			return open
		case a == b:
			return yes
		}
		return no
	}
	return open
}

// allOf returns neutral if all conditions of a list have that result, and decisive if one has that one.
func (e *Evaluation) allOf(list []any, neutral, decisive truth, depth int) truth {
	result := neutral
	for _, v := range list {
		switch e.holds(v, depth+1) {
		case decisive:
			return decisive
		case open:
			result = open
		}
	}
	return result
}
