/* Cortex-M on the boards mps2-an386 (M4) and mps2-an500 (M7) of qemu-system-arm, run with -icount shift=10: the clock of
   the machine then moves 1024 ns an instruction, and a timer of 25 MHz counts 25.6 ticks each. */
#include "board.h"

extern uint32_t board_data_load[], board_data_begin[], board_data_end[], board_bss_begin[], board_bss_end[];
extern uint32_t board_stack_low[], board_stack_top[];
int main(void);
void board_reset(void);
void board_fault(void);

#define PAINT 0xc0ffee11u
#define TIMER ((volatile uint32_t *)0x40000000u) /* CMSDK timer 0: CTRL, VALUE, RELOAD */
#define CPACR (*(volatile uint32_t *)0xe000ed88u)

static int semihosting(int operation, const void *argument) {
    register int r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = argument;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}

static void leave(int failed) { /* SYS_EXIT: application exit, or runtime error */
    (void)semihosting(0x18, (const void *)(failed ? 0x20023u : 0x20026u));
    for (;;) {}
}

void board_say(const char *text) { (void)semihosting(0x04, text); } /* SYS_WRITE0 */

uint32_t board_ticks(void) { return TIMER[1]; } /* counts down */

uint64_t board_instructions(uint32_t from, uint32_t to) { return (uint64_t)(from - to) * 10 / 256; }

size_t board_stack(void) {
    const uint32_t *p = board_stack_low;
    while (p < board_stack_top && *p == PAINT) ++p;
    return (size_t)((const char *)board_stack_top - (const char *)p);
}

/* Compiled code calls these by name, and loops that look like them must not become calls of themselves. Four words a
   turn, as those of C libraries: a word at a time they would be a fifth of what is counted. */
#pragma GCC push_options
#pragma GCC optimize("no-tree-loop-distribute-patterns")
void *memcpy(void *to, const void *from, size_t bytes) {
    unsigned char *t = (unsigned char *)to;
    const unsigned char *f = (const unsigned char *)from;
    if ((((uintptr_t)t | (uintptr_t)f) & 3u) == 0) {
        const uint32_t *x = (const uint32_t *)(const void *)f;
        uint32_t *y = (uint32_t *)(void *)t;
        for (; bytes >= 16; bytes -= 16, x += 4, y += 4) {
            const uint32_t a = x[0], b = x[1], c = x[2], d = x[3];
            y[0] = a, y[1] = b, y[2] = c, y[3] = d;
        }
        for (; bytes >= 4; bytes -= 4) *y++ = *x++;
        t = (unsigned char *)y, f = (const unsigned char *)x;
    }
    while (bytes--) *t++ = *f++;
    return to;
}
void *memset(void *to, int value, size_t bytes) {
    unsigned char *t = (unsigned char *)to;
    const uint32_t word = 0x01010101u * (unsigned char)value;
    if (((uintptr_t)t & 3u) == 0) {
        uint32_t *y = (uint32_t *)(void *)t;
        for (; bytes >= 32; bytes -= 32, y += 8) y[0] = y[1] = y[2] = y[3] = y[4] = y[5] = y[6] = y[7] = word;
        for (; bytes >= 4; bytes -= 4) *y++ = word;
        t = (unsigned char *)y;
    }
    while (bytes--) *t++ = (unsigned char)value;
    return to;
}
#pragma GCC pop_options

__attribute__((noinline)) static void start(void) {
    const uint32_t *from = board_data_load;
    uint32_t *p, *here = (uint32_t *)__builtin_frame_address(0);
    for (p = board_data_begin; p < board_data_end; ++p) *p = *from++;
    for (p = board_bss_begin; p < board_bss_end; ++p) *p = 0;
    for (p = board_stack_low; p < here - 16; ++p) *p = PAINT;
    TIMER[2] = TIMER[1] = 0xffffffffu;
    TIMER[0] = 1;
    leave(main());
}

void board_reset(void) {
    CPACR |= 0xfu << 20; /* the floating-point unit */
    __asm__ volatile("dsb\n isb");
    start();
}

void board_fault(void) {
    board_say("fault\n");
    leave(1);
}

__attribute__((section(".vectors"), used)) static void (*const vectors[16])(void) = {
    (void (*)(void))board_stack_top, board_reset, board_fault, board_fault, board_fault, board_fault, board_fault,
    0, 0, 0, 0, board_fault, board_fault, 0, board_fault, board_fault};
