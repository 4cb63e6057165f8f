// Package blas multiplies matrices at the speed of the machine. Its products are packed and
// blocked, with kernels for AVX-512, AVX2 and NEON, and in plain Go for other processors. It also
// measures the peak that its products are compared with.
//
// The method is Goto's (K. Goto, R. van de Geijn, "Anatomy of High-Performance Matrix
// Multiplication", ACM TOMS 34(3), 2008), with the roles of A and B exchanged because matrices are
// row-major here: a block of B is packed for the second-level cache, and panels of A, a few rows
// each, run past it.
package blas

//go:generate go -C internal/asm run . -out ../../kernels_amd64.s -stubs ../../kernels_amd64.go -pkg blas
//go:generate go run ./internal/neon

// Float is an element type.
type Float interface{ float32 | float64 }
