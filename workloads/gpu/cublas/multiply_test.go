//go:build linux && (amd64 || arm64)

package cublas

import (
	"errors"
	"math"
	"strings"
	"testing"
	"unsafe"

	"github.com/batchctl/batchctl/workloads/gpu"
)

// asked is what cublasGemmEx was called with; its scalars as numbers.
type asked struct {
	m, n, k, lda, ldb, ldc         int32
	a, b, c                        gpu.Pointer
	typeA, typeB, typeC, compute   int32
	alpha, beta                    float64
	transposeA, transposeB, choice int32
}

// recorder is a cuBLAS in Go that notes the call and answers with a status.
func recorder(to *asked, status int32) *multiplier {
	return &multiplier{f: functions{multiply: func(_ uintptr, transposeA, transposeB, m, n, k int32, alpha unsafe.Pointer,
		a gpu.Pointer, typeA, lda int32, b gpu.Pointer, typeB, ldb int32, beta unsafe.Pointer,
		c gpu.Pointer, typeC, ldc, compute, algorithm int32) int32 {
		*to = asked{m, n, k, lda, ldb, ldc, a, b, c, typeA, typeB, typeC, compute, scalar(compute, alpha), scalar(compute, beta), transposeA, transposeB, algorithm}
		return status
	}}}
}

func scalar(compute int32, p unsafe.Pointer) float64 {
	if compute == 70 {
		return *(*float64)(p)
	}
	return float64(*(*float32)(p))
}

func TestCall(t *testing.T) {
	for _, test := range []struct {
		precision        gpu.Precision
		element, compute int32
	}{{gpu.Float32, 0, 68}, {gpu.TF32, 0, 77}, {gpu.BFloat16, 14, 68}, {gpu.Float64, 1, 70}} {
		var got asked
		if err := recorder(&got, 0).Multiply(test.precision, 300, 100, 200, 2, 3, 5); err != nil {
			t.Fatal(err)
		}
		e := test.element
		want := asked{m: 3, n: 2, k: 5, lda: 3, ldb: 5, ldc: 3, a: 200, b: 100, c: 300, typeA: e, typeB: e, typeC: e, compute: test.compute, alpha: 1, choice: -1}
		if got != want {
			t.Errorf("%s:\ngot  %+v\nwant %+v", test.precision, got, want)
		}
	}
}

func TestRefused(t *testing.T) {
	for _, test := range []struct {
		precision gpu.Precision
		m, n, k   int
		want      string
	}{
		{gpu.Float32, 0, 1, 1, "multiply 0 x 1 by 1 x 1: cuBLAS accepts sides from 1 to 2147483647"},
		{gpu.Float32, 1, -1, 1, "accepts sides"},
		{gpu.Float64, 1, 1, math.MaxInt32 + 1, "multiply 1 x 2147483648 by 2147483648 x 1: cuBLAS accepts sides"},
		{"float16", 1, 1, 1, `unknown precision "float16"`},
	} {
		var got asked
		err := recorder(&got, 0).Multiply(test.precision, 3, 1, 2, test.m, test.n, test.k)
		if err == nil || !strings.Contains(err.Error(), test.want) || got != (asked{}) {
			t.Errorf("%v: got %v", test, err)
		}
	}
}

func TestStatuses(t *testing.T) {
	for _, test := range []struct {
		status int32
		want   string
	}{
		{1, "cublasGemmEx: cuBLAS status 1 (NOT_INITIALIZED): there is no usable GPU, or"},
		{7, "cublasGemmEx: cuBLAS status 7 (INVALID_VALUE)"},
		{3, "cublasGemmEx: cuBLAS status 3 (ALLOC_FAILED): the device has no memory left"},
		{15, "cublasGemmEx: cuBLAS status 15 (NOT_SUPPORTED): "},
		{99, "cublasGemmEx: cuBLAS status 99 (UNKNOWN)"},
	} {
		err := recorder(new(asked), test.status).Multiply(gpu.Float32, 3, 1, 2, 1, 1, 1)
		failed, ok := errors.AsType[*Error](err)
		if !ok || failed.Status != int(test.status) || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("%d: got %v", test.status, err)
		}
	}
}

func TestOverride(t *testing.T) {
	for _, test := range []struct {
		value     string
		precision gpu.Precision
		refused   bool
	}{
		{"", gpu.TF32, false}, {"0", gpu.TF32, true}, {"1", gpu.TF32, false},
		{"", gpu.Float32, false}, {"0", gpu.Float32, false}, {"1", gpu.Float32, true},
		{"0", gpu.Float64, false}, {"1", gpu.Float64, false}, {"0", gpu.BFloat16, false}, {"1", gpu.BFloat16, false},
	} {
		t.Setenv("NVIDIA_TF32_OVERRIDE", test.value)
		err := recorder(new(asked), 0).Multiply(test.precision, 3, 1, 2, 1, 1, 1)
		if (err != nil) != test.refused || err != nil && !strings.Contains(err.Error(), "unset it") {
			t.Errorf("%+v: got %v", test, err)
		}
	}
}
