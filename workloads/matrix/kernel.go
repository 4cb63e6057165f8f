package matrix

import (
	"runtime"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"
)

// Float is an element type.
type Float interface{ float32 | float64 }

// Matrix is row-major; row i starts at Data[i*Stride].
type Matrix[T Float] struct {
	Rows, Cols, Stride int
	Data               []T
}

// New returns a zero matrix whose rows touch.
func New[T Float](rows, cols int) Matrix[T] {
	return Matrix[T]{Rows: rows, Cols: cols, Stride: cols, Data: make([]T, rows*cols)}
}

// Row is row i without the padding behind it.
func (m Matrix[T]) Row(i int) []T {
	return m.Data[i*m.Stride : i*m.Stride+m.Cols]
}

// Kernel is one way to compute C = A B on the CPU. A new kernel is a new row in
// Kernels; verification, flags and output do not change.
type Kernel struct {
	Name    string
	Float64 func(c, a, b Matrix[float64], threads int)
	Float32 func(c, a, b Matrix[float32], threads int)
}

// Kernels lists every kernel, the default first. "gonum" is the reference: its
// own routine, whatever implementation blas64.Use has put behind blas64.
func Kernels() []Kernel {
	return []Kernel{{Name: "gonum", Float64: gonumFloat64, Float32: gonumFloat32}}
}

// gonum starts as many goroutines as GOMAXPROCS says and offers no other way.
func gonumFloat64(c, a, b Matrix[float64], threads int) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(threads))
	gonum.Implementation{}.Dgemm(blas.NoTrans, blas.NoTrans, a.Rows, b.Cols, a.Cols,
		1, a.Data, a.Stride, b.Data, b.Stride, 0, c.Data, c.Stride)
}

func gonumFloat32(c, a, b Matrix[float32], threads int) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(threads))
	gonum.Implementation{}.Sgemm(blas.NoTrans, blas.NoTrans, a.Rows, b.Cols, a.Cols,
		1, a.Data, a.Stride, b.Data, b.Stride, 0, c.Data, c.Stride)
}
