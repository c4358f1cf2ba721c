// A training step, or an inference, of one of the nets of examples/devices/tiny_nets.c, on a device
// without an operating system. Prints a line: bytes that samba_runtime_open needs, instructions of
// the second step, bytes of stack. tiny_nets.sh puts the checkpoint between pef and pef_end.
#define SAMBA_RUNTIME_ONLY
#include "samba.h"
#include "board.h"

extern const unsigned char pef[], pef_end[];

enum { PAINT = 0x5A, MARGIN = 64 };

static void print_number(const char *key, uint64_t n)
{
    char text[24], *at = text + sizeof text;
    *--at = 0;
    do
        *--at = (char)('0' + n % 10);
    while (n /= 10);
    board_print(key);
    board_print("=");
    board_print(at);
    board_print(" ");
}

static unsigned char *paint_stack(void)
{
    unsigned char *end = (unsigned char *)__builtin_frame_address(0) - MARGIN;
    for (volatile unsigned char *at = stack_low; at < end; at++)
        *at = PAINT;
    return end;
}

static uint64_t used_below(const unsigned char *end)
{
    const volatile unsigned char *at = stack_low;
    while (at < end && *at == PAINT)
        at++;
    return (uint64_t)(end - (const unsigned char *)at) + MARGIN;
}

int main(void)
{
    char why[200];
    size_t size = (size_t)(pef_end - pef), room = (size_t)(ram_end - ram_begin);
    board_start();
    unsigned char *end = paint_stack();
    size_t needs = samba_runtime_bytes(pef, size, why, sizeof why);
    samba_runtime *rt = samba_runtime_open(pef, size, ram_begin, room, why, sizeof why);
    if (!rt) {
        board_print(why);
        return 1;
    }
    samba_runtime_symbol x;
    if (!samba_runtime_find(rt, "x", &x)) return 2;
    for (size_t i = 0; i < x.bytes / 4; i++)
        ((float *)x.data)[i] = (float)(i * 37 % 64) / 32 - 1;
    if (!samba_runtime_run(rt, 0)) return 3;
    uint64_t begin = board_instructions();
    if (!samba_runtime_run(rt, 0)) return 3;
    uint64_t step = board_instructions() - begin;
    print_number("needs", needs);
    print_number("step", step);
    print_number("stack", used_below(end));
    board_print("\n");
    return 0;
}
