package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/sweep"
)

// arrayRules returns the rules about array jobs: the sizes that AWS Batch accepts, and
// what batchctl adds for children with different values (matrix, table and command list).
func arrayRules() []*Rule {
	return []*Rule{
		over("array-size-min", High, (*Pass).Submits, checkMinArray,
			"An array job has at least 2 children.", api("ArrayProperties.size")).onlyWith("arrayProperties"),
		over("array-size-max", High, (*Pass).Submits, checkMaxArray,
			"An array job has at most 10,000 children.", api("ArrayProperties.size")+"; "+guide("service quotas")).
			onlyWith("arrayProperties"),
		check("array-variable-reserved", High, requirers, checkReservedVariables,
			"For an array with a matrix, a table or a command list, batchctl sets MATRIX_ plus the name of each axis, and the variables that tell a child its "+
				"values. If the job sets one of them too, either value would overwrite the other.",
			ourArrays).onlyWith("environment"),
		warns(over("matrix-exclude-unused", High, (*Pass).Submits, checkUnusedExcludes,
			"Another entry of exclude already removes the same cells, so this one has no effect. Often it was meant to remove others.",
			ourArrays)),
		warns(over("command-list-idle-children", High, (*Pass).Submits, checkIdleChildren,
			"The array has more children than its command list has lines, so some children would do nothing.",
			ourArrays)),
	}
}

// checkMinArray reports an array without children, or with only one.
func checkMinArray(j Job) {
	if size, ok := arraySize(j.Job).Int(); ok && size < catalog.MinArraySize {
		j.Report(fmt.Sprintf("an array must have at least %d children, not %d", catalog.MinArraySize, size),
			"to submit a single job, remove the array", arraySize(j.Job))
	}
}

// checkMaxArray reports an array with more children than AWS Batch accepts.
func checkMaxArray(j Job) {
	if size, ok := arraySize(j.Job).Int(); ok && size > catalog.MaxArraySize {
		j.Report(fmt.Sprintf("an array must have at most %d children, not %d", catalog.MaxArraySize, size),
			tooManyHint(j, size), arraySize(j.Job))
	}
}

// checkIdleChildren reports more children than lines. The lines of a list in S3 are unknown here, and Lines is empty.
func checkIdleChildren(j Job) {
	if s := j.Sweep; s != nil && s.Kind == sweep.Commands && s.List == "" && s.Size > len(s.Lines) {
		j.Report(fmt.Sprintf("%d children share a list of %d lines", s.Size, len(s.Lines)),
			fmt.Sprintf("set the size to %d", len(s.Lines)), j.Array.Get("size"))
	}
}

// tooManyHint suggests how to stay below the largest array: with several arrays, or with
// more lines for each child of a command list.
func tooManyHint(j Job, size int64) string {
	if document.ArraySource(j.Array) != nil {
		return fmt.Sprintf("let each child run more lines: write %d", catalog.MaxArraySize)
	}
	return fmt.Sprintf("split it into %d arrays", (size+catalog.MaxArraySize-1)/catalog.MaxArraySize)
}

// maxExcludes bounds the entries that are compared with each other.
const maxExcludes = 1000

// checkUnusedExcludes reports entries that only remove cells that another entry removes.
func checkUnusedExcludes(j Job) {
	exclude := j.Array.Get("exclude")
	if exclude.Len() > maxExcludes || j.Array.Get("matrix") == nil {
		return
	}
	entries := slices.Collect(exclude.Children())
	for i, e := range entries {
		for k, other := range entries {
			if i != k && includesAll(e, other) && (k < i || !includesAll(other, e)) {
				line, _ := other.Source.Position(other.Span.Start)
				j.Report(fmt.Sprintf("the entry in line %d already removes these cells", line), "remove it", e)
				break
			}
		}
	}
}

// includesAll reports whether an entry has all members of another one.
func includesAll(entry, other *jsontree.Node) bool {
	for m := range other.Children() {
		if own := entry.Get(m.Name); own == nil || own.Text != m.Text {
			return false
		}
	}
	return other.Len() > 0
}

// checkReservedVariables reports variables that the launcher sets.
func checkReservedVariables(s Site) {
	if document.ArraySource(s.Array) == nil {
		return
	}
	for v := range s.Node.Get("environment").Children() {
		switch name := v.Get("name"); name.Str() {
		case sweep.DocumentVariable, sweep.URLVariable, sweep.CellsVariable, sweep.CellVariable:
			s.Report(fmt.Sprintf("batchctl sets the variable %s for the children of this array", name.Str()),
				"remove it", name)
		case sweep.SizeVariable, sweep.ListVariable, sweep.KeepGoingVariable:
			if s.Array.Get("commands") != nil {
				s.Report(fmt.Sprintf("batchctl sets the variable %s for the children that share a command list",
					name.Str()), "remove it", name)
			}
		default:
			checkValueVariable(s, name)
		}
	}
}

// checkValueVariable reports a variable that holds the child's value of an axis or column.
func checkValueVariable(s Site, variable *jsontree.Node) {
	if s.Sweep == nil || !strings.HasPrefix(variable.Str(), sweep.VariablePrefix) {
		return
	}
	for _, name := range s.Sweep.Names {
		if sweep.Variable(name) == variable.Str() {
			s.Report(fmt.Sprintf("batchctl sets %s to the child's value of %s", variable.Str(), quote(name)),
				"rename one of them", variable)
		}
	}
}
