package image

import (
	"bytes"
	"sync/atomic"
	"testing"

	"github.com/batchctl/batchctl/workloads/measure"
	"pgregory.net/rapid"
)

// Both ways copy every byte and no other, wherever the buffers begin.
func TestMove(t *testing.T) {
	for _, v := range instructionSets() {
		for _, stream := range []bool{false, true} {
			t.Run(v.name, rapid.MakeCheck(func(t *rapid.T) {
				n := rapid.IntRange(1, 3000).Draw(t, "n")
				to, from := rapid.IntRange(0, 130).Draw(t, "to"), rapid.IntRange(0, 130).Draw(t, "from")
				src := randomImage(Shape{W: 3200, H: 1, Channels: 1}, 0, 1).Pix
				dst := randomImage(Shape{W: 3200, H: 1, Channels: 1}, 0, 2).Pix
				want := bytes.Clone(dst)
				copy(want[to:to+n], src[from:])
				v.move(dst[to:to+n], src[from:from+n], stream)
				if !bytes.Equal(dst, want) {
					t.Fatal("other bytes than copy")
				}
			}))
		}
	}
}

// TestCopying checks that the copies read and write every byte of the buffers about as often as the
// operation, for any two sizes.
func TestCopying(t *testing.T) {
	for _, sizes := range [][2]Shape{
		{{W: 700, H: 500, Channels: 3}, {W: 700, H: 500, Channels: 3}},
		{{W: 700, H: 500, Channels: 3}, {W: 350, H: 250, Channels: 3}},
		{{W: 400, H: 500, Channels: 3}, {W: 400, H: 500, Channels: 3, Float: true}},
	} {
		c := copying{threads: 3, warmup: 1, src: []Image{randomImage(sizes[0], 0, 1), randomImage(sizes[0], 0, 2)}}
		c.dst = []Image{New(sizes[1]), New(sizes[1])}
		for range 3 {
			c.run(t.Context())
		}
		var moved atomic.Int64
		err := c.once(t.Context(), func(dst, src []byte) {
			if len(dst) != len(src) {
				t.Errorf("%d bytes to %d", len(src), len(dst))
			}
			moved.Add(int64(len(src)))
		})
		if err != nil || moved.Load() != sizes[0].Bytes()+sizes[1].Bytes() {
			t.Errorf("%v to %v: moved %d bytes, %v", sizes[0], sizes[1], moved.Load(), err)
		}
		for way, seconds := range c.seconds {
			if want := map[bool]int{true: 2}[way == 0 || len(instructionSets()) > 0]; len(seconds) != want {
				t.Errorf("way %d has %d times, want %d", way, len(seconds), want)
			}
		}
		if tail := c.dst[1].Row(sizes[1].H - 1); !sizes[1].Float && bytes.Equal(tail, make([]byte, len(tail))) {
			t.Error("the last row was not written")
		}
	}
}

func TestRowCeiling(t *testing.T) {
	w := testRow(t, sobel(), "go")
	src := []Image{New(Shape{W: 10, H: 20, Channels: 3})}
	w.add(src, src, measure.Times{Seconds: []float64{2, 2}}, 5)
	w.bytes = 8e9
	if _, ok := w.ceiling(2); ok {
		t.Error("a ceiling out of nothing")
	}
	w.copied = [copyWays][]float64{{4, 4}, {1, 1}}
	c, ok := w.ceiling(2)
	if want := (measure.Ceiling{Name: "copy bandwidth", Rate: 8, Unit: "GB/s", Share: 0.5}); !ok || c != want {
		t.Errorf("got %+v", c)
	}
}
