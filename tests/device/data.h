// The data that host and device give to the nets: made by integers, so it is the same everywhere.
#ifndef DEVICE_DATA_H
#define DEVICE_DATA_H
#include <stddef.h>
#include <stdint.h>

enum { TRAINING_STEPS = 200, INFERENCES = 4, BATCHES = 4, CLASSES = 3 };

static int32_t pick(uint32_t *state, int32_t n)
{
    *state = *state * 1664525u + 1013904223u;
    return (int32_t)((*state >> 8) % (uint32_t)n);
}

// Rows x (rows, width), each of a class of its own; label may be NULL. The same BATCHES come again
// and again. A class shows as a mean of each feature, in noise.
static void fill_batch(int step, float *x, int32_t *label, int32_t rows, int32_t width)
{
    uint32_t state = (uint32_t)(step % BATCHES) * 7919u + 17u;
    for (int32_t r = 0; r < rows; r++) {
        int32_t class_of = pick(&state, CLASSES);
        if (label) label[r] = class_of;
        for (int32_t i = 0; i < width; i++) {
            int32_t mean = (i * 37 + class_of * 101) % 64 - 32;
            x[r * width + i] = (float)(4 * mean + pick(&state, 256) - 128) / 256;
        }
    }
}

#endif
