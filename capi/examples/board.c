/* Where device.c runs: a Cortex-M4F under an emulator, which says what it has to say by semihosting, or this machine. */

#include <stdint.h>

int device(void);
void say(const char *line);
uint32_t stack_of(int (*part)(void), int *came_to);

#ifdef __arm__

extern uint32_t _stack, _data, _edata, _data_at, _bss, _ebss;

/* One request to the emulator: bkpt 0xab. */
static void request(int number, const void *argument) {
    register int r0 __asm__("r0") = number;
    register const void *r1 __asm__("r1") = argument;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
}

void say(const char *line) {
    request(0x04, line); /* SYS_WRITE0 */
    request(0x04, "\n");
}

/* Bytes of stack that a part takes: the stack below is painted, and the deepest word that changed counts. */
uint32_t stack_of(int (*part)(void), int *came_to) {
    enum { WORDS = 4096 };
    const uint32_t paint = 0x5a5aa5a5;
    uintptr_t top;
    __asm__ volatile("mov %0, sp" : "=r"(top));
    volatile uint32_t *const end = (volatile uint32_t *)top, *at = end - WORDS;
    for (volatile uint32_t *to = at; to < end; to++) {
        *to = paint;
    }
    *came_to = part();
    while (at < end && *at == paint) {
        at++;
    }
    return (uint32_t)((uintptr_t)end - (uintptr_t)at);
}

static void halt(int passed) {
    for (;;) {
        request(0x18, (const void *)(passed ? 0x20026 : 0x20024)); /* SYS_EXIT: done, or an error at run time */
    }
}

static void fault(void) {
    say("fault");
    halt(0);
}

static void start(void) {
    volatile uint32_t *const coprocessors = (volatile uint32_t *)0xe000ed88; /* CPACR */
    *coprocessors |= 0xf << 20;
    __asm__ volatile("dsb\n isb");
    for (uint32_t *to = &_data, *from = &_data_at; to < &_edata;) {
        *to++ = *from++;
    }
    for (uint32_t *to = &_bss; to < &_ebss;) {
        *to++ = 0;
    }
    halt(device() == 0);
}

/* Where the stack begins, and what a reset and the faults call. */
typedef struct {
    uint32_t *stack;
    void (*handlers[6])(void);
} vectors_t;

__attribute__((section(".vectors"), used)) static const vectors_t vectors = {
    &_stack,
    {start, fault, fault, fault, fault, fault},
};

#else

#include <stdio.h>

void say(const char *line) {
    puts(line);
}

/* Of the emulator only. */
uint32_t stack_of(int (*part)(void), int *came_to) {
    *came_to = part();
    return 0;
}

int main(void) {
    return device();
}

#endif
