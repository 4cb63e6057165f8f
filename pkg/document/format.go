package document

import (
	"path"
	"strconv"
	"strings"

	"github.com/batchctl/batchctl/pkg/jsontree"
)

// FormatVersion is the version of job files, workflow files, platform files, job lists and files of resources. Another
// version would have another schema, such as job.v2.schema.json.
const FormatVersion = 1

// kindOfSchema returns the kind of an embedded schema by its file name. native.schema.json
// has several kinds; its fragment or else the members select one.
func kindOfSchema(location string) Kind {
	location, fragment, _ := strings.Cut(location, "#")
	switch name, _ := withoutVersion(path.Base(location)); name {
	case "job.schema.json":
		return KindJob
	case "workflow.schema.json":
		return KindWorkflow
	case "platform.schema.json":
		return KindPlatform
	case "joblist.schema.json":
		return KindJobList
	case "resources.schema.json":
		return KindResources
	case "native.schema.json":
		if kind := Kind(path.Base(fragment)); kind.native() {
			return kind
		}
	}
	return ""
}

// withoutVersion splits the file name of a schema: job.v2.schema.json is version 2 of job.schema.json. A name without a
// version is version 1.
func withoutVersion(file string) (name string, version int) {
	kind, rest, _ := strings.Cut(file, ".")
	digits, suffix, _ := strings.Cut(rest, ".")
	digits, versioned := strings.CutPrefix(digits, "v")
	if !versioned || suffix != "schema.json" {
		return file, 1
	}
	n, err := strconv.Atoi(digits)
	if err != nil {
		return file, 1
	}
	return kind + "." + suffix, n
}

// schemaVersion returns the version of the format that a $schema names; 0 if the schema is not one of batchctl's.
func schemaVersion(location string) int {
	if kindOfSchema(location) == "" {
		return 0
	}
	location, _, _ = strings.Cut(location, "#")
	_, version := withoutVersion(path.Base(location))
	return version
}

// schemaOfOurs reports whether the $schema is one of batchctl's, even if it tells no kind.
func schemaOfOurs(root *jsontree.Node) bool {
	location, _, _ := strings.Cut(root.Get("$schema").Str(), "#")
	return strings.Contains(location, "batchctl") || path.Base(location) == "native.schema.json"
}
