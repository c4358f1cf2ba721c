// malloc and its kin that count blocks and fail on demand, for code that gets its memory through
// macros: include before it. What hook.h is to sessions. Behind each block are some bytes 0xA5:
// code that reads on behind its own memory gets wrong values, instead of zeros by chance.
#ifndef COUNTING_H
#define COUNTING_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { COUNTING_TAIL = 16 };

static long n_live, n_calls; // blocks; calls that ask for one
static long fail_at = -1;    // number of the call that fails, from 0; -1: none
static bool fail_forever;    // and all later calls

static inline bool counting_fails(void)
{
    long call = n_calls++;
    bool fails = fail_at >= 0 && (call == fail_at || (fail_forever && call > fail_at));
    if (fails) errno = ENOMEM;
    return fails;
}

static inline void *counting_new(void *p)
{
    n_live += p != NULL;
    return p;
}

static inline void *counting_with_tail(void *p, size_t size)
{
    if (p) memset((char *)p + size, 0xA5, COUNTING_TAIL);
    return p;
}

static inline void *counting_malloc(size_t size)
{
    if (counting_fails() || size > SIZE_MAX - COUNTING_TAIL) return NULL;
    return counting_new(counting_with_tail(malloc(size + COUNTING_TAIL), size));
}

static inline void *counting_calloc(size_t n, size_t size)
{
    void *p = size && n > SIZE_MAX / size ? NULL : counting_malloc(n * size);
    return p ? memset(p, 0, n * size) : NULL;
}

static inline void *counting_realloc(void *p, size_t size)
{
    if (!p) return counting_malloc(size);
    if (counting_fails() || size > SIZE_MAX - COUNTING_TAIL) return NULL;
    return counting_with_tail(realloc(p, size + COUNTING_TAIL), size);
}

static inline void counting_free(void *p)
{
    n_live -= p != NULL;
    free(p);
}

static inline char *counting_strdup(const char *text)
{
    char *copy = (char *)counting_malloc(strlen(text) + 1);
    return copy ? strcpy(copy, text) : NULL;
}

#endif
