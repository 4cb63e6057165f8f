package matrix

import (
	"bytes"
	"math"
	"testing"

	"pgregory.net/rapid"
)

// TestBFloat16 checks that rounding takes the nearest neighbour, and the even one of two equally
// near.
func TestBFloat16(t *testing.T) {
	for bits := range 1 << 16 {
		v := fromBFloat16(uint16(bits))
		if got := toBFloat16(v); got != uint16(bits) && v == v {
			t.Fatalf("%v: %#x becomes %#x", v, bits, got)
		}
		if v != v && fromBFloat16(toBFloat16(v)) == fromBFloat16(toBFloat16(v)) {
			t.Fatalf("NaN %#x becomes a number", bits)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.Float32Range(-1e30, 1e30).Draw(t, "v")
		low := fromBFloat16(uint16(math.Float32bits(v) >> 16)) // toward zero
		high := fromBFloat16(uint16(math.Float32bits(v)>>16) + 1)
		got := fromBFloat16(toBFloat16(v))
		offLow, offHigh := math.Abs(float64(v)-float64(low)), math.Abs(float64(high)-float64(v))
		want := low
		if offHigh < offLow || offHigh == offLow && math.Float32bits(low)>>16&1 == 1 {
			want = high
		}
		if got != want {
			t.Fatalf("%v becomes %v, want %v", v, got, want)
		}
	})
	for v, want := range map[float32]float32{
		1 + 1.0/256: 1, 1 + 3.0/256: 1 + 1.0/64, math.MaxFloat32: float32(math.Inf(1)), float32(math.Inf(-1)): float32(math.Inf(-1)),
	} {
		if got := fromBFloat16(toBFloat16(v)); got != want {
			t.Errorf("%v becomes %v, want %v", v, got, want)
		}
	}
	if v := fromBFloat16(toBFloat16(math.Float32frombits(0x7F800001))); v == v {
		t.Errorf("NaN becomes %v", v)
	}
}

// TestRoundRow checks that the operands are what the cards read, to the bit.
func TestRoundRow(t *testing.T) {
	row := []float32{0.1, -0.2, 1.0 / 3, 1, 0}
	data := make([]byte, 2*len(row))
	roundRow(data, row)
	back := make([]float32, len(row))
	readRow(back, data)
	for j, v := range row {
		if back[j] != v || toBFloat16(v) != uint16(data[2*j])|uint16(data[2*j+1])<<8 {
			t.Errorf("element %d: %v is read as %v", j, v, back[j])
		}
	}
	if row[0] == 0.1 || row[3] != 1 {
		t.Errorf("not rounded: %v", row)
	}
}

// TestPack checks that a packed rectangle has its elements row by row, and that unpacking changes
// no others.
func TestPack(t *testing.T) {
	m := image{data: make([]byte, 5*7*2), cols: 7, width: 2}
	for i := range m.data {
		m.data[i] = byte(i)
	}
	r := rectangle{top: 1, bottom: 4, left: 2, right: 5}
	packed := make([]byte, r.elements()*m.width)
	for i := range r.rows() {
		m.pack(packed, r, i)
	}
	want := []byte{18, 19, 20, 21, 22, 23, 32, 33, 34, 35, 36, 37, 46, 47, 48, 49, 50, 51}
	if !bytes.Equal(packed, want) {
		t.Errorf("got %v, want %v", packed, want)
	}
	other := image{data: make([]byte, len(m.data)), cols: 7, width: 2}
	for i := range r.rows() {
		other.unpack(packed, r, i)
	}
	for i, v := range other.data {
		inside := i/14 >= r.top && i/14 < r.bottom && i%14 >= 2*r.left && i%14 < 2*r.right
		if inside && v != m.data[i] || !inside && v != 0 {
			t.Errorf("byte %d is %d", i, v)
		}
	}
	if got := m.whole(rectangle{2, 3, 0, 7}); !bytes.Equal(got, m.data[28:42]) {
		t.Errorf("whole rows are %v", got)
	}
}

func TestSpoilBytes(t *testing.T) {
	for _, n := range []int{0, 1, 2, 3, 1000} {
		data := make([]byte, n)
		spoilBytes(data)
		if !bytes.Equal(data, bytes.Repeat([]byte{spoiled}, n)) {
			t.Errorf("%d bytes: %v", n, data)
		}
	}
	if v := elementsOf[float32]([]byte{spoiled, spoiled, spoiled, spoiled})[0]; v == v {
		t.Error("a spoiled float32 is a number")
	}
	if v := elementsOf[float64](bytes.Repeat([]byte{spoiled}, 8))[0]; v == v {
		t.Error("a spoiled float64 is a number")
	}
	if v := fromBFloat16(spoiled<<8 | spoiled); v == v {
		t.Error("a spoiled bfloat16 is a number")
	}
}
