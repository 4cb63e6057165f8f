// What the driver tells of its devices and its errors.
#include <cstring>
#include <map>

#include "config.h"
#include "driver.h"

using namespace fakecuda;

namespace {

// shared is the most that a block may ask for, by compute capability, in KiB.
int sharedKiB() {
	switch (config().capability) {
	case 70: return 96;
	case 75: return 64;
	case 80: case 87: return 163;
	case 86: case 89: case 120: return 99;
	}
	return config().capability < 70 ? 48 : 227;
}

int attribute(int ordinal, int a) {
	static const std::map<int, int> fixed = {
		{1, 1024}, {2, 1024}, {3, 1024}, {4, 64}, // threads of a block
		{5, 2147483647}, {6, 65535}, {7, 65535},  // blocks of a grid
		{8, 48 << 10}, {9, 64 << 10}, {10, 32}, {11, 2147483647}, {12, 65536},
		{13, 1000000}, // clock, kHz
		{16, 2},       // multiprocessors
		{19, 1}, {31, 1},
		{32, 1}, // error correction
		{36, 1500000}, {37, 512}, // clock and bits of the memory
		{38, 4 << 20}, // L2
		{39, 2048}, {40, 2}, {41, 1}, {82, 65536},
	};
	switch (a) {
	case 33: return pciBus(ordinal);
	case 75: return config().capability / 10;
	case 76: return config().capability % 10;
	case 81: return (sharedKiB() + 1) << 10;
	case 97: return sharedKiB() << 10;
	}
	auto it = fixed.find(a);
	return it == fixed.end() ? 0 : it->second;
}

struct Name {
	const char *name, *text;
};

const std::map<int, Name> names = {
	{0, {"CUDA_SUCCESS", "no error"}},
	{1, {"CUDA_ERROR_INVALID_VALUE", "invalid argument"}},
	{2, {"CUDA_ERROR_OUT_OF_MEMORY", "out of memory"}},
	{3, {"CUDA_ERROR_NOT_INITIALIZED", "initialization error"}},
	{34, {"CUDA_ERROR_STUB_LIBRARY", "CUDA driver is a stub library"}},
	{100, {"CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"}},
	{101, {"CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"}},
	{201, {"CUDA_ERROR_INVALID_CONTEXT", "invalid device context"}},
	{209, {"CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image is available for execution on the device"}},
	{218, {"CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"}},
	{222, {"CUDA_ERROR_UNSUPPORTED_PTX_VERSION", "the provided PTX was compiled with an unsupported toolchain."}},
	{400, {"CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"}},
	{500, {"CUDA_ERROR_NOT_FOUND", "named symbol not found"}},
	{600, {"CUDA_ERROR_NOT_READY", "device not ready"}},
	{700, {"CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"}},
	{719, {"CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"}},
	{803, {"CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", "system has unsupported display driver / cuda driver combination"}},
};

CUresult nameOf(int code, const char **out, const char *Name::*part) {
	auto it = names.find(code);
	*out = it == names.end() ? nullptr : it->second.*part;
	return *out ? Success : InvalidValue;
}

// onDevice runs the body with a device that exists.
template <typename F> CUresult onDevice(const char *name, CUdevice device, F body) {
	return call(name, [&] { return deviceAt(device) ? int(body()) : int(InvalidDevice); });
}

CUresult copyText(const std::string &s, char *out, int size) {
	if (!out || size <= 0) return InvalidValue;
	strncpy(out, s.c_str(), size_t(size) - 1);
	out[size - 1] = 0;
	return Success;
}

} // namespace

EXPORT CUresult cuGetErrorName(int code, const char **out) { return nameOf(code, out, &Name::name); }
EXPORT CUresult cuGetErrorString(int code, const char **out) { return nameOf(code, out, &Name::text); }

EXPORT CUresult cuDeviceGetCount(int *count) {
	return call(__func__, [&] {
		*count = devices();
		return Success;
	});
}

EXPORT CUresult cuDeviceGet(CUdevice *device, int ordinal) {
	return onDevice(__func__, ordinal, [&] {
		*device = ordinal;
		return Success;
	});
}

EXPORT CUresult cuDeviceGetName(char *out, int size, CUdevice device) {
	return onDevice(__func__, device, [&] { return copyText(cardName, out, size); });
}

EXPORT CUresult cuDeviceGetUuid_v2(unsigned char *out, CUdevice device) {
	return onDevice(__func__, device, [&] {
		uuidBytes(device, out);
		return Success;
	});
}

EXPORT CUresult cuDeviceGetUuid(unsigned char *out, CUdevice device) { return cuDeviceGetUuid_v2(out, device); }

EXPORT CUresult cuDeviceGetAttribute(int *out, int a, CUdevice device) {
	return onDevice(__func__, device, [&] {
		if (a <= 0 || a > 150) return InvalidValue;
		*out = attribute(device, a);
		return Success;
	});
}

EXPORT CUresult cuDeviceTotalMem_v2(size_t *out, CUdevice device) {
	return onDevice(__func__, device, [&] {
		*out = config().memory;
		return Success;
	});
}

EXPORT CUresult cuDeviceGetPCIBusId(char *out, int size, CUdevice device) {
	return onDevice(__func__, device, [&] {
		char id[16];
		snprintf(id, sizeof id, "0000:%02x:00.0", unsigned(pciBus(device)));
		return copyText(id, out, size);
	});
}

EXPORT CUresult cuDeviceComputeCapability(int *major, int *minor, CUdevice device) {
	return onDevice(__func__, device, [&] {
		*major = config().capability / 10;
		*minor = config().capability % 10;
		return Success;
	});
}

namespace fakecuda {
size_t sharedLimit() { return size_t(sharedKiB()) << 10; }
} // namespace fakecuda
