// Memory, copies and fills.
#include <cstring>

#include "driver.h"

using namespace fakecuda;

namespace {

// Copies are named by what is on either side, as the driver's functions are.
enum class Side { Host, Device };

bool reachable(Device &d, Side side, uintptr_t p, size_t size) {
	if (side == Side::Device) {
		if (d.contains(p, size) || pinned.holds(p, size)) return true;
		explain("%zu bytes at %#zx are no memory of device %d", size, size_t(p), d.ordinal);
		return false;
	}
	if (p == 0 || d.contains(p, 0) || (pinned.touches(p) && !pinned.holds(p, size))) {
		explain("%zu bytes at %#zx are no memory of the host, or more than was allocated", size, size_t(p));
		return false;
	}
	return true;
}

int copy(Device &d, Side to, uintptr_t dst, Side from, uintptr_t src, size_t size, CUstream stream, bool wait) {
	Stream *s = streamOf(d, stream);
	if (!s) return InvalidHandle;
	if (size == 0) return Success;
	if (!reachable(d, to, dst, size) || !reachable(d, from, src, size)) return InvalidValue;
	int code = d.enqueue(*s, [=] {
		memmove(reinterpret_cast<void *>(dst), reinterpret_cast<void *>(src), size);
		return Success;
	});
	return wait ? d.drain(*s) : code;
}

template <typename T> int fill(Device &d, CUdeviceptr dst, T value, size_t count, CUstream stream) {
	Stream *s = streamOf(d, stream);
	if (!s) return InvalidHandle;
	if (count == 0) return Success;
	if (dst % sizeof(T) != 0 || !reachable(d, Side::Device, dst, count * sizeof(T))) return InvalidValue;
	return d.enqueue(*s, [=] {
		auto out = reinterpret_cast<T *>(dst);
		for (size_t i = 0; i < count; i++) out[i] = value;
		return Success;
	});
}

uintptr_t address(const void *p) { return reinterpret_cast<uintptr_t>(p); }

} // namespace

EXPORT CUresult cuMemGetInfo_v2(size_t *free, size_t *total) {
	return onContext(__func__, [&](Device &d) {
		*total = config().memory;
		*free = *total - d.used;
		return Success;
	});
}

EXPORT CUresult cuMemAlloc_v2(CUdeviceptr *out, size_t size) {
	return onContext(__func__, [&](Device &d) {
		uintptr_t p = 0;
		int code = d.allocate(size, true, p);
		*out = p;
		return code;
	});
}

// cuMemFree_v2 waits for the device, as the driver does.
EXPORT CUresult cuMemFree_v2(CUdeviceptr p) {
	return onContext(__func__, [&](Device &d) {
		if (p == 0) return int(Success);
		int code = d.drainAll();
		return code ? code : d.release(p);
	});
}

EXPORT CUresult cuMemHostAlloc(void **out, size_t size, unsigned) {
	return onContext(__func__, [&](Device &d) { return pinned.allocate(size, &d, out); });
}

EXPORT CUresult cuMemAllocHost_v2(void **out, size_t size) {
	return onContext(__func__, [&](Device &d) { return pinned.allocate(size, &d, out); });
}

EXPORT CUresult cuMemFreeHost(void *p) {
	return onContext(__func__, [&](Device &d) {
		int code = d.drainAll();
		return code ? code : pinned.release(p, false);
	});
}

EXPORT CUresult cuMemHostRegister_v2(void *p, size_t size, unsigned) {
	return onContext(__func__, [&](Device &d) { return pinned.adopt(p, size, &d); });
}

EXPORT CUresult cuMemHostUnregister(void *p) {
	return onContext(__func__, [&](Device &d) {
		int code = d.drainAll();
		return code ? code : pinned.release(p, true);
	});
}

EXPORT CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *out, void *p, unsigned) {
	return onContext(__func__, [&](Device &) {
		*out = address(p);
		return pinned.holds(address(p), 0) ? Success : InvalidValue;
	});
}

EXPORT CUresult cuMemcpyHtoD_v2(CUdeviceptr dst, const void *src, size_t size) {
	return onContext(__func__, [&](Device &d) { return copy(d, Side::Device, dst, Side::Host, address(src), size, nullptr, true); });
}

EXPORT CUresult cuMemcpyDtoH_v2(void *dst, CUdeviceptr src, size_t size) {
	return onContext(__func__, [&](Device &d) { return copy(d, Side::Host, address(dst), Side::Device, src, size, nullptr, true); });
}

EXPORT CUresult cuMemcpyDtoD_v2(CUdeviceptr dst, CUdeviceptr src, size_t size) {
	return onContext(__func__, [&](Device &d) { return copy(d, Side::Device, dst, Side::Device, src, size, nullptr, false); });
}

EXPORT CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr dst, const void *src, size_t size, CUstream s) {
	return onContext(__func__, [&](Device &d) { return copy(d, Side::Device, dst, Side::Host, address(src), size, s, false); });
}

EXPORT CUresult cuMemcpyDtoHAsync_v2(void *dst, CUdeviceptr src, size_t size, CUstream s) {
	return onContext(__func__, [&](Device &d) { return copy(d, Side::Host, address(dst), Side::Device, src, size, s, false); });
}

EXPORT CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr dst, CUdeviceptr src, size_t size, CUstream s) {
	return onContext(__func__, [&](Device &d) { return copy(d, Side::Device, dst, Side::Device, src, size, s, false); });
}

EXPORT CUresult cuMemsetD8_v2(CUdeviceptr dst, unsigned char value, size_t n) {
	return onContext(__func__, [&](Device &d) { return fill(d, dst, value, n, nullptr); });
}

EXPORT CUresult cuMemsetD16_v2(CUdeviceptr dst, unsigned short value, size_t n) {
	return onContext(__func__, [&](Device &d) { return fill(d, dst, value, n, nullptr); });
}

EXPORT CUresult cuMemsetD32_v2(CUdeviceptr dst, unsigned value, size_t n) {
	return onContext(__func__, [&](Device &d) { return fill(d, dst, value, n, nullptr); });
}

EXPORT CUresult cuMemsetD8Async(CUdeviceptr dst, unsigned char value, size_t n, CUstream s) {
	return onContext(__func__, [&](Device &d) { return fill(d, dst, value, n, s); });
}

EXPORT CUresult cuMemsetD16Async(CUdeviceptr dst, unsigned short value, size_t n, CUstream s) {
	return onContext(__func__, [&](Device &d) { return fill(d, dst, value, n, s); });
}

EXPORT CUresult cuMemsetD32Async(CUdeviceptr dst, unsigned value, size_t n, CUstream s) {
	return onContext(__func__, [&](Device &d) { return fill(d, dst, value, n, s); });
}
