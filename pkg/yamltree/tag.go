package yamltree

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// functions are the functions of CloudFormation with a short form, by that name.
var functions = []string{"And", "Base64", "Cidr", "Condition", "Contains", "EachMemberEquals", "EachMemberIn", "Equals",
	"FindInMap", "GetAZs", "GetAtt", "GetStackOutput",
	"If", "ImportValue", "Join", "Length", "Not", "Or", "Ref", "RefAll", "Select", "Split", "Sub", "ToJsonString",
	"Transform", "ValueOf", "ValueOfAll"}

// isYAMLTag reports whether a tag belongs to YAML itself.
func isYAMLTag(tag string) bool {
	return tag == "!" || strings.HasPrefix(tag, "!!") || strings.HasPrefix(tag, "!<tag:yaml.org")
}

// tagged returns the long form of a value with a tag.
func (p *parser) tagged(y *yaml.Node, n *jsontree.Node, tag diag.Span, depth int) *jsontree.Node {
	if tag.Start == tag.End || n == nil {
		return n
	}
	written := p.text[tag.Start:tag.End]
	if isYAMLTag(written) {
		switch written {
		case "!!binary", "!!omap", "!!pairs", "!!set", "!!timestamp":
			p.report(RuleTag, tag.Start, tag.End, "remove it", "CloudFormation does not accept the tag %s", written)
		}
		return n
	}
	name := written[1:]
	if !slices.Contains(functions, name) {
		hint := ""
		if near := diag.Near(name, slices.Values(functions)); near != "" {
			hint = "write !" + near
		}
		p.report(RuleTag, tag.Start, tag.End, hint, "CloudFormation has no function %s", written)
	}
	// The long forms of these two have no prefix.
	if name != "Ref" && name != "Condition" {
		name = "Fn::" + name
	}
	if name == "Fn::GetAtt" && y.Kind == yaml.ScalarNode {
		n = p.attribute(n)
	} else if n.Kind == jsontree.Bool || n.Kind == jsontree.Number || n.Kind == jsontree.Null && y.Value != "" {
		n.Kind, n.Text = jsontree.String, y.Value // !Ref 2, !Sub yes
	}
	out := p.take(jsontree.Object, "", tag.Start, max(tag.End, n.Span.End))
	n.Name, n.Key = name, tag
	out.Append(n)
	return out
}

// attribute returns the list form of !GetAtt resource.attribute.
func (p *parser) attribute(n *jsontree.Node) *jsontree.Node {
	resource, attribute, ok := strings.Cut(n.Text, ".")
	if !ok {
		return n
	}
	list := p.take(jsontree.Array, "", n.Span.Start, n.Span.End)
	at := ByteSpans(n)
	cut := len(resource)
	for _, part := range [...]struct {
		text     string
		from, to int
	}{{resource, 0, cut}, {attribute, cut + 1, len(n.Text)}} {
		start, end := n.Span.Start, n.Span.End
		if part.to > part.from && part.to <= len(at) {
			start, end = at[part.from].Start, at[part.to-1].End
		}
		list.Append(p.take(jsontree.String, part.text, start, end))
	}
	return list
}
