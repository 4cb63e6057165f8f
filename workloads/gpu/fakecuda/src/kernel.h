// The kernels and variables that are compiled in, and how one is called.
#pragma once

#include <cstddef>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace fakecuda {

struct Parameter {
	size_t size;
	bool pointer;
};

struct Kernel {
	const char *name;
	std::vector<Parameter> parameters;
	// run is one CUDA thread; arguments[i] points to the i-th.
	void (*run)(void *const *arguments);
};

struct Variable {
	const char *name;
	size_t size;
	// address is where the calling thread of the host has it.
	void *(*address)();
};

// Room holds those of one folder. Rooms put themselves into the list.
struct Room {
	std::vector<Kernel> kernels;
	std::vector<Variable> variables;
	Room *next;
	static Room *first;
	Room(std::vector<Kernel> k, std::vector<Variable> v) : kernels(std::move(k)), variables(std::move(v)), next(first) { first = this; }
};

const Kernel *findKernel(const std::string &name);
const Variable *findVariable(const std::string &name);

template <auto F> struct Thunk;
template <typename... A, void (*F)(A...)> struct Thunk<F> {
	template <size_t... I> static void unpack(void *const *arguments, std::index_sequence<I...>) {
		F(*static_cast<std::remove_cv_t<A> *>(arguments[I])...);
	}
	static void run(void *const *arguments) { unpack(arguments, std::index_sequence_for<A...>{}); }
	static Kernel kernel(const char *name) { return {name, {{sizeof(A), std::is_pointer_v<A>}...}, run}; }
};

} // namespace fakecuda
