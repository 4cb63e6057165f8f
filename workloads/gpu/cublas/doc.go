// Package cublas multiplies matrices with NVIDIA's cuBLAS, which it loads at run time.
package cublas
