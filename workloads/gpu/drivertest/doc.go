// Package drivertest is what every binding to the CUDA driver has to pass, on a GPU as on
// the driver that stands in for one.
package drivertest

import _ "embed"

//go:generate go run ../cuda/ptx sm_70 probe.cu

//go:embed probe_sm70.ptx
var probe string
