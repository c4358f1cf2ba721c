/* libc.c - as much of a C library as samba.h needs in WebAssembly: memory, texts, and files that
   live in memory. The page gives it a clock and takes what is written to stderr. */
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define IMPORT(name) __attribute__((import_module("page"), import_name(#name)))
IMPORT(now) double page_now(void);                     /* milliseconds */
IMPORT(log) void page_log(const char *text, size_t n); /* a part of a line */

clock_t clock(void)
{
    return page_now();
}

/* ---- Texts -----------------------------------------------------------------------------------
   Compiled with -fno-builtin: the compiler must not find memcpy in memcpy. */
void *memcpy(void *to, const void *from, size_t n)
{
    return __builtin_memcpy(to, from, n); /* an instruction: -mbulk-memory */
}

void *memmove(void *to, const void *from, size_t n)
{
    return __builtin_memmove(to, from, n);
}

void *memset(void *to, int byte, size_t n)
{
    return __builtin_memset(to, byte, n);
}

int memcmp(const void *a, const void *b, size_t n)
{
    const unsigned char *x = a, *y = b;
    for (size_t i = 0; i < n; i++)
        if (x[i] != y[i]) return x[i] < y[i] ? -1 : 1;
    return 0;
}

size_t strlen(const char *text)
{
    size_t n = 0;
    while (text[n])
        n++;
    return n;
}

int strcmp(const char *a, const char *b)
{
    size_t i = 0;
    while (a[i] && a[i] == b[i])
        i++;
    return (unsigned char)a[i] - (unsigned char)b[i];
}

char *strchr(const char *text, int byte)
{
    for (;; text++) {
        if (*text == (char)byte) return (char *)(uintptr_t)text;
        if (!*text) return NULL;
    }
}

char *strstr(const char *text, const char *part)
{
    size_t n = strlen(part), left = strlen(text);
    for (; left >= n; text++, left--)
        if (!memcmp(text, part, n)) return (char *)(uintptr_t)text;
    return NULL;
}

size_t strcspn(const char *text, const char *any)
{
    size_t n = 0;
    while (text[n] && !strchr(any, text[n]))
        n++;
    return n;
}

/* ---- Memory: blocks in a list, of which the first free one that is large enough is taken ----- */
typedef struct block {
    struct block *next; /* the block behind this one; NULL: the last */
    size_t size;        /* bytes of the block without this header */
    size_t used;        /* 0 or 1 */
    size_t pad;         /* so that what follows is 16-byte aligned */
} block;

enum { PAGE = 65536 };

static block *first_block, *last_block;

/* A free block at the end of the memory. Whoever grows the memory but this breaks nothing: what
   lies between is only lost. */
static block *grow(size_t size)
{
    size_t pages = (size + sizeof(block) + PAGE - 1) / PAGE;
    size_t at = __builtin_wasm_memory_grow(0, pages);
    if (at == SIZE_MAX) return NULL;
    block *b = (block *)(at * PAGE);
    b->next = NULL;
    b->size = pages * PAGE - sizeof *b;
    b->used = 0;
    if (last_block)
        last_block->next = b;
    else
        first_block = b;
    last_block = b;
    return b;
}

static int adjoins(const block *b)
{
    return b->next && (const char *)(b + 1) + b->size == (const char *)b->next;
}

/* b takes in the free blocks behind it. */
static void join(block *b)
{
    while (adjoins(b) && !b->next->used) {
        if (b->next == last_block) last_block = b;
        b->size += sizeof *b + b->next->size;
        b->next = b->next->next;
    }
}

void *malloc(size_t size)
{
    if (size > SIZE_MAX / 2) return NULL;
    size = (size + 15) / 16 * 16;
    block *b = first_block;
    for (; b; b = b->next) {
        if (b->used) continue;
        join(b);
        if (b->size >= size) break;
    }
    if (!b) b = grow(size);
    if (!b) return NULL;
    if (b->size - size > sizeof *b) {
        block *rest = (block *)((char *)(b + 1) + size);
        rest->next = b->next;
        rest->size = b->size - size - sizeof *b;
        rest->used = 0;
        if (b == last_block) last_block = rest;
        b->next = rest;
        b->size = size;
    }
    b->used = 1;
    return b + 1;
}

void *calloc(size_t n, size_t size)
{
    if (size && n > SIZE_MAX / size) return NULL;
    void *memory = malloc(n * size);
    if (memory) memset(memory, 0, n * size);
    return memory;
}

void free(void *memory)
{
    if (memory) ((block *)memory - 1)->used = 0;
}

void *realloc(void *memory, size_t size)
{
    size_t had = memory ? ((block *)memory - 1)->size : 0;
    if (size <= had) return memory;
    void *larger = malloc(size);
    if (larger && memory) memcpy(larger, memory, had);
    if (larger) free(memory);
    return larger;
}

static void swap(char *a, char *b, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        char other = a[i];
        a[i] = b[i];
        b[i] = other;
    }
}

/* By insertion: samba.h sorts lists of hundreds. Equal ones keep their order. */
void qsort(void *items, size_t n, size_t size, int (*compare)(const void *, const void *))
{
    char *item = items;
    for (size_t i = 1; i < n; i++)
        for (size_t k = i; k > 0 && compare(item + (k - 1) * size, item + k * size) > 0; k--)
            swap(item + (k - 1) * size, item + k * size, size);
}

/* ---- Files ----------------------------------------------------------------------------------- */
enum { MAX_FILES = 4, MAX_NAME = 32 };

struct FILE {
    char name[MAX_NAME]; /* "": this place is free */
    unsigned char *bytes;
    size_t size, room;
    size_t at; /* one reader or writer at a time */
    int ended, failed;
};

int errno;
static FILE files[MAX_FILES], console = { .name = "stderr" };
FILE *const stderr = &console;

char *strerror(int number)
{
    static char none[] = "no such file", memory[] = "out of memory";
    return number == ENOENT ? none : memory;
}

static FILE *find(const char *name)
{
    for (int i = 0; i < MAX_FILES; i++)
        if (!strcmp(files[i].name, name)) return &files[i];
    errno = ENOENT;
    return NULL;
}

FILE *fopen(const char *name, const char *mode)
{
    FILE *f = *name ? find(name) : NULL;
    if (!f && *mode == 'w' && *name && strlen(name) < MAX_NAME && (f = find("")))
        memcpy(f->name, name, strlen(name) + 1);
    if (!f) return NULL;
    f->at = 0;
    f->ended = f->failed = 0;
    if (*mode == 'w') f->size = 0;
    return f;
}

int fclose(FILE *f)
{
    return f->failed ? EOF : 0;
}

size_t fread(void *to, size_t size, size_t n, FILE *f)
{
    size_t left = (f->size - f->at) / size;
    if (n > left) f->ended = 1;
    if (n > left) n = left;
    memcpy(to, f->bytes + f->at, n * size);
    f->at += n * size;
    return n;
}

int fgetc(FILE *f)
{
    unsigned char byte;
    return fread(&byte, 1, 1, f) == 1 ? byte : EOF;
}

size_t fwrite(const void *from, size_t size, size_t n, FILE *f)
{
    size_t bytes = size * n;
    if (f == stderr) {
        page_log(from, bytes);
        return n;
    }
    if (f->at + bytes > f->room) {
        size_t room = 2 * f->room + bytes;
        unsigned char *larger = realloc(f->bytes, room);
        f->failed = f->failed || !larger;
        if (!larger) errno = ENOMEM;
        if (!larger) return 0;
        f->bytes = larger;
        f->room = room;
    }
    memcpy(f->bytes + f->at, from, bytes);
    f->at += bytes;
    if (f->size < f->at) f->size = f->at;
    return n;
}

int fputc(int byte, FILE *f)
{
    unsigned char one = (unsigned char)byte;
    return fwrite(&one, 1, 1, f) == 1 ? one : EOF;
}

int fseek(FILE *f, long offset, int from)
{
    size_t at = (from == SEEK_END ? f->size : 0) + (size_t)offset;
    if (at > f->size) return -1;
    f->at = at;
    f->ended = 0;
    return 0;
}

long ftell(FILE *f)
{
    return (long)f->at;
}

int feof(FILE *f)
{
    return f->ended;
}

int ferror(FILE *f)
{
    return f->failed;
}

int fflush(FILE *f)
{
    return f->failed ? EOF : 0;
}

int remove(const char *name)
{
    FILE *f = find(name);
    if (!f) return -1;
    free(f->bytes);
    memset(f, 0, sizeof *f);
    return 0;
}

int rename(const char *from, const char *to)
{
    FILE *f = find(from);
    if (!f || strlen(to) >= MAX_NAME) return -1;
    remove(to);
    memcpy(f->name, to, strlen(to) + 1);
    return 0;
}

void *file_make(const char *name, size_t size)
{
    FILE *f = fopen(name, "w");
    if (!f) return NULL;
    free(f->bytes);
    f->bytes = malloc(size);
    f->room = f->size = f->bytes ? size : 0;
    return f->bytes;
}

void *file_bytes(const char *name, size_t *size)
{
    FILE *f = find(name);
    *size = f ? f->size : 0;
    return f ? f->bytes : NULL;
}

static void put_padded(FILE *f, const char *text, size_t n, int width, int left)
{
    size_t pad = width > 0 && (size_t)width > n ? (size_t)width - n : 0;
    if (left) fwrite(text, 1, n, f);
    for (; pad > 0; pad--)
        fwrite(" ", 1, 1, f);
    if (!left) fwrite(text, 1, n, f);
}

static void put_number(FILE *f, long long number, int width, int left)
{
    char digits[24];
    unsigned long long rest
        = number < 0 ? 0ull - (unsigned long long)number : (unsigned long long)number;
    size_t at = sizeof digits;
    do
        digits[--at] = (char)('0' + rest % 10);
    while (rest /= 10);
    if (number < 0) digits[--at] = '-';
    put_padded(f, digits + at, sizeof digits - at, width, left);
}

/* Knows %s, %d and %lld, with a width and a minus: what samba.h's log is written with. */
int fprintf(FILE *f, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    while (*format) {
        size_t n = strcspn(format, "%");
        int width = 0, left, length = 0;
        fwrite(format, 1, n, f);
        format += n;
        if (!*format) break;
        left = *++format == '-';
        if (left) format++;
        for (; *format >= '0' && *format <= '9'; format++)
            width = 10 * width + *format - '0';
        for (; *format == 'l'; format++)
            length++;
        if (*format == 's') {
            const char *text = va_arg(arguments, const char *);
            put_padded(f, text, strlen(text), width, left);
        } else if (*format == 'd')
            put_number(f, length == 2 ? va_arg(arguments, long long) : va_arg(arguments, int),
                       width, left);
        else
            fwrite("%", 1, *format == '%', f);
        if (*format) format++;
    }
    va_end(arguments);
    return 0;
}
