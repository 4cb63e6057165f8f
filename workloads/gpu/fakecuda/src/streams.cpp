// Streams and events.
#include "driver.h"

using namespace fakecuda;
using std::chrono::duration;
using std::chrono::steady_clock;

namespace {

constexpr unsigned nonBlocking = 1;   // CU_STREAM_NON_BLOCKING
constexpr unsigned disableTiming = 2; // CU_EVENT_DISABLE_TIMING

// onStream runs the body with the stream of that handle.
template <typename F> CUresult onStream(const char *name, CUstream handle, F body) {
	return onContext(name, [&](Device &d) {
		Stream *s = streamOf(d, handle);
		return s ? int(body(d, *s)) : int(InvalidHandle);
	});
}

template <typename F> CUresult onEvent(const char *name, CUevent e, F body) {
	return onContext(name, [&](Device &d) {
		if (d.events.count(e)) return int(body(d, *e));
		explain("%p is no event of device %d", static_cast<void *>(e), d.ordinal);
		return int(InvalidHandle);
	});
}

CUresult newStream(const char *name, CUstream *out, unsigned flags) {
	return onContext(name, [&](Device &d) {
		if (flags > nonBlocking) return InvalidValue;
		*out = new Stream{flags != nonBlocking, {}};
		d.streams.insert(*out);
		return Success;
	});
}

// step runs the next operation, so that a program that asks again and again gets on.
int step(Device &d, Stream &s) {
	if (s.pending.empty()) return Success;
	int code = d.runUntil(s, s.pending.front().sequence);
	return code ? code : int(NotReady);
}

} // namespace

EXPORT CUresult cuStreamCreate(CUstream *out, unsigned flags) { return newStream(__func__, out, flags); }

EXPORT CUresult cuStreamCreateWithPriority(CUstream *out, unsigned flags, int) { return newStream(__func__, out, flags); }

EXPORT CUresult cuStreamDestroy_v2(CUstream handle) {
	return onStream(__func__, handle, [&](Device &d, Stream &s) {
		if (&s == &d.legacy) return int(InvalidHandle);
		int code = d.drain(s);
		d.streams.erase(&s);
		delete &s;
		return code;
	});
}

EXPORT CUresult cuStreamSynchronize(CUstream handle) {
	return onStream(__func__, handle, [](Device &d, Stream &s) { return d.drain(s); });
}

EXPORT CUresult cuStreamQuery(CUstream handle) {
	return onStream(__func__, handle, [](Device &d, Stream &s) { return step(d, s); });
}

EXPORT CUresult cuStreamWaitEvent(CUstream handle, CUevent e, unsigned) {
	return onStream(__func__, handle, [&](Device &d, Stream &s) {
		if (!d.events.count(e)) return int(InvalidHandle);
		if (!e->last) return int(Success);
		return d.enqueue(s, [] { return Success; }, e->last);
	});
}

EXPORT CUresult cuEventCreate(CUevent *out, unsigned flags) {
	return onContext(__func__, [&](Device &d) {
		*out = new Event{nullptr, (flags & disableTiming) == 0};
		d.events.insert(*out);
		return Success;
	});
}

EXPORT CUresult cuEventDestroy_v2(CUevent e) {
	return onEvent(__func__, e, [&](Device &d, Event &) {
		d.events.erase(e);
		delete e;
		return Success;
	});
}

EXPORT CUresult cuEventRecord(CUevent e, CUstream handle) {
	return onStream(__func__, handle, [&](Device &d, Stream &s) {
		if (!d.events.count(e)) return int(InvalidHandle);
		auto record = std::make_shared<Record>();
		record->stream = &s;
		record->sequence = d.next();
		e->last = record;
		return d.enqueue(s, [record] {
			record->passed = true;
			record->when = steady_clock::now();
			return Success;
		});
	});
}

EXPORT CUresult cuEventSynchronize(CUevent e) {
	return onEvent(__func__, e, [](Device &d, Event &event) {
		auto last = event.last;
		if (!last || last->passed) return int(Success);
		return d.runUntil(*last->stream, last->sequence);
	});
}

EXPORT CUresult cuEventQuery(CUevent e) {
	return onEvent(__func__, e, [](Device &d, Event &event) {
		auto last = event.last;
		return !last || last->passed ? int(Success) : step(d, *last->stream);
	});
}

EXPORT CUresult cuEventElapsedTime(float *milliseconds, CUevent start, CUevent finish) {
	return onEvent(__func__, start, [&](Device &d, Event &from) {
		if (!d.events.count(finish) || !from.last || !finish->last || !from.timed || !finish->timed) return InvalidHandle;
		if (!from.last->passed || !finish->last->passed) return NotReady;
		*milliseconds = duration<float, std::milli>(finish->last->when - from.last->when).count();
		return Success;
	});
}

EXPORT CUresult cuEventElapsedTime_v2(float *milliseconds, CUevent start, CUevent finish) { return cuEventElapsedTime(milliseconds, start, finish); }

// What the fake cuBLAS asks of this driver: whether memory is there, and to run something
// when its turn on a stream has come.

EXPORT CUresult fakecuda_contains(CUdeviceptr p, size_t size) {
	return onContext(__func__, [&](Device &d) { return d.contains(p, size) ? Success : InvalidValue; });
}

EXPORT CUresult fakecuda_enqueue(CUstream handle, void (*run)(void *), void *argument) {
	return onStream(__func__, handle, [&](Device &d, Stream &s) {
		return d.enqueue(s, [=] {
			run(argument);
			return Success;
		});
	});
}

EXPORT int fakecuda_injected(const char *name) {
	int code = begin(name);
	return code == NotInitialized ? int(Success) : code;
}
