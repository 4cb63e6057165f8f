//go:build linux && (amd64 || arm64)

package cublas

import (
	"fmt"
	"math"
	"os"
	"unsafe"

	"github.com/batchctl/batchctl/workloads/gpu"
)

// arithmetic is a precision in cuBLAS's terms: the cudaDataType of all three matrices, and the
// cublasComputeType_t.
type arithmetic struct{ element, compute int32 }

// The numbers of library_types.h and cublas_api.h.
const (
	float32Type  = 0
	float64Type  = 1
	bfloat16Type = 14

	compute32     = 68
	compute64     = 70
	compute32TF32 = 77

	noTranspose      = 0
	defaultAlgorithm = -1
)

// arithmetics are the supported precisions. cuBLAS sums bfloat16 in float32.
var arithmetics = map[gpu.Precision]arithmetic{
	gpu.Float32:  {float32Type, compute32},
	gpu.TF32:     {float32Type, compute32TF32},
	gpu.BFloat16: {bfloat16Type, compute32},
	gpu.Float64:  {float64Type, compute64},
}

// multiplier is a cublasHandle_t. All calls must be on the thread of its card.
type multiplier struct {
	f      functions
	handle uintptr
}

// Multiply queues C = A B on the stream. cuBLAS is column-major, so it sees the transposed matrices,
// and the call computes C^T = B^T A^T.
func (m *multiplier) Multiply(p gpu.Precision, c, a, b gpu.Pointer, rows, columns, inner int) error {
	how, known := arithmetics[p]
	if !known {
		return fmt.Errorf("multiply with cuBLAS: unknown precision %q", p)
	}
	if err := overridden(p, os.Getenv("NVIDIA_TF32_OVERRIDE")); err != nil {
		return err
	}
	for _, n := range []int{rows, columns, inner} {
		if n < 1 || n > math.MaxInt32 {
			return fmt.Errorf("multiply %d x %d by %d x %d: cuBLAS accepts sides from 1 to %d", rows, inner, inner,
				columns, math.MaxInt32)
		}
	}
	// The scalars have the compute type. The call reads them before it returns.
	one, zero := unsafe.Pointer(new(float32(1))), unsafe.Pointer(new(float32(0)))
	if p == gpu.Float64 {
		one, zero = unsafe.Pointer(new(float64(1))), unsafe.Pointer(new(float64(0)))
	}
	r, n, k := int32(rows), int32(columns), int32(inner)
	return check("cublasGemmEx", m.f.multiply(m.handle, noTranspose, noTranspose, n, r, k, one,
		b, how.element, n, a, how.element, k, zero, c, how.element, n, how.compute, defaultAlgorithm))
}

// overridden is an error if NVIDIA_TF32_OVERRIDE changes the precision, because the result would have
// the wrong name. 0 turns TF32 off in NVIDIA's libraries, as NVIDIA documents; 1 makes them compute
// float32 in TF32.
func overridden(p gpu.Precision, value string) error {
	if value == "" || p != gpu.TF32 && p != gpu.Float32 || (p == gpu.TF32) == (value != "0") {
		return nil
	}
	return fmt.Errorf("multiply in %s with cuBLAS: NVIDIA_TF32_OVERRIDE=%s would change the precision; unset it", p,
		value)
}

func (m *multiplier) Close() error { return check("cublasDestroy", m.f.destroy(m.handle)) }
