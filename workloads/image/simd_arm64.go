package image

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

// instructionSets returns NEON if the processor has it.
func instructionSets() []*simd {
	if !cpu.ARM64.HasASIMD {
		return nil
	}
	// A vector is two registers. No store goes past the caches: STNP, the only candidate, is a
	// hint that most processors ignore.
	return []*simd{{
		name: "neon", bytes: 32, fence: func() {},
		copy: copyNEON, copyStream: copyNEON,
		words: scaleWordsNEON, wordsStream: scaleWordsNEON,
		scale: scaleNEON, scaleStream: scaleNEON,
		float: toFloatNEON, floatStream: toFloatNEON,
		flip: flipNEON, gaussianDown: gaussianDownNEON, gaussianAlong: gaussianAlongNEON,
		luma:  func(out, pix *byte, n int) { lumaNEON(out, pix, 0, n) },
		sobel: sobelNEON, sobelLuma: sobelLumaNEON, sobelLumaStream: sobelLumaNEON,
		half:         func(out, above, below *byte, n int) { halfNEON(out, above, below, 0, n) },
		halfStream:   halfNEON,
		resampleDown: resampleDownNEON, resampleAlong: resampleAlongNEON,
	}}
}

// sobelLumaNEON computes sobel and the luma of the next two lines: n pixels at pix, and n pixels
// down bytes after pix, go to the two lines at next.
func sobelLumaNEON(next, pix *byte, down, ahead uintptr, out, outBelow, above, below *byte, apart uintptr, n int) {
	lumaNEON(next, pix, ahead, n)
	lumaNEON((*byte)(unsafe.Add(unsafe.Pointer(next), apart)), (*byte)(unsafe.Add(unsafe.Pointer(pix), down)), ahead, n)
	sobelNEON(out, outBelow, above, below, apart, n)
}
