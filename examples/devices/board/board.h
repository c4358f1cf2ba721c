// What a program asks of the board it runs on: board_arm.c and board_riscv.c, each with the linker
// script of its name. On a board of your own, print by its UART and leave the exit out.
#ifndef DEVICE_BOARD_H
#define DEVICE_BOARD_H
#include <stdint.h>

void board_start(void); // before anything else that stands here
void board_print(const char *text);
void board_exit(int code);
uint64_t board_instructions(void); // executed so far; only differences mean something

// The stack, and what is left of the RAM: places that the linker script names.
extern unsigned char stack_low[], stack_top[], ram_begin[], ram_end[];

#endif
