package document

import (
	"strings"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// mostMembers bounds the members that are read of one object. No job has so many.
const mostMembers = 100

// contents counts the members other than $schema and $comment.
func contents(root *jsontree.Node) (n int) {
	for m := range root.Children() {
		if !strings.HasPrefix(m.Name, "$") {
			n++
		}
	}
	return n
}

// jobsOf returns the list of jobs, even if its name is misspelt.
func jobsOf(root *jsontree.Node) *jsontree.Node {
	if jobs := root.Get("jobs"); jobs != nil {
		return jobs
	}
	for m := range root.Children() {
		if m.Is(jsontree.Array) && len(m.Name) <= 6 && m.Index(0).Is(jsontree.Object) && nearMark(m.Name) == "jobs" {
			return m
		}
	}
	return nil
}

var separators = strings.NewReplacer("_", "", "-", "")

// plain returns a name in small letters without separators: JobName and job_name
// are slips for jobName.
func plain(name string) string {
	for i := range len(name) {
		if c := name[i]; c >= 'A' && c <= 'Z' || c == '_' || c == '-' {
			return strings.ToLower(separators.Replace(name))
		}
	}
	return name
}

// checkedMembers are the members whose misspellings are searched.
var checkedMembers = [...]string{
	"name", "image", "jobs", "command", "resources", "definition", "timeout", "environment", "retryStrategy",
	"containerProperties", "nodeProperties", "jobDefinitionName", "jobDefinition", "jobName", "jobQueue",
	"containerOverrides", "arrayProperties",
	"computeEnvironmentName", "computeResources", "computeEnvironmentOrder", "jobQueueName", "consumableResourceName",
	"fairsharePolicy",
}

// nearMark returns the characteristic member of which a name is a misspelling, or "". Most
// files of a walk belong to other tools, so it compares only names that begin alike.
func nearMark(name string) string {
	if len(name) < 3 || len(name) > 26 {
		return ""
	}
	return diag.Near(name, func(yield func(string) bool) {
		for _, t := range checkedMembers {
			if d := len(name) - len(t); d < -3 || d > 3 || !beginAlike(name, t) {
				continue
			}
			if !yield(t) {
				return
			}
		}
	})
}

// beginAlike reports whether two words share a letter among their first two.
func beginAlike(a, b string) bool {
	a0, a1, b0, b1 := a[0]|0x20, a[1]|0x20, b[0]|0x20, b[1]|0x20
	return a0 == b0 || a1 == b1 || a0 == b1 || a1 == b0
}
