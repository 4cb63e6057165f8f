// One folder of kernels. The compiler is told to include its .cu files and its kernels.h
// before this, and the names of its two lists.
#include "kernel.h"

namespace fakecuda {

#define FAKECUDA_KERNEL(name) Thunk<&::name>::kernel(#name),
#define FAKECUDA_VARIABLE(name) {#name, sizeof(::name), []() -> void * { return const_cast<void *>(static_cast<const void *>(&::name)); }},

static Room room({ROOM_KERNELS(FAKECUDA_KERNEL)}, {ROOM_VARIABLES(FAKECUDA_VARIABLE)});

} // namespace fakecuda
