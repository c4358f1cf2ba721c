// What both sides of tests/device/export.sh do: the executor in export_nets.c, exported C in
// export_run.c. Inputs are made without a rounding, which compilers could leave out.
#ifndef EXPORT_STEPS_H
#define EXPORT_STEPS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

// Behind RUNS steps comes one with a NaN in each input of floats: results and what a run returns,
// false in int8, are the same as well.
enum { RUNS = 4, FIRST_RANDOM = 1 };

#define FIRST_HASH 14695981039346656037u

static uint32_t random_state = FIRST_RANDOM;
static uint64_t hash = FIRST_HASH;
static uint32_t labels_below = 3;
static bool with_nan = false;

static inline uint32_t next_random(void)
{
    random_state = random_state * 1664525u + 1013904223u;
    return random_state >> 8;
}

static inline void fill_floats(float *x, size_t n)
{
    const uint32_t nan = 0x7fc00000u;
    for (size_t i = 0; i < n; i++)
        x[i] = (float)((int32_t)(next_random() % 2001u) - 1000) / 1024.0f;
    if (with_nan && n) memcpy(x, &nan, sizeof nan);
}

static inline void fill_labels(int32_t *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] = (int32_t)(next_random() % labels_below);
}

static inline void fill_truths(uint8_t *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] = (uint8_t)(next_random() & 1u);
}

static inline void add_to_hash(const void *data, size_t n)
{
    const unsigned char *byte = (const unsigned char *)data;
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ byte[i]) * 1099511628211u;
}

// What a run has returned.
static inline void add_answer(bool ran)
{
    unsigned char byte = ran;
    add_to_hash(&byte, 1);
}

// Every NaN is the same: IEEE leaves its bits open.
static inline void add_floats(const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t bits = 0x7fc00000u;
        if (x[i] == x[i]) memcpy(&bits, &x[i], sizeof bits);
        add_to_hash(&bits, sizeof bits);
    }
}

#endif
