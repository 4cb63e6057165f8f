package image

import "golang.org/x/sys/cpu"

// instructionSets returns those that the processor and the operating system support, the best
// first.
func instructionSets() []*simd {
	var all []*simd
	if cpu.X86.HasAVX512F && cpu.X86.HasAVX512BW && cpu.X86.HasAVX512VL {
		all = append(all, avx512(cpu.X86.HasAVX512VBMI && cpu.X86.HasAVX512VNNI))
	}
	if cpu.X86.HasAVX2 && cpu.X86.HasFMA {
		all = append(all, avx2())
	}
	return all
}

// avx512 returns the AVX-512 kernels. Sobel's are those of AVX2 if the processor lacks the
// instructions for luma: byte shuffles across a vector (VBMI), and sums of four products (VNNI).
func avx512(luma bool) *simd {
	v := &simd{
		name: "avx512", bytes: 64, fence: fence,
		copy: copyAVX512, copyStream: copyStreamAVX512,
		words: scaleWordsAVX512, wordsStream: scaleWordsStreamAVX512,
		scale: scaleAVX512, scaleStream: scaleStreamAVX512,
		float: toFloatAVX512, floatStream: toFloatStreamAVX512,
		flip: flipAVX512, gaussianDown: gaussianDownAVX512, gaussianPair: gaussianPairAVX512,
		gaussianAlong: gaussianAlongAVX512,
		luma:          lumaAVX512, sobel: sobelAVX512, sobelLuma: sobelLumaAVX512,
		sobelLumaStream: sobelLumaStreamAVX512,
		half:            halfAVX512, halfStream: halfStreamAVX512,
		resampleDown: resampleDownAVX512, resampleAlong: resampleAlongAVX512,
	}
	if !luma {
		older := avx2()
		v.luma, v.sobel, v.sobelLuma, v.sobelLumaStream = older.luma, older.sobel, older.sobelLuma,
			older.sobelLumaStream
	}
	return v
}

// avx2 returns the AVX2 kernels.
func avx2() *simd {
	return &simd{
		name: "avx2", bytes: 32, fence: fence,
		copy: copyAVX2, copyStream: copyStreamAVX2,
		words: scaleWordsAVX2, wordsStream: scaleWordsStreamAVX2,
		scale: scaleAVX2, scaleStream: scaleStreamAVX2,
		float: toFloatAVX2, floatStream: toFloatStreamAVX2,
		flip: flipAVX2, gaussianDown: gaussianDownAVX2, gaussianPair: gaussianPairAVX2,
		gaussianAlong: gaussianAlongAVX2,
		luma:          lumaAVX2, sobel: sobelAVX2, sobelLuma: sobelLumaAVX2, sobelLumaStream: sobelLumaAVX2,
		half:         halfAVX2,
		halfStream:   halfStreamAVX2,
		resampleDown: resampleDownAVX2, resampleAlong: resampleAlongAVX2,
	}
}
