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

// Copy2D is a CUDA_MEMCPY2D.
struct Copy2D {
	struct Place {
		size_t x, y;
		int memory; // a CUmemorytype
		void *host;
		CUdeviceptr device;
		void *array;
		size_t pitch;
	} from, to;
	size_t width, height;
};

// begins finds where the rows of one side of a copy begin; it is false if they are not all in
// memory of that side, or are of a kind that this driver does not have.
bool begins(Device &d, const Copy2D &c, const Copy2D::Place &place, uintptr_t &start) {
	constexpr int host = 1, device = 2; // CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_DEVICE
	if ((place.memory != host && place.memory != device) || place.x + c.width > place.pitch) {
		explain("rows of %zu bytes from byte %zu do not fit a pitch of %zu, or their memory is of kind %d", c.width, place.x, place.pitch, place.memory);
		return false;
	}
	uintptr_t base = place.memory == host ? reinterpret_cast<uintptr_t>(place.host) : uintptr_t(place.device);
	start = base + place.y * place.pitch + place.x;
	return reachable(d, place.memory == host ? Side::Host : Side::Device, start, (c.height - 1) * place.pitch + c.width);
}

int copyRows(Device &d, const Copy2D &c, CUstream stream) {
	Stream *s = streamOf(d, stream);
	if (!s) return InvalidHandle;
	if (c.width == 0 || c.height == 0) return Success;
	uintptr_t from, to;
	if (!begins(d, c, c.from, from) || !begins(d, c, c.to, to)) return InvalidValue;
	return d.enqueue(*s, [=] {
		for (size_t row = 0; row < c.height; row++)
			memmove(reinterpret_cast<void *>(to + row * c.to.pitch), reinterpret_cast<void *>(from + row * c.from.pitch), c.width);
		return Success;
	});
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

EXPORT CUresult cuMemcpy2DAsync_v2(const Copy2D *c, CUstream s) {
	return onContext(__func__, [&](Device &d) { return c ? copyRows(d, *c, s) : int(InvalidValue); });
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
