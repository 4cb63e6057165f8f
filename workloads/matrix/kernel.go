package matrix

import (
	"runtime"

	gonumblas "gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"

	"github.com/batchctl/batchctl/workloads/blas"
	"github.com/batchctl/batchctl/workloads/measure"
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
	return Matrix[T]{Rows: rows, Cols: cols, Stride: cols, Data: measure.MakeAligned[T](rows * cols)}
}

// Row is row i without the padding after it.
func (m Matrix[T]) Row(i int) []T {
	return m.Data[i*m.Stride : i*m.Stride+m.Cols]
}

// columns is the part from left up to right.
func (m Matrix[T]) columns(left, right int) Matrix[T] {
	return Matrix[T]{Rows: m.Rows, Cols: right - left, Stride: m.Stride, Data: m.Data[left:]}
}

// Kernel is one way to compute C = A B on the CPU. A new kernel is a new row in
// Kernels; verification, flags and output do not change.
type Kernel struct {
	Name string
	// Title is how results call it, if not by its name.
	Title string
	// ISA is what the kernel's peak is measured with: what it uses, or, of a
	// kernel of others, the best of the machine.
	ISA     blas.ISA
	Float64 func(c, a, b Matrix[float64], threads int)
	Float32 func(c, a, b Matrix[float32], threads int)
}

// Kernels lists every kernel that runs on this machine, the default first: those
// of package blas by their instruction sets, the best first unless the
// environment holds it back; "gonum", its own routine, whatever implementation
// blas64.Use has put behind blas64; and, built with the tag openblas, "openblas".
func Kernels() []Kernel {
	all := []Kernel{packed(blas.Best())}
	for _, isa := range blas.Available() {
		if isa != blas.Best() {
			all = append(all, packed(isa))
		}
	}
	all = append(all, Kernel{Name: "gonum", Float64: gonumFloat64, Float32: gonumFloat32})
	all = append(all, independent()...)
	for i := range all {
		if all[i].Title == "" {
			all[i].Title = all[i].Name
		}
		if all[i].ISA == "" {
			all[i].ISA = blas.Available()[0]
		}
	}
	return all
}

// packed is package blas held to an instruction set.
func packed(isa blas.ISA) Kernel {
	return Kernel{Name: string(isa), ISA: isa,
		Float64: func(c, a, b Matrix[float64], threads int) { multiplyPacked(isa, c, a, b, threads) },
		Float32: func(c, a, b Matrix[float32], threads int) { multiplyPacked(isa, c, a, b, threads) }}
}

func multiplyPacked[T Float](isa blas.ISA, c, a, b Matrix[T], threads int) {
	blas.Gemm(false, false, a.Rows, b.Cols, a.Cols, 1, a.Data, a.Stride, b.Data, b.Stride, 0, c.Data, c.Stride,
		blas.Options{ISA: isa, Threads: threads})
}

// gonum starts as many goroutines as GOMAXPROCS says and offers no other way.
func gonumFloat64(c, a, b Matrix[float64], threads int) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(threads))
	gonum.Implementation{}.Dgemm(gonumblas.NoTrans, gonumblas.NoTrans, a.Rows, b.Cols, a.Cols,
		1, a.Data, a.Stride, b.Data, b.Stride, 0, c.Data, c.Stride)
}

func gonumFloat32(c, a, b Matrix[float32], threads int) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(threads))
	gonum.Implementation{}.Sgemm(gonumblas.NoTrans, gonumblas.NoTrans, a.Rows, b.Cols, a.Cols,
		1, a.Data, a.Stride, b.Data, b.Stride, 0, c.Data, c.Stride)
}
