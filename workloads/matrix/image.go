package matrix

import (
	"encoding/binary"
	"math"
	"unsafe"

	"github.com/batchctl/batchctl/workloads/gpu"
)

// image is a matrix as a card reads and writes it: row-major, without padding.
type image struct {
	data []byte
	cols int
	// width is the bytes of an element.
	width int64
}

// rectangle is the rows from top up to bottom, and the columns from left up to right.
type rectangle struct{ top, bottom, left, right int }

func (r rectangle) rows() int { return r.bottom - r.top }

func (r rectangle) cols() int { return r.right - r.left }

func (r rectangle) elements() int64 { return int64(r.rows()) * int64(r.cols()) }

// line returns the bytes of row i from column left up to right.
func (m image) line(i, left, right int) []byte {
	start := int64(i) * int64(m.cols)
	return m.data[(start+int64(left))*m.width : (start+int64(right))*m.width]
}

// whole returns the bytes of a rectangle that is as wide as the matrix, in place.
func (m image) whole(r rectangle) []byte {
	return m.data[int64(r.top)*int64(m.cols)*m.width : int64(r.bottom)*int64(m.cols)*m.width]
}

// copyIn queues the copy of a rectangle to the address to, where its rows have no gap. The image is
// pinned.
func (m image) copyIn(q *gpu.Queue, to gpu.Pointer, r rectangle) error {
	if r.cols() == m.cols {
		return q.CopyIn(to, m.whole(r))
	}
	return q.CopyIn2D(to, m.from(r), int64(m.cols)*m.width, int64(r.cols())*m.width, int64(r.rows()))
}

// copyOut queues the copy of a rectangle from the address, where its rows have no gap.
func (m image) copyOut(q *gpu.Queue, r rectangle, address gpu.Pointer) error {
	if r.cols() == m.cols {
		return q.CopyOut(m.whole(r), address)
	}
	return q.CopyOut2D(m.from(r), address, int64(m.cols)*m.width, int64(r.cols())*m.width, int64(r.rows()))
}

// from returns the bytes from the first element of a rectangle to its last.
func (m image) from(r rectangle) []byte {
	first := int64(r.top)*int64(m.cols) + int64(r.left)
	last := int64(r.bottom-1)*int64(m.cols) + int64(r.right)
	return m.data[first*m.width : last*m.width]
}

// pack copies row i of a rectangle to its position in packed, where rows have no gap; unpack copies
// it back.
func (m image) pack(packed []byte, r rectangle, i int) {
	copy(m.packedLine(packed, r, i), m.line(r.top+i, r.left, r.right))
}

func (m image) unpack(packed []byte, r rectangle, i int) {
	copy(m.line(r.top+i, r.left, r.right), m.packedLine(packed, r, i))
}

func (m image) packedLine(packed []byte, r rectangle, i int) []byte {
	length := int64(r.cols()) * m.width
	return packed[int64(i)*length:][:length]
}

// bytesOf and elementsOf convert between views of the same memory. The host and the cards have the
// same byte order, because CUDA runs only on little-endian machines.
func bytesOf[T Float](elements []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(elements))), uintptr(len(elements))*unsafe.Sizeof(T(0)))
}

func elementsOf[T Float](data []byte) []T {
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(data))), uintptr(len(data))/unsafe.Sizeof(T(0)))
}

// spoilBytes sets all bits, which makes every element NaN in each format.
func spoilBytes(data []byte) {
	if len(data) > 0 {
		data[0] = spoiled
	}
	for n := 1; n < len(data); n *= 2 {
		copy(data[n:], data[:n])
	}
}

// spoiled is the byte of spoilBytes.
const spoiled = 0xFF

// toBFloat16 rounds to the upper half of a float32: to nearest, ties to even.
func toBFloat16(v float32) uint16 {
	bits := math.Float32bits(v)
	if v != v {
		return uint16(bits>>16) | 0x40 // rounding could carry a NaN into an infinity
	}
	return uint16((bits + 0x7FFF + bits>>16&1) >> 16)
}

func fromBFloat16(bits uint16) float32 { return math.Float32frombits(uint32(bits) << 16) }

// roundRow writes a row in bfloat16, and sets its elements to the rounded values.
func roundRow[T Float](dst []byte, row []T) {
	for j, v := range row {
		bits := toBFloat16(float32(v))
		binary.LittleEndian.PutUint16(dst[2*j:], bits)
		row[j] = T(fromBFloat16(bits))
	}
}

// readRow reads a row in bfloat16.
func readRow[T Float](row []T, src []byte) {
	for j := range row {
		row[j] = T(fromBFloat16(binary.LittleEndian.Uint16(src[2*j:])))
	}
}
