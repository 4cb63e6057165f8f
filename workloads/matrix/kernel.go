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

// New returns a zero matrix without padding after its rows.
func New[T Float](rows, cols int) Matrix[T] {
	return Matrix[T]{Rows: rows, Cols: cols, Stride: cols, Data: measure.MakeAligned[T](rows * cols)}
}

// Row returns row i without padding.
func (m Matrix[T]) Row(i int) []T {
	return m.Data[i*m.Stride : i*m.Stride+m.Cols]
}

// columns returns the columns from left up to right, in the same memory.
func (m Matrix[T]) columns(left, right int) Matrix[T] {
	return Matrix[T]{Rows: m.Rows, Cols: right - left, Stride: m.Stride, Data: m.Data[left:]}
}

// Kernel is one implementation of C = A B on the CPU. A new kernel is a new row in Kernels;
// verification, flags and output do not change.
type Kernel struct {
	Name string
	// Title is its name in results, if it differs from Name.
	Title string
	// ISA is the instruction set of its peak: the one that it uses or, for a kernel of another
	// library, the machine's best.
	ISA     blas.ISA
	Float64 func(c, a, b Matrix[float64], threads int)
	Float32 func(c, a, b Matrix[float32], threads int)
}

// Kernels lists every kernel that the machine can run, the default first: those of package blas,
// the best instruction set first unless the environment limits it; "gonum", gonum's own routine,
// whatever implementation blas64.Use has set; and, with the build tag openblas, "openblas".
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

// packed is the kernel of package blas for an instruction set.
func packed(isa blas.ISA) Kernel {
	return Kernel{Name: string(isa), ISA: isa,
		Float64: func(c, a, b Matrix[float64], threads int) { multiplyPacked(isa, c, a, b, threads) },
		Float32: func(c, a, b Matrix[float32], threads int) { multiplyPacked(isa, c, a, b, threads) }}
}

func multiplyPacked[T Float](isa blas.ISA, c, a, b Matrix[T], threads int) {
	blas.Gemm(false, false, a.Rows, b.Cols, a.Cols, 1, a.Data, a.Stride, b.Data, b.Stride, 0, c.Data, c.Stride,
		blas.Options{ISA: isa, Threads: threads})
}

// gonumFloat64 sets GOMAXPROCS for the call: gonum has no other limit on its goroutines.
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
