// Runs an exported net for some steps and prints a hash of what it makes and learns. NET_STEPS is
// the header that export_nets drive wrote; with BOARD it runs without an operating system, and
// prints instructions of the last step and bytes of stack as well.
#include NET_STEPS
#if defined(BOARD)
#include "examples/devices/board/board.h"
#else
#include <stdio.h>
#endif

static void run_with_nan(void)
{
    with_nan = true;
    fill_inputs();
    bool ran = NET_RUN();
    add_answer(ran);
    if (ran) add_results();
}

#if defined(BOARD)
static void print_number(uint64_t x, unsigned base)
{
    char text[24];
    char *at = text + sizeof text;
    *--at = 0;
    for (int digits = 0; x || digits < (base == 16 ? 16 : 1); digits++) {
        *--at = "0123456789abcdef"[x % base];
        x /= base;
    }
    board_print(at);
}

enum { PAINT = 0x5a, ABOVE = 128 }; // ABOVE: of the stack, what this file itself may need

__attribute__((noinline)) static void paint_stack(void)
{
    unsigned char here;
    for (volatile unsigned char *p = stack_low; p < &here - ABOVE; p++)
        *p = PAINT;
}

__attribute__((noinline)) static unsigned used_stack(void)
{
    unsigned char here;
    const volatile unsigned char *p = stack_low;
    while (*p == PAINT)
        p++;
    return (unsigned)(&here - p);
}

int main(void)
{
    uint64_t spent = 0;
    unsigned stack = 0;
    board_start();
    for (int step = 0; step < RUNS; step++) {
        fill_inputs();
        paint_stack();
        uint64_t before = board_instructions();
        if (!NET_RUN()) return 1;
        spent = board_instructions() - before;
        stack = used_stack();
        add_results();
    }
    run_with_nan();
    print_number(hash, 16);
    board_print(" ");
    print_number(spent, 10);
    board_print(" ");
    print_number(stack, 10);
    board_print("\n");
    return stack > NET_STACK;
}
#else
int main(void)
{
    for (int step = 0; step < RUNS; step++) {
        fill_inputs();
        if (!NET_RUN()) return 1;
        add_results();
    }
    run_with_nan();
    printf("%08lx%08lx\n", (unsigned long)(hash >> 32), (unsigned long)(hash & 0xffffffffu));
    return 0;
}
#endif
