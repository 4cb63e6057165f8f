// What PTX says of itself, as far as a driver without a compiler needs it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace fakecuda {

struct Entry {
	std::string name;
	std::vector<size_t> parameters; // sizes
	size_t shared = 0;              // static, in bytes
	unsigned maxThreads = 1024;     // of __launch_bounds__
};

struct Symbol {
	std::string name;
	size_t size = 0;
};

struct PTX {
	int version = 0;       // 10*major + minor
	int target = 0;        // 80 of sm_80
	bool specific = false; // sm_90a and the like run on that device alone
	std::vector<Entry> entries;
	std::vector<Symbol> variables;
};

// read answers what is wrong with the text, or an empty one.
std::string read(const char *text, PTX &out);

// newest is the newest version of PTX that a driver of that CUDA takes.
int newest(int driver);

} // namespace fakecuda
