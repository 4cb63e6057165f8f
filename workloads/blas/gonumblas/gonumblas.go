// Package gonumblas lets gonum multiply matrices with package blas.
//
// It is a package of its own because the programs do not need it: embedding gonum's 141 routines takes 1 MB of object
// files.
package gonumblas

import (
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"

	kernels "github.com/batchctl/batchctl/workloads/blas"
)

// Implementation is a BLAS for gonum. Its Dgemm and Sgemm call Gemm; all other routines are gonum's
// own. To use it for all of gonum:
//
//	blas64.Use(gonumblas.Implementation{})
//	blas32.Use(gonumblas.Implementation{})
//
// Unlike gonum's own routines it does not skip elements of A that are zero: zero times a NaN or an
// infinity is NaN, as in the mathematical sum.
type Implementation struct {
	gonum.Implementation
	// Options apply to every product.
	Options kernels.Options
}

var (
	_ blas.Float64 = Implementation{}
	_ blas.Float32 = Implementation{}
)

// Dgemm computes C = alpha op(A) op(B) + beta C in float64. It panics where
// gonum's Dgemm does, with the same text.
func (i Implementation) Dgemm(tA, tB blas.Transpose, m, n, k int, alpha float64, a []float64, lda int, b []float64,
	ldb int, beta float64, c []float64, ldc int) {
	if !plain(tA, tB, m, n, k, len(a), lda, len(b), ldb, len(c), ldc) {
		i.Implementation.Dgemm(tA, tB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
		return
	}
	kernels.Gemm(tA != blas.NoTrans, tB != blas.NoTrans, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, i.Options)
}

// Sgemm computes C = alpha op(A) op(B) + beta C in float32. It panics where
// gonum's Sgemm does, with the same text.
func (i Implementation) Sgemm(tA, tB blas.Transpose, m, n, k int, alpha float32, a []float32, lda int, b []float32,
	ldb int, beta float32, c []float32, ldc int) {
	if !plain(tA, tB, m, n, k, len(a), lda, len(b), ldb, len(c), ldc) {
		i.Implementation.Sgemm(tA, tB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
		return
	}
	kernels.Gemm(tA != blas.NoTrans, tB != blas.NoTrans, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, i.Options)
}

// plain reports whether a call is a valid, non-empty product. gonum answers all other calls: empty
// products cost nothing, and invalid ones panic with gonum's text.
func plain(tA, tB blas.Transpose, m, n, k, lenA, lda, lenB, ldb, lenC, ldc int) bool {
	known := func(t blas.Transpose) bool { return t == blas.NoTrans || t == blas.Trans || t == blas.ConjTrans }
	return known(tA) && known(tB) && min(m, n, k) > 0 &&
		kernels.Misfit(tA != blas.NoTrans, tB != blas.NoTrans, m, n, k, lenA, lda, lenB, ldb, lenC, ldc) == ""
}
