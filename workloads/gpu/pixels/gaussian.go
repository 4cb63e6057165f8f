package pixels

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/batchctl/batchctl/workloads/gpu"
)

// The numbers of gaussian.cu.
const (
	gaussianThreads = 256
	gaussianTile    = 256 // pixels
	gaussianRows    = 8   // at a time
	gaussianWeights = 16  // parameters of the kernels for a radius
	mostRadius      = 64
	taskFloats      = 24
)

// gaussianRadii are those that have a kernel; the ones between use the next, with zeros.
// They are the radii of the whole sigmas, three times as large.
var gaussianRadii = []int{3, 6, 9, 12, 15}

func gaussianKernels() map[string]int {
	// Weights of all distances up to the largest halo and two tasks more, on both sides.
	all := map[string]int{"pixels_gaussian": gaussianLines(mostRadius) + 4*(2*(mostRadius+2*taskFloats/3)+1)}
	for _, radius := range gaussianRadii {
		all[gaussianName(radius)] = gaussianLines((radius + 3) / 4 * 4)
	}
	return all
}

func gaussianName(radius int) string { return fmt.Sprintf("pixels_gaussian_%d", radius) }

// gaussianLines is the memory of the lines between the passes, which have a float32 for
// each sample of a tile and its halo, and four more behind each task's.
func gaussianLines(halo int) int {
	floats := 3 * (gaussianTile + 2*halo)
	return 4 * gaussianRows * (floats + 4*(floats/taskFloats))
}

// Gaussian blurs, with both passes in one kernel. The weights are those from the centre
// outwards; centre plus twice the others is 1.
func (k *Kernels) Gaussian(q *gpu.Queue, dst, src Batch, weights []float32) error {
	if err := checkRGB("gaussian", dst, src, src); err != nil {
		return err
	}
	if err := checkWeights(weights); err != nil {
		return fmt.Errorf("gaussian: %w", err)
	}
	across := over(src.Width, gaussianTile)
	rows := k.gaussianRows(across*src.Images, src.Height)
	down := over(src.Height, rows)
	grid, err := blocks("gaussian", across, down, src.Images)
	if err != nil {
		return err
	}
	args := []any{dst.Pointer, src.Pointer, int32(src.Width), int32(src.Height), int32(rows), int32(across),
		int32(down)}
	name, last, err := k.gaussianArguments(q, weights)
	if err != nil {
		return err
	}
	return k.launch(q, name, grid, gpu.Dim{gaussianThreads, 1, 1}, sharedBytes["gaussian"][name],
		append(args, last...)...)
}

func checkWeights(weights []float32) error {
	if len(weights) < 1 || len(weights) > mostRadius+1 {
		return fmt.Errorf("%d weights: want one more than the radius, which is 0 to %d", len(weights), mostRadius)
	}
	sum := -float64(weights[0])
	for _, w := range weights {
		if !(w >= 0) {
			return fmt.Errorf("weight %v: want 0 or more", w)
		}
		sum += 2 * float64(w)
	}
	if !(math.Abs(sum-1) <= 1e-3) {
		return fmt.Errorf("the first weight and twice the others sum to %v, not to 1", sum)
	}
	return nil
}

// gaussianRows is how many rows a block computes: as many as leave three blocks for each
// multiprocessor, which hold two or three at once, because twice the radius more are read. On an
// H200 half as many rows take 2 to 10 % longer, and a single round of blocks up to 14 %.
func (k *Kernels) gaussianRows(columns, height int) int {
	rows := 256
	for rows > 32 && columns*over(height, rows) < 3*k.card.Info.Multiprocessors {
		rows /= 2
	}
	return rows
}

// gaussianArguments is the kernel for the weights, and how it takes them.
func (k *Kernels) gaussianArguments(q *gpu.Queue, weights []float32) (name string, args []any, err error) {
	radius := len(weights) - 1
	i, _ := slices.BinarySearch(gaussianRadii, radius)
	if i == len(gaussianRadii) {
		m, err := k.uploadWeights(q, weights)
		if err != nil {
			return "", nil, err
		}
		return "pixels_gaussian", []any{int32(radius), m.Pointer}, nil
	}
	fixed, bits, err := fixedWeights(weights)
	if err != nil {
		return "", nil, fmt.Errorf("gaussian: %w", err)
	}
	for i := range gaussianWeights {
		args = append(args, at(fixed, i))
	}
	for i := range gaussianWeights {
		args = append(args, float32(math.Ldexp(float64(at(fixed, i)), -2*bits)))
	}
	return gaussianName(gaussianRadii[i]), args, nil
}

func at(weights []uint32, i int) uint32 {
	if i < len(weights) {
		return weights[i]
	}
	return 0
}

// The weights of the pass down the columns have 16 bits and no sign, and their unit is
// 2^-bits with as many bits as they allow; more than mostBits would not leave room for a
// sum of samples in 31 bits, and less than leastBits would not give the right level.
const mostBits, leastBits = 22, 12

// fixedWeights rounds the weights so that the first and twice the others are exactly 1.
func fixedWeights(weights []float32) (fixed []uint32, bits int, err error) {
	for bits = mostBits; bits >= leastBits; bits-- {
		fixed = make([]uint32, len(weights))
		centre := int64(1) << bits
		for i, w := range weights[1:] {
			fixed[i+1] = uint32(math.Round(math.Ldexp(float64(w), bits)))
			centre -= 2 * int64(fixed[i+1])
		}
		if centre < 0 || centre > math.MaxUint16 || slices.Max(append(fixed[1:], 0)) > math.MaxUint16 {
			continue
		}
		fixed[0] = uint32(centre)
		return fixed, bits, nil
	}
	return nil, 0, errors.New("the first weight, that of the centre, is nearly 0: want the largest weight there")
}

func (k *Kernels) uploadWeights(q *gpu.Queue, weights []float32) (*gpu.Memory, error) {
	var data []byte
	for _, w := range weights {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(w))
	}
	m, ok := k.weights[string(data)]
	if !ok {
		var err error
		if m, err = k.upload(q, data); err != nil {
			return nil, err
		}
		k.weights[string(data)] = m
	}
	return m, nil
}
