// Package gemm multiplies matrices on a card with kernels of its own, and measures the
// arithmetic peak that they are compared with.
package gemm

import (
	"errors"
	"fmt"

	"github.com/batchctl/batchctl/pkg/packed"
	"github.com/batchctl/batchctl/workloads/gpu"
)

//go:generate go run ../cuda/ptx sm_70 gemm.cu
//go:generate go run ../cuda/ptx sm_70 peak.cu
//go:generate go run ../cuda/ptx sm_80 mma.cu
//go:generate go run ../cuda/ptx sm_80 peak_mma.cu
//go:generate go run ../cuda/ptx sm_90a wgmma.cu

// The PTX of each source.
const (
	gemmPTX    = "gemm_sm70.ptx"
	peakPTX    = "peak_sm70.ptx"
	mmaPTX     = "mma_sm80.ptx"
	peakMMAPTX = "peak_mma_sm80.ptx"
	wgmmaPTX   = "wgmma_sm90a.ptx"
)

// ptx returns the PTX of a source.
func ptx(file string) string { return packed.Text(files(), file) }

// Kernels are this package's kernels, compiled for one card. All calls are within the
// card's Do.
type Kernels struct {
	card      *gpu.Card
	libraries []*gpu.Library
	// units are what the card computes with at each precision that it has.
	units map[gpu.Precision]*unit
	// never is where the kernels that measure peaks would write.
	never *gpu.Memory
}

// unit is what a card computes with at one precision, and its kernels.
type unit struct {
	design
	aligned, general, peak *gpu.Kernel
}

// Load compiles the kernels for the card.
func Load(c *gpu.Card) (*Kernels, error) {
	k := &Kernels{card: c, units: map[gpu.Precision]*unit{}}
	if err := k.load(); err != nil {
		return nil, errors.Join(fmt.Errorf("load the kernels that multiply matrices: %w", err), k.Close())
	}
	return k, nil
}

func (k *Kernels) load() (err error) {
	if k.never, err = k.card.Alloc(8); err != nil {
		return err
	}
	driver, err := k.card.Driver().Version()
	if err != nil {
		return err
	}
	capability := k.card.Info.Capability
	sources := []string{gemmPTX, peakPTX} // in the order of the constants
	if capability >= tensorCores {
		sources = append(sources, mmaPTX, peakMMAPTX)
	}
	if hasWarpgroups(capability, driver) {
		sources = append(sources, wgmmaPTX)
	}
	for _, source := range sources {
		library, err := k.card.Load(ptx(source))
		if err != nil {
			return err
		}
		k.libraries = append(k.libraries, library)
	}
	for _, p := range []gpu.Precision{gpu.Float32, gpu.Float64, gpu.TF32, gpu.BFloat16} {
		if d, ok := designFor(p, capability, driver); ok {
			if k.units[p], err = k.find(d); err != nil {
				return err
			}
		}
	}
	return nil
}

// find finds the kernels of a design.
func (k *Kernels) find(d design) (*unit, error) {
	aligned, errAligned := k.libraries[d.aligned.in].Kernel(d.aligned.name, d.aligned.shared)
	general, errGeneral := k.libraries[d.general.in].Kernel(d.general.name, d.general.shared)
	peak, errPeak := k.libraries[d.peak.in].Kernel(d.peak.name, 0)
	return &unit{d, aligned, general, peak}, errors.Join(errAligned, errGeneral, errPeak)
}

// Close unloads them.
func (k *Kernels) Close() error {
	var errs []error
	for _, library := range k.libraries {
		errs = append(errs, library.Close())
	}
	if k.never != nil {
		errs = append(errs, k.never.Free())
	}
	k.libraries, k.units, k.never = nil, nil, nil
	return errors.Join(errs...)
}

// Supports is an error where the card cannot compute at that precision.
func (k *Kernels) Supports(p gpu.Precision) error {
	_, err := k.unit(p)
	return err
}

func (k *Kernels) unit(p gpu.Precision) (*unit, error) {
	if u := k.units[p]; u != nil {
		return u, nil
	}
	if k.units == nil {
		return nil, errors.New("multiply matrices: the kernels have been closed")
	}
	if p == gpu.TF32 || p == gpu.BFloat16 {
		major, minor := k.card.Info.Capability/10, k.card.Info.Capability%10
		return nil, fmt.Errorf("%s has no tensor cores for %s: they need compute capability 8.0, and it has %d.%d; use %s", k.card, p, major, minor, gpu.Float32)
	}
	return nil, fmt.Errorf("multiply matrices: unknown precision %q", p)
}

// Name says which kernel computes at that precision and its tile of m x n x depth, such
// as "gemm_f32 128x128x8". It is empty where the card does not support that.
func (k *Kernels) Name(p gpu.Precision) string {
	u := k.units[p]
	if u == nil {
		return ""
	}
	return fmt.Sprintf("%s %dx%dx%d", u.design.aligned.name, u.design.aligned.m, u.design.aligned.n,
		u.design.aligned.depth)
}

// OnTensorCores tells whether Multiply computes, and Peak measures, on tensor cores at
// that precision.
func (k *Kernels) OnTensorCores(p gpu.Precision) bool {
	u := k.units[p]
	return u != nil && u.tensor
}

// Multiply puts C = A B on the queue. C is m x n, A is m x depth, B is depth x n, all
// row-major without padding, in the elements of gpu.Precision. It is fast where the rows
// of A and B are multiples of 16 bytes and their memory begins at one.
func (k *Kernels) Multiply(q *gpu.Queue, p gpu.Precision, c, a, b gpu.Pointer, m, n, depth int) error {
	u, err := k.unit(p)
	if err != nil {
		return err
	}
	for _, size := range []int{m, n, depth} {
		if size < 0 || size > maxSize {
			return fmt.Errorf("multiply matrices of %dx%d by %dx%d: a size must be from 0 to %d", m, depth, depth, n,
				maxSize)
		}
	}
	if m == 0 || n == 0 {
		return nil
	}
	if depth == 0 {
		return q.Fill(c, 0, int64(m)*int64(n)*p.Bytes())
	}
	shape, kernel := u.design.aligned, u.aligned
	if !aligned(int64(n)*p.Bytes(), int64(depth)*p.Bytes(), int64(a), int64(b), int64(c)) {
		shape, kernel = u.design.general, u.general
	}
	blocks := int64(tiles(m, shape.m)) * int64(tiles(n, shape.n))
	if blocks > maxBlocks {
		return fmt.Errorf("multiply matrices of %dx%d by %dx%d: the product has %d tiles, and a launch accepts at most %d", m, depth, depth, n, blocks, maxBlocks)
	}
	grid, block := gpu.Dim{uint32(blocks), 1, 1}, gpu.Dim{uint32(shape.threads), 1, 1}
	return q.Launch(kernel, grid, block, shape.shared, c, a, b, int32(m), int32(n), int32(depth))
}

const (
	// maxSize keeps what the kernels compute of a row or column, a few tiles beyond the
	// last, within 32 bits.
	maxSize = 1 << 30
	// maxBlocks is CUDA's limit for a grid along x.
	maxBlocks = 1<<31 - 1
)

// aligned reports whether all are multiples of the 16 bytes that are moved at once.
func aligned(all ...int64) bool {
	var bits int64
	for _, v := range all {
		bits |= v
	}
	return bits%16 == 0
}

func tiles(extent, size int) int { return (extent + size - 1) / size }
