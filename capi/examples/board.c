/* Where device.c runs: a Cortex-M4F under an emulator, which says what it has to say by semihosting, or this machine. */

int device(void);
void say(const char *line);

#ifdef __arm__

#include <stdint.h>

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

int main(void) {
    return device();
}

#endif
