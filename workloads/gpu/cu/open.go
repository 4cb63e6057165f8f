//go:build cuda && cgo && linux

package cu

/*
#cgo LDFLAGS: -lcuda -ldl
#include <cuda.h>

// The import library has it, NVIDIA's does not.
__attribute__((weak)) char *batchctl_cuda_load(const char *path, int *result);

static int imported(void) { return batchctl_cuda_load != NULL; }

static char *load(const char *path, int *result) { return batchctl_cuda_load(path, result); }
*/
import "C"

import (
	"os"
	"strings"
	"sync"
	"unsafe"

	"github.com/batchctl/batchctl/workloads/gpu"
)

// Variable is the environment variable with the path of the library to load. Without it,
// the library is where the system, NVIDIA's container runtime or WSL puts it. In a program
// that is linked with NVIDIA's libcuda it means nothing.
const Variable = "BATCHCTL_LIBCUDA"

// binding is the name of this way to the driver.
const binding = "gorgonia.org/cu v0.9.6"

// libraryPaths are where libcuda is: where the loader looks, a mount of Kubernetes and older
// runtimes, and WSL.
var libraryPaths = []string{"libcuda.so.1", "/usr/local/nvidia/lib64/libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1"}

// opening is held while the functions of a library are filled in, which all drivers share.
var opening sync.Mutex

// Open loads the library and initialises the driver. Where there is no usable GPU the
// error is a *gpu.UnavailableError that says what is missing.
func Open() (gpu.Driver, error) {
	opening.Lock()
	defer opening.Unlock()
	code, err := start()
	if err != nil {
		return nil, err
	}
	d := driver{}
	version, err := d.Version()
	if err == nil {
		if err := gpu.OldDriver(binding, version); err != nil {
			return nil, err
		}
	}
	switch {
	case code == 0 && err == nil:
		return d, nil
	case code == 0:
		return nil, err
	case code == codeAbsent:
		return nil, &gpu.UnavailableError{
			Binding: binding, Reason: "the NVIDIA driver's library has no cuInit",
			Remedy: "run the job on a machine image with a newer driver",
		}
	}
	return nil, gpu.NotStarted(binding, code)
}

// start loads the library and returns the result of its cuInit. It tries no other library if the
// environment names one. The error distinguishes a broken library from a missing one.
func start() (code int, err error) {
	if C.imported() == 0 {
		return 0, nil // cu has called it before main, and would have ended the program
	}
	paths := libraryPaths
	if path := os.Getenv(Variable); path != "" {
		paths = []string{path}
	}
	var broken []string
	for _, path := range paths {
		code, reason := load(path)
		if reason == "" {
			return code, nil
		}
		if !strings.HasPrefix(reason, path+":") || !strings.HasSuffix(reason, "No such file or directory") {
			broken = append(broken, reason)
		}
	}
	if len(broken) > 0 {
		return 0, &gpu.UnavailableError{
			Binding: binding, Reason: "the NVIDIA driver's library cannot be loaded: " + strings.Join(broken, "; "),
			Remedy: "use an image for this machine's CPU architecture, with a newer glibc",
		}
	}
	return 0, gpu.NoLibrary(binding, paths[0]+" was not found")
}

// load returns what the library's cuInit answers, or why it cannot be loaded.
func load(path string) (code int, reason string) {
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	var answer C.int
	why := C.load(name, &answer)
	if why == nil {
		return int(answer), ""
	}
	defer C.free(unsafe.Pointer(why))
	return 0, C.GoString(why)
}
