package image

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/batchctl/batchctl/workloads/gpu"
	"github.com/batchctl/batchctl/workloads/measure"
)

// TestNewRing checks that every image is in one chunk, in order, and that the slots fit the card's
// memory unless even one image does not.
func TestNewRing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Shape{W: rapid.IntRange(1, 3000).Draw(t, "w"), H: rapid.IntRange(1, 3000).Draw(t, "h"), Channels: 3}
		all := make([]Image, rapid.IntRange(1, 300).Draw(t, "images"))
		for i := range all {
			all[i] = Image{Shape: s, Stride: i} // numbered
		}
		room := rapid.Int64Range(slotBytes(s, s, 1), 1<<30).Draw(t, "room")
		r := newRing(&station{memoryBudget: room}, nil, all, all)
		next := 0
		for _, c := range r.chunks {
			for i := range c.src {
				if c.src[i].Stride != next || c.dst[i].Stride != next {
					t.Fatalf("image %d comes at place %d", c.src[i].Stride, next)
				}
				next++
			}
			if len(c.src) > len(r.chunks[0].src) {
				t.Fatal("a later chunk is larger than the first, whose size is that of the slots")
			}
		}
		first := int64(len(r.chunks[0].src))
		if taken := int64(len(r.slots)) * slotBytes(s, s, first); next != len(all) || taken > room {
			t.Fatalf("%d of %d images; %d bytes of %d", next, len(all), taken, room)
		}
		if len(r.slots) < min(ringSlots, len(r.chunks)) && int64(len(r.slots)+1)*slotBytes(s, s, first) <= room {
			t.Fatalf("%d slots though more fit", len(r.slots))
		}
		if slot := slotBytes(s, s, first); first > 1 && slot > 2*chunkBytes {
			t.Fatalf("a slot of %d bytes", slot)
		}
	})
}

func TestEvery(t *testing.T) {
	all := make([]Image, 7)
	for i := range all {
		all[i].Stride = i
	}
	var got [][]int
	for card := range 3 {
		var mine []int
		for _, m := range every(all, card, 3) {
			mine = append(mine, m.Stride)
		}
		got = append(got, mine)
	}
	if diff := cmp.Diff([][]int{{0, 3, 6}, {1, 4}, {2, 5}}, got); diff != "" {
		t.Error(diff)
	}
}

func TestPieces(t *testing.T) {
	memory := []byte("abcdefgh")
	m := func(low, high int) Image { return Image{Pix: memory[low:high]} }
	apart := Image{Pix: []byte("xy")}
	got := pieces([]Image{m(0, 2), m(2, 4), apart, m(4, 6), m(0, 2), m(2, 3), m(4, 8)})
	if diff := cmp.Diff([][]byte{[]byte("abcd"), []byte("xy"), []byte("ef"), []byte("abc"), []byte("efgh")}, got); diff != "" {
		t.Error(diff)
	}
	if !bytes.Equal(memory, []byte("abcdefgh")) {
		t.Errorf("the pixels became %s", memory)
	}
}

func TestGaussianFloats(t *testing.T) {
	for _, sigma := range []float64{0.1, 0.5, 2, maxSigma} {
		weights := gaussianFloats(sigma)
		sum := -float64(weights[0])
		for _, w := range weights {
			sum += 2 * float64(w)
		}
		if math.Abs(sum-1) > 1e-6 || len(weights) != gaussianRadius(sigma)+1 {
			t.Errorf("sigma %v: %d weights, sum %v", sigma, len(weights), sum)
		}
	}
}

// TestFilterOnCard checks that a filter on a card is that of the CPU, in narrower numbers.
func TestFilterOnCard(t *testing.T) {
	for _, f := range []filter{bilinearTaps(7, 100), lanczosTaps(100, 7), lanczosTaps(7, 100)} {
		weights, bits := f.fixed(15, math.MaxInt16)
		got := f.onCard(15, math.MaxInt16)
		if got.Bits != bits || got.Taps != f.taps || len(got.First) != len(f.first) || len(got.Weights) != len(weights) {
			t.Fatalf("got %d bits, %d taps", got.Bits, got.Taps)
		}
		for i, w := range weights {
			if int32(got.Weights[i]) != w || int(got.First[i/f.taps]) != f.first[i/f.taps] {
				t.Fatalf("weight %d is %d, want %d", i, got.Weights[i], w)
			}
		}
	}
}

func TestTooManyTaps(t *testing.T) {
	from := Shape{W: 3000, H: 3000, Channels: 3}
	_, err := resizeLanczos().card(Params{}, Shape{W: 100, H: 3000, Channels: 3}, from)
	if err == nil || !strings.Contains(err.Error(), "combines 182 inputs along an axis, and a GPU combines at most 128; reduce to no less than 1/21") {
		t.Errorf("got %v", err)
	}
	for _, width := range []int{3000 / 21, 9000} {
		if _, err := resizeLanczos().card(Params{}, Shape{W: width, H: 3000, Channels: 3}, from); err != nil {
			t.Errorf("to %d: %v", width, err)
		}
	}
}

// TestCardRow checks that the work of several cards in several repeats becomes a split, shares and
// an efficiency.
func TestCardRow(t *testing.T) {
	cards := gpu.Cards{{Info: gpu.Info{UUID: "GPU-a"}}, {Info: gpu.Info{UUID: "GPU-b"}}}
	one := func(seconds, kernel, in, out float64) share {
		return share{seconds, measure.Split{Kernel: kernel, CopyIn: in, CopyOut: out}}
	}
	var c cardRow
	shares := [][]share{{one(4, 1, 2, 1), one(3, 0.5, 2.5, 1)}, {one(6, 1, 2, 1), one(5, 1, 2, 3)}}
	c.add(cards, shares, []float64{3, 3}, 15e9)
	c.alone = []float64{8, 8}
	r := measure.Result{}
	r.SetTimes(measure.Times{Seconds: []float64{4, 6}, Splits: c.splits()})
	c.peak, c.repeated = 4e9, 0.8
	c.complete(&r, 3e9, 2e9)
	if r.KernelSeconds != 1 || r.RepeatedKernelSeconds != 0.8 || r.CopyInSeconds != 2.25 || r.CopyOutSeconds != 2 || r.Efficiency != 0.8 {
		t.Errorf("got %+v", r)
	}
	want := []measure.CardShare{{UUID: "GPU-a", Seconds: 5, Kernel: 1, CopyIn: 2, CopyOut: 1}, {UUID: "GPU-b", Seconds: 4, Kernel: 0.75, CopyIn: 2.25, CopyOut: 2}}
	if diff := cmp.Diff(want, r.Cards); diff != "" {
		t.Error(diff)
	}
	ceilings := []measure.Ceiling{{Name: "copy bandwidth", Rate: 15, Unit: "GB/s", Share: 0.25}, {Name: "PCIe copy", Rate: 1, Unit: "GB/s", Share: 0.6},
		{Name: "FMA peak", Rate: 4, Unit: "GFLOP/s", Share: 0.625}}
	if diff := cmp.Diff(ceilings, r.Ceilings); diff != "" {
		t.Error(diff)
	}
	c.add(cards, shares, []float64{3, 3}, 0) // a second image
	if splits := c.splits(); splits[0] != (measure.Split{Kernel: 2, CopyIn: 5, CopyOut: 2}) {
		t.Errorf("got %+v", splits[0])
	}
}
