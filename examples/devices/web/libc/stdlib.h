/* stdlib.h - what samba.h uses of it; see libc.c. */
#ifndef WEB_STDLIB_H
#define WEB_STDLIB_H
#include <stddef.h>

void *malloc(size_t size);
void *calloc(size_t n, size_t size);
void free(void *memory);
void *realloc(void *memory, size_t size);
void qsort(void *items, size_t n, size_t size, int (*compare)(const void *, const void *));
#endif
