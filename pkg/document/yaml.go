package document

import (
	"path"
	"strings"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/yamltree"
)

// IsYAML reports whether a text is read as YAML: by the ending of its name, or, where
// that says nothing, as of standard input, by the members of a template at the start of
// lines. What begins with a brace is JSON by any name.
func IsYAML(src *diag.Source) bool {
	text := src.Text[:min(len(src.Text), 1<<16)]
	start := strings.TrimLeft(strings.TrimPrefix(text, "\ufeff"), " \t\r\n")
	if strings.HasPrefix(start, "{") || strings.HasPrefix(start, "[") && !isYAMLName(src.Name) {
		return false
	}
	switch {
	case isYAMLName(src.Name):
		return true
	case strings.HasSuffix(strings.ToLower(src.Name), ".json"):
		return false
	}
	for line := range strings.Lines(text) {
		for _, member := range [...]string{"AWSTemplateFormatVersion", "Resources", "Transform"} {
			if rest, ok := strings.CutPrefix(strings.TrimPrefix(line, "\ufeff"), member); ok && strings.HasPrefix(rest, ":") {
				return true
			}
		}
	}
	return false
}

func isYAMLName(name string) bool {
	ext := strings.ToLower(path.Ext(name))
	return ext == ".yaml" || ext == ".yml"
}

// loadYAML is Load for YAML, of which only templates of CloudFormation and the data of
// launch templates are documents.
func loadYAML(src *diag.Source, o Options) (*File, diag.List) {
	start := len(src.Text) - len(strings.TrimPrefix(src.Text, "\ufeff"))
	refuse := func(message, hint string) (*File, diag.List) {
		return nil, diag.List{{Rule: RuleDocumentKind, Source: src, Span: diag.Span{Start: start, End: min(start+1, len(src.Text))}, Message: message, Hint: hint}}
	}
	switch {
	case o.Recognize && !(o.Hosts && speaksOfHosts(src.Text)):
		return nil, nil
	case !o.Hosts || o.Kind != "" && o.Kind != KindTemplate && o.Kind != KindLaunchTemplate:
		return refuse("job files are JSON, and this is YAML", "write it as JSON: yq -o json, or any converter, does that")
	}
	root, problems := yamltree.Parse(src)
	if o.Recognize && root != nil && aboutHosts(root) == "" {
		return nil, nil
	}
	if root == nil {
		if len(problems) == 0 {
			return refuse("the file holds no YAML document", "")
		}
		return nil, problems
	}
	f := &File{Source: src, Root: root, Kind: o.Kind}
	if f.Kind == "" && root.Is(jsontree.Object) {
		f.Kind = kindOfHosts(root)
	}
	if f.Kind == "" {
		return refuse("this YAML is no template of CloudFormation: it has no Resources with a Type such as AWS::Batch::JobQueue",
			"of YAML batchctl reads templates and the data of launch templates; job files are JSON")
	}
	return f, problems
}

// speaksOfHosts reports whether a text names a resource that is checked. It spares a
// walk the reading of all other YAML, of which some is none before a program has filled
// it in.
func speaksOfHosts(text string) bool {
	if !strings.Contains(text, "Resources") {
		return false
	}
	for _, kind := range checkedResources {
		if strings.Contains(text, kind) {
			return true
		}
	}
	return false
}

// checkedResources are the types of resources that are looked into.
var checkedResources = [...]string{"AWS::Batch::ComputeEnvironment", "AWS::Batch::JobQueue", "AWS::Batch::JobDefinition", "AWS::Batch::SchedulingPolicy", "AWS::Batch::ConsumableResource",
	"AWS::EC2::LaunchTemplate", "AWS::EC2::Instance", "AWS::AutoScaling::LaunchConfiguration"}

// Opening is the place of what an object or an array lacks: its opening bracket. One
// that has none, in YAML, is marked at the name of the member that it is, or of its own
// first member.
func Opening(n *jsontree.Node) diag.Span {
	src, span := n.Place()
	bracket := diag.Span{Start: span.Start, End: min(span.Start+1, span.End)}
	if src == nil || span.End <= span.Start || span.End > len(src.Text) || strings.IndexByte("{[", src.Text[span.Start]) >= 0 || !IsYAML(src) {
		return bracket
	}
	if n.Key.End > n.Key.Start {
		return n.Key
	}
	if child := first(n); child != nil && child.Source == src && child.Key.End > child.Key.Start {
		return child.Key
	}
	return bracket
}

// Built returns the document of a kind that a tree is, which was made of a part of
// another document. It is checked against its schema as Load does it.
func Built(src *diag.Source, root *jsontree.Node, kind Kind) (*File, diag.List) {
	f := &File{Source: src, Root: root, Kind: kind}
	return f, f.load(Options{})
}
