// malloc and its kin that count blocks and fail on demand, for code that gets its memory through
// macros: include before it. What hook.h is to sessions.
#ifndef COUNTING_H
#define COUNTING_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static long n_live, n_calls;    // blocks; calls that ask for one
static long fail_at = -1;       // number of the call that fails, from 0; -1: none
static bool fail_forever;       // and all later calls

static inline bool counting_fails(void)
{
    long call = n_calls++;
    return fail_at >= 0 && (call == fail_at || (fail_forever && call > fail_at));
}

static inline void *counting_new(void *p)
{
    n_live += p != NULL;
    return p;
}

static inline void *counting_malloc(size_t size)
{
    return counting_fails() ? NULL : counting_new(malloc(size));
}

static inline void *counting_calloc(size_t n, size_t size)
{
    return counting_fails() ? NULL : counting_new(calloc(n, size));
}

static inline void *counting_realloc(void *p, size_t size)
{
    if (counting_fails()) return NULL;
    return p ? realloc(p, size) : counting_new(malloc(size));
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
