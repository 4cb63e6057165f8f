package gemm

import "github.com/batchctl/batchctl/workloads/gpu"

const (
	// tensorCores is the compute capability from which mma.cu runs: Ampere.
	tensorCores = 80
	// warpgroups is the only compute capability on which wgmma.cu runs: Hopper. Its PTX 8.0
	// needs a driver of CUDA warpgroupsDriver or newer.
	warpgroups, warpgroupsDriver = 90, 12000
)

// library is one of the texts of PTX that a card loads.
type library int

const (
	gemmLibrary library = iota
	peakLibrary
	mmaLibrary
	peakMMALibrary
	wgmmaLibrary
)

// shape is a kernel and how it is launched.
type shape struct {
	in   library
	name string
	// A block computes m x n elements of C in steps of depth.
	m, n, depth int
	threads     int
	// shared is the dynamic shared memory of a block, in bytes.
	shared int
}

// peak is a kernel that measures a peak, and the floating-point operations of a round of
// one of its threads.
type peak struct {
	in         library
	name       string
	operations float64
	arguments  []any
}

// design is how a precision is computed: fast where everything is aligned, and in
// general.
type design struct {
	aligned, general shape
	peak             peak
	// tensor is whether the kernels are those for tensor cores.
	tensor bool
}

// The shapes are those of gemm.cu, mma.cu and wgmma.cu, the rounds those of peak.cu and
// peak_mma.cu: 8 chains of 32 multiply-adds for a thread, or of 4 multiplications of
// m x n x depth for a warp. In wgmma.cu it is one chain of 4 for a warpgroup.
var (
	float32Square = design{
		aligned: shape{in: gemmLibrary, name: "gemm_f32", m: 128, n: 128, depth: 8, threads: 256},
		general: shape{in: gemmLibrary, name: "gemm_f32_any", m: 128, n: 128, depth: 8, threads: 128},
		peak:    peak{peakLibrary, "gemm_peak_f32", 2 * 8 * 32, []any{float32(0.5), float32(1)}},
	}
	float32Wide = design{
		aligned: shape{in: gemmLibrary, name: "gemm_f32_wide", m: 128, n: 128, depth: 8, threads: 128},
		general: float32Square.general,
		peak:    float32Square.peak,
	}
	float64Ordinary = design{
		aligned: shape{in: gemmLibrary, name: "gemm_f64", m: 128, n: 64, depth: 8, threads: 128},
		general: shape{in: gemmLibrary, name: "gemm_f64_any", m: 128, n: 64, depth: 8, threads: 128},
		peak:    peak{peakLibrary, "gemm_peak_f64", 2 * 8 * 32, []any{0.5, 1.0}},
	}
	float64Tensor = design{
		aligned: shape{in: mmaLibrary, name: "gemm_f64_mma", m: 128, n: 128, depth: 8, threads: 256,
			shared: stages(128, 8, 8, 32)},
		general: shape{in: mmaLibrary, name: "gemm_f64_mma_any", m: 128, n: 128, depth: 8, threads: 256,
			shared: stages(128, 8, 8, 32)},
		peak:   peak{peakMMALibrary, "gemm_peak_f64_mma", 2 * 8 * 4 * 8 * 8 * 4 / 32, []any{1.0}},
		tensor: true,
	}
	float64Hopper = design{
		aligned: shape{in: wgmmaLibrary, name: "gemm_f64_hopper", m: 128, n: 128, depth: 8, threads: 256,
			shared: stages(128, 8, 8, 32)},
		general: float64Tensor.general,
		peak:    peak{wgmmaLibrary, "gemm_peak_f64_hopper", 2 * 8 * 4 * 16 * 8 * 8 / 32, []any{1.0}},
		tensor:  true,
	}
	tf32 = design{
		aligned: shape{in: mmaLibrary, name: "gemm_tf32", m: 128, n: 256, depth: 16, threads: 256,
			shared: stages(256, 16, 4, 32)},
		general: shape{in: mmaLibrary, name: "gemm_tf32_any", m: 128, n: 256, depth: 16, threads: 256,
			shared: stages(256, 16, 4, 32)},
		peak:   peak{peakMMALibrary, "gemm_peak_tf32", 2 * 8 * 4 * 16 * 8 * 8 / 32, []any{uint32(0x3f800000)}},
		tensor: true,
	}
	bfloat16 = design{
		aligned: shape{in: mmaLibrary, name: "gemm_bf16", m: 128, n: 256, depth: 32, threads: 256,
			shared: stages(256, 32, 2, 16)},
		general: shape{in: mmaLibrary, name: "gemm_bf16_any", m: 128, n: 256, depth: 32, threads: 256,
			shared: stages(256, 32, 2, 16)},
		peak:   peak{peakMMALibrary, "gemm_peak_bf16", 2 * 8 * 4 * 16 * 8 * 16 / 32, []any{uint32(0x3f803f80)}},
		tensor: true,
	}
	tf32Warpgroups = design{
		aligned: shape{in: wgmmaLibrary, name: "gemm_tf32_wgmma", m: 256, n: 128, depth: 32, threads: 256,
			shared: atom + 4*(256*128+32*(128*4+32))},
		general: tf32.general,
		peak:    peak{wgmmaLibrary, "gemm_peak_tf32_wgmma", 2 * 4 * 64 * 256 * 8 / 128, []any{uint32(0x3f800000)}},
		tensor:  true,
	}
	bfloat16Warpgroups = design{
		aligned: shape{in: wgmmaLibrary, name: "gemm_bf16_wgmma", m: 128, n: 256, depth: 64, threads: 256,
			shared: atom + 4*(128+256)*128},
		general: bfloat16.general,
		peak:    peak{wgmmaLibrary, "gemm_peak_bf16_wgmma", 2 * 4 * 64 * 256 * 16 / 128, []any{uint32(0x3f803f80)}},
		tensor:  true,
	}
)

// atom is what the four stages of wgmma.cu are aligned to. That takes as many bytes more.
const atom = 1024

// stages is the size of the four stages of mma.cu: 128 rows of A of 64 bytes each, and a
// row of n elements of B, with some bytes between rows, for each of the depth.
func stages(n, depth, element, between int) int { return 4 * (128*64 + depth*(n*element+between)) }

// designFor is how a card of that compute capability computes at a precision with a driver
// of that CUDA.
func designFor(p gpu.Precision, capability, driver int) (d design, ok bool) {
	hopper := hasWarpgroups(capability, driver)
	switch p {
	case gpu.Float32:
		// Up to the A100 a multiprocessor multiplies 64 numbers in a clock, then 128.
		if capability <= 80 {
			return float32Square, true
		}
		return float32Wide, true
	case gpu.Float64:
		// The A100 and Hopper have tensor cores for float64. Later chips compute it as fast
		// without, and those for graphics have next to nothing for it.
		if hopper {
			return float64Hopper, true
		}
		if capability == 80 || capability == 90 {
			return float64Tensor, true
		}
		return float64Ordinary, true
	case gpu.TF32:
		if hopper {
			return tf32Warpgroups, true
		}
		return tf32, capability >= tensorCores
	case gpu.BFloat16:
		if hopper {
			return bfloat16Warpgroups, true
		}
		return bfloat16, capability >= tensorCores
	}
	return design{}, false
}

func hasWarpgroups(capability, driver int) bool {
	return capability == warpgroups && driver >= warpgroupsDriver
}
