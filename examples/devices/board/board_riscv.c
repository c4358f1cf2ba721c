// A 32-bit RISC-V without an operating system, in machine mode: what happens between reset and
// main, and how the program talks to the debugger that it runs under (semihosting; here the
// debugger is QEMU). With board_riscv.ld this is all that a program needs.
#include "board.h"
#include <stdint.h>

int main(void);

// ---- Semihosting: three instructions that mean it, the operation in a0, its argument in a1 ------

enum { SYS_WRITE0 = 0x04, SYS_EXIT_EXTENDED = 0x20, STOPPED_APPLICATION_EXIT = 0x20026 };

__attribute__((noinline)) static void semihosting(uint32_t operation, const void *argument)
{
    register uint32_t a0 __asm__("a0") = operation;
    register const void *a1 __asm__("a1") = argument;
    __asm__ volatile(".option push\n .option norvc\n .balign 16\n"
                     "slli zero, zero, 0x1f\n ebreak\n srai zero, zero, 7\n"
                     ".option pop"
                     : "+r"(a0)
                     : "r"(a1)
                     : "memory");
}

void board_print(const char *text)
{
    semihosting(SYS_WRITE0, text);
}

void board_exit(int code)
{
    const uint32_t block[2] = { STOPPED_APPLICATION_EXIT, (uint32_t)code };
    semihosting(SYS_EXIT_EXTENDED, block);
    for (;;) {
    }
}

// ---- From reset to main -------------------------------------------------------------------------

// Places that the linker script names. Their addresses matter, they hold nothing of their own.
extern uint32_t data_load[], data_begin[], data_end[], bss_begin[], bss_end[];

// The first instructions, without a stack yet. gp points into small variables, which the linker may
// then address in one instruction; so it must be set by an address that is not relaxed itself.
__asm__(".section .text.start, \"ax\"\n"
        ".globl start\n"
        "start:\n"
        "    .option push\n"
        "    .option norelax\n"
        "    la gp, __global_pointer$\n"
        "    .option pop\n"
        "    la sp, stack_top\n"
        "    j reset\n"
        ".text");

__attribute__((aligned(4))) static void fault(void)
{
    board_print("\nfault\n");
    board_exit(3);
}

__attribute__((used)) void reset(void)
{
    const uint32_t *from = data_load;
    __asm__ volatile("csrw mtvec, %0" : : "r"(fault));
#if defined(__riscv_flen)
    __asm__ volatile("csrs mstatus, %0" : : "r"(1u << 13)); // before any float register is used
#endif
    for (uint32_t *to = data_begin; to < data_end; to++)
        *to = *from++;
    for (uint32_t *to = bss_begin; to < bss_end; to++)
        *to = 0;
    board_exit(main());
}

// ---- Instructions: the processor counts them ----------------------------------------------------

void board_start(void)
{
}

uint64_t board_instructions(void)
{
    uint32_t high, low, again;
    do {
        __asm__ volatile("rdinstreth %0\n rdinstret %1\n rdinstreth %2"
                         : "=r"(high), "=r"(low), "=r"(again));
    } while (high != again);
    return (uint64_t)high << 32 | low;
}
