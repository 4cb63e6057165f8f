// A fiber is a stack on which one CUDA thread runs until it waits at a barrier.
#pragma once

#include <cstddef>

#if !defined(__x86_64__) && !defined(FAKECUDA_UCONTEXT)
#define FAKECUDA_UCONTEXT
#endif
#if defined(FAKECUDA_UCONTEXT)
#include <ucontext.h>
#endif

namespace fakecuda {

// sanitized says whether AddressSanitizer watches: then memory needs no redzones of ours.
bool sanitized();

class Fiber {
public:
	Fiber();
	~Fiber();
	Fiber(const Fiber &) = delete;
	Fiber &operator=(const Fiber &) = delete;
	// start runs body from its beginning, on this stack, until it ends or leaves.
	void start(void (*body)());
	// resume goes on where body has left.
	void resume();
	// leave goes back to the caller of start or resume; body calls it.
	void leave();
	bool finished() const { return done; }

private:
	static void enter();
	void change();
	char *memory, *stack;
	void (*body)() = nullptr;
	bool done = true;
#if defined(FAKECUDA_UCONTEXT)
	ucontext_t inside, outside;
#else
	void *inside = nullptr, *outside = nullptr;
#endif
	void *fake = nullptr; // AddressSanitizer's
	const void *outsideStack = nullptr;
	size_t outsideSize = 0;
};

} // namespace fakecuda
