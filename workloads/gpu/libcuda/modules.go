//go:build linux && (amd64 || arm64)

package libcuda

import (
	"runtime"
	"strings"
	"unsafe"

	"github.com/batchctl/batchctl/workloads/gpu"
)

// Constants of cuda.h.
const (
	maxDynamicShared = 8 // CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES

	jitErrorLog     = 5 // CU_JIT_ERROR_LOG_BUFFER
	jitErrorLogSize = 6 // CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES
)

// modules has the functions that load modules and start their kernels.
type modules struct {
	moduleLoad           func(m *gpu.Module, image *byte, n uint32, options *int32, values *uintptr) code
	moduleUnload         func(m gpu.Module) code
	moduleGetFunction    func(f *gpu.Function, m gpu.Module, name *byte) code
	moduleGetGlobal      func(p *gpu.Pointer, size *uint64, m gpu.Module, name *byte) code
	functionSetAttribute func(f gpu.Function, attribute, value int32) code
	launchKernel         func(f gpu.Function, gridX, gridY, gridZ, blockX, blockY, blockZ, shared uint32, s gpu.Stream,
		args, extra *unsafe.Pointer) code
}

func (api *modules) symbols() []symbol {
	return []symbol{
		{&api.moduleLoad, []string{"cuModuleLoadDataEx"}},
		{&api.moduleUnload, []string{"cuModuleUnload"}},
		{&api.moduleGetFunction, []string{"cuModuleGetFunction"}},
		{&api.moduleGetGlobal, []string{"cuModuleGetGlobal_v2"}},
		{&api.functionSetAttribute, []string{"cuFuncSetAttribute"}},
		{&api.launchKernel, []string{"cuLaunchKernel"}},
	}
}

// LoadModule compiles PTX for the device. The error has the compiler's log.
func (api *modules) LoadModule(ptx string) (gpu.Module, error) {
	log := make([]byte, 8192)
	var pinned runtime.Pinner // values has its address as a number, which the garbage collector does not see
	pinned.Pin(&log[0])
	defer pinned.Unpin()
	options := []int32{jitErrorLog, jitErrorLogSize}
	values := []uintptr{uintptr(unsafe.Pointer(&log[0])), uintptr(len(log))}
	var m gpu.Module
	c := api.moduleLoad(&m, text(ptx), uint32(len(options)), &options[0], &values[0])
	if c != 0 {
		return 0, &gpu.Error{Call: "cuModuleLoadDataEx", Code: int(c), Detail: strings.TrimSpace(untilZero(log))}
	}
	return m, nil
}

func (api *modules) UnloadModule(m gpu.Module) error {
	return check("cuModuleUnload", api.moduleUnload(m))
}

// Function finds a kernel by its name in the PTX.
func (api *modules) Function(m gpu.Module, name string) (gpu.Function, error) {
	var f gpu.Function
	err := check("cuModuleGetFunction", api.moduleGetFunction(&f, m, text(name)))
	return f, err
}

// Global finds a variable of a module, and its size in bytes.
func (api *modules) Global(m gpu.Module, name string) (gpu.Pointer, int64, error) {
	var p gpu.Pointer
	var size uint64
	err := check("cuModuleGetGlobal", api.moduleGetGlobal(&p, &size, m, text(name)))
	return p, int64(size), err
}

// AllowShared lets a kernel use more than 48 KiB of dynamic shared memory.
func (api *modules) AllowShared(f gpu.Function, size int) error {
	return check("cuFuncSetAttribute", api.functionSetAttribute(f, maxDynamicShared, int32(size)))
}

// Launch queues a kernel. Each of args points to the value of one parameter.
func (api *modules) Launch(f gpu.Function, grid, block gpu.Dim, shared int, s gpu.Stream, args []unsafe.Pointer) error {
	// The call keeps args alive, and with them their targets. Those are on the heap, which does not
	// move, because they have passed through an interface.
	c := api.launchKernel(f, grid[0], grid[1], grid[2], block[0], block[1], block[2], uint32(shared), s,
		unsafe.SliceData(args), nil)
	return check("cuLaunchKernel", c)
}
