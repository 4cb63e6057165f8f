/*
 * An import library for the CUDA driver. What is linked with it needs no libcuda.so.1 to
 * start: each function jumps to where its slot points, and the slots are filled when
 * batchctl_cuda_load finds a driver.
 *
 * symbols.h, which is generated, has the functions, and what is called where the driver
 * has not got them: SYMBOLS(X) is X(0, cuArrayCreate_v2, cuArrayCreate_v2) ...
 */
#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

#include "symbols.h"

typedef int (*function)(void);

/* CUDA_ERROR_NOT_INITIALIZED, as the driver says of a call before cuInit. */
static int early(void) { return 3; }

/* CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND: the driver is too old for the function. */
static int absent(void) { return 302; }

#define EARLY(index, name, older) early,
#define NAME(index, name, older) #name,
#define OLDER(index, name, older) #older,

__attribute__((visibility("hidden"), used)) function batchctl_cuda_slots[] = {SYMBOLS(EARLY)};
static const char *const names[] = {SYMBOLS(NAME)};
static const char *const olders[] = {SYMBOLS(OLDER)};

/* Registers and stack are the caller's, so the target sees the call as it was made. */
#if defined(__x86_64__)
#define JUMP(index) "endbr64\n\tjmp *batchctl_cuda_slots+8*" #index "(%rip)\n"
#elif defined(__aarch64__)
#define JUMP(index) \
	"hint #34\n\tadrp x16, batchctl_cuda_slots+8*" #index "\n\tldr x16, [x16, :lo12:batchctl_cuda_slots+8*" #index "]\n\tbr x16\n"
#else
#error "no trampoline for this processor: amd64 and arm64 have one"
#endif

#define TRAMPOLINE(index, name, older)                                   \
	__asm__(".pushsection .text\n\t.balign 16\n\t.globl " #name          \
	        "\n\t.type " #name ", %function\n" #name ":\n\t" JUMP(index) \
	        "\t.size " #name ", .-" #name "\n\t.popsection");
SYMBOLS(TRAMPOLINE)

/*
 * gorgonia.org/cu calls cuInit before main and ends the program when it fails. So this one
 * never fails, and loads nothing: the driver's own is called by batchctl_cuda_load.
 */
int cuInit(unsigned int flags) {
	(void)flags;
	return 0;
}

/*
 * Loads the driver and initialises it. The answer is null, and *result what its cuInit
 * answered; or what dlopen says, which the caller frees.
 */
char *batchctl_cuda_load(const char *path, int *result) {
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (library == NULL) {
		return strdup(dlerror());
	}
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		void *found = dlsym(library, names[i]);
		if (found == NULL) {
			found = dlsym(library, olders[i]);
		}
		batchctl_cuda_slots[i] = found != NULL ? (function)found : absent;
	}
	int (*init)(unsigned int) = (int (*)(unsigned int))dlsym(library, "cuInit");
	*result = init != NULL ? init(0) : absent();
	return NULL;
}
