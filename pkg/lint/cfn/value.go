package cfn

import (
	"regexp"
	"strings"
	"sync"

	"github.com/batchctl/batchctl/pkg/jsontree"
)

// knowledge is the part of a value that the template determines.
type knowledge uint8

const (
	knownWholly knowledge = iota // all of it
	knownAbsent                  // it is AWS::NoValue: the member is absent
	unknown                      // only CloudFormation knows it
)

// maxFollowed bounds the nesting of functions.
const maxFollowed = 50

// value evaluates the functions of CloudFormation if the template determines their
// results. A result has the location of its function.
func (m *mapper) value(n *jsontree.Node, depth int) (*jsontree.Node, knowledge) {
	switch {
	case n == nil:
		return nil, knownAbsent
	case n.Is(jsontree.String) && isOpen(n.Text):
		return n, unknown
	case !n.Is(jsontree.Object) || !isFunction(n):
		return n, knownWholly
	case depth > maxFollowed:
		return n, unknown
	}
	function := onlyMember(n)
	switch function.Name {
	case "Ref":
		return m.reference(n, function.Str())
	case "Fn::If":
		branch := function.Index(2)
		if m.scenario.holds(m.template, function.Index(0).Str()) {
			branch = function.Index(1)
		}
		if branch == nil {
			return n, unknown
		}
		return m.value(branch, depth+1)
	case "Fn::GetAtt":
		resource, attribute := function.Index(0).Str(), function.Index(1).Str()
		if function.Is(jsontree.String) {
			resource, attribute, _ = strings.Cut(function.Text, ".")
		}
		if r := m.template.byID[resource]; r != nil && strings.HasSuffix(attribute, "Arn") {
			return inPlace(n, m.arn(r)), knownWholly
		}
	case "Fn::Sub":
		return m.substituted(n, function, depth)
	case "Fn::Join":
		return m.joined(n, function, depth)
	case "Fn::FindInMap":
		first, okA := m.text(function.Index(1), depth+1)
		second, okB := m.text(function.Index(2), depth+1)
		found := m.template.file.Root.Get("Mappings").Get(function.Index(0).Str()).Get(first).Get(second)
		if okA && okB && found != nil && !isFunction(found) {
			return found, knownWholly
		}
	}
	return n, unknown
}

// foreignVariable matches the variables of the Serverless Framework and of its plugin for pseudo parameters, which
// replace them before CloudFormation reads the text: ${self:custom.queue}, ${file(a.yml):b} and #{AWS::Region}.
var foreignVariable = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\$\{(?:aws|cf|env|file|git|opt|output|param|s3|self|sls|ssm|strTo[A-Z]\w*)[:.(]|#\{[A-Za-z]`)
})

// isOpen reports whether a text has a part that another program replaces, or CloudFormation with a secret or a
// parameter.
func isOpen(text string) bool {
	return strings.Contains(text, "{{resolve:") || strings.Contains(text, "{") && foreignVariable().MatchString(text)
}

// isFunction reports whether an object is a function or a reference.
func isFunction(n *jsontree.Node) bool {
	only := onlyMember(n)
	return n.Len() == 1 && (only.Name == "Ref" || strings.HasPrefix(only.Name, "Fn::"))
}

// onlyMember returns the first member of an object; nil if it has none.
func onlyMember(n *jsontree.Node) *jsontree.Node {
	for c := range n.Children() {
		return c
	}
	return nil
}

// inPlace returns a text with the location of a function.
func inPlace(n *jsontree.Node, text string) *jsontree.Node {
	out := jsontree.NewString(text, n)
	out.Name = n.Name
	return out
}

// text returns the result of a value if that is a text.
func (m *mapper) text(n *jsontree.Node, depth int) (string, bool) {
	v, result := m.value(n, depth)
	return textOf(v), result == knownWholly && isScalar(v)
}

// isScalar reports whether a value has a text, other than null.
func isScalar(n *jsontree.Node) bool {
	return n.Is(jsontree.String) || n.Is(jsontree.Number) || n.Is(jsontree.Bool)
}

// reference returns the result of Ref: the value of a parameter, if conditions or its
// default determine it, or the ARN of a resource of the template.
func (m *mapper) reference(n *jsontree.Node, name string) (*jsontree.Node, knowledge) {
	if name == "AWS::NoValue" {
		return nil, knownAbsent
	}
	if r := m.template.byID[name]; r != nil {
		return inPlace(n, m.arn(r)), knownWholly
	}
	p := m.template.parameter(name)
	value, ok := m.scenario.values[name]
	if !ok && IsKnown(p.Get("Default")) {
		value, ok = p.Get("Default").Text, p.Get("Default").Text != ""
	}
	if p == nil || !ok || value == someValue || isLookedUp(p) || strings.Contains(value, "{{resolve:") {
		return n, unknown
	}
	// You replace the placeholders of a default when you deploy the template, such as those of
	// <account>.dkr.ecr.<region>.amazonaws.com/a.
	if start, _ := jsontree.FindPlaceholder(value); start >= 0 {
		return n, unknown
	}
	if kind := p.Get("Type").Str(); kind == "CommaDelimitedList" || strings.HasPrefix(kind, "List<") {
		list := jsontree.NewArray(n)
		list.Name = n.Name
		for item := range strings.SplitSeq(value, ",") {
			element := jsontree.NewString(strings.TrimSpace(item), n)
			list.Append(element)
		}
		return list, knownWholly
	}
	return inPlace(n, value), knownWholly
}

// substituted returns the result of Fn::Sub if the template determines all of its names.
func (m *mapper) substituted(n, function *jsontree.Node, depth int) (*jsontree.Node, knowledge) {
	text, own := function, (*jsontree.Node)(nil)
	if function.Is(jsontree.Array) {
		text, own = function.Index(0), function.Index(1)
	}
	if !text.Is(jsontree.String) || isOpen(text.Text) {
		return n, unknown
	}
	var out strings.Builder
	for rest := text.Text; ; {
		before, tail, found := strings.Cut(rest, "${")
		out.WriteString(before)
		if !found {
			return inPlace(n, out.String()), knownWholly
		}
		name, after, closed := strings.Cut(tail, "}")
		switch {
		case !closed:
			out.WriteString("${" + tail)
			return inPlace(n, out.String()), knownWholly
		case strings.HasPrefix(name, "!"):
			out.WriteString("${" + name[1:] + "}")
		default:
			value, ok := "", false
			if v := own.Get(name); v != nil {
				value, ok = m.text(v, depth+1)
			} else if resource, attribute, dotted := strings.Cut(name, "."); !dotted || m.template.byID[resource] != nil && strings.HasSuffix(attribute, "Arn") {
				v, result := m.reference(n, resource)
				value, ok = textOf(v), result == knownWholly && isScalar(v)
			}
			if !ok {
				return n, unknown
			}
			out.WriteString(value)
		}
		rest = after
	}
}

// joined returns the result of Fn::Join for known texts.
func (m *mapper) joined(n, function *jsontree.Node, depth int) (*jsontree.Node, knowledge) {
	list, result := m.value(function.Index(1), depth+1)
	if result != knownWholly || !list.Is(jsontree.Array) {
		return n, unknown
	}
	var parts []string
	for piece := range list.Children() {
		part, ok := m.text(piece, depth+1)
		if !ok {
			return n, unknown
		}
		parts = append(parts, part)
	}
	return inPlace(n, strings.Join(parts, function.Index(0).Str())), knownWholly
}

// arn returns a replacement for the ARN of a resource, with the name under which its
// request creates it.
func (m *mapper) arn(r *jsontree.Node) string {
	kind := batchResources[r.Get("Type").Str()]
	arn := "arn:aws:batch:us-east-1:123456789012:" + arnTypes[kind] + "/" + m.nameOf(r, kind)
	if arnTypes[kind] == "job-definition" {
		arn += ":1"
	}
	return arn
}

// textOf returns the text of a node, which may be nil.
func textOf(n *jsontree.Node) string {
	if n == nil {
		return ""
	}
	return n.Text
}
