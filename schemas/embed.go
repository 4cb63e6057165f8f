// Package schemas is the JSON Schemas of the documents batchctl reads, as files
// that editors use too. They refer to each other by relative name.
package schemas

import "embed"

//go:generate go run generate.go

// FS holds job.schema.json, workflow.schema.json, platform.schema.json,
// joblist.schema.json and native.schema.json. The last one is generated from
// the AWS SDK.
//
//go:embed *.json
var FS embed.FS

// Native is native.schema.json once more: in this form it is read without a copy.
//
//go:embed native.schema.json
var Native string
