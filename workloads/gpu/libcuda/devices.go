//go:build linux && (amd64 || arm64)

package libcuda

import (
	"fmt"

	"github.com/batchctl/batchctl/workloads/gpu"
)

func (d *driver) DeviceCount() (int, error) {
	var count int32
	err := check("cuDeviceGetCount", d.deviceGetCount(&count))
	return int(count), err
}

// device returns the CUdevice of an ordinal.
func (d *driver) device(ordinal int) (int32, error) {
	var device int32
	err := check("cuDeviceGet", d.deviceGet(&device, int32(ordinal)))
	return device, err
}

func (d *driver) DeviceName(ordinal int) (string, error) {
	device, err := d.device(ordinal)
	if err != nil {
		return "", err
	}
	name := make([]byte, 256)
	if err := check("cuDeviceGetName", d.deviceGetName(&name[0], int32(len(name)), device)); err != nil {
		return "", err
	}
	return untilZero(name), nil
}

// DeviceUUID formats the bytes as nvidia-smi prints them.
func (d *driver) DeviceUUID(ordinal int) (string, error) {
	device, err := d.device(ordinal)
	if err != nil {
		return "", err
	}
	var u [16]byte
	if err := check("cuDeviceGetUuid", d.deviceGetUUID(&u, device)); err != nil {
		return "", err
	}
	return fmt.Sprintf("GPU-%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:]), nil
}

func (d *driver) DeviceAttribute(ordinal int, a gpu.Attribute) (int, error) {
	device, err := d.device(ordinal)
	if err != nil {
		return 0, err
	}
	var value int32
	err = check("cuDeviceGetAttribute", d.deviceGetAttribute(&value, int32(a), device))
	return int(value), err
}

func (d *driver) DeviceMemory(ordinal int) (int64, error) {
	device, err := d.device(ordinal)
	if err != nil {
		return 0, err
	}
	var size uint64
	err = check("cuDeviceTotalMem", d.deviceTotalMem(&size, device))
	return int64(size), err
}

// RetainPrimaryContext creates the context of a device, or adds a reference to it.
func (d *driver) RetainPrimaryContext(ordinal int) (gpu.Context, error) {
	device, err := d.device(ordinal)
	if err != nil {
		return 0, err
	}
	var c gpu.Context
	err = check("cuDevicePrimaryCtxRetain", d.primaryContextRetain(&c, device))
	return c, err
}

func (d *driver) ReleasePrimaryContext(ordinal int) error {
	device, err := d.device(ordinal)
	if err != nil {
		return err
	}
	return check("cuDevicePrimaryCtxRelease", d.primaryContextRelease(device))
}

// SetCurrent sets the context of the calling thread; 0 sets none.
func (d *driver) SetCurrent(c gpu.Context) error {
	return check("cuCtxSetCurrent", d.contextSetCurrent(c))
}
