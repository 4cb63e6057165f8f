// Package workloads lists the programs that ship with batchctl. The reference jobs run
// them, both in the container image and locally.
package workloads

import (
	"context"
	"io"

	"github.com/batchctl/batchctl/workloads/gpu"
	"github.com/batchctl/batchctl/workloads/gpu/gpuinfo"
	"github.com/batchctl/batchctl/workloads/image"
	"github.com/batchctl/batchctl/workloads/matrix"
)

// Workload is one shipped program.
type Workload struct {
	// Name is the first command-line argument of batchctl-workloads.
	Name string
	// Doc is one line; Run with --help prints the whole help text.
	Doc string
	// Run runs the program with its command-line arguments, without the name.
	// Results go to stdout, everything else to stderr. Main maps its errors to
	// exit codes.
	Run func(ctx context.Context, platform gpu.Platform, args []string, stdout, stderr io.Writer) error
}

// All lists the workloads in the order in which they are shown.
func All() []Workload {
	return []Workload{
		{Name: "matrix", Doc: matrix.Doc, Run: matrix.Run},
		{Name: "image", Doc: image.Doc, Run: image.Run},
		{Name: "gpu-info", Doc: gpuinfo.Doc, Run: gpuinfo.Run},
	}
}

// Lookup finds a workload by its name.
func Lookup(name string) (Workload, bool) {
	for _, w := range All() {
		if w.Name == name {
			return w, true
		}
	}
	return Workload{}, false
}
