// libnvidia-ml.so.1 for the cards of the fake driver.
#include <cstdint>
#include <cstring>
#include <sstream>

#include "config.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

using namespace fakecuda;

namespace {

enum Return { success = 0, uninitialized = 1, invalidArgument = 2, notFound = 6, insufficientSize = 7 };

bool initialized;

// A Handle is a card, or, with FAKENVML_MIG, the instance of one that the process has.
struct Handle {
	int ordinal;
	bool instance;
};

constexpr int most = 16;
Handle cards[most], instances[most];

bool mig() { return number("FAKENVML_MIG", 0) != 0; }

// injected is the code that FAKENVML_FAIL, name:code separated by commas, gives the call.
int injected(const char *call) {
	std::istringstream entries(text("FAKENVML_FAIL"));
	for (std::string entry; std::getline(entries, entry, ',');) {
		auto colon = entry.find(':');
		if (entry.substr(0, colon) == call && colon != std::string::npos) return atoi(entry.c_str() + colon + 1);
	}
	return success;
}

int begin(const char *call) {
	if (int code = injected(call)) return code;
	return initialized ? success : uninitialized;
}

template <typename F> int onDevice(const char *call, Handle *h, F body) {
	if (int code = begin(call)) return code;
	if (!h) return invalidArgument;
	body();
	return success;
}

int copyText(const std::string &s, char *out, unsigned size) {
	if (s.size() >= size) return insufficientSize;
	memcpy(out, s.c_str(), s.size() + 1);
	return success;
}

// value is a number that a variable may replace.
unsigned value(const char *name, long fallback) { return unsigned(number(name, fallback)); }

int put(const char *call, Handle *h, unsigned *out, const char *name, long fallback) {
	return onDevice(call, h, [&] { *out = value(name, fallback); });
}

struct Memory {
	unsigned long long total, free, used;
};

struct Utilization {
	unsigned gpu, memory;
};

struct PCI {
	char legacy[16];
	unsigned domain, bus, device, pciDeviceId, pciSubSystemId;
	char id[32];
};

} // namespace

EXPORT int nvmlInit_v2() {
	if (int code = injected("nvmlInit_v2")) return code;
	for (int i = 0; i < most; i++) {
		cards[i] = {i, false};
		instances[i] = {i, true};
	}
	initialized = true;
	return success;
}

EXPORT int nvmlShutdown() {
	if (int code = begin("nvmlShutdown")) return code;
	initialized = false;
	return success;
}

EXPORT const char *nvmlErrorString(int code) {
	switch (code) {
	case success: return "Success";
	case uninitialized: return "Uninitialized";
	case invalidArgument: return "Invalid Argument";
	case 3: return "Not Supported";
	case 4: return "Insufficient Permissions";
	case notFound: return "Not Found";
	case insufficientSize: return "Insufficient Size";
	case 9: return "Driver Not Loaded";
	case 15: return "GPU is lost";
	case 18: return "Driver/library version mismatch";
	}
	return "Unknown Error";
}

EXPORT int nvmlSystemGetDriverVersion(char *out, unsigned size) {
	if (int code = begin(__func__)) return code;
	return copyText(text("FAKENVML_DRIVER", "580.65.06"), out, size);
}

EXPORT int nvmlDeviceGetCount_v2(unsigned *out) {
	if (int code = begin(__func__)) return code;
	*out = unsigned(deviceCount());
	return success;
}

EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned i, Handle **out) {
	if (int code = begin(__func__)) return code;
	if (i >= unsigned(deviceCount()) || i >= most) return invalidArgument;
	*out = &cards[i];
	return success;
}

// With MIG the process sees instances, whose UUIDs the driver gives the form GPU-.
EXPORT int nvmlDeviceGetHandleByUUID(const char *uuid, Handle **out) {
	if (int code = begin(__func__)) return code;
	for (int i = 0; i < deviceCount() && i < most; i++) {
		std::string name = uuidText(i);
		if (mig()) name.replace(0, 3, "MIG");
		if (name != uuid) continue;
		*out = mig() ? &instances[i] : &cards[i];
		return success;
	}
	return notFound;
}

EXPORT int nvmlDeviceGetDeviceHandleFromMigDeviceHandle(Handle *h, Handle **out) {
	return onDevice(__func__, h && h->instance ? h : nullptr, [&] { *out = &cards[h->ordinal]; });
}

EXPORT int nvmlDeviceGetUUID(Handle *h, char *out, unsigned size) {
	int code = success;
	int began = onDevice(__func__, h, [&] {
		std::string name = uuidText(h->ordinal);
		if (h->instance) name.replace(0, 3, "MIG");
		// A card that is cut into instances has a UUID of its own.
		if (mig() && !h->instance) name.back() = 'f';
		code = copyText(name, out, size);
	});
	return began ? began : code;
}

EXPORT int nvmlDeviceGetName(Handle *h, char *out, unsigned size) {
	int code = success;
	int began = onDevice(__func__, h, [&] { code = copyText(h->instance ? std::string(cardName) + " MIG 1g" : cardName, out, size); });
	return began ? began : code;
}

EXPORT int nvmlDeviceGetPciInfo_v3(Handle *h, PCI *out) {
	return onDevice(__func__, h, [&] {
		*out = {};
		out->bus = unsigned(pciBus(h->ordinal));
		snprintf(out->legacy, sizeof out->legacy, "0000:%02X:00.0", out->bus);
		snprintf(out->id, sizeof out->id, "00000000:%02X:00.0", out->bus);
	});
}

// An instance has a seventh of the card's memory.
EXPORT int nvmlDeviceGetMemoryInfo(Handle *h, Memory *out) {
	return onDevice(__func__, h, [&] {
		out->total = memoryBytes() / (h->instance ? 7 : 1);
		out->used = out->total / 4;
		out->free = out->total - out->used;
	});
}

// Clocks are 0 for graphics, 1 for the multiprocessors and 2 for the memory.
EXPORT int nvmlDeviceGetClockInfo(Handle *h, int kind, unsigned *out) {
	return kind == 2 ? put(__func__, h, out, "FAKENVML_MEMORY_MHZ", 1400) : put(__func__, h, out, "FAKENVML_GRAPHICS_MHZ", 900);
}

EXPORT int nvmlDeviceGetMaxClockInfo(Handle *h, int kind, unsigned *out) {
	return kind == 2 ? put(__func__, h, out, "FAKENVML_MAX_MEMORY_MHZ", 1500) : put(__func__, h, out, "FAKENVML_MAX_GRAPHICS_MHZ", 1000);
}

EXPORT int nvmlDeviceGetPowerUsage(Handle *h, unsigned *out) { return put(__func__, h, out, "FAKENVML_POWER_MW", 123400); }
EXPORT int nvmlDeviceGetEnforcedPowerLimit(Handle *h, unsigned *out) { return put(__func__, h, out, "FAKENVML_POWER_LIMIT_MW", 250000); }
EXPORT int nvmlDeviceGetPowerManagementLimit(Handle *h, unsigned *out) { return put(__func__, h, out, "FAKENVML_POWER_LIMIT_MW", 250000); }
EXPORT int nvmlDeviceGetTemperature(Handle *h, int, unsigned *out) { return put(__func__, h, out, "FAKENVML_TEMPERATURE", 41); }
EXPORT int nvmlDeviceGetCurrPcieLinkGeneration(Handle *h, unsigned *out) { return put(__func__, h, out, "FAKENVML_PCIE_GENERATION", 4); }
EXPORT int nvmlDeviceGetMaxPcieLinkGeneration(Handle *h, unsigned *out) { return put(__func__, h, out, "FAKENVML_MAX_PCIE_GENERATION", 5); }
EXPORT int nvmlDeviceGetCurrPcieLinkWidth(Handle *h, unsigned *out) { return put(__func__, h, out, "FAKENVML_PCIE_WIDTH", 8); }
EXPORT int nvmlDeviceGetMaxPcieLinkWidth(Handle *h, unsigned *out) { return put(__func__, h, out, "FAKENVML_MAX_PCIE_WIDTH", 16); }

EXPORT int nvmlDeviceGetUtilizationRates(Handle *h, Utilization *out) {
	return onDevice(__func__, h, [&] { *out = {value("FAKENVML_UTILIZATION", 7), 3}; });
}

EXPORT int nvmlDeviceGetEccMode(Handle *h, unsigned *current, unsigned *pending) {
	return onDevice(__func__, h, [&] { *current = *pending = value("FAKENVML_ECC", 1); });
}

EXPORT int nvmlDeviceGetTotalEccErrors(Handle *h, int, int, unsigned long long *out) {
	return onDevice(__func__, h, [&] { *out = value("FAKENVML_ECC_ERRORS", 0); });
}

EXPORT int nvmlDeviceGetMigMode(Handle *h, unsigned *current, unsigned *pending) {
	return onDevice(__func__, h, [&] { *current = *pending = mig(); });
}

EXPORT int nvmlDeviceGetCurrentClocksThrottleReasons(Handle *h, unsigned long long *out) {
	return onDevice(__func__, h, [&] { *out = value("FAKENVML_THROTTLE", 0); });
}
