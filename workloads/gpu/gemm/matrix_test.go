package gemm

import (
	"encoding/binary"
	"math"
	"math/rand/v2"

	"github.com/batchctl/batchctl/workloads/gpu"
)

// matrix is one of the host, in numbers that its precision can hold.
type matrix struct {
	rows, columns int
	data          []float64
}

func newMatrix(rows, columns int) matrix { return matrix{rows, columns, make([]float64, rows*columns)} }

// randomMatrix has numbers from -1 to 1.
func randomMatrix(r *rand.Rand, p gpu.Precision, rows, columns int) matrix {
	m := newMatrix(rows, columns)
	for i := range m.data {
		m.data[i] = decode(p, encode(p, nil, 2*r.Float64()-1))
	}
	return m
}

// times is the product, summed in float64.
func (a matrix) times(b matrix) matrix {
	c := newMatrix(a.rows, b.columns)
	for i := range a.rows {
		row := c.data[i*c.columns : (i+1)*c.columns]
		for k := range a.columns {
			x := a.data[i*a.columns+k]
			for j, y := range b.data[k*b.columns : (k+1)*b.columns] {
				row[j] += x * y
			}
		}
	}
	return c
}

// tf32 is a matrix of float32 rounded to the 11 bits of significand of TF32, ties away
// from zero.
func (a matrix) tf32() matrix {
	rounded := newMatrix(a.rows, a.columns)
	for i, v := range a.data {
		rounded.data[i] = float64(math.Float32frombits((math.Float32bits(float32(v)) + 0x1000) &^ 0x1fff))
	}
	return rounded
}

// bytes are the elements as they lie in a card's memory.
func (a matrix) bytes(p gpu.Precision) (all []byte) {
	for _, v := range a.data {
		all = encode(p, all, v)
	}
	return all
}

func matrixOf(p gpu.Precision, rows, columns int, all []byte) matrix {
	m := newMatrix(rows, columns)
	for i := range m.data {
		m.data[i] = decode(p, all[i*int(p.Bytes()):])
	}
	return m
}

func encode(p gpu.Precision, to []byte, v float64) []byte {
	switch p {
	case gpu.Float64:
		return binary.LittleEndian.AppendUint64(to, math.Float64bits(v))
	case gpu.BFloat16:
		bits := math.Float32bits(float32(v))
		if v == v {
			bits += 0x7fff + bits>>16&1
		}
		return binary.LittleEndian.AppendUint16(to, uint16(bits>>16))
	}
	return binary.LittleEndian.AppendUint32(to, math.Float32bits(float32(v)))
}

func decode(p gpu.Precision, from []byte) float64 {
	switch p {
	case gpu.Float64:
		return math.Float64frombits(binary.LittleEndian.Uint64(from))
	case gpu.BFloat16:
		return float64(math.Float32frombits(uint32(binary.LittleEndian.Uint16(from)) << 16))
	}
	return float64(math.Float32frombits(binary.LittleEndian.Uint32(from)))
}

// worst is the largest difference of two matrices; NaN where one has a number and the
// other has none.
func worst(got, want matrix) (most float64) {
	for i := range got.data {
		if d := math.Abs(got.data[i] - want.data[i]); !(d <= most) {
			most = d
		}
	}
	return most
}

// relative is the norm of the difference over the norm of what is wanted.
func relative(got, want matrix) float64 {
	var difference, norm float64
	for i := range got.data {
		d := got.data[i] - want.data[i]
		difference += d * d
		norm += want.data[i] * want.data[i]
	}
	return math.Sqrt(difference / norm)
}
