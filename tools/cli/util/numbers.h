// Numbers and shapes of tensors, for programs that have samba.h.
#ifndef SAMBA_NUMBERS_H
#define SAMBA_NUMBERS_H

#include "samba.h"
#include "files.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static inline bool is_integer(samba_dtype type)
{
    return type != SAMBA_F32 && type != SAMBA_BF16 && type != SAMBA_F16;
}

// Integers arrive as they are; a fraction, or what does not fit, is refused.
static inline bool put_integers(void *to, samba_dtype type, const double *from, int64_t n,
                                fault *why)
{
    static const double least[SAMBA_N_DTYPES]
        = { 0, 0, 0, -0x1p31, -32768, -128, 0, 0, -0x1p63, 0, 0 };
    static const double most[SAMBA_N_DTYPES]
        = { 0, 0, 0, 0x1p31 - 1, 32767, 127, 255, 1, 0x1p62, 65535, 0x1p32 - 1 };
    size_t size = samba_dtype_size(type);
    for (int64_t i = 0; i < n; i++) {
        double x = from[i];
        if (!(x >= least[type] && x <= most[type]) || x != floor(x))
            return fail(why, "element %" PRId64 " is %g, which is no %s", i, x,
                        samba_dtype_name(type));
        int64_t value = (int64_t)x;
        int32_t word = (int32_t)value;
        int16_t half = (int16_t)value;
        int8_t byte = (int8_t)value;
        const void *source = size == 8 ? (void *)&value : &word;
        if (size == 2) source = &half;
        if (size == 1) source = &byte;
        memcpy((char *)to + (size_t)i * size, source, size);
    }
    return true;
}

// Gives a tensor values of its type: fractions are rounded to it, integers arrive as they are.
static inline bool write_numbers(samba_session *s, samba_tensor *t, const double *values, int64_t n,
                                 fault *why)
{
    bool integers = is_integer(t->dtype), fine = true;
    void *data = malloc((size_t)n * 8);
    if (!data) return fail(why, "no memory for %" PRId64 " numbers", n);
    float *single = data;
    if (integers) fine = put_integers(data, t->dtype, values, n, why);

    for (int64_t i = 0; !integers && fine && i < n; i++) {
        single[i] = (float)values[i];
        if (isfinite(values[i]) && !isfinite(single[i]))
            fine = fail(why, "element %" PRId64 " is %g, which is no f32", i, values[i]);
    }

    if (fine) {
        fine = integers ? samba_write_bytes(t, data, (size_t)n * samba_dtype_size(t->dtype))
                        : samba_write_f32(t, single, n);
        if (!fine) fail(why, "%s", samba_error(s));
    }
    free(data);
    return fine;
}

// As "(2,3)".
static inline void print_shape(char *text, size_t size, const samba_shape *shape)
{
    size_t at = (size_t)snprintf(text, size, "(");
    for (int32_t d = 0; d < shape->ndim && at < size; d++)
        at += (size_t)snprintf(text + at, size - at, d ? ",%d" : "%d", shape->dim[d]);
    if (at < size) snprintf(text + at, size - at, ")");
}

#endif
