// Package jobs holds the reference jobs.
package jobs

import "embed"

// Reference holds matrix-cpu.json, matrix-gpu.json, image-cpu.json and image-gpu.json:
// the two sides of the benchmarks.
//
//go:embed matrix-cpu.json matrix-gpu.json image-cpu.json image-gpu.json
var Reference embed.FS
