//go:build linux && (amd64 || arm64)

package cublas

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"unsafe"

	"github.com/ebitengine/purego"

	"github.com/batchctl/batchctl/workloads/gpu"
)

// remedy is the advice for a missing library.
const remedy = "use an image that contains it, such as one based on nvidia/cuda:12.6.3-runtime-ubuntu24.04, or set BATCHCTL_CUBLAS to the path of a libcublas.so"

// libraryPaths are the possible paths of the library: the loader's search path, then CUDA's folder.
// The newest comes first. Versions before 11 have no TF32 and no bfloat16.
func libraryPaths() []string {
	var all []string
	for _, folder := range []string{"", "/usr/local/cuda/lib64/"} {
		for _, version := range []string{"13", "12", "11"} {
			all = append(all, folder+"libcublas.so."+version)
		}
	}
	return all
}

// Open loads cuBLAS: the library that $BATCHCTL_CUBLAS names, or else the newest that it finds. The
// error is a *gpu.UnavailableError. Open needs no GPU; a Multiplier does.
func Open() (gpu.BLAS, error) {
	address, err := load()
	if err != nil {
		return nil, err
	}
	f, err := bind(address)
	if err != nil {
		return nil, err
	}
	version, err := f.version()
	if err != nil {
		return nil, err
	}
	return &library{f, version}, nil
}

// load returns the handle of the library. It tries no other path if BATCHCTL_CUBLAS names one.
func load() (uintptr, error) {
	// The loader keeps its last message for each thread.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if path := os.Getenv("BATCHCTL_CUBLAS"); path != "" {
		address, err := purego.Dlopen(path, purego.RTLD_NOW)
		if err != nil {
			return 0, unavailable("BATCHCTL_CUBLAS is not a library: "+err.Error(),
				"set it to the path of a libcublas.so, or unset it")
		}
		return address, nil
	}
	for _, path := range libraryPaths() {
		address, err := purego.Dlopen(path, purego.RTLD_NOW)
		if err == nil {
			return address, nil
		}
		// Any other message means that the library exists but is broken, such as without its libcublasLt.
		if !strings.HasPrefix(err.Error(), path+": cannot open shared object file") {
			return 0, unavailable("cuBLAS cannot be loaded: "+err.Error(), remedy)
		}
	}
	return 0, unavailable("cuBLAS is not in this image", remedy)
}

func unavailable(reason, remedy string) error {
	return &gpu.UnavailableError{Binding: "cuBLAS", Reason: reason, Remedy: remedy}
}

// functions are those of the library that Multiply needs. All return a cublasStatus_t.
type functions struct {
	property  func(which int32, value *int32) int32
	create    func(*uintptr) int32
	destroy   func(handle uintptr) int32
	setStream func(handle uintptr, s gpu.Stream) int32
	setMode   func(handle uintptr, mode int32) int32
	// multiply is cublasGemmEx: C = alpha op(A) op(B) + beta C, column-major.
	multiply func(handle uintptr, transposeA, transposeB, m, n, k int32, alpha unsafe.Pointer,
		a gpu.Pointer, typeA, lda int32, b gpu.Pointer, typeB, ldb int32, beta unsafe.Pointer,
		c gpu.Pointer, typeC, ldc, compute, algorithm int32) int32
}

func bind(library uintptr) (functions, error) {
	var f functions
	for _, s := range []struct {
		name string
		at   any
	}{
		{"cublasGetProperty", &f.property},
		{"cublasCreate_v2", &f.create},
		{"cublasDestroy_v2", &f.destroy},
		{"cublasSetStream_v2", &f.setStream},
		{"cublasSetMathMode", &f.setMode},
		{"cublasGemmEx", &f.multiply},
	} {
		address, err := purego.Dlsym(library, s.name)
		if err != nil {
			return f, unavailable(fmt.Sprintf("the library that was loaded as cuBLAS has no function %s", s.name),
				remedy)
		}
		purego.RegisterFunc(s.at, address)
	}
	return f, nil
}

// version reads the three parts of the version (libraryPropertyType 0, 1, 2), which needs no handle.
// The single number of cublasGetVersion has different bases in versions 11 and 12.
func (f functions) version() (string, error) {
	var parts [3]int32
	for i := range parts {
		if err := check("cublasGetProperty", f.property(int32(i), &parts[i])); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("cuBLAS %d.%d.%d", parts[0], parts[1], parts[2]), nil
}

// library implements gpu.BLAS.
type library struct {
	f       functions
	version string
}

func (l *library) Version() string { return l.version }

// fullPrecisionSums is CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION. Without it, cuBLAS may cut
// the depth of a bfloat16 product and round the sum of each part to bfloat16 before it adds them.
// That can double the error of an element.
const fullPrecisionSums = 16

// NewMultiplier creates a cuBLAS handle for the context of the calling thread, on the stream.
func (l *library) NewMultiplier(s gpu.Stream) (gpu.Multiplier, error) {
	m := &multiplier{f: l.f}
	if err := check("cublasCreate", l.f.create(&m.handle)); err != nil {
		return nil, err
	}
	if err := check("cublasSetStream", l.f.setStream(m.handle, s)); err != nil {
		l.f.destroy(m.handle)
		return nil, err
	}
	if err := check("cublasSetMathMode", l.f.setMode(m.handle, fullPrecisionSums)); err != nil {
		l.f.destroy(m.handle)
		return nil, err
	}
	return m, nil
}
