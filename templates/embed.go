// Package templates holds the files that batchctl writes for people to start
// from.
package templates

import "embed"

// Start holds start/job.json, gpu.json, array.json, workflow.json and
// platform.json, which `batchctl init` writes.
//
//go:embed start/*.json
var Start embed.FS
