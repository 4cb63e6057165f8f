package matrix

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"math/rand/v2"

	"github.com/batchctl/batchctl/workloads/measure"
)

// rowBand is the number of rows that one goroutine computes at a time.
const rowBand = 16

// fill writes numbers from [-1, 1). Every row has its own stream, so the
// matrix depends on the seed alone and not on the number of threads.
func fill[T Float](ctx context.Context, m Matrix[T], seed, stream uint64, threads int) error {
	return measure.Parallel(ctx, threads, m.Rows, rowBand, func(low, high int) {
		for i := low; i < high; i++ {
			rng := rand.New(rand.NewPCG(seed, stream<<32|uint64(i)))
			row := m.Row(i)
			for j := range row {
				row[j] = T(2*rng.Float64() - 1)
			}
		}
	})
}

// spoil fills the matrix with NaN, which fails every check.
func spoil[T Float](ctx context.Context, m Matrix[T], threads int) error {
	nan := T(math.NaN())
	return measure.Parallel(ctx, threads, m.Rows, rowBand, func(low, high int) {
		for i := low; i < high; i++ {
			row := m.Row(i)
			for j := range row {
				row[j] = nan
			}
		}
	})
}

// checksum is the CRC-32C of the elements' bits, little-endian, row by row.
func checksum[T Float](m Matrix[T]) string {
	table := crc32.MakeTable(crc32.Castagnoli)
	var sum uint32
	buffer := make([]byte, 0, 8*m.Cols)
	for i := range m.Rows {
		buffer = appendBits(buffer[:0], m.Row(i))
		sum = crc32.Update(sum, table, buffer)
	}
	return fmt.Sprintf("crc32c:%08x", sum)
}

func appendBits[T Float](buffer []byte, row []T) []byte {
	for _, v := range row {
		switch v := any(v).(type) {
		case float64:
			buffer = binary.LittleEndian.AppendUint64(buffer, math.Float64bits(v))
		case float32:
			buffer = binary.LittleEndian.AppendUint32(buffer, math.Float32bits(v))
		}
	}
	return buffer
}
