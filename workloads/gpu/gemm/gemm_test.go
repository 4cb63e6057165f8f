//go:build linux && (amd64 || arm64)

package gemm

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/batchctl/batchctl/workloads/gpu"
	"github.com/batchctl/batchctl/workloads/gpu/fakecuda"
	"github.com/batchctl/batchctl/workloads/gpu/libcuda"
)

// onCard runs f within Do of a card of that compute capability, of the fake driver, with the
// kernels loaded.
func onCard(t *testing.T, capability int, f func(t *testing.T, b *bench)) {
	t.Helper()
	if os.Getenv(sanitized) == "" {
		t.Setenv(libcuda.Variable, filepath.Join(fakecuda.Build(t), "libcuda.so.1"))
	}
	t.Setenv("FAKECUDA_CC", fmt.Sprint(capability))
	d, err := libcuda.Open()
	must(t, err)
	c, err := gpu.Open(d, 0)
	must(t, err)
	defer func() {
		if err := c.Close(); err != nil && !t.Failed() {
			t.Error(err) // what was not freed
		}
	}()
	must(t, c.Do(func() error {
		b := &bench{T: t, card: c}
		b.kernels, err = Load(c)
		must(t, err)
		b.queue, err = c.NewQueue()
		must(t, err)
		f(t, b)
		must(t, b.kernels.Close())
		return b.queue.Close()
	}))
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// bench is a card with its kernels.
type bench struct {
	*testing.T
	card    *gpu.Card
	kernels *Kernels
	queue   *gpu.Queue
}

// margin is the length of what lies around each matrix: numbers that are none, so that
// what is read there and counts is seen, and what is written there too.
var margin = 512

// put takes memory for a matrix that begins so many bytes after a multiple of 16.
func (b *bench) put(content []byte, offset int) *gpu.Memory {
	b.Helper()
	around := bytes.Repeat([]byte{0xff}, margin)
	all := append(append(append([]byte{}, around...), make([]byte, offset)...), content...)
	all = append(all, around...)
	m, err := b.card.Alloc(int64(len(all)))
	must(b, err)
	must(b, b.queue.CopyIn(m.Pointer, all))
	must(b, b.queue.Synchronize())
	return m
}

// take reads a matrix back and checks what lies around it.
func (b *bench) take(m *gpu.Memory, offset int) []byte {
	b.Helper()
	all := make([]byte, m.Bytes)
	must(b, b.queue.CopyOut(all, m.Pointer))
	must(b, b.queue.Synchronize())
	content := all[margin+offset : len(all)-margin]
	around := bytes.Repeat([]byte{0xff}, margin)
	if !bytes.Equal(all[:margin], around) || !bytes.Equal(all[len(all)-margin:], around) {
		b.Error("the memory around C was written")
	}
	return content
}

// multiply is the product by the card's kernels.
func (b *bench) multiply(p gpu.Precision, x, y matrix, offset int) matrix {
	b.Helper()
	size := x.rows * y.columns * int(p.Bytes())
	ma, mb, mc := b.put(x.bytes(p), offset), b.put(y.bytes(p), offset), b.put(bytes.Repeat([]byte{0xff}, size), offset)
	at := func(m *gpu.Memory) gpu.Pointer { return m.Pointer + gpu.Pointer(margin+offset) }
	must(b, b.kernels.Multiply(b.queue, p, at(mc), at(ma), at(mb), x.rows, y.columns, x.columns))
	got := matrixOf(p, x.rows, y.columns, b.take(mc, offset))
	for _, m := range []*gpu.Memory{ma, mb, mc} {
		must(b, m.Free())
	}
	return got
}

// check says what is wrong with a product.
func check(p gpu.Precision, x, y, got matrix) error {
	want := x.times(y)
	switch p {
	case gpu.TF32:
		if e := relative(got, want); !(e <= 1e-3) {
			return fmt.Errorf("relative error %g", e)
		}
		if e := relative(got, x.tf32().times(y.tf32())); !(e <= 1e-5) {
			return fmt.Errorf("relative error %g against the product of the rounded operands", e)
		}
	case gpu.BFloat16:
		// The operands are bfloat16 already; the result is rounded by up to 2^-9 of itself.
		if e := relative(got, want); !(e <= 2.5e-3) {
			return fmt.Errorf("relative error %g", e)
		}
	default:
		u := 0x1p-24
		if p == gpu.Float64 {
			u = 0x1p-53
		}
		if e, limit := worst(got, want), 2*u*float64(x.columns); !(e <= limit) {
			return fmt.Errorf("error %g, above %g", e, limit)
		}
	}
	return nil
}

// computations are all designs: a precision on a card.
var computations = []struct {
	precision  gpu.Precision
	capability int
	name       string
}{
	{gpu.Float32, 70, "gemm_f32 128x128x8"}, {gpu.Float32, 90, "gemm_f32_wide 128x128x8"},
	{gpu.Float64, 86, "gemm_f64 128x64x8"}, {gpu.Float64, 80, "gemm_f64_mma 128x128x8"}, {gpu.Float64, 90, "gemm_f64_hopper 128x128x8"},
	{gpu.TF32, 80, "gemm_tf32 128x256x16"}, {gpu.BFloat16, 89, "gemm_bf16 128x256x32"},
	{gpu.TF32, 90, "gemm_tf32_wgmma 256x128x32"}, {gpu.BFloat16, 90, "gemm_bf16_wgmma 128x256x64"},
}

func onEach(t *testing.T, f func(t *testing.T, b *bench, p gpu.Precision)) {
	for _, c := range computations {
		t.Run(fmt.Sprintf("%s on %d", c.precision, c.capability), func(t *testing.T) {
			onCard(t, c.capability, func(t *testing.T, b *bench) { f(t, b, c.precision) })
		})
	}
}

// sizes are m, n and depth: the smallest, all about the edges of tiles and steps, flat
// and long ones, and so many tiles that their order changes.
func sizes(p gpu.Precision, r *rand.Rand) [][3]int {
	all := [][3]int{
		{1, 1, 1}, {1, 8, 8}, {8, 1, 1}, {3, 5, 7}, {16, 16, 16}, {128, 256, 32}, {128, 128, 8}, {127, 255, 31}, {129, 264, 40}, {129, 257, 33},
		{1, 520, 16}, {260, 8, 16}, {64, 64, 200}, {40, 72, 136}, {17*128 + 3, 272, 8}, {2051, 3, 9},
	}
	for range 8 {
		all = append(all, [3]int{1 + r.IntN(200), 1 + r.IntN(300), 1 + r.IntN(70)})
	}
	return all
}

func TestMultiply(t *testing.T) {
	onEach(t, func(t *testing.T, b *bench, p gpu.Precision) {
		r := rand.New(rand.NewPCG(1, 2))
		for i, size := range sizes(p, r) {
			x, y := randomMatrix(r, p, size[0], size[2]), randomMatrix(r, p, size[2], size[1])
			offset := i % 2 * int(p.Bytes()) // the second is not aligned
			if err := check(p, x, y, b.multiply(p, x, y, 0)); err != nil {
				t.Errorf("%v: %v", size, err)
			}
			if offset == 0 {
				continue
			}
			if err := check(p, x, y, b.multiply(p, x, y, offset)); err != nil {
				t.Errorf("%v not aligned: %v", size, err)
			}
		}
	})
}

// sanitized is set in a process that has the kernels with AddressSanitizer.
const sanitized = "BATCHCTL_TEST_SANITIZED"

// TestEdges has nothing around the matrices. TestSanitized runs it so that every access
// beyond them is found, also one that changes nothing.
func TestEdges(t *testing.T) {
	before := margin
	margin = 0
	defer func() { margin = before }()
	onEach(t, func(t *testing.T, b *bench, p gpu.Precision) {
		r := rand.New(rand.NewPCG(5, 6))
		for _, size := range [][3]int{{1, 1, 1}, {8, 16, 7}, {8, 7, 16}, {130, 264, 40}, {129, 257, 33}} {
			x, y := randomMatrix(r, p, size[0], size[2]), randomMatrix(r, p, size[2], size[1])
			if err := check(p, x, y, b.multiply(p, x, y, 0)); err != nil {
				t.Errorf("%v: %v", size, err)
			}
		}
	})
}

func TestSanitized(t *testing.T) {
	if os.Getenv(sanitized) != "" {
		t.Skip("this is the process with the sanitizer")
	}
	folder, environment := fakecuda.BuildSanitized(t)
	cmd := exec.Command(os.Args[0], "-test.run=^TestEdges$")
	cmd.Env = append(append(os.Environ(), environment...), sanitized+"=1", libcuda.Variable+"="+filepath.Join(folder, "libcuda.so.1"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestIndividual puts one number into each matrix, so that an element at a wrong place is
// seen, whatever its size.
func TestIndividual(t *testing.T) {
	onEach(t, func(t *testing.T, b *bench, p gpu.Precision) {
		const n = 144
		identity, counting := newMatrix(n, n), newMatrix(n, n)
		for i := range n {
			identity.data[i*n+i] = 1
			for j := range n {
				counting.data[i*n+j] = float64((i*3+j*7)%256 + 1)
			}
		}
		if e := worst(b.multiply(p, identity, counting, 0), counting); e != 0 {
			t.Errorf("identity times a matrix differs from it by %v", e)
		}
		if e := worst(b.multiply(p, counting, identity, 0), counting); e != 0 {
			t.Errorf("a matrix times identity differs from it by %v", e)
		}
	})
}

// notNumbers are NaN as Go, the CPU, and the GPU write it, and with every bit.
var notNumbers = []uint32{0x7fc00000, 0xffc00000, 0x7fffffff, 0xffffffff}

func TestNotNumbers(t *testing.T) {
	onEach(t, func(t *testing.T, b *bench, p gpu.Precision) {
		r := rand.New(rand.NewPCG(3, 4))
		for i, bits := range notNumbers {
			for _, n := range []int{40, 33} {
				x, y := randomMatrix(r, p, n, n), randomMatrix(r, p, n, n)
				row, column := 5+i, 17+i
				x.data[row*n+3] = float64(math.Float32frombits(bits))
				y.data[9*n+column] = math.Inf(1)
				x.data[2*n+9] = 0 // and zero times infinity
				got := b.multiply(p, x, y, 0)
				for at, v := range got.data {
					none := at/n == row || at == 2*n+column
					if none != math.IsNaN(v) || !none && (at%n == column) != math.IsInf(v, 0) {
						t.Fatalf("%#x, size %d: element %d,%d is %v", bits, n, at/n, at%n, v)
					}
				}
			}
		}
	})
}

func TestEmpty(t *testing.T) {
	onEach(t, func(t *testing.T, b *bench, p gpu.Precision) {
		for _, v := range b.multiply(p, newMatrix(3, 0), newMatrix(0, 5), 0).data {
			if v != 0 {
				t.Fatalf("an empty sum is %v", v)
			}
		}
		must(t, b.kernels.Multiply(b.queue, p, 0, 0, 0, 0, 5, 3))
		must(t, b.kernels.Multiply(b.queue, p, 0, 0, 0, 5, 0, 3))
	})
}

func TestRefused(t *testing.T) {
	onCard(t, 75, func(t *testing.T, b *bench) {
		for _, test := range []struct {
			precision gpu.Precision
			m, n      int
			want      string
		}{
			{gpu.BFloat16, 1, 1, "has no tensor cores for bfloat16: they need compute capability 8.0, and it has 7.5; use float32"},
			{gpu.TF32, 1, 1, "has no tensor cores for tf32"},
			{"float16", 1, 1, `unknown precision "float16"`},
			{gpu.Float32, -1, 1, "multiply matrices of -1x1 by 1x1: a size must be from 0 to 1073741824"},
			{gpu.Float32, 1 << 31, 1, "a size must be"},
			{gpu.Float32, 1 << 30, 1 << 30, "has 70368744177664 tiles, and a launch accepts at most 2147483647"},
		} {
			err := b.kernels.Multiply(b.queue, test.precision, 0, 0, 0, test.m, test.n, 1)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s: got %v, want %s", test.precision, err, test.want)
			}
		}
		if err := b.kernels.Supports(gpu.BFloat16); err == nil || b.kernels.Name(gpu.BFloat16) != "" {
			t.Errorf("bfloat16 on 7.5: %v, %q", err, b.kernels.Name(gpu.BFloat16))
		}
	})
}

func TestNames(t *testing.T) {
	for _, c := range computations {
		onCard(t, c.capability, func(t *testing.T, b *bench) {
			if err := b.kernels.Supports(c.precision); err != nil || b.kernels.Name(c.precision) != c.name {
				t.Errorf("%s on %d: %v, %q", c.precision, c.capability, err, b.kernels.Name(c.precision))
			}
		})
	}
}

func TestClosed(t *testing.T) {
	onCard(t, 90, func(t *testing.T, b *bench) {
		k, err := Load(b.card)
		must(t, err)
		must(t, k.Close())
		must(t, k.Close())
		if err := k.Multiply(b.queue, gpu.Float32, 0, 0, 0, 1, 1, 1); err == nil || !strings.Contains(err.Error(), "closed") {
			t.Errorf("got %v", err)
		}
	})
}

func TestPeak(t *testing.T) {
	onEach(t, func(t *testing.T, b *bench, p gpu.Precision) {
		rate, err := b.kernels.Peak(b.queue, p)
		must(t, err)
		if !(rate > 1e3 && rate < 1e15) {
			t.Errorf("the peak is %g FLOP/s", rate)
		}
	})
}
