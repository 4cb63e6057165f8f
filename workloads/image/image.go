// Package image is the workload that filters and resizes images, made or read
// from PNG and JPEG files, and checks every output before it prints a time.
//
// Every operation reads pixels beyond the border as the nearest pixel inside
// (border mode replicate).
package image

import (
	"fmt"
	"hash/crc32"
)

// Shape is the size of an image and its channels: 3 for RGB, 1 for grey.
type Shape struct{ W, H, Channels int }

// Bytes is the size of the pixels without padding.
func (s Shape) Bytes() int64 { return int64(s.W) * int64(s.H) * int64(s.Channels) }

func (s Shape) String() string { return fmt.Sprintf("%dx%d", s.W, s.H) }

// Image holds 8-bit samples, the channels of a pixel side by side. Row y starts
// at Pix[y*Stride].
type Image struct {
	Shape
	Stride int
	Pix    []byte
}

// New returns a black image whose rows touch.
func New(s Shape) Image {
	return Image{Shape: s, Stride: s.W * s.Channels, Pix: make([]byte, s.Bytes())}
}

// Row is row y without the padding behind it.
func (m Image) Row(y int) []byte {
	return m.Pix[y*m.Stride : y*m.Stride+m.W*m.Channels]
}

// at is the sample at x, y with replicated borders; for references, not kernels.
func (m Image) at(x, y, channel int) int {
	x, y = min(max(x, 0), m.W-1), min(max(y, 0), m.H-1)
	return int(m.Pix[y*m.Stride+x*m.Channels+channel])
}

// checksum goes on from sum with the CRC-32C of the pixels.
func checksum(sum uint32, images []Image) uint32 {
	table := crc32.MakeTable(crc32.Castagnoli)
	for _, m := range images {
		for y := range m.H {
			sum = crc32.Update(sum, table, m.Row(y))
		}
	}
	return sum
}
