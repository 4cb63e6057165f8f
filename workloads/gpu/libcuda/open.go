//go:build linux && (amd64 || arm64)

package libcuda

import (
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/ebitengine/purego"

	"github.com/batchctl/batchctl/workloads/gpu"
)

// libraryPaths are the possible paths of libcuda: the loader's search path, which NVIDIA's container
// runtime sets up; the mount of Kubernetes and older runtimes; and WSL.
var libraryPaths = []string{"libcuda.so.1", "/usr/local/nvidia/lib64/libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1"}

// Open loads the library and initialises the driver. If there is no usable GPU the error is a
// *gpu.UnavailableError that names what is missing.
func Open() (gpu.Driver, error) {
	// dlerror returns the last error of the calling thread.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	library, err := load()
	if err != nil {
		return nil, err
	}
	d := &driver{}
	if err := d.bind(library); err != nil {
		return nil, err
	}
	if code := d.init(0); code != 0 {
		return nil, gpu.NotStarted(binding, int(code))
	}
	version, err := d.Version()
	if err != nil {
		return nil, err
	}
	if err := gpu.OldDriver(binding, version); err != nil {
		return nil, err
	}
	return d, nil
}

// load loads the library. It tries no other if BATCHCTL_LIBCUDA names one. The error distinguishes a
// broken library from a missing one.
func load() (uintptr, error) {
	paths := libraryPaths
	if path := os.Getenv(Variable); path != "" {
		paths = []string{path}
	}
	var broken []string
	for _, path := range paths {
		library, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
		if err == nil {
			return library, nil
		}
		text := err.Error()
		if !strings.HasPrefix(text, path+":") || !strings.HasSuffix(text, "No such file or directory") {
			broken = append(broken, text)
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

// bind resolves the functions. A library that lacks one belongs to a driver that is too old; the
// error has its version if the library can report it.
func (d *driver) bind(library uintptr) error {
	for _, f := range d.symbols() {
		address := find(library, f.names)
		if address != 0 {
			purego.RegisterFunc(f.call, address)
			continue
		}
		if d.driverGetVersion != nil {
			if version, err := d.Version(); err == nil {
				if err := gpu.OldDriver(binding, version); err != nil {
					return err
				}
			}
		}
		return &gpu.UnavailableError{
			Binding: binding, Reason: fmt.Sprintf("the NVIDIA driver's library has no %s", f.names[0]),
			Remedy: "run the job on a machine image with a newer driver",
		}
	}
	return nil
}

// find returns the address of the first name that the library has, or 0.
func find(library uintptr, names []string) uintptr {
	for _, name := range names {
		if address, err := purego.Dlsym(library, name); err == nil {
			return address
		}
	}
	return 0
}
