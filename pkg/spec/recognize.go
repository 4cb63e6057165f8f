package spec

import (
	"path"
	"strings"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// FileName is the name of the platform file.
const FileName = "batchctl.json"

// marksOf holds the members that together show a document to be ours. A
// directory holds other JSON too, which must not be complained about.
var marksOf = [...][]string{
	{"name", "image"},
	{"name", "definition"},
	{"name", "jobDefinition"},
	{"jobDefinitionName", "type"},
	{"jobName", "jobQueue"},
	{"jobName", "jobDefinition"},
	{"computeEnvironmentName", "type"},
	{"computeEnvironmentName", "computeResources"},
	{"jobQueueName", "priority"},
	{"jobQueueName", "computeEnvironmentOrder"},
	{"jobQueueName", "serviceEnvironmentOrder"},
	{"name", "fairsharePolicy"},
	{"name", "quotaSharePolicy"},
	{"consumableResourceName", "totalQuantity"},
	{"consumableResourceName", "resourceType"},
}

// Recognize reports whether a text is one of our documents, for a walk through
// a directory: by its $schema if it has one, by the platform file's name, or by
// members that belong together. A text with slips is recognised by what could
// be read of it.
func Recognize(src *diag.Source) bool {
	root, _ := jsontree.Parse(src)
	return recognize(src, root)
}

func recognize(src *diag.Source, root *jsontree.Node) bool {
	if path.Base(strings.ReplaceAll(src.Name, `\`, "/")) == FileName {
		return true
	}
	if schema := root.Get("$schema").Str(); schema != "" {
		return kindOfSchema(schema) != ""
	}
	for _, marks := range marksOf {
		if hasAll(root, marks) {
			return true
		}
	}
	if _, listed := describedIn(root); listed {
		return false
	}
	return isWorkflow(root) || isJobList(root)
}

func hasAll(root *jsontree.Node, names []string) bool {
	for _, name := range names {
		if root.Get(name) == nil {
			return false
		}
	}
	return true
}

// isWorkflow tells our list of jobs from other tools' member of that name.
func isWorkflow(root *jsontree.Node) bool {
	jobs := root.Get("jobs")
	return jobs.Is(jsontree.Array) && hasAll(jobs.Index(0), []string{"name"})
}
