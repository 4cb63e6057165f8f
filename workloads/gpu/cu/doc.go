// Package cu reaches the CUDA driver by gorgonia.org/cu, through cgo. It is built with the
// tag cuda alone, on Linux; without it there is no Open. The header and the library that
// it is linked with are made by the command in toolkit, so that no CUDA toolkit is needed:
//
//	eval "$(go run ./workloads/gpu/cu/toolkit)"
//	go build -tags cuda ./cmd/batchctl-workloads
//
// What is built so starts without a driver, and Open says what is missing.
package cu
