// The kernels of this package, for the driver that stands in for a GPU in tests.
#pragma once

#define GEMM_KERNELS(X)     \
	X(gemm_f32)             \
	X(gemm_f32_wide)        \
	X(gemm_f32_any)         \
	X(gemm_f64)             \
	X(gemm_f64_any)         \
	X(gemm_tf32)            \
	X(gemm_tf32_any)        \
	X(gemm_bf16)            \
	X(gemm_bf16_any)        \
	X(gemm_f64_mma)         \
	X(gemm_f64_mma_any)     \
	X(gemm_tf32_wgmma)      \
	X(gemm_f64_hopper)      \
	X(gemm_bf16_wgmma)      \
	X(gemm_peak_f32)        \
	X(gemm_peak_f64)        \
	X(gemm_peak_tf32)       \
	X(gemm_peak_bf16)       \
	X(gemm_peak_f64_mma)    \
	X(gemm_peak_tf32_wgmma) \
	X(gemm_peak_bf16_wgmma) \
	X(gemm_peak_f64_hopper)

#define GEMM_VARIABLES(X)
