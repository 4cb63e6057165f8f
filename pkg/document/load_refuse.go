package document

import (
	"fmt"
	"path"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

const expected = `expected a job ("name" and "image"), a workflow ("jobs"), a platform file ("targets", "queues", ` +
	`"policy"), or an AWS request such as RegisterJobDefinition ("jobDefinitionName") or SubmitJob ("jobName")`

// notADocument is the problem of a document without any member that tells its kind.
func notADocument(root *jsontree.Node) diag.Diagnostic {
	d := diag.Diagnostic{
		Rule: RuleDocumentKind, Source: root.Source, Span: brace(root),
		Message: "unknown type of document", Hint: expected,
	}
	if what := otherTool(root); what != "" {
		if d.Message = "this is " + what + ", not a document of AWS Batch"; what == aResource {
			d.Message, d.Hint = "this is "+what, `put it into a template: { "Resources": { "Name": ... } }`
		}
		return d
	}
	if root.Get("jobSummaryList").Is(jsontree.Array) {
		d.Message = "this is the output of list-jobs, not a request"
		return d
	}
	if !root.Is(jsontree.Object) {
		d.Message = fmt.Sprintf("a document must be an object, not %s", root.Kind)
		d.Span = root.Span
		switch first := root.Index(0); {
		case !first.Is(jsontree.Object):
		case kindOf(first).native():
			d.Hint = "write each " + string(kindOf(first)) + " request to a file of its own"
		case kindOf(first) == KindJob:
			d.Hint = `several jobs are a workflow: { "name": "calibration", "jobs": [ ... ] }`
		}
	}
	return d
}

// notAJobFile is the problem of a template for commands that accept only jobs. Comparing
// it with a job would report every member.
func notAJobFile(root *jsontree.Node) diag.Diagnostic {
	return problem(RuleDocumentKind, root.Source, brace(root),
		"check it with batchctl validate, and deploy it with CloudFormation",
		"this is a CloudFormation template, not a job file")
}

// newerDocument is the problem of a document in a later version of its format.
func newerDocument(root *jsontree.Node, version int) diag.Diagnostic {
	n := root.Get("$schema")
	return problem(RuleDocumentKind, n.Source, n.Span, "update batchctl",
		"%s is version %d of the format, and this batchctl reads version %d", path.Base(n.Str()), version,
		FormatVersion)
}
