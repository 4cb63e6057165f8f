// Package templates keeps the files that batchctl writes: job files to start from,
// infrastructure and Dockerfiles.
package templates

import "embed"

// Start holds start/job.json, gpu.json, array.json, workflow.json and
// platform.json, which `batchctl init` writes.
//
//go:embed start/*.json
var Start embed.FS

// CPUDockerfile and GPUDockerfile build the images of batchctl-workloads from a folder
// that contains only the program.
var (
	//go:embed images/cpu.Dockerfile
	CPUDockerfile string
	//go:embed images/gpu.Dockerfile
	GPUDockerfile string
)
