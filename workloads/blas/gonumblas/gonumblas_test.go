package gonumblas

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/blas/gonum"
	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"

	kernels "github.com/batchctl/batchctl/workloads/blas"
)

// caught returns what f panics with.
func caught(f func()) (got any) {
	defer func() { got = recover() }()
	f()
	return nil
}

// TestImplementationIsGonums checks that valid and invalid calls give gonum's results: the same
// numbers up to rounding, or the same panic.
func TestImplementationIsGonums(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		transposes := rapid.SampledFrom([]blas.Transpose{blas.NoTrans, blas.Trans, blas.ConjTrans})
		tA, tB := transposes.Draw(t, "tA"), transposes.Draw(t, "tB")
		size := rapid.IntRange(0, 12)
		m, n, k := size.Draw(t, "m"), size.Draw(t, "n"), size.Draw(t, "k")
		gap := rapid.IntRange(0, 3)
		lda, ldb, ldc := width(tA, m, k)+gap.Draw(t, "gap a"), width(tB, k, n)+gap.Draw(t, "gap b"), max(1, n)+gap.Draw(t, "gap c")
		lengthA, lengthB, lengthC := 12*lda, 12*ldb, 12*ldc
		// One call in two has one thing that may be wrong.
		spoiled := rapid.IntRange(0, 16).Draw(t, "wrong")
		numbers := []*int{&m, &n, &k, &lda, &ldb, &ldc, &lengthA, &lengthB, &lengthC}
		switch {
		case spoiled < 6:
			*numbers[spoiled] = rapid.IntRange(-1, 12).Draw(t, "size")
		case spoiled < 9:
			*numbers[spoiled] = rapid.IntRange(0, *numbers[spoiled]).Draw(t, "length")
		case spoiled == 9:
			tA = 'X'
		case spoiled == 10:
			tB = 'X'
		}
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 3))
		a, b, c := random[float64](rng, lengthA), random[float64](rng, lengthB), random[float64](rng, lengthC)
		scale := rapid.SampledFrom([]float64{0, 1, -0.5})
		alpha, beta := scale.Draw(t, "alpha"), scale.Draw(t, "beta")

		a32, b32, c32 := narrow(a), narrow(b), narrow(c)
		want, want32 := append([]float64(nil), c...), append([]float32(nil), c32...)
		theirs := caught(func() {
			gonum.Implementation{}.Dgemm(tA, tB, m, n, k, alpha, a, lda, b, ldb, beta, want, ldc)
		})
		ours := caught(func() { Implementation{}.Dgemm(tA, tB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc) })
		if ours != theirs {
			t.Fatalf("Dgemm: panics with %v, gonum with %v", ours, theirs)
		}
		theirs = caught(func() {
			gonum.Implementation{}.Sgemm(tA, tB, m, n, k, float32(alpha), a32, lda, b32, ldb, float32(beta), want32, ldc)
		})
		ours = caught(func() {
			Implementation{}.Sgemm(tA, tB, m, n, k, float32(alpha), a32, lda, b32, ldb, float32(beta), c32, ldc)
		})
		if ours != theirs {
			t.Fatalf("Sgemm: panics with %v, gonum with %v", ours, theirs)
		}
		for i := range c {
			if math.Abs(c[i]-want[i]) > 1e-14 || math.Abs(float64(c32[i]-want32[i])) > 1e-5 {
				t.Fatalf("element %d is %v and %v, gonum's %v and %v", i, c[i], c32[i], want[i], want32[i])
			}
		}
	})
}

// width is the smallest distance between the rows of a matrix that is r x c after the
// transposition.
func width(t blas.Transpose, r, c int) int {
	if t != blas.NoTrans {
		return max(1, r)
	}
	return max(1, c)
}

func random[T kernels.Float](rng *rand.Rand, n int) []T {
	x := make([]T, n)
	for i := range x {
		x[i] = T(2*rng.Float64() - 1)
	}
	return x
}

func narrow(x []float64) []float32 {
	y := make([]float32, len(x))
	for i, v := range x {
		y[i] = float32(v)
	}
	return y
}

// use makes gonum compute with an implementation for one test.
func use(t *testing.T, i Implementation) {
	blas64.Use(i)
	blas32.Use(i)
	t.Cleanup(func() {
		blas64.Use(gonum.Implementation{})
		blas32.Use(gonum.Implementation{})
	})
}

// TestGonumUsesIt checks gonum's matrices and factorisations with this implementation.
func TestGonumUsesIt(t *testing.T) {
	for _, isa := range kernels.Available() {
		t.Run(string(isa), func(t *testing.T) {
			use(t, Implementation{Options: kernels.Options{ISA: isa}})
			rng := rand.New(rand.NewPCG(5, 5))
			const n = 150
			a := mat.NewDense(n, n, random[float64](rng, n*n))
			var product, back, inverse mat.Dense
			product.Mul(a, a.T())
			for _, i := range []int{0, n / 2, n - 1} {
				if want := mat.Dot(a.RowView(i), a.RowView(n-1)); math.Abs(product.At(i, n-1)-want) > 1e-12 {
					t.Errorf("element (%d, %d) of A Aᵀ is %v, want %v", i, n-1, product.At(i, n-1), want)
				}
			}
			if err := inverse.Inverse(a); err != nil {
				t.Fatal(err)
			}
			back.Mul(a, &inverse)
			if !mat.EqualApprox(&back, identity(n), 1e-8) {
				t.Error("A times its inverse is not one")
			}
			var svd mat.SVD
			if !svd.Factorize(a, mat.SVDThin) {
				t.Fatal("no singular values")
			}
			var u, v mat.Dense
			svd.UTo(&u)
			svd.VTo(&v)
			back.Product(&u, mat.NewDiagDense(n, svd.Values(nil)), v.T())
			if !mat.EqualApprox(&back, a, 1e-10) {
				t.Error("U S Vᵀ is not A")
			}
		})
	}
}

func identity(n int) mat.Matrix {
	ones := make([]float64, n)
	for i := range ones {
		ones[i] = 1
	}
	return mat.NewDiagDense(n, ones)
}

func TestBlas32UsesIt(t *testing.T) {
	use(t, Implementation{})
	x := blas32.General{Rows: 2, Cols: 2, Stride: 2, Data: []float32{1, 2, 3, 4}}
	c := blas32.General{Rows: 2, Cols: 2, Stride: 2, Data: make([]float32, 4)}
	blas32.Gemm(blas.Trans, blas.NoTrans, 1, x, x, 0, c)
	if got := fmt.Sprint(c.Data); got != "[10 14 14 20]" {
		t.Errorf("Aᵀ A is %s", got)
	}
}
