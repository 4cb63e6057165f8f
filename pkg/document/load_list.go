package document

import (
	"strings"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// list builds the jobs of a job list; root is the clean copy.
func (f *File) list(root *jsontree.Node, c *checker, o Options) (diags diag.List) {
	written := kept(f.Root.Get("jobs"), c.bad)
	for request := range root.Get("jobs").Children() {
		j := &Job{Name: request.Get("jobName").Str(), Node: written[len(f.Jobs)], Submit: request.Clone()}
		overlay(j.Submit, o)
		diags = append(diags, j.splitDependencies()...)
		f.Jobs = append(f.Jobs, j)
	}
	return diags
}

// splitDependencies moves the dependencies on jobs of the same list from the
// request, which can only name jobs that have been submitted, to DependsOn.
func (j *Job) splitDependencies() (diags diag.List) {
	written := j.Submit.Get("dependsOn")
	if written == nil {
		return nil
	}
	submitted := jsontree.NewArray(written)
	for d := range written.Children() {
		id := d.Get("jobId")
		if !strings.ContainsAny(id.Str(), "${}") {
			submitted.Append(d.Clone())
			continue
		}
		name, err := reference(id.Str())
		if err != nil {
			diags = append(diags, diag.Diagnostic{Rule: RuleJobReference, Source: id.Source, Span: id.Span,
				Message: err.Error(), Hint: hintOf(err)})
			continue
		}
		j.DependsOn = append(j.DependsOn, Dependency{Job: name, Type: d.Get("type").Str(), Node: d})
	}
	if submitted.Len() > 0 || len(j.DependsOn) == 0 {
		j.Submit.Set("dependsOn", submitted)
	} else {
		j.Submit = without(j.Submit, []string{"dependsOn"})
	}
	return diags
}
