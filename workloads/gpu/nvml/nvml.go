//go:build linux && (amd64 || arm64)

package nvml

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/ebitengine/purego"

	"github.com/batchctl/batchctl/workloads/gpu"
)

// libraryPaths are the possible paths of the library: the loader's search path, and where older
// container runtimes and WSL put it.
var libraryPaths = []string{
	"libnvidia-ml.so.1",
	"/usr/local/nvidia/lib64/libnvidia-ml.so.1",
	"/usr/lib/wsl/lib/libnvidia-ml.so.1",
}

// remedy is the advice for a library that is missing in a container.
const remedy = "give the container the utility capability: NVIDIA_DRIVER_CAPABILITIES=compute,utility"

// Open loads and initialises NVML: the library that $BATCHCTL_NVML names, or else the driver's. The
// error is a *gpu.UnavailableError if the library is missing, and a *Error if it cannot be
// initialised. The caller must call Close.
func Open() (gpu.Management, error) {
	library, err := load()
	if err != nil {
		return nil, err
	}
	f, err := bindAll(library)
	if err != nil {
		return nil, err
	}
	m := &management{f}
	if err := m.check("nvmlInit", f.initialise()); err != nil {
		return nil, err
	}
	return m, nil
}

// load returns the handle of the library. It tries no other path if BATCHCTL_NVML names one.
func load() (uintptr, error) {
	// The loader keeps its last message for each thread.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if path := os.Getenv("BATCHCTL_NVML"); path != "" {
		library, err := purego.Dlopen(path, purego.RTLD_NOW)
		if err != nil {
			return 0, unavailable("BATCHCTL_NVML is not a library: "+err.Error(),
				"set it to the path of a libnvidia-ml.so.1, or unset it")
		}
		return library, nil
	}
	for _, path := range libraryPaths {
		library, err := purego.Dlopen(path, purego.RTLD_NOW)
		if err == nil {
			return library, nil
		}
		if !strings.HasPrefix(err.Error(), path+": cannot open shared object file") {
			return 0, unavailable("NVML cannot be loaded: "+err.Error(), remedy)
		}
	}
	return 0, unavailable("NVML is not available here: libnvidia-ml.so.1 was not found", remedy)
}

// unavailable is the error for a library that cannot be used.
func unavailable(reason, remedy string) error {
	return &gpu.UnavailableError{Binding: "NVML", Reason: reason, Remedy: remedy}
}

// management is NVML, initialised. The library may be called from any thread.
type management struct{ f functions }

// DriverVersion is the version of the kernel driver, such as 570.124.06.
func (m *management) DriverVersion() (string, error) {
	return m.text("nvmlSystemGetDriverVersion", m.f.driverVersion)
}

// Devices lists the UUIDs of all GPUs, including those that CUDA does not see.
func (m *management) Devices() ([]string, error) {
	var count uint32
	if err := m.check("nvmlDeviceGetCount", m.f.count(&count)); err != nil {
		return nil, err
	}
	var all []string
	for i := range count {
		var device handle
		if err := m.check("nvmlDeviceGetHandleByIndex", m.f.byIndex(i, &device)); err != nil {
			return nil, err
		}
		uuid, err := m.text("nvmlDeviceGetUUID",
			func(text *byte, size uint32) int32 { return m.f.uuid(device, text, size) })
		if err != nil {
			return nil, err
		}
		all = append(all, uuid)
	}
	return all, nil
}

// Close shuts NVML down. No other method may be called after it.
func (m *management) Close() error { return m.check("nvmlShutdown", m.f.shutdown()) }

// text calls a function that fills in a zero-terminated text.
func (m *management) text(call string, f func(*byte, uint32) int32) (string, error) {
	text := make([]byte, textSize)
	if err := m.check(call, f(&text[0], textSize)); err != nil {
		return "", err
	}
	return goText(text), nil
}

// check returns an error for a result that is not NVML_SUCCESS.
func (m *management) check(call string, code int32) error {
	if code == success {
		return nil
	}
	return &Error{Call: call, Code: int(code), Text: m.f.errorString(code)}
}

// find finds a device by the driver's UUID. For a MIG instance it returns the instance and its GPU;
// instance is 0 for a whole GPU. The driver's UUIDs of instances begin with GPU-, NVML's with MIG-.
func (m *management) find(uuid string) (whole, instance handle, err error) {
	code := m.f.byUUID(uuid, &whole)
	rest, renamed := strings.CutPrefix(uuid, "GPU-")
	if code == notFound && renamed {
		code = m.f.byUUID("MIG-"+rest, &instance)
	} else if strings.HasPrefix(uuid, "MIG-") {
		instance = whole
	}
	if err := m.check("nvmlDeviceGetHandleByUUID", code); err != nil {
		return 0, 0, fmt.Errorf("find %s: %w", uuid, err)
	}
	if instance == 0 {
		return whole, 0, nil
	}
	if m.f.parent == nil {
		return 0, 0, errors.New("find the GPU of a MIG instance: this driver's NVML is too old to report it")
	}
	err = m.check("nvmlDeviceGetDeviceHandleFromMigDeviceHandle", m.f.parent(instance, &whole))
	return whole, instance, err
}
