// Package pixels filters and resizes batches of images on a card, with the definitions of
// package image: pixels beyond the border are the nearest ones inside.
package pixels

import (
	"errors"
	"fmt"
	"math"

	"github.com/batchctl/batchctl/pkg/packed"
	"github.com/batchctl/batchctl/workloads/gpu"
)

//go:generate go run ../cuda/ptx sm_70 pointwise.cu
//go:generate go run ../cuda/ptx sm_70 half.cu
//go:generate go run ../cuda/ptx sm_70 sobel.cu
//go:generate go run ../cuda/ptx sm_70 gaussian.cu
//go:generate go run ../cuda/ptx sm_70 resample.cu

// ptx returns the PTX of a source.
func ptx(source string) string {
	return packed.Text(files(), source+"_sm70.ptx")
}

// sharedBytes is the dynamic shared memory that launches of each kernel take at most.
var sharedBytes = map[string]map[string]int{
	"pointwise": {"pixels_table": tableShared, "pixels_linear": 0, "pixels_copy": 0},
	"half":      {"pixels_half": 0, "pixels_half_wide": 0},
	"sobel":     {"pixels_sobel": 0, "pixels_sobel_wide": 0},
	"gaussian":  gaussianKernels(),
	"resample":  {"pixels_resample": resampleShared},
}

// Kernels are this package's kernels, compiled for one card. All calls are within the
// card's Do.
type Kernels struct {
	card      *gpu.Card
	libraries []*gpu.Library
	kernels   map[string]*gpu.Kernel
	// What kernels read besides images stays on the card until Close.
	tables  map[[256]byte]*gpu.Memory
	weights map[string]*gpu.Memory
	axes    map[axisKey]*axis
}

// Batch is images of one shape in the card's memory, one behind the other, rows touching.
type Batch struct {
	Pointer       gpu.Pointer
	Width, Height int
	// Channels are 3 for RGB and 1 for grey.
	Channels, Images int
}

// Load compiles the kernels for the card.
func Load(c *gpu.Card) (*Kernels, error) {
	k := &Kernels{
		card: c, kernels: map[string]*gpu.Kernel{},
		tables: map[[256]byte]*gpu.Memory{}, weights: map[string]*gpu.Memory{}, axes: map[axisKey]*axis{},
	}
	for source, kernels := range sharedBytes {
		if err := k.load(source, kernels); err != nil {
			return nil, errors.Join(fmt.Errorf("load the kernels for images: %w", err), k.Close())
		}
	}
	return k, nil
}

func (k *Kernels) load(source string, kernels map[string]int) error {
	library, err := k.card.Load(ptx(source))
	if err != nil {
		return fmt.Errorf("%s: %w", source, err)
	}
	k.libraries = append(k.libraries, library)
	for name, shared := range kernels {
		if k.kernels[name], err = library.Kernel(name, shared); err != nil {
			return err
		}
	}
	return nil
}

// Close unloads them and frees what they hold.
func (k *Kernels) Close() error {
	var errs []error
	for _, m := range k.tables {
		errs = append(errs, m.Free())
	}
	for _, m := range k.weights {
		errs = append(errs, m.Free())
	}
	for _, a := range k.axes {
		errs = append(errs, a.free())
	}
	for _, library := range k.libraries {
		errs = append(errs, library.Close())
	}
	return errors.Join(errs...)
}

func (k *Kernels) launch(q *gpu.Queue, name string, grid, block gpu.Dim, shared int, args ...any) error {
	return q.Launch(k.kernels[name], grid, block, shared, args...)
}

// upload puts data into memory of the card. It waits for the queue, so that other queues
// can read it too.
func (k *Kernels) upload(q *gpu.Queue, data []byte) (*gpu.Memory, error) {
	m, err := k.card.Alloc(int64(len(data)))
	if err != nil {
		return nil, err
	}
	err = q.CopyIn(m.Pointer, data)
	if err := errors.Join(err, q.Synchronize()); err != nil {
		return nil, errors.Join(err, m.Free())
	}
	return m, nil
}

// mostWidth and mostHeight leave a margin below 32 bits, in which the kernels count the bytes of a row
// and the rows.
const mostWidth, mostHeight = 1 << 28, 1 << 30

// samples is the number of samples of all images.
func (b Batch) samples() int64 {
	return int64(b.Width) * int64(b.Height) * int64(b.Channels) * int64(b.Images)
}

// String describes the batch for messages.
func (b Batch) String() string {
	return fmt.Sprintf("%d images of %dx%d with %d channels", b.Images, b.Width, b.Height, b.Channels)
}

func (b Batch) check() error {
	switch {
	case b.Pointer == 0:
		return errors.New("it has no memory")
	case b.Width < 1 || b.Width > mostWidth || b.Height < 1 || b.Height > mostHeight:
		return fmt.Errorf("images of %dx%d pixels: want a width of 1 to %d and a height of 1 to %d", b.Width, b.Height,
			mostWidth, mostHeight)
	case b.Channels != 1 && b.Channels != 3:
		return fmt.Errorf("%d channels: want 1 or 3", b.Channels)
	case b.Images < 1 || b.Images > math.MaxInt32:
		return fmt.Errorf("%d images: want 1 to %d", b.Images, math.MaxInt32)
	}
	return nil
}

// like is the batch that an operation makes of b, without its memory.
func (b Batch) like(width, height, channels int) Batch {
	return Batch{Width: width, Height: height, Channels: channels, Images: b.Images}
}

// checkShapes says what is wrong with a call whose output has to have that shape.
func checkShapes(operation string, dst, src, want Batch) error {
	if err := src.check(); err != nil {
		return fmt.Errorf("%s: the input: %w", operation, err)
	}
	if err := dst.check(); err != nil {
		return fmt.Errorf("%s: the output: %w", operation, err)
	}
	want.Pointer = dst.Pointer
	if dst != want {
		return fmt.Errorf("%s: the output for %v must be %v, not %v", operation, src, want, dst)
	}
	return nil
}

// checkRGB is checkShapes for what works on RGB alone.
func checkRGB(operation string, dst, src, want Batch) error {
	if src.Channels != 3 {
		return fmt.Errorf("%s: the input has %d channels: want RGB, with 3", operation, src.Channels)
	}
	return checkShapes(operation, dst, src, want)
}

// blocks is the grid of that many blocks along one axis.
func blocks(operation string, counts ...int) (gpu.Dim, error) {
	n := int64(1)
	for _, count := range counts {
		if n *= int64(count); n > math.MaxInt32 {
			return gpu.Dim{}, fmt.Errorf("%s: the batch is too large for one launch: split it", operation)
		}
	}
	return gpu.Dim{uint32(n), 1, 1}, nil
}

func over(n, by int) int { return (n + by - 1) / by }
