// What both sides of tests/device/export.sh do: the executor in export_nets.c, exported C in
// export_run.c. Inputs are made without a rounding, which compilers could leave out.
#ifndef EXPORT_STEPS_H
#define EXPORT_STEPS_H
#include <stddef.h>
#include <stdint.h>

enum { STEPS = 4 };

static uint32_t random_state = 1;
static uint64_t hash = 14695981039346656037u;

static inline uint32_t next_random(void)
{
    random_state = random_state * 1664525u + 1013904223u;
    return random_state >> 8;
}

static inline void fill_floats(float *x, size_t n)
{
    for (size_t i = 0; i < n; i++) x[i] = (float)((int32_t)(next_random() % 2001u) - 1000) / 1024.0f;
}

static inline void fill_labels(int32_t *x, size_t n)
{
    for (size_t i = 0; i < n; i++) x[i] = (int32_t)(next_random() % 3u);
}

static inline void add_to_hash(const void *data, size_t n)
{
    const unsigned char *byte = (const unsigned char *)data;
    for (size_t i = 0; i < n; i++) hash = (hash ^ byte[i]) * 1099511628211u;
}

#endif
