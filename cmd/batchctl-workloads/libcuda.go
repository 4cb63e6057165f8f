//go:build !static

package main

import (
	"github.com/batchctl/batchctl/workloads/gpu"
	"github.com/batchctl/batchctl/workloads/gpu/cublas"
	"github.com/batchctl/batchctl/workloads/gpu/libcuda"
	"github.com/batchctl/batchctl/workloads/gpu/nvml"
)

func init() {
	// The first binding that works is taken: this one before that of the tag cuda.
	platform.Bindings = append([]gpu.Binding{{Name: "libcuda", Open: libcuda.Open}}, platform.Bindings...)
	platform.BLAS, platform.Management = cublas.Open, nvml.Open
}
