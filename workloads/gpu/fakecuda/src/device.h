// A device of the fake: its memory, and the work on its streams.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "block.h"
#include "kernel.h"
#include "ptx.h"

namespace fakecuda {

// Codes of CUresult.
enum Code : int {
	Success = 0,
	InvalidValue = 1,
	OutOfMemory = 2,
	NotInitialized = 3,
	NoDevice = 100,
	InvalidDevice = 101,
	InvalidContext = 201,
	NoBinaryForGPU = 209,
	InvalidPTX = 218,
	UnsupportedPTX = 222,
	InvalidHandle = 400,
	NotFound = 500,
	NotReady = 600,
	IllegalAddress = 700,
	LaunchFailed = 719,
};

struct Stream;

// Record is one recording of an event on a stream.
struct Record {
	Stream *stream;
	uint64_t sequence;
	bool passed = false;
	std::chrono::steady_clock::time_point when;
};

struct Event {
	std::shared_ptr<Record> last;
	bool timed;
};

// Operation is work on a stream. Operations of a device are numbered as they come.
struct Operation {
	uint64_t sequence;
	std::function<int()> run;
	std::shared_ptr<Record> wait; // has to pass before
};

struct Stream {
	bool blocking; // ordered with the default stream
	std::deque<Operation> pending;
};

struct Module;

struct Function {
	const Kernel *kernel;
	Module *module;
	Entry entry;
	size_t shared; // the most dynamic shared memory
};

struct Global {
	const Variable *variable;
	uintptr_t place; // in the device's memory
};

struct Module {
	int ptx;
	std::map<std::string, Function> functions;
	std::map<std::string, Global> globals;
};

struct Allocation {
	size_t size;
	void *block;
	bool counted; // by the program, not by a module
};

// Device is also the handle of its primary context. lock is held by whoever uses it.
class Device {
public:
	explicit Device(int ordinal) : ordinal(ordinal), legacy{true, {}} {}
	~Device() { clear(); }

	const int ordinal;
	std::mutex lock;
	std::atomic<int> references{0}; // to the primary context
	// fault is what the device cannot recover from; every call answers it.
	int fault = Success;
	size_t used = 0;
	std::map<uintptr_t, Allocation> memory;
	std::set<Stream *> streams;
	std::set<Event *> events;
	std::set<Module *> modules;
	Stream legacy;

	int allocate(size_t size, bool counted, uintptr_t &out);
	int release(uintptr_t p);
	// contains says whether the bytes lie in one allocation of this device.
	bool contains(uintptr_t p, size_t size) const;

	// enqueue puts work on the stream; it runs now, or, when late, once something waits.
	int enqueue(Stream &s, std::function<int()> run, std::shared_ptr<Record> wait = nullptr);
	uint64_t next() const { return sequence; }
	// Each of these answers the fault.
	int runUntil(Stream &s, uint64_t until);
	int drain(Stream &s) { return runUntil(s, UINT64_MAX); }
	int drainAll();

	int runKernel(const Function &f, Grid grid);
	// clear drops all that the context has, and says how much of it was not given back.
	void clear();

private:
	int checkArguments(const Function &f, const Grid &grid) const;
	int checkRedzones(const char *after) const;
	uint64_t sequence = 1;
	Blocks blocks;
};

// Pinned is the memory of the host that was allocated or registered by a context.
class Pinned {
public:
	int allocate(size_t size, Device *owner, void **out);
	int adopt(void *p, size_t size, Device *owner);
	int release(void *p, bool registered);
	// holds says whether the bytes lie in one piece; touches whether p lies in one.
	bool holds(uintptr_t p, size_t size) const;
	bool touches(uintptr_t p) const;
	size_t releaseAll(const Device *owner);

private:
	struct Piece {
		size_t size;
		Device *owner;
		bool registered;
	};
	mutable std::mutex lock;
	std::map<uintptr_t, Piece> pieces;
};
extern Pinned &pinned;

// explain tells a person who traces why a call failed, complain always.
void explain(const char *format, ...) __attribute__((format(printf, 1, 2)));
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

} // namespace fakecuda
