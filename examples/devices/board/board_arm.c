// A Cortex-M without an operating system: what happens between reset and main, and how the program
// talks to the debugger that it runs under (semihosting; here the debugger is QEMU). With
// board_arm.ld this is all that a program needs. Cortex-M0 to M33: the FPU, if the compiler uses
// one, is switched on.
#include "board.h"
#include <stdint.h>

int main(void);

// ---- Semihosting: a breakpoint of number 0xAB, the operation in r0, its argument in r1 ----------

enum { SYS_WRITE0 = 0x04, SYS_EXIT_EXTENDED = 0x20, STOPPED_APPLICATION_EXIT = 0x20026 };

static void semihosting(uint32_t operation, const void *argument)
{
    register uint32_t r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = argument;
    __asm__ volatile("bkpt 0xAB" : "+r"(r0) : "r"(r1) : "memory");
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

#define REGISTER(address) (*(volatile uint32_t *)(address))
#define SYSTICK_CONTROL REGISTER(0xE000E010)
#define SYSTICK_RELOAD REGISTER(0xE000E014)
#define SYSTICK_VALUE REGISTER(0xE000E018)
#define COPROCESSOR_ACCESS REGISTER(0xE000ED88)

void reset(void)
{
    const uint32_t *from = data_load;
#if defined(__ARM_FP)
    COPROCESSOR_ACCESS |= 0xFu << 20; // before any float register is used
    __asm__ volatile("dsb\n isb");
#endif
    for (uint32_t *to = data_begin; to < data_end; to++)
        *to = *from++;
    for (uint32_t *to = bss_begin; to < bss_end; to++)
        *to = 0;
    board_exit(main());
}

static void fault(void) // an illegal address, the stack's end, an unaligned access of an M0
{
    board_print("\nfault\n");
    board_exit(3);
}

// The processor reads the first word into its stack pointer and jumps to the second one.
__attribute__((section(".vectors"), used)) static void (*const vectors[16])(void) = {
    (void (*)(void))(uintptr_t)stack_top,
    reset,
    fault, // NMI
    fault, // hard fault
    fault, // memory management
    fault, // bus
    fault, // usage
};

// ---- Instructions -------------------------------------------------------------------------------
// QEMU's -icount shift=0 takes a nanosecond for each instruction, so SysTick, which counts cycles
// of the board's clock, counts instructions by 40 (25 MHz), 50 (20 MHz) or 62.5 (16 MHz). A loop
// whose instructions are known says by how many. It counts down from 2^24 - 1: 600 million
// instructions at least. On hardware it counts cycles.

enum { TICKS = 1 << 24, LOOPS = 1000000 };

static uint32_t ticks_of_loops, last;
static uint64_t ticks;

static void count_ticks(void)
{
    uint32_t now = SYSTICK_VALUE;
    ticks += (last - now) & (TICKS - 1);
    last = now;
}

void board_start(void)
{
    uint32_t n = LOOPS;
    SYSTICK_RELOAD = TICKS - 1;
    SYSTICK_VALUE = 0;
    SYSTICK_CONTROL = 5; // on, the processor's clock, no interrupt
    last = SYSTICK_VALUE;
    __asm__ volatile(".syntax unified\n1: subs %0, %0, #1\n bne 1b" : "+l"(n) : : "cc");
    count_ticks();
    ticks_of_loops = (uint32_t)ticks;
}

uint64_t board_instructions(void)
{
    count_ticks();
    return ticks * (2 * LOOPS) / ticks_of_loops;
}
