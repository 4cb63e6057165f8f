package image

import (
	"encoding/binary"
	"fmt"
	"io"
	"strings"
)

// encodeNPY writes an image of float32s in NumPy's format, version 1.0, as an
// array of rows, columns and channels
// (https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html).
func encodeNPY(w io.Writer, m Image) error {
	header := fmt.Sprintf("{'descr': '<f4', 'fortran_order': False, 'shape': (%d, %d, %d), }", m.H, m.W, m.Channels)
	const before = 10 // bytes before the header; with the header they are a multiple of 64
	size := (before + len(header) + 1 + 63) / 64 * 64
	header += strings.Repeat(" ", size-before-len(header)-1) + "\n"
	start := binary.LittleEndian.AppendUint16([]byte("\x93NUMPY\x01\x00"), uint16(len(header)))
	if _, err := w.Write(append(start, header...)); err != nil {
		return err
	}
	for y := range m.H {
		if _, err := w.Write(m.Row(y)); err != nil {
			return err
		}
	}
	return nil
}
