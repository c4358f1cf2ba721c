// device.h: what lesson 21 needs of a machine, be it this one or, with LESSON_DEVICE, a
// microcontroller: the half of samba.h that it runs, a way to print, and a flash.
#ifndef LESSON_DEVICE_H
#define LESSON_DEVICE_H
#include <string.h>
#if defined(LESSON_DEVICE)
#define SAMBA_RUNTIME_ONLY // the half that runs programs: no malloc, no files
#include "samba.h"
#include "board.h"        // of the board: board_start, board_print
#include "lesson21_pef.h" // the checkpoint as an array, by tools/samba export-c

enum { MEMORY = 8 * 1024 };
#else
#define SAMBA_IMPLEMENTATION
#include "../../samba.h"
#include <stdio.h>

enum { MEMORY = 2 * 1024 * 1024 }; // kernels of large machines take more, to be fast

static inline void board_print(const char *text)
{
    fputs(text, stdout);
}

// The bytes of a file, at most room; 0: there is none.
static inline size_t read_file(const char *path, void *bytes, size_t room)
{
    FILE *f = fopen(path, "rb");
    size_t size = f ? fread(bytes, 1, room, f) : 0;
    if (f) fclose(f);
    return size;
}
#endif

static union {
    uint64_t align;
    uint8_t bytes[MEMORY];
} memory;

// A line: what, a number of at most five digits, and a bar of it, if it may be percent.
static inline void say(const char *what, uint32_t n)
{
    char digits[] = "     ";
    uint32_t bar = n <= 100 ? n / 4 : 0;
    for (int i = 4; i == 4 || (n && i >= 0); n /= 10)
        digits[i--] = (char)('0' + n % 10);
    board_print(what);
    board_print(digits);
    board_print(bar ? " " : "");
    while (bar--)
        board_print("#");
    board_print("\n");
}

// A flash of two slots. Here it is RAM. For a board of yours, .slot_size is a multiple of what its
// flash erases at once; .memory is where it is mapped (or NULL, and .read copies from it); .erase
// and .write call its driver. Without .erase, as here, writes overwrite.
enum { SLOT = 9 * 256 }; // pages; of AdamW all are needed

static uint8_t flash[2 * SLOT];

static inline bool write_flash(size_t at, const void *bytes, size_t n, void *user)
{
    (void)user;
    memcpy(flash + at, bytes, n);
    return true;
}

static const samba_storage storage = { .slot_size = SLOT, .memory = flash, .write = write_flash };

// Of all bytes of the flash; four digits.
static inline uint32_t checksum(void)
{
    uint32_t sum = 0;
    for (size_t i = 0; i < sizeof flash; i++)
        sum = 31 * sum + flash[i];
    return sum % 10000;
}

// Prints why; returns 1, for main to return.
static inline int refuse(const char *why)
{
    board_print(why);
    board_print("\n");
    return 1;
}

// The same of the runtime's last failure.
static inline int explain(const samba_runtime *rt)
{
    char why[200];
    samba_runtime_error(rt, why, sizeof why);
    return refuse(why);
}
#endif
