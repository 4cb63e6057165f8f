package document

import (
	"fmt"
	"strconv"
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

var referencePattern = lazy(`^\$\{([A-Za-z0-9_-]+)\}$`)

// nameInside finds the intended name in a reference of a wrong form.
var nameInside = lazy(`[A-Za-z0-9_-]+`)

// referenceTo returns the form that reference parses.
func referenceTo(name string) string { return "${" + name + "}" }

// reference parses ${name}. A name has the characters of a jobName.
func reference(s string) (name string, err error) {
	if m := referencePattern().FindStringSubmatch(s); m != nil {
		return m[1], nil
	}
	hint := `write "${name}" with the jobName of a job in this file, or the id of a submitted job`
	if names := nameInside().FindAllString(s, 2); len(names) == 1 {
		hint = "write " + strconv.Quote(referenceTo(names[0]))
	}
	return "", unitError{fmt.Sprintf("%s is neither a job id nor a reference to a job", strconv.Quote(clip(s))), hint}
}
