package drivertest

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/batchctl/batchctl/workloads/gpu"
)

// bench is a queue with a library of the probe kernels, and memory on the host and the device.
type bench struct {
	t       *testing.T
	c       *gpu.Card
	q       *gpu.Queue
	library *gpu.Library
	host    *gpu.HostMemory
	device  *gpu.Memory
}

// newBench allocates size bytes on each side.
func newBench(t *testing.T, c *gpu.Card, size int64) *bench {
	t.Helper()
	return &bench{t, c, get(c.NewQueue())(t), get(c.Load(probe))(t), get(c.AllocHost(size))(t), get(c.Alloc(size))(t)}
}

// close frees everything; tests call it only when they succeed.
func (b *bench) close() {
	b.t.Helper()
	must(b.t, errors.Join(b.device.Free(), b.host.Free(), b.library.Close(), b.q.Close()))
}

func (b *bench) kernel(name string, shared int) *gpu.Kernel {
	b.t.Helper()
	return get(b.library.Kernel(name, shared))(b.t)
}

// put copies numbers to byte at of the device's memory; take waits and copies count numbers back.
func (b *bench) put(at int, numbers []uint32) {
	b.t.Helper()
	for i, n := range numbers {
		binary.NativeEndian.PutUint32(b.host.Data[at+4*i:], n)
	}
	must(b.t, b.q.CopyIn(b.device.Pointer+gpu.Pointer(at), b.host.Data[at:at+4*len(numbers)]))
}

func (b *bench) take(at, count int) []uint32 {
	b.t.Helper()
	from := b.host.Data[at : at+4*count]
	must(b.t, b.q.CopyOut(from, b.device.Pointer+gpu.Pointer(at)))
	must(b.t, b.q.Synchronize())
	numbers := make([]uint32, count)
	for i := range numbers {
		numbers[i] = binary.NativeEndian.Uint32(from[4*i:])
	}
	return numbers
}

// testBadPTX checks that invalid PTX is an error, and that a library loads after it.
func testBadPTX(t *testing.T, c *gpu.Card) {
	// Drivers differ in the code: CUDA_ERROR_INVALID_IMAGE or CUDA_ERROR_INVALID_PTX.
	const invalidImage, invalidPTX = 200, 218
	_, err := c.Load("this is no PTX")
	wantCode(t, "load", err, invalidImage, invalidPTX)
	must(t, get(c.Load(probe))(t).Close())
}

// testNotFound checks the error for unknown kernels and variables.
func testNotFound(t *testing.T, c *gpu.Card) {
	l := get(c.Load(probe))(t)
	_, err := l.Kernel("probe_nothing", 0)
	wantCode(t, "kernel", err, gpu.CodeNotFound)
	_, _, err = l.Variable("probe_nothing")
	wantCode(t, "variable", err, gpu.CodeNotFound)
	if _, err := l.Kernel("probe_reverse", c.Info.SharedBytes+1); err == nil {
		t.Error("a kernel may take more shared memory than the device has")
	}
	must(t, l.Close())
}

// testConstant writes a table to constant memory and has a kernel read it.
func testConstant(t *testing.T, c *gpu.Card) {
	b := newBench(t, c, 64)
	table, size, err := b.library.Variable("probe_table")
	must(t, err)
	if size != 64 {
		t.Fatalf("the table has %d bytes", size)
	}
	want := make([]uint32, 16)
	for i := range want {
		want[i] = uint32(i*i + 7)
	}
	b.put(0, want)
	// By way of the device's memory, because the binding has no other copy to a variable.
	must(t, b.q.CopyOver(table, b.device.Pointer, size))
	must(t, b.q.Fill(b.device.Pointer, 0, 64))
	must(t, b.q.Launch(b.kernel("probe_constant", 0), gpu.Dim{1, 1, 1}, gpu.Dim{16, 1, 1}, 0, b.device.Pointer))
	if got := b.take(0, 16); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	b.close()
}

// testArguments passes extreme values of each argument type through a kernel.
func testArguments(t *testing.T, c *gpu.Card) {
	b := newBench(t, c, 40)
	k := b.kernel("probe_arguments", 0) // writes its arguments to memory
	for _, want := range []struct {
		a int32
		b uint32
		c int64
		d float32
		e float64
	}{
		{-1, math.MaxUint32, -1, -0.5, math.Pi},
		{math.MinInt32, 1 << 31, math.MinInt64, math.MaxFloat32, math.SmallestNonzeroFloat64},
		{math.MaxInt32, 7, math.MaxInt64, math.SmallestNonzeroFloat32, -math.MaxFloat64},
	} {
		must(t, b.q.Launch(k, gpu.Dim{1, 1, 1}, gpu.Dim{1, 1, 1}, 0, b.device.Pointer, want.a, want.b, want.c, want.d,
			want.e))
		got := b.take(0, 10)
		// The kernel widens each argument to 64 bits, and writes them as pairs of words.
		cells := make([]uint64, 5)
		for i := range cells {
			cells[i] = uint64(got[2*i]) | uint64(got[2*i+1])<<32
		}
		if int64(cells[0]) != int64(want.a) || cells[1] != uint64(want.b) || int64(cells[2]) != want.c ||
			math.Float64frombits(cells[3]) != float64(want.d) || math.Float64frombits(cells[4]) != want.e {
			t.Errorf("the kernel was given %#x, want %v", cells, want)
		}
	}
	b.close()
}

// testIndices has every thread write its indices, so that grid and block reach the device unchanged.
func testIndices(t *testing.T, c *gpu.Card) {
	grid, block := gpu.Dim{3, 2, 4}, gpu.Dim{4, 3, 2}
	// Each thread writes its 12 numbers: thread, block, block size and grid size.
	var want []uint32
	// The order of the output is that of the threads' numbers.
	each(grid, func(bx, by, bz uint32) {
		each(block, func(tx, ty, tz uint32) {
			want = append(want, tx, ty, tz, bx, by, bz, block[0], block[1], block[2], grid[0], grid[1], grid[2])
		})
	})
	b := newBench(t, c, int64(4*len(want)))
	must(t, b.q.Launch(b.kernel("probe_indices", 0), grid, block, 0, b.device.Pointer))
	if got := b.take(0, len(want)); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	b.close()
}

// each calls f for every member of a grid or a block, x fastest.
func each(d gpu.Dim, f func(x, y, z uint32)) {
	for z := range d[2] {
		for y := range d[1] {
			for x := range d[0] {
				f(x, y, z)
			}
		}
	}
}

// testSharedMemory uses as much shared memory as a block may have. That is more than a kernel gets
// without setting an attribute first.
func testSharedMemory(t *testing.T, c *gpu.Card) {
	shared := c.Info.SharedBytes
	b := newBench(t, c, int64(2*shared))
	in, want := make([]uint32, shared/4), make([]uint32, shared/4)
	for i := range in {
		in[i] = uint32(i)*2654435761 + 1
		want[len(in)-1-i] = in[i]
	}
	// The kernel reverses the numbers by way of shared memory, from the first half to the second.
	out := b.device.Pointer + gpu.Pointer(shared)
	// 48 KiB is the limit without the attribute.
	for _, bytes := range []int{1 << 10, 48 << 10, shared} {
		n := bytes / 4
		b.put(0, in[len(in)-n:])
		must(t, b.q.Launch(b.kernel("probe_reverse", bytes), gpu.Dim{1, 1, 1}, gpu.Dim{256, 1, 1}, bytes, out,
			b.device.Pointer, int32(n)))
		if got := b.take(shared, n); !slices.Equal(got, want[:n]) {
			t.Errorf("%d bytes of shared memory: the numbers are not reversed", bytes)
		}
	}
	if shared > 48<<10 {
		other := get(c.Load(probe))(t) // in which the attribute is not set
		k := get(other.Kernel("probe_reverse", 0))(t)
		err := b.q.Launch(k, gpu.Dim{1, 1, 1}, gpu.Dim{256, 1, 1}, shared, out, b.device.Pointer, int32(shared/4))
		wantCode(t, "shared memory that was not requested", err, gpu.CodeInvalidValue)
		must(t, other.Close())
	}
	b.close()
}

// testBadLaunch checks that launches with an invalid grid, block or argument type are errors, and
// that the context still works afterwards.
func testBadLaunch(t *testing.T, c *gpu.Card) {
	b := newBench(t, c, 64)
	k := b.kernel("probe_constant", 0)
	// At most 1024 threads in a block, no size of 0, and at most 65535 blocks in y and z.
	for _, test := range []struct{ grid, block gpu.Dim }{
		{gpu.Dim{1, 1, 1}, gpu.Dim{1025, 1, 1}}, {gpu.Dim{0, 1, 1}, gpu.Dim{16, 1, 1}},
		{gpu.Dim{1, 1, 1}, gpu.Dim{16, 0, 1}}, {gpu.Dim{1, 65536, 1}, gpu.Dim{16, 1, 1}},
	} {
		wantCode(t, test.grid.String()+" blocks of "+test.block.String(),
			b.q.Launch(k, test.grid, test.block, 0, b.device.Pointer), gpu.CodeInvalidValue)
	}
	if err := b.q.Launch(k, gpu.Dim{1, 1, 1}, gpu.Dim{16, 1, 1}, 0, 5); err == nil {
		t.Error("an int is taken as an argument")
	}
	// The context is still usable after these errors.
	must(t, b.q.Launch(k, gpu.Dim{1, 1, 1}, gpu.Dim{16, 1, 1}, 0, b.device.Pointer))
	must(t, b.q.Synchronize())
	b.close()
}
