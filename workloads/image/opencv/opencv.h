// What the kernel "opencv" calls; see opencv.go.
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

// image is 8-bit or float samples, row y at data + y*stride, strides in bytes.
typedef struct {
	void *data;
	int width, height, channels, is_float;
	size_t stride;
} image;

// Each returns NULL, or a message that the caller frees.
char *opencv_gaussian(image dst, image src, int threads, int radius, double sigma);
char *opencv_sobel(image dst, image src, int threads);
char *opencv_half(image dst, image src, int threads);
char *opencv_bilinear(image dst, image src, int threads);
char *opencv_linear(image dst, image src, int threads, double factor, double offset);

const char *opencv_version(void);

#ifdef __cplusplus
}
#endif
