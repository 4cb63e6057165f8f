// Package templates holds the files that batchctl writes for people to start
// from.
package templates

import "embed"

// Start holds start/job.json, gpu.json, array.json, workflow.json and
// platform.json, which `batchctl init` writes.
//
//go:embed start/*.json
var Start embed.FS

// CPUDockerfile and GPUDockerfile are how the images of batchctl-workloads are built, from
// a folder with the program alone.
var (
	//go:embed images/cpu.Dockerfile
	CPUDockerfile string
	//go:embed images/gpu.Dockerfile
	GPUDockerfile string
)
