// Package opencv calls the image operations of OpenCV, an independent reference for those
// of package image. It is empty without the build tag opencv, which needs cgo, a C++
// compiler and OpenCV 4 with its headers (Debian: libopencv-dev).
package opencv
