// Statistics and a histogram of a tensor, of any type.
#include "capture.h"
#include <math.h>
#include <string.h>

enum { CHUNK = 2048 };

bool is_float_type(samba_dtype type)
{
    return type == SAMBA_F32 || type == SAMBA_BF16 || type == SAMBA_F16;
}

// IEEE 754 binary16.
static float of_half(uint16_t h)
{
    float sign = h >> 15 ? -1.0f : 1.0f, fraction = (float)(h & 0x3ff);
    int exponent = h >> 10 & 31;
    if (exponent == 31) return fraction != 0 ? NAN : sign * INFINITY;
    if (exponent == 0) return sign * ldexpf(fraction, -24);
    return sign * ldexpf(fraction + 1024.0f, exponent - 25);
}

static float of_bf16(uint16_t h)
{
    uint32_t bits = (uint32_t)h << 16;
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

void load_doubles(double *to, const void *from, samba_dtype type, int64_t first, int64_t n)
{
#define EACH(c_type, value) \
    do { \
        const c_type *x = (const c_type *)from + first; \
        for (int64_t i = 0; i < n; i++) \
            to[i] = (double)(value); \
    } while (0)
    switch (type) {
    case SAMBA_BF16:
        EACH(uint16_t, of_bf16(x[i]));
        break;
    case SAMBA_F16:
        EACH(uint16_t, of_half(x[i]));
        break;
    case SAMBA_I32:
        EACH(int32_t, x[i]);
        break;
    case SAMBA_I16:
        EACH(int16_t, x[i]);
        break;
    case SAMBA_I8:
        EACH(int8_t, x[i]);
        break;
    case SAMBA_U8:
        EACH(uint8_t, x[i]);
        break;
    case SAMBA_BOOL:
        EACH(uint8_t, x[i] != 0);
        break;
    case SAMBA_I64:
        EACH(int64_t, x[i]);
        break;
    case SAMBA_U16:
        EACH(uint16_t, x[i]);
        break;
    case SAMBA_U32:
        EACH(uint32_t, x[i]);
        break;
    default:
        EACH(float, x[i]);
        break;
    }
#undef EACH
}

void load_numbers(float *to, const void *from, samba_dtype type, int64_t first, int64_t n)
{
    double x[CHUNK];
    for (int64_t at = 0; at < n; at += CHUNK) {
        int64_t part = n - at < CHUNK ? n - at : CHUNK;
        load_doubles(x, from, type, first + at, part);
        for (int64_t i = 0; i < part; i++)
            to[at + i] = (float)x[i];
    }
}

static void count(snapshot *s, const double *x, int64_t n, double *sum)
{
    for (int64_t i = 0; i < n; i++) {
        if (isfinite(x[i])) {
            if (x[i] < s->min) s->min = x[i];
            if (x[i] > s->max) s->max = x[i];
            if (x[i] == 0.0) s->zeros++;
            *sum += x[i];
        } else if (isnan(x[i]))
            s->nan++;
        else
            s->inf++;
    }
}

// Of a second pass: squares of distances from the mean, which is exact where they are small.
static void spread(snapshot *s, const double *x, int64_t n, double *squares)
{
    double scale = BINS / (s->high - s->low);
    for (int64_t i = 0; i < n; i++) {
        if (!isfinite(x[i])) continue;
        double d = x[i] - s->mean;
        int bin = (int)((x[i] - s->low) * scale);
        *squares += d * d;
        s->counts[bin < BINS ? bin : BINS - 1]++;
    }
}

void take_statistics(snapshot *s, const void *data, samba_dtype type, int64_t n)
{
    double x[CHUNK], sum = 0.0, squares = 0.0;
    s->n = n;
    s->min = INFINITY;
    s->max = -INFINITY;
    for (int64_t at = 0; at < n; at += CHUNK) {
        int64_t part = n - at < CHUNK ? n - at : CHUNK;
        load_doubles(x, data, type, at, part);
        count(s, x, part, &sum);
    }
    int64_t finite = n - s->nan - s->inf;
    s->no_finite = finite == 0;
    if (s->no_finite) return;
    s->mean = sum / (double)finite;
    s->low = s->min;
    s->high = s->max;
    if (s->low == s->high) { // all the same: a bin in the middle
        double half = s->low == 0.0 ? 0.5 : fabs(s->low) / 2.0;
        s->low -= half;
        s->high += half;
    }
    for (int64_t at = 0; at < n; at += CHUNK) {
        int64_t part = n - at < CHUNK ? n - at : CHUNK;
        load_doubles(x, data, type, at, part);
        spread(s, x, part, &squares);
    }
    s->std = sqrt(squares / (double)finite);
}
