//go:build openblas

package matrix

/*
#cgo LDFLAGS: -lopenblas -lm -pthread

// Declared here so that the library is enough, without its headers.
void cblas_dgemm(int order, int transA, int transB, int m, int n, int k, double alpha,
	const double *a, int lda, const double *b, int ldb, double beta, double *c, int ldc);
void cblas_sgemm(int order, int transA, int transB, int m, int n, int k, float alpha,
	const float *a, int lda, const float *b, int ldb, float beta, float *c, int ldc);
void openblas_set_num_threads(int threads);
char *openblas_get_corename(void);
*/
import "C"

// The names that CBLAS gives to row-major order and to no transposition.
const (
	rowMajor = 101
	noTrans  = 111
)

// independent returns the kernels of other libraries. OpenBLAS reports the core type that it chose
// for the machine: a wrong one halves its speed. OPENBLAS_CORETYPE in the environment overrides it.
func independent() []Kernel {
	return []Kernel{{Name: "openblas", Title: "openblas-" + C.GoString(C.openblas_get_corename()),
		Float64: openblasFloat64, Float32: openblasFloat32}}
}

func openblasFloat64(c, a, b Matrix[float64], threads int) {
	C.openblas_set_num_threads(C.int(threads))
	C.cblas_dgemm(rowMajor, noTrans, noTrans, C.int(a.Rows), C.int(b.Cols), C.int(a.Cols), 1,
		(*C.double)(&a.Data[0]), C.int(a.Stride), (*C.double)(&b.Data[0]), C.int(b.Stride), 0, (*C.double)(&c.Data[0]),
		C.int(c.Stride))
}

func openblasFloat32(c, a, b Matrix[float32], threads int) {
	C.openblas_set_num_threads(C.int(threads))
	C.cblas_sgemm(rowMajor, noTrans, noTrans, C.int(a.Rows), C.int(b.Cols), C.int(a.Cols), 1,
		(*C.float)(&a.Data[0]), C.int(a.Stride), (*C.float)(&b.Data[0]), C.int(b.Stride), 0, (*C.float)(&c.Data[0]),
		C.int(c.Stride))
}
