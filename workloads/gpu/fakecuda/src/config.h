// What FAKECUDA_* and FAKENVML_* say, and the cards that follow from it.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

namespace fakecuda {

inline std::string text(const char *name, const char *fallback = "") {
	const char *value = getenv(name);
	return value && *value ? value : fallback;
}

inline long number(const char *name, long fallback) {
	const char *value = getenv(name);
	return value && *value ? strtol(value, nullptr, 10) : fallback;
}

inline int deviceCount() { return int(number("FAKECUDA_DEVICES", 1)); }
inline int capability() { return int(number("FAKECUDA_CC", 90)); }
inline size_t memoryBytes() { return size_t(number("FAKECUDA_MEM_MB", 1024)) << 20; }

constexpr const char *cardName = "Fake GPU";

// The cards sit in the buses 17, 27, 37 and so on, as those of a server do.
inline int pciBus(int ordinal) { return (0x17 + 0x10 * ordinal) & 0xff; }

// uuidBytes are those of a card; no two have the same.
inline void uuidBytes(int ordinal, unsigned char out[16]) {
	const unsigned char base[16] = {0xfa, 0x4e, 0xc0, 0xda, 0, 0, 0x40, 0, 0x80, 0, 0, 0, 0, 0, 0, 0};
	for (int i = 0; i < 16; i++) out[i] = base[i];
	out[15] = static_cast<unsigned char>(ordinal);
}

inline std::string uuidText(int ordinal) {
	unsigned char b[16];
	uuidBytes(ordinal, b);
	std::string out = "GPU-";
	for (int i = 0; i < 16; i++) {
		char hex[3];
		snprintf(hex, sizeof hex, "%02x", b[i]);
		out += hex;
		if (i == 3 || i == 5 || i == 7 || i == 9) out += '-';
	}
	return out;
}

} // namespace fakecuda
