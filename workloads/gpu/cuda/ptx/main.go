// Command ptx compiles CUDA C to PTX for a target: go run ../cuda/ptx sm_70 gemm.cu. "go generate"
// calls it. The PTX is written to the source's folder.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/batchctl/batchctl/workloads/gpu/cuda"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: ptx sm_70|sm_80|sm_90a FILE.cu")
		os.Exit(2)
	}
	source := os.Args[2] // relative to the package of the directive
	if err := cuda.Compile(source, cuda.Target(os.Args[1]), filepath.Dir(source)); err != nil {
		fmt.Fprintln(os.Stderr, "ptx:", err)
		os.Exit(1)
	}
}
