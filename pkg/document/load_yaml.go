package document

import (
	"strings"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/yamltree"
)

// toJSON is the hint about a document that has to be JSON.
const toJSON = "convert it to JSON, for example with yq -o json"

// inYAML reports whether documents of a kind can be YAML.
func inYAML(kind Kind) bool {
	switch kind {
	case KindTemplate, KindLaunchTemplate, KindStateMachine, KindEventBridge:
		return true
	}
	return false
}

// loadYAML is Load for YAML. Only documents about hosts and those of other services are documents in YAML.
func loadYAML(src *diag.Source, o Options) (*File, diag.List) {
	start := len(src.Text) - len(strings.TrimPrefix(src.Text, "\ufeff"))
	refuse := func(message, hint string) (*File, diag.List) {
		return nil, diag.List{{Rule: RuleDocumentKind, Source: src, Span: diag.Span{Start: start,
			End: min(start+1, len(src.Text))}, Message: message, Hint: hint}}
	}
	switch {
	case o.Recognize && !(o.Hosts && mentionsHosts(src.Text)):
		return nil, nil
	case !o.Hosts || o.Kind != "" && !inYAML(o.Kind):
		return refuse("this is YAML, but job files are JSON", toJSON)
	}
	root, problems := yamltree.Parse(src)
	if o.Recognize && root != nil && aboutHosts(root) == "" {
		return nil, nil
	}
	if root == nil {
		if len(problems) == 0 {
			return refuse("the file contains no YAML document", "")
		}
		return nil, problems
	}
	f := &File{Source: src, Root: root, Kind: o.Kind, Forced: o.Kind != ""}
	if f.Kind == "" {
		f.Kind = kindOfHosts(root)
	}
	if f.Kind == "" {
		if kind := kindOf(root); kind.native() {
			return refuse("this is the request "+string(kind)+" in YAML; batchctl reads requests as JSON", toJSON)
		}
		if what := otherTool(root); what != "" && root.Is(jsontree.Object) {
			return refuse("this is "+what+", not a CloudFormation template", "name a template, with Resources")
		}
		if isTemplate(root.Get("resources")) {
			return refuse("this is a configuration of the Serverless Framework, not a CloudFormation template",
				"run serverless package, and check the templates in .serverless")
		}
		return refuse("this YAML is not a CloudFormation template: it has no Resources with a Type such as AWS::Batch::JobQueue",
			"write job files as JSON; batchctl reads only CloudFormation templates and launch template data as YAML")
	}
	f.readDefinitions(o)
	return f, problems
}
