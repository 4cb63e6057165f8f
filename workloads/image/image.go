// Package image is the workload that filters and resizes images on the CPU or on GPUs, and
// checks every output before it prints a time. The images are generated, or read from PNG and
// JPEG files.
//
// Every operation reads pixels beyond the border as the nearest pixel inside
// (border mode replicate).
package image

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"

	"github.com/batchctl/batchctl/workloads/measure"
)

// Shape is the size of an image and its channels: 3 for RGB, 1 for grey.
type Shape struct {
	W, H, Channels int
	// Float is whether samples are float32, little endian, instead of bytes.
	Float bool
}

// Bytes is the size of the pixels without padding.
func (s Shape) Bytes() int64 { return int64(s.H) * int64(s.rowBytes()) }

func (s Shape) rowBytes() int { return s.W * s.Channels * s.sampleBytes() }

func (s Shape) sampleBytes() int {
	if s.Float {
		return 4
	}
	return 1
}

// String is the size, such as "640x480".
func (s Shape) String() string { return fmt.Sprintf("%dx%d", s.W, s.H) }

// Image holds samples of 8 bits, or float32s, the channels of a pixel side by
// side. Row y starts at Pix[y*Stride]; the stride is in bytes.
type Image struct {
	Shape
	Stride int
	Pix    []byte
}

// New returns a black image without padding after its rows.
func New(s Shape) Image {
	return Image{Shape: s, Stride: s.rowBytes(), Pix: measure.MakeAligned[byte](int(s.Bytes()))}
}

// Row returns the bytes of row y without padding.
func (m Image) Row(y int) []byte {
	return m.Pix[y*m.Stride : y*m.Stride+m.rowBytes()]
}

// at is the sample at x, y of an 8-bit image; beyond the border it is the nearest sample. It is
// slow: only references use it.
func (m Image) at(x, y, channel int) int {
	x, y = min(max(x, 0), m.W-1), min(max(y, 0), m.H-1)
	return int(m.Pix[y*m.Stride+x*m.Channels+channel])
}

// value is the sample at x, y of an image of either type.
func (m Image) value(x, y, channel int) float64 {
	if !m.Float {
		return float64(m.at(x, y, channel))
	}
	return float64(math.Float32frombits(binary.LittleEndian.Uint32(m.Row(y)[4*(x*m.Channels+channel):])))
}

// checksum continues from sum with the CRC-32C of the pixels.
func checksum(sum uint32, images []Image) uint32 {
	table := crc32.MakeTable(crc32.Castagnoli)
	for _, m := range images {
		for y := range m.H {
			sum = crc32.Update(sum, table, m.Row(y))
		}
	}
	return sum
}
