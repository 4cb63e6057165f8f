// Package drivertest has the tests that every binding to the CUDA driver must pass, on a GPU and on
// the fake driver.
package drivertest

import _ "embed"

//go:generate go run ../cuda/ptx sm_70 probe.cu

// probe is the PTX of the kernels in probe.cu.
//
//go:embed probe_sm70.ptx
var probe string
