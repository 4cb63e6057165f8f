// Package cublas multiplies matrices by cuBLAS, loaded when the program runs.
package cublas
