package image

import "golang.org/x/sys/cpu"

// instructionSets are those that this processor and its system have, the best first.
func instructionSets() []*simd {
	var all []*simd
	if cpu.X86.HasAVX512F && cpu.X86.HasAVX512BW && cpu.X86.HasAVX512VL {
		all = append(all, avx512())
	}
	if cpu.X86.HasAVX2 && cpu.X86.HasFMA {
		all = append(all, avx2())
	}
	return all
}

func avx512() *simd {
	return &simd{
		name: "avx512", bytes: 64,
		copy: copyAVX512, copyStream: copyStreamAVX512,
		words: scaleWordsAVX512, wordsStream: scaleWordsStreamAVX512,
		scale: scaleAVX512, scaleStream: scaleStreamAVX512,
		float: toFloatAVX512, floatStream: toFloatStreamAVX512,
		flip: flipAVX512, gaussianDown: gaussianDownAVX512, gaussianAlong: gaussianAlongAVX512,
		luma: lumaAVX512, sobel: sobelAVX512, sobelLuma: sobelLumaAVX512, half: halfAVX512, halfStream: halfStreamAVX512,
		resampleDown: resampleDownAVX512, resampleAlong: resampleAlongAVX512,
	}
}

func avx2() *simd {
	return &simd{
		name: "avx2", bytes: 32,
		copy: copyAVX2, copyStream: copyStreamAVX2,
		words: scaleWordsAVX2, wordsStream: scaleWordsStreamAVX2,
		scale: scaleAVX2, scaleStream: scaleStreamAVX2,
		float: toFloatAVX2, floatStream: toFloatStreamAVX2,
		flip: flipAVX2, gaussianDown: gaussianDownAVX2, gaussianAlong: gaussianAlongAVX2,
		luma: lumaAVX2, sobel: sobelAVX2, sobelLuma: sobelLumaAVX2, half: halfAVX2, halfStream: halfStreamAVX2,
		resampleDown: resampleDownAVX2, resampleAlong: resampleAlongAVX2,
	}
}
