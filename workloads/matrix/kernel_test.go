package matrix

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"
)

// padded returns a matrix with a stride above its width and NaN in the gaps.
func padded[T Float](rows, cols, gap int) Matrix[T] {
	m := Matrix[T]{Rows: rows, Cols: cols, Stride: cols + gap, Data: make([]T, rows*(cols+gap))}
	for i := range m.Data {
		m.Data[i] = T(math.NaN())
	}
	return m
}

// testKernel compares a kernel with the mathematical sum, for any shape and stride.
func testKernel[T Float](t *rapid.T, kernel func(c, a, b Matrix[T], threads int)) {
	size := rapid.IntRange(1, 40)
	m, k, n := size.Draw(t, "m"), size.Draw(t, "k"), size.Draw(t, "n")
	gap := rapid.IntRange(0, 3)
	a, b, c := padded[T](m, k, gap.Draw(t, "gap a")), padded[T](k, n, gap.Draw(t, "gap b")), padded[T](m, n, gap.Draw(t, "gap c"))
	seed := rapid.Uint64().Draw(t, "seed")
	ctx := t.Context()
	if err := fill(ctx, a, seed, 1, 1); err != nil {
		t.Fatal(err)
	}
	if err := fill(ctx, b, seed, 2, 1); err != nil {
		t.Fatal(err)
	}
	kernel(c, a, b, rapid.IntRange(1, 3).Draw(t, "threads"))
	limit := tolerance(a, b)
	for i := range m {
		for j := range n {
			want := 0.0
			for l := range k {
				want += float64(a.Row(i)[l]) * float64(b.Row(l)[j])
			}
			if got := float64(c.Row(i)[j]); !(math.Abs(got-want) <= limit) {
				t.Fatalf("element (%d, %d) is %v, want %v", i, j, got, want)
			}
		}
		for j := n; j < c.Stride && i*c.Stride+j < len(c.Data); j++ {
			if v := c.Data[i*c.Stride+j]; v == v {
				t.Fatalf("wrote %v behind row %d", v, i)
			}
		}
	}
}

func TestKernels(t *testing.T) {
	for _, k := range Kernels() {
		t.Run(k.Name+"/float64", rapid.MakeCheck(func(t *rapid.T) { testKernel(t, k.Float64) }))
		t.Run(k.Name+"/float32", rapid.MakeCheck(func(t *rapid.T) { testKernel(t, k.Float32) }))
	}
}

// TestKernelsKeepNaN checks that a NaN or an infinity in A reaches its row of C and no other.
func TestKernelsKeepNaN(t *testing.T) {
	for _, k := range Kernels() {
		for _, bad := range []float64{math.NaN(), math.Inf(1)} {
			a, b, c := New[float64](5, 5), New[float64](5, 5), New[float64](5, 5)
			for i := range a.Data {
				a.Data[i], b.Data[i] = 1, 1
			}
			a.Row(2)[3] = bad
			k.Float64(c, a, b, 2)
			for i, v := range c.Data {
				if special := v-v != 0; special != (i/5 == 2) {
					t.Errorf("%s, %v: element %d is %v", k.Name, bad, i, v)
				}
			}
		}
	}
}

func TestFillDependsOnSeedOnly(t *testing.T) {
	sums := map[string]string{}
	for _, threads := range []int{1, 2, 5} {
		for seed := range uint64(3) {
			m := New[float32](100, 37)
			if err := fill(t.Context(), m, seed, 1, threads); err != nil {
				t.Fatal(err)
			}
			if most := maxAbs(m); most > 1 || most < 0.99 {
				t.Errorf("largest element is %v", most)
			}
			key := fmt.Sprint(seed)
			if before, found := sums[key]; found && before != checksum(m) {
				t.Errorf("seed %d, %d threads: another matrix", seed, threads)
			}
			sums[key] = checksum(m)
		}
	}
	if sums["0"] == sums["1"] || sums["1"] == sums["2"] {
		t.Errorf("seeds give equal matrices: %v", sums)
	}
}

func TestChecksumIgnoresStride(t *testing.T) {
	m, wide := New[float64](3, 4), padded[float64](3, 4, 2)
	for i := range 3 {
		for j := range 4 {
			m.Row(i)[j] = float64(i*10 + j)
			wide.Row(i)[j] = m.Row(i)[j]
		}
	}
	if checksum(m) != checksum(wide) {
		t.Error("the padding counts")
	}
	wide.Row(2)[3]++
	if checksum(m) == checksum(wide) {
		t.Error("a changed element does not count")
	}
}

func benchmarkKernel[T Float](b *testing.B, size int, kernel func(c, a, b Matrix[T], threads int)) {
	x, y, z := New[T](size, size), New[T](size, size), New[T](size, size)
	if err := fill(b.Context(), x, 1, 1, 1); err != nil {
		b.Fatal(err)
	}
	if err := fill(b.Context(), y, 1, 2, 1); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		kernel(z, x, y, 1)
	}
	flop := 2 * math.Pow(float64(size), 3) * float64(b.N)
	b.ReportMetric(flop/b.Elapsed().Seconds()/1e9, "GFLOP/s")
}

func BenchmarkKernels(b *testing.B) {
	for _, k := range Kernels() {
		for _, size := range []int{256, 1000} {
			b.Run(fmt.Sprintf("%s/float64/%d", k.Name, size), func(b *testing.B) { benchmarkKernel(b, size, k.Float64) })
			b.Run(fmt.Sprintf("%s/float32/%d", k.Name, size), func(b *testing.B) { benchmarkKernel(b, size, k.Float32) })
		}
	}
}
