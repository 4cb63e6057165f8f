package intrinsic

import (
	"cmp"
	"encoding/base64"
	"strconv"
	"strings"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// Value evaluates a value. It does not evaluate the members and elements of a known object or list.
func (e *Evaluator) Value(n *jsontree.Node) Value {
	if n == nil {
		return Value{Result: Absent}
	}
	if n.Is(jsontree.String) && IsReplaced(n.Text) {
		return unknown(n, replaced, "")
	}
	f := Function(n)
	if f == nil {
		return known(n)
	}
	if e.depth == maxNested {
		return unknown(n, tooDeep, "")
	}
	e.depth++
	v := e.call(n, f)
	e.depth--
	if v.Result == Unknown {
		v.Node, v.Why.name = cmp.Or(v.Node, n), cmp.Or(v.Why.name, f.Name) // an argument can be missing
	}
	return v
}

// Text evaluates a value that has to be a scalar. ok is false if it is not a known one.
func (e *Evaluator) Text(n *jsontree.Node) (text string, ok bool) {
	v := e.text(n)
	if v.Result != Known {
		return "", false
	}
	return v.Node.Text, true
}

// text evaluates an argument of a function that has to be a scalar: any other result is unknown.
func (e *Evaluator) text(n *jsontree.Node) Value {
	v := e.Value(n)
	if v.Result == Absent || v.Result == Known && !IsScalar(v.Node) {
		return unknown(n, noText, "")
	}
	return v
}

// Elements evaluates a list and its elements, of which some can be unknown; absent ones are left out. The list itself
// is unknown if its length is: an element that Fn::If chooses can be absent.
func (e *Evaluator) Elements(n *jsontree.Node) (list []Value, v Value) {
	v = e.Value(n)
	switch {
	case v.Result == Unknown:
		return nil, v
	case !v.Node.Is(jsontree.Array):
		return nil, unknown(n, noList, "")
	}
	for c := range v.Node.Children() {
		element := e.Value(c)
		if element.Result == Unknown && c.Get("Fn::If") != nil {
			return nil, element
		}
		if element.Result != Absent {
			list = append(list, element)
		}
	}
	return list, v
}

// call evaluates the function n, whose argument is f.
func (e *Evaluator) call(n, f *jsontree.Node) Value {
	switch f.Name {
	case "Ref":
		if f.Str() == "" {
			return unknown(n, malformed, "")
		}
		return e.reference(n, f.Text)
	case "Fn::GetAtt":
		return e.getAtt(n, f)
	case "Fn::If":
		return e.branch(n, f)
	case "Fn::Sub":
		return e.substitute(n, f)
	case "Fn::Join":
		return e.join(n, f)
	case "Fn::Split":
		return e.split(n, f)
	case "Fn::Select":
		return e.choose(n, f)
	case "Fn::FindInMap":
		return e.findInMap(n, f)
	case "Fn::ImportValue":
		name := e.text(f)
		if name.Result != Known {
			return name
		}
		if value, ok := e.Exports[name.Node.Text]; ok {
			return inPlace(n, value)
		}
		return unknown(n, onlyDeployed, "the export "+name.Node.Text)
	case "Fn::Base64":
		v := e.text(f)
		if v.Result == Known {
			return inPlace(n, base64.StdEncoding.EncodeToString([]byte(v.Node.Text)))
		}
		return v
	}
	return unknown(n, onlyDeployed, "")
}

// reference evaluates Ref, also in a text of Fn::Sub. n is the function.
func (e *Evaluator) reference(n *jsontree.Node, name string) Value {
	values := e.values
	if e.comparing > 0 {
		values = e.compared
	}
	parameter := e.root.Get("Parameters").Get(name)
	text, ok := values[name]
	switch {
	case name == "AWS::NoValue":
		return Value{Result: Absent}
	case text == Other:
		return unknown(n, otherValue, name)
	case IsReplaced(text):
		return unknown(n, replaced, "")
	case ok && isList(parameter):
		return pieces(n, text, ",", strings.TrimSpace)
	case ok:
		return inPlace(n, text)
	case IsLookedUp(parameter):
		return unknown(n, lookedUp, name)
	case parameter != nil:
		return unknown(n, noValue, name)
	}
	if value, isPseudo := e.pseudo(name); value != "" {
		return inPlace(n, value)
	} else if isPseudo {
		return unknown(n, onlyDeployed, name)
	}
	return e.attribute(n, name, "")
}

// isList reports whether Ref of a parameter returns a list.
func isList(parameter *jsontree.Node) bool {
	kind := parameter.Get("Type").Str()
	return kind == "CommaDelimitedList" || strings.HasPrefix(kind, "List<")
}

// pieces returns the list of the pieces of a text, each in the form that shape returns.
func pieces(n *jsontree.Node, text, separator string, shape func(string) string) Value {
	list := n.Valued(jsontree.Array, "")
	for piece := range strings.SplitSeq(text, separator) {
		list.Append(jsontree.NewString(shape(piece), n))
	}
	return known(list)
}

// attribute evaluates Fn::GetAtt, or Ref of a resource if the attribute is "".
func (e *Evaluator) attribute(n *jsontree.Node, name, attribute string) Value {
	r := e.Resource(name)
	if r == nil {
		return unknown(n, undeclared, name)
	}
	if text, ok := e.assign(name, r, attribute); ok {
		return inPlace(n, text)
	}
	if attribute != "" {
		name += "." + attribute
	}
	return unknown(n, onlyDeployed, name)
}

// assign calls Assigned.
func (e *Evaluator) assign(name string, resource *jsontree.Node, attribute string) (string, bool) {
	if e.Assigned == nil {
		return "", false
	}
	e.assigned++
	return e.Assigned(name, resource, attribute)
}

// getAtt evaluates Fn::GetAtt in its two forms. The name of the attribute can be a reference to a parameter.
func (e *Evaluator) getAtt(n, f *jsontree.Node) Value {
	if f.Is(jsontree.String) {
		name, attribute, _ := strings.Cut(f.Text, ".")
		return e.attribute(n, name, attribute)
	}
	attribute := e.text(f.Index(1))
	if attribute.Result != Known {
		return attribute
	}
	return e.attribute(n, f.Index(0).Str(), attribute.Node.Text)
}

// branch evaluates the branch that Fn::If chooses.
func (e *Evaluator) branch(n, f *jsontree.Node) Value {
	if f.Len() != 3 {
		return unknown(n, malformed, "")
	}
	switch holds, why := e.Condition(f.Index(0).Str()); holds {
	case Yes:
		return e.Value(f.Index(1))
	case No:
		return e.Value(f.Index(2))
	default:
		return Value{Unknown, n, why}
	}
}

// substitute evaluates Fn::Sub if all its names are known.
func (e *Evaluator) substitute(n, f *jsontree.Node) Value {
	text, own := f, (*jsontree.Node)(nil)
	if f.Is(jsontree.Array) {
		text, own = f.Index(0), f.Index(1)
	}
	switch {
	case !text.Is(jsontree.String):
		return unknown(n, malformed, "")
	case IsReplaced(text.Text):
		return unknown(n, replaced, "")
	}
	var out strings.Builder
	seen := map[string]Value{} // a text can have a name many times, and its value the next one
	for rest := text.Text; ; {
		before, tail, found := strings.Cut(rest, "${")
		name, after, closed := strings.Cut(tail, "}")
		out.WriteString(before)
		rest = after
		switch {
		case !found:
			return inPlace(n, out.String())
		case !closed:
			return inPlace(n, out.String()+"${"+tail)
		case strings.HasPrefix(name, "!"):
			out.WriteString("${" + name[1:] + "}")
			continue
		}
		v, again := seen[name]
		if !again {
			v = e.variable(n, own, name)
			seen[name] = v
		}
		if v.Result == Known && !IsScalar(v.Node) || v.Result == Absent {
			v = unknown(n, noText, "")
		}
		if v.Result != Known {
			return v
		}
		out.WriteString(v.Node.Text)
	}
}

// variable evaluates a name in a text of Fn::Sub, which can have values of its own.
func (e *Evaluator) variable(n, own *jsontree.Node, name string) Value {
	if v := own.Get(name); v != nil {
		return e.Value(v)
	}
	if resource, attribute, dotted := strings.Cut(name, "."); dotted {
		return e.attribute(n, resource, attribute)
	}
	return e.reference(n, name)
}

// join evaluates Fn::Join.
func (e *Evaluator) join(n, f *jsontree.Node) Value {
	list, v := e.Elements(f.Index(1))
	if v.Result != Known {
		return v
	}
	var out strings.Builder
	for i, element := range list {
		switch {
		case element.Result == Unknown:
			return element
		case !IsScalar(element.Node):
			return unknown(n, noText, "")
		case i > 0:
			out.WriteString(f.Index(0).Str())
		}
		out.WriteString(element.Node.Text)
	}
	return inPlace(n, out.String())
}

// split evaluates Fn::Split.
func (e *Evaluator) split(n, f *jsontree.Node) Value {
	text := e.text(f.Index(1))
	switch separator := f.Index(0).Str(); {
	case text.Result != Known:
		return text
	case separator == "":
		return unknown(n, malformed, "")
	default:
		return pieces(n, text.Node.Text, separator, strings.Clone)
	}
}

// choose evaluates Fn::Select.
func (e *Evaluator) choose(n, f *jsontree.Node) Value {
	index := e.text(f.Index(0))
	if index.Result != Known {
		return index
	}
	list, v := e.Elements(f.Index(1))
	if v.Result != Known {
		return v
	}
	i, err := strconv.Atoi(index.Node.Text)
	if err != nil || i < 0 || i >= len(list) {
		return unknown(n, noElement, "")
	}
	return list[i]
}

// findInMap evaluates Fn::FindInMap. Functions are not allowed in a mapping, so it needs no evaluation.
func (e *Evaluator) findInMap(n, f *jsontree.Node) Value {
	found := e.root.Get("Mappings")
	for i := range 3 {
		key := e.text(f.Index(i))
		if key.Result != Known {
			return key
		}
		found = found.Get(key.Node.Text)
	}
	switch byDefault := f.Index(3).Get("DefaultValue"); {
	case found == nil && byDefault != nil:
		return e.Value(byDefault)
	case found == nil || Function(found) != nil:
		return unknown(n, noEntry, f.Index(0).Str())
	}
	return known(found)
}

// pseudo returns the value of a pseudo parameter, if that is known, and whether the name is that of one.
func (e *Evaluator) pseudo(name string) (value string, isPseudo bool) {
	if !strings.HasPrefix(name, "AWS::") {
		return "", false
	}
	partition := batch.PartitionOf(e.Region)
	switch {
	case name == "AWS::AccountId" || name == "AWS::StackName" || name == "AWS::StackId":
		value, _ = e.assign(name, nil, "")
	case e.Region == "":
	case name == "AWS::Region":
		value = e.Region
	case name == "AWS::Partition":
		value = partition.Name
	case name == "AWS::URLSuffix":
		value = partition.Suffix
	}
	return value, true
}
