//go:build cuda && cgo && linux && !static

package main

import (
	"github.com/batchctl/batchctl/workloads/gpu"
	"github.com/batchctl/batchctl/workloads/gpu/cu"
)

func init() {
	platform.Bindings = append(platform.Bindings, gpu.Binding{Name: "cu", Open: cu.Open})
}
