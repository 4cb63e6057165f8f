package drivertest

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/batchctl/batchctl/workloads/gpu"
)

// random fills b with bytes that depend on the seed.
func random(b []byte, seed byte) {
	rand.NewChaCha8([32]byte{seed}).Read(b)
}

// testMemory checks free and total memory, and the alignment and distance of allocations.
func testMemory(t *testing.T, c *gpu.Card) {
	before, total, err := c.Driver().MemoryInfo()
	must(t, err)
	if before < 1 || before > total || total > c.Info.Memory {
		t.Errorf("%d of %d bytes are free, and the device has %d", before, total, c.Info.Memory)
	}
	const size = 8 << 20
	// The driver aligns allocations to 256 bytes; package image relies on it.
	one, other := get(c.Alloc(size))(t), get(c.Alloc(size))(t)
	if apart := max(one.Pointer, other.Pointer) - min(one.Pointer, other.Pointer); apart < size ||
		one.Pointer%256 != 0 || other.Pointer%256 != 0 {
		t.Errorf("memory at %#x and %#x, want places of %d bytes at multiples of 256", one.Pointer, other.Pointer, size)
	}
	if free, _, err := c.Driver().MemoryInfo(); err != nil || free > before-size {
		t.Errorf("%v: of %d free bytes, %d are after taking %d", err, before, free, 2*size)
	}
	must(t, one.Free())
	must(t, other.Free())
	wantCode(t, "free what is not held", c.Driver().Free(0x1234500), gpu.CodeInvalidValue)
}

// testOutOfMemory checks the error for an allocation that is too large, and one after it.
func testOutOfMemory(t *testing.T, c *gpu.Card) {
	_, err := c.Alloc(2 * c.Info.Memory)
	wantCode(t, "allocate twice of what there is", err, gpu.CodeOutOfMemory)
	if !strings.Contains(err.Error(), " free: ") {
		t.Errorf("the error does not say what is free: %v", err)
	}
	// The error does not spoil the context.
	must(t, get(c.Alloc(1<<20))(t).Free())
}

// testPinnedMemory checks that pinned memory has the requested size and keeps its content.
func testPinnedMemory(t *testing.T, c *gpu.Card) {
	m := get(c.AllocHost(1<<20 + 3))(t) // not a multiple of a page
	if len(m.Data) != 1<<20+3 {
		t.Fatalf("%d bytes", len(m.Data))
	}
	want := make([]byte, len(m.Data))
	random(want, 1)
	copy(m.Data, want)
	if !bytes.Equal(m.Data, want) {
		t.Error("pinned memory does not keep what is written")
	}
	must(t, m.Free())
}

// testCopies copies bytes to the card, within it, and back, at odd offsets. Bytes beside them must
// not change.
func testCopies(t *testing.T, c *gpu.Card) {
	const size, length, from, to = 1 << 16, 12345, 77, 4099
	q := get(c.NewQueue())(t)
	host, one, other := get(c.AllocHost(2*size))(t), get(c.Alloc(size))(t), get(c.Alloc(size))(t)
	in, out := host.Data[:size], host.Data[size:]
	random(in, 2)
	random(out, 3)
	want := bytes.Clone(out) // the expected bytes on the device
	must(t, q.CopyIn(one.Pointer, in))
	must(t, q.CopyIn(other.Pointer, out))
	must(t, q.CopyOver(other.Pointer+to, one.Pointer+from, length))
	must(t, q.CopyIn(other.Pointer+101, in[5:12]))
	must(t, q.Synchronize())
	copy(want[to:], in[from:from+length])
	copy(want[101:], in[5:12])
	// Copy back all but three bytes at each end, which must stay zero.
	clear(out)
	must(t, q.CopyOut(out[3:size-3], other.Pointer+3))
	must(t, q.Synchronize())
	copy(want, []byte{0, 0, 0})
	copy(want[size-3:], []byte{0, 0, 0})
	if !bytes.Equal(out, want) {
		t.Error("the copies changed bytes")
	}
	// Copies of no bytes are allowed, whatever the address.
	if err := errors.Join(q.CopyIn(1, nil), q.CopyOut(nil, 1)); err != nil {
		t.Errorf("a copy of nothing: %v", err)
	}
	wantCode(t, "copy from nowhere", q.CopyOver(other.Pointer, 0, 16), gpu.CodeInvalidValue)
	must(t, errors.Join(host.Free(), one.Free(), other.Free(), q.Close()))
}

// testCopies2D copies rows to the card, where they have no gap, and back to other places. Bytes between
// them must not change.
func testCopies2D(t *testing.T, c *gpu.Card) {
	const from, width, rows, to = 1003, 517, 60, 617 // bytes between the starts of rows, their bytes, and their number
	q := get(c.NewQueue())(t)
	host, device := get(c.AllocHost(1<<17))(t), get(c.Alloc(width*rows))(t)
	in, packed, out := host.Data[:rows*from], make([]byte, 0, width*rows), host.Data[rows*from:][:rows*to]
	random(in, 4)
	random(out, 5)
	want := bytes.Clone(out)
	for i := range rows {
		row := in[7+i*from:][:width]
		packed = append(packed, row...)
		copy(want[3+i*to:], row)
	}
	must(t, q.CopyIn2D(device.Pointer, in[7:], from, width, rows))
	must(t, q.CopyOut2D(out[3:], device.Pointer, to, width, rows))
	must(t, q.Synchronize())
	if !bytes.Equal(out, want) {
		t.Error("the copies of rows changed bytes between them, or the rows")
	}
	must(t, q.CopyOut(in[:width*rows], device.Pointer))
	must(t, q.Synchronize())
	if !bytes.Equal(in[:width*rows], packed) {
		t.Error("the rows on the card have gaps")
	}
	// Rows that the memory does not have, and none.
	for _, err := range []error{q.CopyIn2D(device.Pointer, in[:rows*from-from+width-1], from, width, rows),
		q.CopyOut2D(out, device.Pointer, width-1, width, 2)} {
		if err == nil {
			t.Error("a copy beyond the memory of the host is accepted")
		}
	}
	if err := errors.Join(q.CopyIn2D(1, nil, 1, 0, 1), q.CopyOut2D(nil, 1, 1, 1, 0)); err != nil {
		t.Errorf("a copy of no rows: %v", err)
	}
	must(t, errors.Join(host.Free(), device.Free(), q.Close()))
}

// testFill checks that Fill sets exactly the bytes that it is given.
func testFill(t *testing.T, c *gpu.Card) {
	const size = 1 << 12
	q := get(c.NewQueue())(t)
	host, device := get(c.AllocHost(size))(t), get(c.Alloc(size))(t)
	must(t, q.Fill(device.Pointer, 0xff, size))
	// Odd offset and length.
	must(t, q.Fill(device.Pointer+5, 0x21, 1000))
	must(t, q.CopyOut(host.Data, device.Pointer))
	must(t, q.Synchronize())
	want := bytes.Repeat([]byte{0xff}, size)
	copy(want[5:], bytes.Repeat([]byte{0x21}, 1000))
	if !bytes.Equal(host.Data, want) {
		t.Error("Fill does not set just the bytes that it was given")
	}
	must(t, errors.Join(host.Free(), device.Free(), q.Close()))
}
