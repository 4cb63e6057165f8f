#include "fiber.h"

#include <cstdio>
#include <cstdlib>
#include <sys/mman.h>

// Of AddressSanitizer, where the process has it: it wants to know which stack is in use.
extern "C" {
__attribute__((weak)) void __asan_init();
__attribute__((weak)) void __sanitizer_start_switch_fiber(void **save, const void *bottom, size_t size);
__attribute__((weak)) void __sanitizer_finish_switch_fiber(void *saved, const void **bottom, size_t *size);
}

namespace fakecuda {

bool sanitized() { return __asan_init != nullptr; }

namespace {

constexpr size_t guardSize = 4096, stackSize = 64 << 10;
thread_local Fiber *entering;

} // namespace

// A page that may not be touched lies below the stack.
Fiber::Fiber() {
	void *place = mmap(nullptr, guardSize + stackSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (place == MAP_FAILED || mprotect(place, guardSize, PROT_NONE) != 0) {
		perror("fakecuda: no memory for the stack of a CUDA thread");
		abort();
	}
	memory = static_cast<char *>(place);
	stack = memory + guardSize;
}

Fiber::~Fiber() { munmap(memory, guardSize + stackSize); }

#if defined(FAKECUDA_UCONTEXT)

void Fiber::start(void (*f)()) {
	body = f;
	done = false;
	getcontext(&inside);
	inside.uc_stack.ss_sp = stack;
	inside.uc_stack.ss_size = stackSize;
	inside.uc_link = nullptr;
	makecontext(&inside, enter, 0);
	resume();
}

void Fiber::change() { swapcontext(&outside, &inside); }

#else

// swapcontext asks the kernel for the signal mask each time; this does not.
extern "C" void fakecuda_switch(void **save, void *load);
asm(R"(
	.text
	.hidden fakecuda_switch
	.globl fakecuda_switch
	.type fakecuda_switch, @function
fakecuda_switch:
	pushq %rbp
	pushq %rbx
	pushq %r12
	pushq %r13
	pushq %r14
	pushq %r15
	movq %rsp, (%rdi)
	movq %rsi, %rsp
	popq %r15
	popq %r14
	popq %r13
	popq %r12
	popq %rbx
	popq %rbp
	ret
	.size fakecuda_switch, .-fakecuda_switch
)");

void Fiber::start(void (*f)()) {
	body = f;
	done = false;
	// What the switch pops: six registers, then enter as the address to return to, where
	// the stack must be as after a call. The zero above ends a debugger's walk.
	void **top = reinterpret_cast<void **>(stack + stackSize) - 2;
	top[0] = reinterpret_cast<void *>(&Fiber::enter);
	top[1] = nullptr;
	for (int i = 1; i <= 6; i++) top[-i] = nullptr;
	inside = top - 6;
	resume();
}

void Fiber::change() { fakecuda_switch(&outside, inside); }

#endif

void Fiber::resume() {
	entering = this;
	void *mine = nullptr;
	if (sanitized()) __sanitizer_start_switch_fiber(&mine, stack, stackSize);
	change();
	if (sanitized()) __sanitizer_finish_switch_fiber(mine, nullptr, nullptr);
}

void Fiber::leave() {
	if (sanitized()) __sanitizer_start_switch_fiber(done ? nullptr : &fake, outsideStack, outsideSize);
#if defined(FAKECUDA_UCONTEXT)
	swapcontext(&inside, &outside);
#else
	fakecuda_switch(&inside, outside);
#endif
	if (sanitized()) __sanitizer_finish_switch_fiber(fake, &outsideStack, &outsideSize);
}

void Fiber::enter() {
	Fiber *self = entering;
	if (sanitized()) __sanitizer_finish_switch_fiber(nullptr, &self->outsideStack, &self->outsideSize);
	self->body();
	self->done = true;
	self->leave();
	abort();
}

} // namespace fakecuda
