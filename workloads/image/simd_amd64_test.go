package image

import (
	"bytes"
	"testing"

	"golang.org/x/sys/cpu"

	"github.com/batchctl/batchctl/pkg/testtool"
)

// TestSobelOfOlderProcessors checks that the first processors with AVX-512 compute Sobel with AVX2.
func TestSobelOfOlderProcessors(t *testing.T) {
	if !cpu.X86.HasAVX512BW {
		testtool.Unsupported(t, "the processor has no AVX-512")
	}
	for _, s := range []Shape{{W: 64, H: 1}, {W: 200, H: 5}, {W: 4224, H: 400}} {
		s.Channels = 3
		src := randomImage(s, 0, 1)
		want, got := New(sobel().output(Params{}, s)), New(sobel().output(Params{}, s))
		sobelRows(want, src, 0, s.H)
		e := newEdges(avx512(false), s)
		e.src = src
		e.rows(got, 0, s.H)
		if !bytes.Equal(got.Pix, want.Pix) {
			t.Errorf("%v: other pixels than the portable kernel's", s)
		}
	}
}
