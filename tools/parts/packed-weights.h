/* ==== [packed-weights] ======================================================================== */
/* A program that only infers may keep the weights w (n,k) of a dense layer in the order in which a
   product reads them, so that they are streamed from memory once and need no packing, and in fewer
   bits, as reading them is what takes the time. They are cut into panels of 32 rows:

       w(j,p), which is B(p,j) of the product x w^T, is element [j / 32][p][j % 32]

   Types: f32; bf16; i8; and u8, two steps of k in a byte, the first one low, as 8 more than
   -8 ... 7. Integers are multiples of a bf16 scale, element [j / 32][p / 32][j % 32]: a row of
   w has one for each group of 32 steps. */
enum { SAMBA__PANEL = 32, SAMBA__GROUP = 32 };

/* Bytes between the steps of a panel, or the pairs of steps. */
SAMBA__FN int64_t samba__panel_row(samba_dtype type)
{
    return SAMBA__PANEL * (int64_t)samba_dtype_size(type);
}

/* dst[u][l] = B(p + u, j + l) for u < pc, l < width. Steps, or pairs of them, are `row` bytes
   apart; column j of the panel is first in q. */
SAMBA__INLINE void samba__unpack_any(float *SAMBA__RESTRICT dst, const uint8_t *q, int64_t row,
                                     const uint16_t *scale, samba_dtype type, int64_t p, int64_t pc,
                                     int64_t width)
{
    int64_t step = type == SAMBA_U8 ? 2 : 1;
    for (int64_t end = p + pc; p < end; p++, dst += width) {
        const uint16_t *d = scale ? scale + p / SAMBA__GROUP * SAMBA__PANEL : NULL;
        const uint8_t *x = q + p / step * row;
        unsigned shift = p % step ? 4 : 0;

        if (type == SAMBA_F32) {
            memcpy(dst, x, (size_t)width * 4);
        } else if (SAMBA__HAS_TYPE(BF16) && type == SAMBA_BF16) {
            for (int64_t l = 0; l < width; l++)
                dst[l] = samba__from_bf16(((const uint16_t *)(const void *)x)[l]);
        } else if (SAMBA__HAS_TYPE(F16) && type == SAMBA_F16) {
            for (int64_t l = 0; l < width; l++)
                dst[l] = samba__from_f16(((const uint16_t *)(const void *)x)[l]);
        } else if (SAMBA__HAS_TYPE(I8) && type == SAMBA_I8) {
            for (int64_t l = 0; l < width; l++)
                dst[l] = (float)((const int8_t *)x)[l] * samba__from_bf16(d[l]);
        } else if (SAMBA__HAS_TYPE(U8)) {
            for (int64_t l = 0; l < width; l++)
                dst[l] = (float)((int32_t)(x[l] >> shift & 15u) - 8) * samba__from_bf16(d[l]);
        }
    }
}

/* Where column j is first in packed weights of k steps, and in their scales. */
SAMBA__INLINE const uint8_t *samba__packed_at(const void *packed, samba_dtype type, int64_t k,
                                              int64_t j)
{
    SAMBA_ASSERT(type != SAMBA_U8 || k % 2 == 0); /* a byte has two steps of k */
    int64_t steps = type == SAMBA_U8 ? k / 2 : k;
    return (const uint8_t *)packed + (j / SAMBA__PANEL * steps) * samba__panel_row(type)
        + j % SAMBA__PANEL * (int64_t)samba_dtype_size(type);
}

SAMBA__INLINE const uint16_t *samba__scale_at(const uint16_t *scale, int64_t k, int64_t j)
{
    int64_t row = j / SAMBA__PANEL * (k / SAMBA__GROUP);
    return scale ? scale + row * SAMBA__PANEL + j % SAMBA__PANEL : NULL;
}

/* How far integer weights are prefetched, in bytes; divided by the element's size for floats. */
enum { SAMBA__FAR = 4096 };

/* y = x w^T + bias, where x is one row of k values. */
typedef struct samba__packed_product {
    const float *x;
    const void *w;         /* packed weights (n,k) */
    const uint16_t *scale; /* of integers */
    samba_dtype type;
    int64_t k;
    const float *bias; /* or NULL */
    float *y;
} samba__packed_product;
#endif /* SAMBA__TEMPLATE == 0 */

/* ---- A template: how each set with vectors unpacks ------------------------------------------- */
#if SAMBA__TEMPLATE == SAMBA__TEMPLATE_PACKED && defined(SAMBA__SUFFIX)
#if SAMBA__VEC_LANES > 1
#define samba__unpack SAMBA__OF_SET(samba__unpack)

/* Unpack for panels of this set. */
SAMBA__VECTORIZED SAMBA__FN void samba__unpack(float *dst, const uint8_t *q, int64_t row,
                                               const uint16_t *scale, samba_dtype type, int64_t p,
                                               int64_t pc)
{
    switch (type) {
    case SAMBA_F32:
        samba__unpack_any(dst, q, row, NULL, SAMBA_F32, p, pc, SAMBA__NR);
        break;
    case SAMBA_BF16:
        samba__unpack_any(dst, q, row, NULL, SAMBA_BF16, p, pc, SAMBA__NR);
        break;
    case SAMBA_F16:
        samba__unpack_any(dst, q, row, NULL, SAMBA_F16, p, pc, SAMBA__NR);
        break;

    case SAMBA_I8:
        samba__unpack_any(dst, q, row, scale, SAMBA_I8, p, pc, SAMBA__NR);
        break;
    default:
        samba__unpack_any(dst, q, row, scale, SAMBA_U8, p, pc, SAMBA__NR);
        break;
    }
}

#define samba__packed_vec SAMBA__OF_SET(samba__packed_vec)
#define samba__packed_scales SAMBA__OF_SET(samba__packed_scales)
#define samba__packed_panels SAMBA__OF_SET(samba__packed_panels)
#define samba__packed_row SAMBA__OF_SET(samba__packed_row)

/* A vector of weights of a type; d is the scale of integers. */
SAMBA__KERNEL samba__vec samba__packed_vec(const uint8_t *w, samba_dtype type, bool high,
                                           samba__vec d)
{
    if (type == SAMBA_F32) return samba__vec_load((const float *)(const void *)w);
    if (type == SAMBA_BF16) return samba__vec_of_bf16(w);
    if (type == SAMBA_I8) return samba__vec_of_int8(w, d);
    return samba__vec_of_int4(w, high, d);
}

/* The scales of a group of steps of one panel; those of the panel after the next come later. */
SAMBA__KERNEL void samba__packed_scales(const uint16_t *scale, int64_t k, samba__vec *d)
{
    SAMBA__UNROLLED
    for (int v = 0; v < SAMBA__PANEL / SAMBA__VEC_LANES; v++)
        d[v] = samba__vec_of_bf16((const uint8_t *)(scale + v * SAMBA__VEC_LANES));
    __builtin_prefetch(scale + 2 * k);
}

/* One row of A times two panels of packed weights: they go from memory into sums, in y. Integers
   are prefetched, with AVX-512 all: without prefetches Zen 3 streams two panels of floats at 31
   GB/s, with them at 25. */
SAMBA__KERNEL void samba__packed_panels(const samba__packed_product *s, float *y, int64_t j0,
                                        int64_t j1, samba_dtype type)
{
    enum { VECS = 2 * SAMBA__PANEL / SAMBA__VEC_LANES, HALF = VECS / 2 };

    const bool scaled = type == SAMBA_I8 || type == SAMBA_U8;
    const int64_t size = type == SAMBA_F32 ? 4 : 2 - (int)scaled;
    const int64_t step = type == SAMBA_U8 ? 2 : 1;
    const int64_t far = SAMBA__FAR / size, k = s->k, row = SAMBA__PANEL * size / step;

    const uint8_t *q0 = samba__packed_at(s->w, type, k, j0);
    const uint8_t *q1 = samba__packed_at(s->w, type, k, j1);
    const uint16_t *scale0 = samba__scale_at(s->scale, k, j0);
    const uint16_t *scale1 = samba__scale_at(s->scale, k, j1);

    samba__vec sum[VECS], d[VECS];
    SAMBA__UNROLLED
    for (int v = 0; v < VECS; v++) {
        sum[v] = samba__vec_set(0.0f);
        d[v] = sum[v];
    }

    for (int64_t p = 0; p < k;) {
        int64_t at = p / SAMBA__GROUP * SAMBA__PANEL, end = samba__min64(p + SAMBA__GROUP, k);
        int64_t ahead = p * row + far < k * row ? far : far + k * row; /* in the next pair */
        if (scaled) {
            samba__packed_scales(scale0 + at, k, d);
            samba__packed_scales(scale1 + at, k, d + HALF);
        }

        for (; p < end; p += step) {
            samba__vec x = samba__vec_set(s->x[p]);
            samba__vec z = step == 2 ? samba__vec_set(s->x[p + 1]) : x;

            if (SAMBA__VEC_LANES > 8 || scaled) {
                __builtin_prefetch(q0 + ahead);
                __builtin_prefetch(q1 + ahead);
            }
            if (SAMBA__VEC_LANES > 8 && size == 4) {
                SAMBA__PREFETCH(q0 + ahead + 64);
                SAMBA__PREFETCH(q1 + ahead + 64);
            }

            SAMBA__UNROLLED
            for (int v = 0; v < VECS; v++) {
                const uint8_t *w = (v < HALF ? q0 : q1) + v % HALF * SAMBA__VEC_LANES * size;
                sum[v] = samba__vec_fma(x, samba__packed_vec(w, type, false, d[v]), sum[v]);
                if (step == 2)
                    sum[v] = samba__vec_fma(z, samba__packed_vec(w, type, true, d[v]), sum[v]);
            }

            q0 += SAMBA__PANEL * size;
            q1 += SAMBA__PANEL * size;
        }
    }

    SAMBA__UNROLLED
    for (int v = 0; v < VECS; v++)
        samba__vec_store(y + v * SAMBA__VEC_LANES, sum[v]);
}

/* Columns [j0,j1) of a product, two panels at a time. */
SAMBA__FN void samba__packed_row(const samba__packed_product *s, int64_t j0, int64_t j1)
{
    float y[2 * SAMBA__PANEL];
    for (int64_t j = j0; j < j1; j += 2 * SAMBA__PANEL) {
        int64_t other = j + SAMBA__PANEL < j1 ? j + SAMBA__PANEL : j; /* any, past the last */
        int64_t n = samba__min64(2 * SAMBA__PANEL, j1 - j);

        if (s->type == SAMBA_F32)
            samba__packed_panels(s, y, j, other, SAMBA_F32);
        else if (s->type == SAMBA_BF16)
            samba__packed_panels(s, y, j, other, SAMBA_BF16);
        else if (s->type == SAMBA_I8)
            samba__packed_panels(s, y, j, other, SAMBA_I8);
        else
            samba__packed_panels(s, y, j, other, SAMBA_U8);

        for (int64_t l = 0; l < n; l++)
            s->y[j + l] = s->bias ? y[l] + s->bias[j + l] : y[l];
    }
}
#endif
#endif /* the template */

#if SAMBA__TEMPLATE == 0
#undef SAMBA__TEMPLATE
#define SAMBA__TEMPLATE SAMBA__TEMPLATE_PACKED
#include SAMBA_SELF
#undef SAMBA__TEMPLATE
#define SAMBA__TEMPLATE 0

