//go:build linux && (amd64 || arm64)

package cublas

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/batchctl/batchctl/workloads/gpu"
	"github.com/batchctl/batchctl/workloads/gpu/fakecuda"
	"github.com/batchctl/batchctl/workloads/gpu/libcuda"
)

// shape is of C = A B: C is m x n, and A is m x k.
type shape struct{ m, n, k int }

var shapes = []shape{{1, 1, 1}, {1, 7, 3}, {3, 1, 5}, {2, 3, 1}, {17, 5, 31}, {5, 40, 19}, {64, 33, 20}}

// precisions with the largest error, relative to the product's norm, that its rounding explains.
var precisions = []struct {
	gpu.Precision
	tolerance float64
}{{gpu.Float32, 1e-6}, {gpu.TF32, 1e-3}, {gpu.BFloat16, 5e-3}, {gpu.Float64, 1e-14}}

// TestProducts multiplies random matrices, none of them square, whose rows and columns a
// wrong order would mix up.
func TestProducts(t *testing.T) {
	testProducts(t)
}

// TestProductsLate does so on a driver that leaves all work until someone waits for it:
// what is not on the queue comes too early.
func TestProductsLate(t *testing.T) {
	t.Setenv("FAKECUDA_LATE", "1")
	testProducts(t)
}

func testProducts(t *testing.T) {
	card, library := open(t)
	for _, p := range precisions {
		for _, s := range shapes {
			t.Run(fmt.Sprintf("%s/%dx%dx%d", p.Precision, s.m, s.n, s.k), func(t *testing.T) {
				product := &product{shape: s, precision: p.Precision}
				product.fill()
				if err := card.Do(func() error { return product.multiply(card, library) }); err != nil {
					t.Fatal(err)
				}
				if e := product.error(); !(e < p.tolerance) {
					t.Errorf("the relative error is %g, above %g", e, p.tolerance)
				}
				if product.beyond {
					t.Error("memory behind the product was written to")
				}
			})
		}
	}
}

// TestRoundedOnce checks that each element of a bfloat16 product is rounded once, and no sum
// of a part of the depth is.
func TestRoundedOnce(t *testing.T) {
	card, library := open(t)
	p := &product{shape: shape{20, 30, 63}, precision: gpu.BFloat16}
	p.fill()
	if err := card.Do(func() error { return p.multiply(card, library) }); err != nil {
		t.Fatal(err)
	}
	for i := range p.m {
		for j := range p.n {
			var want, size float64
			for l := range p.k {
				product := p.a[i*p.k+l] * p.b[l*p.n+j]
				want, size = want+product, size+math.Abs(product)
			}
			if off := math.Abs(p.c[i*p.n+j] - want); !(off <= 0x1p-8*math.Abs(want)+0x1p-20*size) {
				t.Errorf("element (%d, %d) is off by %g of %g", i, j, off, want)
			}
		}
	}
}

// open is the fake driver's first card, and its cuBLAS.
func open(t *testing.T) (*gpu.Card, gpu.BLAS) {
	t.Helper()
	folder := fakecuda.Build(t)
	t.Setenv(libcuda.Variable, filepath.Join(folder, "libcuda.so.1"))
	t.Setenv("BATCHCTL_CUBLAS", filepath.Join(folder, "libcublas.so.12"))
	driver, err := libcuda.Open()
	if err != nil {
		t.Fatal(err)
	}
	card, err := gpu.Open(driver, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := card.Close(); err != nil {
			t.Error(err)
		}
	})
	library, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	return card, library
}

// product is one product: its operands as the device is given them, and what came back.
type product struct {
	shape
	precision gpu.Precision
	a, b, c   []float64
	beyond    bool
}

func (p *product) fill() {
	random := rand.New(rand.NewPCG(uint64(p.m), uint64(p.n)))
	p.a, p.b = make([]float64, p.m*p.k), make([]float64, p.k*p.n)
	for _, matrix := range [][]float64{p.a, p.b} {
		for i := range matrix {
			matrix[i] = random.NormFloat64()
		}
		copy(matrix, p.decode(p.encode(matrix))) // as far as the element type holds it
	}
}

const guard = 64 // bytes behind C

func (p *product) multiply(card *gpu.Card, library gpu.BLAS) (err error) {
	queue, err := card.NewQueue()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, queue.Close()) }()
	m, err := library.NewMultiplier(queue.Stream)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	size := int64(p.m*p.n) * p.precision.Bytes()
	var at [3]*gpu.Memory
	for i, bytes := range []int64{size + guard, int64(len(p.a)) * p.precision.Bytes(), int64(len(p.b)) * p.precision.Bytes()} {
		if at[i], err = card.Alloc(bytes); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, at[i].Free()) }()
	}
	a, b, c := p.encode(p.a), p.encode(p.b), make([]byte, size+guard)
	err = errors.Join(
		queue.Fill(at[0].Pointer, 0xff, size+guard), // NaN in every type: C is not read
		queue.CopyIn(at[1].Pointer, a), queue.CopyIn(at[2].Pointer, b),
		m.Multiply(p.precision, at[0].Pointer, at[1].Pointer, at[2].Pointer, p.m, p.n, p.k),
		queue.CopyOut(c, at[0].Pointer), queue.Synchronize())
	runtime.KeepAlive(a)
	runtime.KeepAlive(b)
	p.c, p.beyond = p.decode(c[:size]), string(c[size:]) != strings.Repeat("\xff", guard)
	return err
}

// error is the norm of the difference from the product in float64, over that product's.
func (p *product) error() float64 {
	var off, all float64
	for i := range p.m {
		for j := range p.n {
			var want float64
			for l := range p.k {
				want += p.a[i*p.k+l] * p.b[l*p.n+j]
			}
			d := p.c[i*p.n+j] - want
			off, all = off+d*d, all+want*want
		}
	}
	return math.Sqrt(off / all)
}

func (p *product) encode(values []float64) []byte {
	var all []byte
	for _, v := range values {
		switch bits := math.Float32bits(float32(v)); p.precision {
		case gpu.Float64:
			all = binary.NativeEndian.AppendUint64(all, math.Float64bits(v))
		case gpu.BFloat16:
			all = binary.NativeEndian.AppendUint16(all, uint16((bits+0x7fff+bits>>16&1)>>16))
		default:
			all = binary.NativeEndian.AppendUint32(all, bits)
		}
	}
	return all
}

func (p *product) decode(data []byte) []float64 {
	all := make([]float64, len(data)/int(p.precision.Bytes()))
	for i := range all {
		switch p.precision {
		case gpu.Float64:
			all[i] = math.Float64frombits(binary.NativeEndian.Uint64(data[8*i:]))
		case gpu.BFloat16:
			all[i] = float64(math.Float32frombits(uint32(binary.NativeEndian.Uint16(data[2*i:])) << 16))
		default:
			all[i] = float64(math.Float32frombits(binary.NativeEndian.Uint32(data[4*i:])))
		}
	}
	return all
}

func TestVersion(t *testing.T) {
	_, library := open(t)
	if got := library.Version(); got != "cuBLAS 12.6.4" {
		t.Errorf("got %s", got)
	}
}

func TestMultiplierErrors(t *testing.T) {
	for _, test := range []struct{ fail, want string }{
		{"cublasCreate_v2:14:1", "cublasCreate: cuBLAS status 14 (INTERNAL_ERROR)"},
		{"cublasSetStream_v2:1:1", "cublasSetStream: cuBLAS status 1 (NOT_INITIALIZED): "},
		{"cublasSetMathMode:7:1", "cublasSetMathMode: cuBLAS status 7 (INVALID_VALUE)"},
	} {
		t.Run(test.fail, func(t *testing.T) {
			t.Setenv("FAKECUDA_FAIL", test.fail)
			card, library := open(t)
			err := card.Do(func() error {
				_, err := library.NewMultiplier(0)
				return err
			})
			if err == nil || !strings.HasPrefix(err.Error(), test.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestOpenErrors(t *testing.T) {
	text := filepath.Join(t.TempDir(), "libcublas.so.12")
	for _, test := range []struct{ path, want string }{
		{text, "BATCHCTL_CUBLAS is not a library: " + text},
		{"libm.so.6", "has no function cublasGetProperty"},
	} {
		t.Setenv("BATCHCTL_CUBLAS", test.path)
		_, err := Open()
		if _, ok := errors.AsType[*gpu.UnavailableError](err); !ok || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v", test.path, err)
		}
	}
}

func TestNotInTheImage(t *testing.T) {
	t.Setenv("BATCHCTL_CUBLAS", "")
	_, err := Open()
	if err == nil {
		t.Skip("this machine has cuBLAS")
	}
	if _, ok := errors.AsType[*gpu.UnavailableError](err); !ok || !strings.Contains(err.Error(), "cuBLAS is not in this image; ") {
		t.Errorf("got %v", err)
	}
}
