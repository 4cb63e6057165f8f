//go:build opencv && cgo

package opencv

/*
#cgo LDFLAGS: -Wl,--as-needed
#cgo CXXFLAGS: -O2 -std=c++17
#cgo pkg-config: opencv4
#include <stdlib.h>
#include "opencv.h"
*/
import "C"

import (
	"errors"
	"runtime"
	"unsafe"
)

// Image is an image of package image: samples of 8 bits, or float32s, the channels of a pixel
// adjacent. Row y starts at Pix[y*Stride]; the stride is in bytes.
type Image struct {
	Pix                             []byte
	Width, Height, Channels, Stride int
	Float                           bool
}

// Every function computes all of dst from src, which have the shapes of the operation, on
// that many threads of OpenCV. The error is OpenCV's.

// Gaussian blurs with 2*radius+1 taps along each axis and the nearest pixels beyond the
// border. OpenCV rounds the weights to 1/256.
func Gaussian(dst, src Image, threads, radius int, sigma float64) error {
	return call(dst, src, func(dst, src C.image) *C.char {
		return C.opencv_gaussian(dst, src, C.int(threads), C.int(radius), C.double(sigma))
	})
}

// Sobel gives min(255, |gx| + |gy|) on the luma of ITU-R BT.601, which OpenCV rounds from
// weights of 15 bits.
func Sobel(dst, src Image, threads int) error {
	return call(dst, src, func(dst, src C.image) *C.char { return C.opencv_sobel(dst, src, C.int(threads)) })
}

// Half gives the rounded mean of each block of 2x2 (INTER_AREA).
func Half(dst, src Image, threads int) error {
	return call(dst, src, func(dst, src C.image) *C.char { return C.opencv_half(dst, src, C.int(threads)) })
}

// Bilinear resizes to the size of dst (INTER_LINEAR).
func Bilinear(dst, src Image, threads int) error {
	return call(dst, src, func(dst, src C.image) *C.char { return C.opencv_bilinear(dst, src, C.int(threads)) })
}

// Linear gives sample*factor + offset, rounded to the nearest level, halves to the even
// one, and clamped; or as float32 where dst is.
func Linear(dst, src Image, threads int, factor, offset float64) error {
	return call(dst, src, func(dst, src C.image) *C.char {
		return C.opencv_linear(dst, src, C.int(threads), C.double(factor), C.double(offset))
	})
}

// Version is OpenCV's, such as 4.6.0.
func Version() string { return C.GoString(C.opencv_version()) }

func call(dst, src Image, f func(dst, src C.image) *C.char) error {
	var pins runtime.Pinner
	defer pins.Unpin()
	message := f(dst.pinned(&pins), src.pinned(&pins))
	if message == nil {
		return nil
	}
	defer C.free(unsafe.Pointer(message))
	return errors.New(C.GoString(message))
}

// pinned returns the image for C; pins keep the pixels in place until they are released.
func (m Image) pinned(pins *runtime.Pinner) C.image {
	pins.Pin(&m.Pix[0])
	isFloat := C.int(0)
	if m.Float {
		isFloat = 1
	}
	return C.image{
		data: unsafe.Pointer(&m.Pix[0]), width: C.int(m.Width), height: C.int(m.Height),
		channels: C.int(m.Channels), is_float: isFloat, stride: C.size_t(m.Stride),
	}
}
