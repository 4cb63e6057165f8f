// The kernels of this room, for the driver that stands in for a GPU in tests.
#pragma once

#define PIXELS_KERNELS(X)                                                                                      \
	X(pixels_table) X(pixels_linear) X(pixels_copy) X(pixels_half) X(pixels_half_wide)                         \
	X(pixels_sobel) X(pixels_sobel_wide)                                                                       \
	X(pixels_gaussian_3) X(pixels_gaussian_6) X(pixels_gaussian_9) X(pixels_gaussian_12) X(pixels_gaussian_15) \
	X(pixels_gaussian) X(pixels_resample)
#define PIXELS_VARIABLES(X)
