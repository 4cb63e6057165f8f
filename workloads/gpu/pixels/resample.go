package pixels

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/batchctl/batchctl/workloads/gpu"
)

// The numbers of resample.cu. A quarter of the shared memory that any card has leaves room
// for several blocks.
const (
	resampleThreads   = 256
	resampleRows      = 8
	resampleWidthBits = 7
	resampleShared    = 16 << 10
	resampleBits      = 6 // behind the point of the samples between the passes
	mostTaps          = 128
)

// Filter says what each output of one axis is made of: Taps inputs from First on,
// weighed, where inputs beyond the ends are the outermost ones; the sum is in units of
// 2^-Bits. It is the filter of package image in fixed point. Taps is even and at most 128,
// Bits is 6 to 24. Resample keeps what it makes of a filter until Close, so that First and
// Weights do not change any more.
type Filter struct {
	Taps, Bits int
	First      []int32
	// Weights holds Taps of them for each output.
	Weights []int16
}

func (f Filter) check(outputs int) error {
	switch {
	case f.Taps < 2 || f.Taps > mostTaps || f.Taps%2 != 0:
		return fmt.Errorf("%d taps: want an even number from 2 to %d", f.Taps, mostTaps)
	case f.Bits < resampleBits || f.Bits > 24:
		return fmt.Errorf("%d bits: want %d to 24", f.Bits, resampleBits)
	case int64(outputs)*int64(f.Taps) > math.MaxInt32:
		return fmt.Errorf("%d weights: want at most %d", int64(outputs)*int64(f.Taps), math.MaxInt32)
	case len(f.First) != outputs || len(f.Weights) != outputs*f.Taps:
		return fmt.Errorf("filters for %d outputs with %d weights: %d outputs with %d taps need %d",
			len(f.First), len(f.Weights), outputs, f.Taps, outputs*f.Taps)
	}
	for _, first := range f.First {
		if first < -mostWidth || first > mostHeight {
			return fmt.Errorf("a filter begins at input %d, which is far outside", first)
		}
	}
	return nil
}

// axisKey tells filters apart. Its pointers keep the filter's memory from being used for
// another one.
type axisKey struct {
	first         *int32
	weights       *int16
	outputs, taps int
}

// axis is a filter in the card's memory.
type axis struct {
	filter               Filter
	first, pairs, starts *gpu.Memory
	// The lines of a tile have 2^widthBits outputs of span inputs, the first of which is in
	// starts. rows of them fit the shared memory.
	widthBits, span, rows int
}

func (a *axis) free() error {
	var errs []error
	for _, m := range []*gpu.Memory{a.first, a.pairs, a.starts} {
		if m != nil {
			errs = append(errs, m.Free())
		}
	}
	return errors.Join(errs...)
}

// Resample resizes by a filter for each axis, with the arithmetic of package image, down
// the columns first: the sums of that pass have 6 bits behind the point, and 16 in all.
func (k *Kernels) Resample(q *gpu.Queue, dst, src Batch, across, down Filter) error {
	if err := checkRGB("resample", dst, src, src.like(dst.Width, dst.Height, 3)); err != nil {
		return err
	}
	if err := across.check(dst.Width); err != nil {
		return fmt.Errorf("resample: the filter along the rows: %w", err)
	}
	if err := down.check(dst.Height); err != nil {
		return fmt.Errorf("resample: the filter down the columns: %w", err)
	}
	x, err := k.axis(q, across)
	if err != nil {
		return err
	}
	y, err := k.axis(q, down)
	if err != nil {
		return err
	}
	tiles, bands := over(dst.Width, 1<<x.widthBits), over(dst.Height, x.rows)
	grid, err := blocks("resample", tiles, bands, dst.Images)
	if err != nil {
		return err
	}
	pitch := 3 * x.span
	return k.launch(q, "pixels_resample", grid, gpu.Dim{resampleThreads, 1, 1}, 2*x.rows*pitch,
		dst.Pointer, src.Pointer, int32(src.Width), int32(src.Height), int32(dst.Width), int32(dst.Height),
		int32(x.widthBits), int32(x.rows), int32(pitch), int32(tiles), int32(bands),
		x.first.Pointer, x.starts.Pointer, x.pairs.Pointer, int32(across.Taps), int32(across.Bits),
		y.first.Pointer, y.pairs.Pointer, int32(down.Taps), int32(down.Bits))
}

// axis is the filter in the card's memory, where it stays.
func (k *Kernels) axis(q *gpu.Queue, f Filter) (*axis, error) {
	key := axisKey{&f.First[0], &f.Weights[0], len(f.First), f.Taps}
	if a, ok := k.axes[key]; ok {
		return a, nil
	}
	a := &axis{filter: f}
	var err error
	if a.first, err = k.upload(q, littleEndian(f.First)); err == nil {
		if a.pairs, err = k.upload(q, littleEndian(f.Weights)); err == nil {
			a.starts, err = k.upload(q, littleEndian(a.tile()))
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("resample: %w", err), a.free())
	}
	k.axes[key] = a
	return a, nil
}

func littleEndian[T int16 | int32](values []T) []byte {
	data, err := binary.Append(nil, binary.LittleEndian, values)
	if err != nil {
		panic(err) // of a type without a size
	}
	return data
}

// tile chooses the widest tile whose lines fit, and returns where each starts.
func (a *axis) tile() (starts []int32) {
	for a.widthBits = resampleWidthBits; ; a.widthBits-- {
		starts, a.span = a.filter.tiles(1 << a.widthBits)
		for a.rows = resampleRows; a.rows > 1 && 2*3*a.rows*a.span > resampleShared; a.rows /= 2 {
		}
		if a.widthBits == 0 || 2*3*a.rows*a.span <= resampleShared && a.rows == resampleRows {
			return starts
		}
	}
}

// tiles is the first input of each tile of that many outputs, rounded down to a multiple
// of four, and the largest number of inputs of one, rounded up to such.
func (f Filter) tiles(width int) (starts []int32, span int) {
	for from := 0; from < len(f.First); from += width {
		least, most := int32(math.MaxInt32), int32(math.MinInt32)
		for _, first := range f.First[from:min(from+width, len(f.First))] {
			least, most = min(least, first), max(most, first)
		}
		start := least &^ 3
		starts = append(starts, start)
		span = max(span, over(int(most-start)+f.Taps, 4)*4)
	}
	return starts, span
}
