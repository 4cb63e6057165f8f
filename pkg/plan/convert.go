package plan

import (
	"errors"
	"fmt"
	"strings"

	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/wire"
)

// converter converts documents to the requests of the SDK, and collects the problems of a plan.
type converter struct{ problems diag.List }

// lower converts a document to the SDK's struct. It returns false after a
// problem.
func (c *converter) lower(tree *jsontree.Node, input any) (ok bool) {
	err := wire.Unmarshal(tree.AppendJSON(nil), input)
	if err == nil {
		return true
	}
	if at, ok := errors.AsType[*wire.Error](err); ok {
		n := tree.At(steps(at.Path)...)
		if at.Message == wire.UnknownMember && n != nil {
			c.fail(n, "request-shape", fmt.Sprintf("batchctl cannot send %q: its AWS SDK does not have this member",
				n.Name), "send the request with a newer AWS CLI")
			return false
		}
		c.fail(n, "request-shape", at.Message, "")
		return false
	}
	c.fail(tree, "request-shape", err.Error(), "")
	return false
}

// steps splits a wire path: a.b[0].c into a, b, 0, c.
func steps(path string) []string {
	return strings.FieldsFunc(path, func(r rune) bool { return r == '.' || r == '[' || r == ']' })
}

// definition returns the definition that a job runs; nil if it is not in the
// files.
func (c *converter) definition(job *Job, known *jsontree.Node) *awsbatch.RegisterJobDefinitionInput {
	if job.Register != nil || known == nil {
		return job.Register
	}
	d := &awsbatch.RegisterJobDefinitionInput{}
	c.lower(known, d)
	return d
}

// fail adds a problem at a member.
func (c *converter) fail(n *jsontree.Node, rule, message, hint string) {
	src, span := n.Location()
	c.problems = append(c.problems, diag.Diagnostic{
		Severity: diag.Error, Rule: rule, Source: src, Span: span, Message: message, Hint: hint,
	})
}

// nameOf returns the member for a problem of the whole job: its name, so that a report
// underlines only that.
func nameOf(j *document.Job) *jsontree.Node {
	for _, member := range []string{"name", "jobName", "jobDefinitionName"} {
		if n := j.Node.Get(member); n != nil {
			return n
		}
	}
	return j.Node
}
