//go:build linux && (amd64 || arm64)

package libcuda

import (
	"fmt"

	"github.com/batchctl/batchctl/workloads/gpu"
)

// devices has the functions about devices and their primary contexts.
type devices struct {
	deviceGetCount     func(count *int32) code
	deviceGet          func(device *int32, ordinal int32) code
	deviceGetName      func(name *byte, size int32, device int32) code
	deviceGetUUID      func(uuid *[16]byte, device int32) code
	deviceGetAttribute func(value *int32, attribute, device int32) code
	deviceTotalMem     func(size *uint64, device int32) code

	primaryContextRetain  func(c *gpu.Context, device int32) code
	primaryContextRelease func(device int32) code
	contextSetCurrent     func(c gpu.Context) code
}

func (api *devices) symbols() []symbol {
	return []symbol{
		{&api.deviceGetCount, []string{"cuDeviceGetCount"}},
		{&api.deviceGet, []string{"cuDeviceGet"}},
		{&api.deviceGetName, []string{"cuDeviceGetName"}},
		{&api.deviceGetUUID, []string{"cuDeviceGetUuid_v2", "cuDeviceGetUuid"}}, // _v2 since CUDA 11.4
		{&api.deviceGetAttribute, []string{"cuDeviceGetAttribute"}},
		{&api.deviceTotalMem, []string{"cuDeviceTotalMem_v2"}},
		{&api.primaryContextRetain, []string{"cuDevicePrimaryCtxRetain"}},
		// _v2 since CUDA 11.0
		{&api.primaryContextRelease, []string{"cuDevicePrimaryCtxRelease_v2", "cuDevicePrimaryCtxRelease"}},
		{&api.contextSetCurrent, []string{"cuCtxSetCurrent"}},
	}
}

func (api *devices) DeviceCount() (int, error) {
	var count int32
	err := check("cuDeviceGetCount", api.deviceGetCount(&count))
	return int(count), err
}

// device returns the CUdevice of an ordinal.
func (api *devices) device(ordinal int) (int32, error) {
	var device int32
	err := check("cuDeviceGet", api.deviceGet(&device, int32(ordinal)))
	return device, err
}

func (api *devices) DeviceName(ordinal int) (string, error) {
	device, err := api.device(ordinal)
	if err != nil {
		return "", err
	}
	name := make([]byte, 256)
	if err := check("cuDeviceGetName", api.deviceGetName(&name[0], int32(len(name)), device)); err != nil {
		return "", err
	}
	return untilZero(name), nil
}

// DeviceUUID formats the bytes as nvidia-smi prints them.
func (api *devices) DeviceUUID(ordinal int) (string, error) {
	device, err := api.device(ordinal)
	if err != nil {
		return "", err
	}
	var u [16]byte
	if err := check("cuDeviceGetUuid", api.deviceGetUUID(&u, device)); err != nil {
		return "", err
	}
	return fmt.Sprintf("GPU-%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:]), nil
}

func (api *devices) DeviceAttribute(ordinal int, a gpu.Attribute) (int, error) {
	device, err := api.device(ordinal)
	if err != nil {
		return 0, err
	}
	var value int32
	err = check("cuDeviceGetAttribute", api.deviceGetAttribute(&value, int32(a), device))
	return int(value), err
}

func (api *devices) DeviceMemory(ordinal int) (int64, error) {
	device, err := api.device(ordinal)
	if err != nil {
		return 0, err
	}
	var size uint64
	err = check("cuDeviceTotalMem", api.deviceTotalMem(&size, device))
	return int64(size), err
}

// RetainPrimaryContext creates the context of a device, or adds a reference to it.
func (api *devices) RetainPrimaryContext(ordinal int) (gpu.Context, error) {
	device, err := api.device(ordinal)
	if err != nil {
		return 0, err
	}
	var c gpu.Context
	err = check("cuDevicePrimaryCtxRetain", api.primaryContextRetain(&c, device))
	return c, err
}

func (api *devices) ReleasePrimaryContext(ordinal int) error {
	device, err := api.device(ordinal)
	if err != nil {
		return err
	}
	return check("cuDevicePrimaryCtxRelease", api.primaryContextRelease(device))
}

// SetCurrent sets the context of the calling thread; 0 sets none.
func (api *devices) SetCurrent(c gpu.Context) error {
	return check("cuCtxSetCurrent", api.contextSetCurrent(c))
}
