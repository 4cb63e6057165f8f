// Package schemas contains the JSON Schemas of the documents that batchctl reads. Editors use
// the same files. They refer to each other by relative name.
package schemas

import "embed"

//go:generate go run generate.go

// FS holds job.schema.json, workflow.schema.json, platform.schema.json,
// joblist.schema.json, resources.schema.json and native.schema.json. The last one is generated from
// the AWS SDK.
//
//go:embed *.json
var FS embed.FS

// Native is the text of native.schema.json. Reading it, unlike reading FS, copies nothing.
//
//go:embed native.schema.json
var Native string
