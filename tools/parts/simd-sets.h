/* ==== [simd-sets] ============================================================================= */
/* First the functions of each set; when a template is read, the template. */
#if SAMBA__TEMPLATE == 0 || (SAMBA__TEMPLATE > 0 && !defined(SAMBA__SUFFIX))

/* -- portable: a vector is a float -- */
#define SAMBA__SUFFIX _portable
#define SAMBA__NARROW_SUFFIX _portable
#define SAMBA__VEC_LANES 1
#define SAMBA__MR 6
#define SAMBA__NR 16
#define SAMBA__MC SAMBA__GEMM_MC_NARROW
#define SAMBA__KC SAMBA_GEMM_KC
#if SAMBA__TEMPLATE > 0
#include SAMBA_SELF
#else
typedef float samba__vec;
typedef bool samba__mask;

SAMBA__KERNEL samba__vec samba__vec_set(float x)
{
    return x;
}

SAMBA__KERNEL samba__vec samba__vec_load(const float *x)
{
    return *x;
}

SAMBA__KERNEL void samba__vec_store(float *y, samba__vec v)
{
    *y = v;
}

SAMBA__KERNEL samba__vec samba__vec_add(samba__vec a, samba__vec b)
{
    return a + b;
}

SAMBA__KERNEL samba__vec samba__vec_fma(samba__vec a, samba__vec b, samba__vec c)
{
    return samba__fma(a, b, c);
}

SAMBA__KERNEL float samba__vec_sum(samba__vec v)
{
    return v;
}

SAMBA__KERNEL samba__vec samba__vec_larger(samba__vec s, samba__vec x)
{
    return samba__larger(s, x);
}

SAMBA__KERNEL float samba__vec_largest(samba__vec v)
{
    return v;
}

SAMBA__KERNEL samba__mask samba__mask_first(int64_t n)
{
    return n > 0;
}

SAMBA__KERNEL samba__vec samba__vec_only(samba__vec v, samba__mask mask)
{
    return mask ? v : 0.0f;
}

SAMBA__KERNEL samba__vec samba__vec_load_some(const float *x, bool whole, samba__mask mask)
{
    return whole || mask ? *x : 0.0f;
}

SAMBA__KERNEL void samba__vec_store_some(float *y, bool whole, samba__mask mask, samba__vec v)
{
    if (whole || mask) *y = v;
}
#endif
#undef SAMBA__SUFFIX
#undef SAMBA__NARROW_SUFFIX
#undef SAMBA__VEC_LANES
#undef SAMBA__MR
#undef SAMBA__NR
#undef SAMBA__MC
#undef SAMBA__KC

#if SAMBA__X86
/* -- AVX2 -- */
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#endif
#define SAMBA__SUFFIX _avx2
#define SAMBA__NARROW_SUFFIX _avx2
#define SAMBA__VEC_LANES 8
#define SAMBA__MR 6
#define SAMBA__NR 16
#define SAMBA__MC SAMBA__GEMM_MC_NARROW
#define SAMBA__KC SAMBA_GEMM_KC
#if SAMBA__TEMPLATE > 0
#include SAMBA_SELF
#else
typedef __m256 samba__vec;
typedef __m256i samba__mask;

SAMBA__KERNEL samba__vec samba__vec_set(float x)
{
    return _mm256_set1_ps(x);
}

SAMBA__KERNEL samba__vec samba__vec_load(const float *x)
{
    return _mm256_loadu_ps(x);
}

SAMBA__KERNEL void samba__vec_store(float *y, samba__vec v)
{
    _mm256_storeu_ps(y, v);
}

SAMBA__KERNEL samba__vec samba__vec_add(samba__vec a, samba__vec b)
{
    return _mm256_add_ps(a, b);
}

SAMBA__KERNEL samba__vec samba__vec_fma(samba__vec a, samba__vec b, samba__vec c)
{
    return _mm256_fmadd_ps(a, b, c);
}

SAMBA__KERNEL float samba__vec_sum(samba__vec v)
{
    __m128 four = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps(two, two, 1)));
}

/* Of numbers that cannot be compared, max takes the second. */
SAMBA__KERNEL samba__vec samba__vec_larger(samba__vec s, samba__vec x)
{
    __m256 is_nan = _mm256_cmp_ps(x, x, _CMP_UNORD_Q);
    return _mm256_blendv_ps(_mm256_max_ps(x, s), _mm256_set1_ps(SAMBA__NAN), is_nan);
}

SAMBA__KERNEL float samba__vec_largest(samba__vec v)
{
    v = samba__vec_larger(v, _mm256_permute2f128_ps(v, v, 1));
    v = samba__vec_larger(v, _mm256_permute_ps(v, 0x4e));
    v = samba__vec_larger(v, _mm256_permute_ps(v, 0xb1));
    return _mm256_cvtss_f32(v);
}

SAMBA__KERNEL samba__mask samba__mask_first(int64_t n)
{
    __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)n), lane);
}

SAMBA__KERNEL samba__vec samba__vec_only(samba__vec v, samba__mask mask)
{
    return _mm256_and_ps(v, _mm256_castsi256_ps(mask));
}

/* Masked accesses are slow on some chips. */
SAMBA__KERNEL samba__vec samba__vec_load_some(const float *x, bool whole, samba__mask mask)
{
    return whole ? _mm256_loadu_ps(x) : _mm256_maskload_ps(x, mask);
}

SAMBA__KERNEL void samba__vec_store_some(float *y, bool whole, samba__mask mask, samba__vec v)
{
    if (whole)
        _mm256_storeu_ps(y, v);
    else
        _mm256_maskstore_ps(y, mask, v);
}

SAMBA__KERNEL samba__vec samba__vec_of_bf16(const uint8_t *x)
{
    __m256i h = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(const void *)x));
    return _mm256_castsi256_ps(_mm256_slli_epi32(h, 16));
}

SAMBA__KERNEL samba__vec samba__vec_of_int8(const uint8_t *x, samba__vec d)
{
    __m256i n = _mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)x));
    return _mm256_mul_ps(_mm256_cvtepi32_ps(n), d);
}

SAMBA__KERNEL samba__vec samba__vec_of_int4(const uint8_t *x, bool high, samba__vec d)
{
    __m256i n = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)x));
    n = high ? _mm256_srli_epi32(n, 4) : _mm256_and_si256(n, _mm256_set1_epi32(15));
    return _mm256_fmadd_ps(_mm256_cvtepi32_ps(n), d, _mm256_mul_ps(d, _mm256_set1_ps(-8)));
}

/* Rows i and i + 4 share a register; both halves are transposed as 4 x 4 squares. */
SAMBA__KERNEL __m256 samba__two_rows_avx2(const float *x, int64_t row)
{
    __m256 low = _mm256_castps128_ps256(_mm_loadu_ps(x));
    return _mm256_insertf128_ps(low, _mm_loadu_ps(x + 4 * row), 1);
}

SAMBA__KERNEL void samba__vec_transpose(const float *x, int64_t row, samba__vec v[4])
{
    __m256 x0 = samba__two_rows_avx2(x, row);
    __m256 x1 = samba__two_rows_avx2(x + row, row);
    __m256 x2 = samba__two_rows_avx2(x + 2 * row, row);
    __m256 x3 = samba__two_rows_avx2(x + 3 * row, row);

    __m256 low01 = _mm256_unpacklo_ps(x0, x1);
    __m256 low23 = _mm256_unpacklo_ps(x2, x3);
    __m256 high01 = _mm256_unpackhi_ps(x0, x1);
    __m256 high23 = _mm256_unpackhi_ps(x2, x3);

    v[0] = _mm256_shuffle_ps(low01, low23, 0x44);
    v[1] = _mm256_shuffle_ps(low01, low23, 0xee);
    v[2] = _mm256_shuffle_ps(high01, high23, 0x44);
    v[3] = _mm256_shuffle_ps(high01, high23, 0xee);
}
#endif
#undef SAMBA__SUFFIX
#undef SAMBA__NARROW_SUFFIX
#undef SAMBA__VEC_LANES
#undef SAMBA__MR
#undef SAMBA__NR
#undef SAMBA__MC
#undef SAMBA__KC
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif

#if SAMBA__X86 && !SAMBA__IS_SMALL
/* -- AVX-512F, the part that every processor with AVX-512 has. A template may leave it out where it
   gains nothing: then clang would warn that nothing has the attribute. -- */
#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wpragma-clang-attribute"
#pragma clang attribute push(__attribute__((target("avx512f,avx2,fma"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx2,fma")
#endif
#define SAMBA__SUFFIX _avx512
#define SAMBA__NARROW_SUFFIX _avx2
#define SAMBA__VEC_LANES 16
#define SAMBA__MR 12
#define SAMBA__NR 32
#define SAMBA__MC SAMBA_GEMM_MC
#define SAMBA__KC (4 * SAMBA_GEMM_KC)
#if SAMBA__TEMPLATE > 0
#include SAMBA_SELF
#else
typedef __m512 samba__vec;
typedef __mmask16 samba__mask;

SAMBA__KERNEL samba__vec samba__vec_set(float x)
{
    return _mm512_set1_ps(x);
}

SAMBA__KERNEL samba__vec samba__vec_load(const float *x)
{
    return _mm512_loadu_ps(x);
}

SAMBA__KERNEL void samba__vec_store(float *y, samba__vec v)
{
    _mm512_storeu_ps(y, v);
}

SAMBA__KERNEL samba__vec samba__vec_add(samba__vec a, samba__vec b)
{
    return _mm512_add_ps(a, b);
}

SAMBA__KERNEL samba__vec samba__vec_fma(samba__vec a, samba__vec b, samba__vec c)
{
    return _mm512_fmadd_ps(a, b, c);
}

SAMBA__KERNEL float samba__vec_sum(samba__vec v)
{
    __m256d high = _mm512_maskz_extractf64x4_pd(0xff, _mm512_castps_pd(v), 1);
    __m256 eight = _mm256_add_ps(_mm512_castps512_ps256(v), _mm256_castpd_ps(high));
    return samba__vec_sum_avx2(eight);
}

SAMBA__KERNEL samba__vec samba__vec_larger(samba__vec s, samba__vec x)
{
    __mmask16 is_nan = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
    return _mm512_mask_mov_ps(_mm512_maskz_max_ps(0xffff, x, s), is_nan,
                              _mm512_set1_ps(SAMBA__NAN));
}

SAMBA__KERNEL float samba__vec_largest(samba__vec v)
{
    __m256d high = _mm512_maskz_extractf64x4_pd(0xff, _mm512_castps_pd(v), 1);
    return samba__vec_largest_avx2(
        samba__vec_larger_avx2(_mm512_castps512_ps256(v), _mm256_castpd_ps(high)));
}

SAMBA__KERNEL samba__mask samba__mask_first(int64_t n)
{
    return (__mmask16)((1u << samba__min64(samba__max64(n, 0), 16)) - 1u);
}

SAMBA__KERNEL samba__vec samba__vec_only(samba__vec v, samba__mask mask)
{
    return _mm512_maskz_mov_ps(mask, v);
}

SAMBA__KERNEL samba__vec samba__vec_load_some(const float *x, bool whole, samba__mask mask)
{
    (void)whole;
    return _mm512_maskz_loadu_ps(mask, x);
}

SAMBA__KERNEL void samba__vec_store_some(float *y, bool whole, samba__mask mask, samba__vec v)
{
    (void)whole;
    _mm512_mask_storeu_ps(y, mask, v);
}

/* Instructions are asked for in their masked form, all lanes on, which compiles to the plain one:
   the plain functions of g++ warn of a value that is never set. */
#define SAMBA__ALL(kind, ...) _mm512_maskz_##kind(0xffff, __VA_ARGS__)

SAMBA__KERNEL samba__vec samba__vec_of_bf16(const uint8_t *x)
{
    __m256i h = _mm256_loadu_si256((const __m256i *)(const void *)x);
    return _mm512_castsi512_ps(SAMBA__ALL(slli_epi32, SAMBA__ALL(cvtepu16_epi32, h), 16));
}

SAMBA__KERNEL samba__vec samba__vec_of_int8(const uint8_t *x, samba__vec d)
{
    __m128i b = _mm_loadu_si128((const __m128i *)(const void *)x);
    return _mm512_mul_ps(SAMBA__ALL(cvtepi32_ps, SAMBA__ALL(cvtepi8_epi32, b)), d);
}

/* permutexvar looks the value up by the last 4 bits of each lane. */
SAMBA__KERNEL samba__vec samba__vec_of_int4(const uint8_t *x, bool high, samba__vec d)
{
    const __m512 less8 = _mm512_setr_ps(-8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7);
    __m128i b = _mm_loadu_si128((const __m128i *)(const void *)x);
    __m512i n = SAMBA__ALL(cvtepu8_epi32, b);
    if (high) n = SAMBA__ALL(srli_epi32, n, 4);
    return _mm512_mul_ps(SAMBA__ALL(permutexvar_ps, n, less8), d);
}

typedef struct samba__four_avx512 {
    __m512 a, b, c, d;
} samba__four_avx512;

/* Each quarter of x0 ... x3 is a 4 x 4 square, and is transposed. Of one quarter, row by row:
       x0  a0 a1 a2 a3     low01   a0 b0 a1 b1      y.a  a0 b0 c0 d0
       x1  b0 b1 b2 b3     high01  a2 b2 a3 b3      y.b  a1 b1 c1 d1
       x2  c0 c1 c2 c3     low23   c0 d0 c1 d1      y.c  a2 b2 c2 d2
       x3  d0 d1 d2 d3     high23  c2 d2 c3 d3      y.d  a3 b3 c3 d3 */
SAMBA__KERNEL samba__four_avx512 samba__quarters_avx512(__m512 x0, __m512 x1, __m512 x2, __m512 x3)
{
    __m512 low01 = SAMBA__ALL(unpacklo_ps, x0, x1);
    __m512 high01 = SAMBA__ALL(unpackhi_ps, x0, x1);
    __m512 low23 = SAMBA__ALL(unpacklo_ps, x2, x3);
    __m512 high23 = SAMBA__ALL(unpackhi_ps, x2, x3);

    samba__four_avx512 y;
    y.a = SAMBA__ALL(shuffle_ps, low01, low23, 0x44);
    y.b = SAMBA__ALL(shuffle_ps, low01, low23, 0xee);
    y.c = SAMBA__ALL(shuffle_ps, high01, high23, 0x44);
    y.d = SAMBA__ALL(shuffle_ps, high01, high23, 0xee);
    return y;
}

/* Rows i, i + 4, i + 8 and i + 12 share a register. */
SAMBA__KERNEL __m512 samba__rows_avx512(const float *x, int64_t row)
{
    __m512 v = _mm512_castps128_ps512(_mm_loadu_ps(x));
    v = _mm512_insertf32x4(v, _mm_loadu_ps(x + 4 * row), 1);
    v = _mm512_insertf32x4(v, _mm_loadu_ps(x + 8 * row), 2);
    return _mm512_insertf32x4(v, _mm_loadu_ps(x + 12 * row), 3);
}

SAMBA__KERNEL void samba__vec_transpose(const float *x, int64_t row, samba__vec v[4])
{
    samba__four_avx512 y = samba__quarters_avx512(
        samba__rows_avx512(x, row), samba__rows_avx512(x + row, row),
        samba__rows_avx512(x + 2 * row, row), samba__rows_avx512(x + 3 * row, row));
    v[0] = y.a;
    v[1] = y.b;
    v[2] = y.c;
    v[3] = y.d;
}

/* Four whole rows: then quarter p of a, b, c, d is step 4 p, 4 p + 1, 4 p + 2, 4 p + 3 of them. */
SAMBA__KERNEL samba__four_avx512 samba__columns_avx512(const float *x, int64_t row)
{
    return samba__quarters_avx512(_mm512_loadu_ps(x), _mm512_loadu_ps(x + row),
                                  _mm512_loadu_ps(x + 2 * row), _mm512_loadu_ps(x + 3 * row));
}

/* Steps 0, 4, 8 and 12, of which x0 ... x3 have the quarters. */
SAMBA__KERNEL void samba__store_steps_avx512(float *y, int64_t row, __m512 x0, __m512 x1, __m512 x2,
                                             __m512 x3)
{
    __m512 low01 = SAMBA__ALL(shuffle_f32x4, x0, x1, 0x44);
    __m512 low23 = SAMBA__ALL(shuffle_f32x4, x2, x3, 0x44);
    __m512 high01 = SAMBA__ALL(shuffle_f32x4, x0, x1, 0xee);
    __m512 high23 = SAMBA__ALL(shuffle_f32x4, x2, x3, 0xee);

    _mm512_storeu_ps(y, SAMBA__ALL(shuffle_f32x4, low01, low23, 0x88));
    _mm512_storeu_ps(y + 4 * row, SAMBA__ALL(shuffle_f32x4, low01, low23, 0xdd));
    _mm512_storeu_ps(y + 8 * row, SAMBA__ALL(shuffle_f32x4, high01, high23, 0x88));
    _mm512_storeu_ps(y + 12 * row, SAMBA__ALL(shuffle_f32x4, high01, high23, 0xdd));
}

/* Of the 16 x 16 square, Xij is the 4 x 4 block in block row i and block column j; T is transposed.
       z0 of rows 0 ... 3     .a ... .d hold, row by row, X00T X01T X02T X03T
       z1 of rows 4 ... 7                                 X10T X11T X12T X13T
       z2, z3                                             X20T ...  X30T ...
   A step of y is a row of X0jT X1jT X2jT X3jT: quarter j of z0, z1, z2, z3 side by side.
   Each line of x is read once, as rows far apart evict each other from the cache. Inlined: a call
   would spill the sums that its caller has in registers, which made products of 1 to 4 rows 15 %
   slower. */
SAMBA__KERNEL void samba__square_transpose(const float *x, int64_t x_row, float *y, int64_t y_row)
{
    samba__four_avx512 z0 = samba__columns_avx512(x, x_row);
    samba__four_avx512 z1 = samba__columns_avx512(x + 4 * x_row, x_row);
    samba__four_avx512 z2 = samba__columns_avx512(x + 8 * x_row, x_row);
    samba__four_avx512 z3 = samba__columns_avx512(x + 12 * x_row, x_row);

    samba__store_steps_avx512(y, y_row, z0.a, z1.a, z2.a, z3.a);
    samba__store_steps_avx512(y + y_row, y_row, z0.b, z1.b, z2.b, z3.b);
    samba__store_steps_avx512(y + 2 * y_row, y_row, z0.c, z1.c, z2.c, z3.c);
    samba__store_steps_avx512(y + 3 * y_row, y_row, z0.d, z1.d, z2.d, z3.d);
}
#endif
#undef SAMBA__SUFFIX
#undef SAMBA__NARROW_SUFFIX
#undef SAMBA__VEC_LANES
#undef SAMBA__MR
#undef SAMBA__NR
#undef SAMBA__MC
#undef SAMBA__KC
#if defined(__clang__)
#pragma clang attribute pop
#pragma clang diagnostic pop
#else
#pragma GCC pop_options
#endif
#endif

#if SAMBA__NEON
/* -- NEON: a register has 4 floats, a vector is two of them. gcc would load values so early that
   sums lose their registers: it must not reorder. -- */
#if !defined(__clang__)
#pragma GCC push_options
#pragma GCC optimize("no-schedule-insns")
#endif
#define SAMBA__SUFFIX _neon
#define SAMBA__NARROW_SUFFIX _neon
#define SAMBA__VEC_LANES 8
#define SAMBA__MR 6
#define SAMBA__NR 16
#define SAMBA__MC SAMBA__GEMM_MC_NARROW
#define SAMBA__KC SAMBA_GEMM_KC
#if SAMBA__TEMPLATE > 0
#include SAMBA_SELF
#else
typedef struct samba__vec {
    float32x4_t lo, hi;
} samba__vec;

typedef int64_t samba__mask; /* how many lanes are on */

SAMBA__KERNEL samba__vec samba__pair_neon(float32x4_t lo, float32x4_t hi)
{
    samba__vec v = { lo, hi };
    return v;
}

SAMBA__KERNEL samba__vec samba__vec_set(float x)
{
    return samba__pair_neon(vdupq_n_f32(x), vdupq_n_f32(x));
}

SAMBA__KERNEL samba__vec samba__vec_load(const float *x)
{
    return samba__pair_neon(vld1q_f32(x), vld1q_f32(x + 4));
}

SAMBA__KERNEL void samba__vec_store(float *y, samba__vec v)
{
    vst1q_f32(y, v.lo);
    vst1q_f32(y + 4, v.hi);
}

SAMBA__KERNEL samba__vec samba__vec_add(samba__vec a, samba__vec b)
{
    return samba__pair_neon(vaddq_f32(a.lo, b.lo), vaddq_f32(a.hi, b.hi));
}

SAMBA__KERNEL samba__vec samba__vec_fma(samba__vec a, samba__vec b, samba__vec c)
{
    return samba__pair_neon(vfmaq_f32(c.lo, a.lo, b.lo), vfmaq_f32(c.hi, a.hi, b.hi));
}

SAMBA__KERNEL float samba__vec_sum(samba__vec v)
{
    float32x4_t four = vaddq_f32(v.lo, v.hi);
    float32x2_t two = vadd_f32(vget_low_f32(four), vget_high_f32(four));
    return vget_lane_f32(two, 0) + vget_lane_f32(two, 1);
}

SAMBA__KERNEL float32x4_t samba__larger_neon(float32x4_t s, float32x4_t x)
{
    float32x4_t larger = vbslq_f32(vcgtq_f32(x, s), x, s);
    return vbslq_f32(vceqq_f32(x, x), larger, vdupq_n_f32(SAMBA__NAN));
}

SAMBA__KERNEL samba__vec samba__vec_larger(samba__vec s, samba__vec x)
{
    return samba__pair_neon(samba__larger_neon(s.lo, x.lo), samba__larger_neon(s.hi, x.hi));
}

SAMBA__KERNEL float samba__vec_largest(samba__vec v)
{
    float32x4_t four = samba__larger_neon(v.lo, v.hi);
    four = samba__larger_neon(four, vextq_f32(four, four, 2));
    four = samba__larger_neon(four, vextq_f32(four, four, 1));
    return vgetq_lane_f32(four, 0);
}

SAMBA__KERNEL samba__mask samba__mask_first(int64_t n)
{
    return n;
}

SAMBA__KERNEL samba__vec samba__vec_only(samba__vec v, samba__mask mask)
{
    float part[8];
    samba__vec_store(part, v);
    for (int j = 0; j < 8; j++)
        if (j >= mask) part[j] = 0.0f;
    return samba__vec_load(part);
}

SAMBA__KERNEL samba__vec samba__vec_load_some(const float *x, bool whole, samba__mask mask)
{
    float part[8] = { 0.0f };
    if (whole) return samba__vec_load(x);
    for (int j = 0; j < 8; j++)
        if (j < mask) part[j] = x[j];
    return samba__vec_load(part);
}

SAMBA__KERNEL void samba__vec_store_some(float *y, bool whole, samba__mask mask, samba__vec v)
{
    float part[8];
    if (whole) {
        samba__vec_store(y, v);
        return;
    }
    samba__vec_store(part, v);
    for (int j = 0; j < 8; j++)
        if (j < mask) y[j] = part[j];
}

SAMBA__KERNEL samba__vec samba__vec_of_bf16(const uint8_t *x)
{
    uint16x8_t h = vreinterpretq_u16_u8(vld1q_u8(x));
    return samba__pair_neon(vreinterpretq_f32_u32(vshll_n_u16(vget_low_u16(h), 16)),
                            vreinterpretq_f32_u32(vshll_n_u16(vget_high_u16(h), 16)));
}

SAMBA__KERNEL samba__vec samba__scaled_neon(uint8x8_t x, samba__vec d)
{
    int16x8_t n = vmovl_s8(vreinterpret_s8_u8(x));
    return samba__pair_neon(vmulq_f32(vcvtq_f32_s32(vmovl_s16(vget_low_s16(n))), d.lo),
                            vmulq_f32(vcvtq_f32_s32(vmovl_s16(vget_high_s16(n))), d.hi));
}

SAMBA__KERNEL samba__vec samba__vec_of_int8(const uint8_t *x, samba__vec d)
{
    return samba__scaled_neon(vld1_u8(x), d);
}

SAMBA__KERNEL samba__vec samba__vec_of_int4(const uint8_t *x, bool high, samba__vec d)
{
    uint8x8_t b = vld1_u8(x);
    b = high ? vshr_n_u8(b, 4) : vand_u8(b, vdup_n_u8(15));
    return samba__scaled_neon(vsub_u8(b, vdup_n_u8(8)), d);
}

/* Two floats of a and two of b, of places 0 and 1, or 2 and 3. */
SAMBA__KERNEL float32x4_t samba__firsts_neon(float32x4_t a, float32x4_t b)
{
    return vreinterpretq_f32_f64(vzip1q_f64(vreinterpretq_f64_f32(a), vreinterpretq_f64_f32(b)));
}

SAMBA__KERNEL float32x4_t samba__seconds_neon(float32x4_t a, float32x4_t b)
{
    return vreinterpretq_f32_f64(vzip2q_f64(vreinterpretq_f64_f32(a), vreinterpretq_f64_f32(b)));
}

SAMBA__KERNEL void samba__square4_neon(const float *x, int64_t row, float32x4_t v[4])
{
    float32x4_t x0 = vld1q_f32(x), x1 = vld1q_f32(x + row);
    float32x4_t x2 = vld1q_f32(x + 2 * row), x3 = vld1q_f32(x + 3 * row);
    float32x4_t even01 = vtrn1q_f32(x0, x1), odd01 = vtrn2q_f32(x0, x1);
    float32x4_t even23 = vtrn1q_f32(x2, x3), odd23 = vtrn2q_f32(x2, x3);

    v[0] = samba__firsts_neon(even01, even23);
    v[1] = samba__firsts_neon(odd01, odd23);
    v[2] = samba__seconds_neon(even01, even23);
    v[3] = samba__seconds_neon(odd01, odd23);
}

SAMBA__KERNEL void samba__vec_transpose(const float *x, int64_t row, samba__vec v[4])
{
    float32x4_t lo[4], hi[4];
    samba__square4_neon(x, row, lo);
    samba__square4_neon(x + 4 * row, row, hi);
    for (int q = 0; q < 4; q++)
        v[q] = samba__pair_neon(lo[q], hi[q]);
}
#endif
#undef SAMBA__SUFFIX
#undef SAMBA__NARROW_SUFFIX
#undef SAMBA__VEC_LANES
#undef SAMBA__MR
#undef SAMBA__NR
#undef SAMBA__MC
#undef SAMBA__KC
#if !defined(__clang__)
#pragma GCC pop_options
#endif
#endif
#if SAMBA__WASM
/* -- WebAssembly: as with NEON, a vector is two registers. There is no fma that is one everywhere,
   so it is made in double, like samba__fma_double, four lanes at a time. -- */
#define SAMBA__SUFFIX _wasm
#define SAMBA__NARROW_SUFFIX _wasm
#define SAMBA__VEC_LANES 8
#define SAMBA__MR 6
#define SAMBA__NR 16
#define SAMBA__MC SAMBA__GEMM_MC_NARROW
#define SAMBA__KC SAMBA_GEMM_KC
#if SAMBA__TEMPLATE > 0
#include SAMBA_SELF
#else
typedef struct samba__vec {
    v128_t lo, hi;
} samba__vec;

typedef int64_t samba__mask; /* how many lanes are on */

SAMBA__KERNEL samba__vec samba__pair_wasm(v128_t lo, v128_t hi)
{
    samba__vec v = { lo, hi };
    return v;
}

SAMBA__KERNEL samba__vec samba__vec_set(float x)
{
    return samba__pair_wasm(wasm_f32x4_splat(x), wasm_f32x4_splat(x));
}

SAMBA__KERNEL samba__vec samba__vec_load(const float *x)
{
    return samba__pair_wasm(wasm_v128_load(x), wasm_v128_load(x + 4));
}

SAMBA__KERNEL void samba__vec_store(float *y, samba__vec v)
{
    wasm_v128_store(y, v.lo);
    wasm_v128_store(y + 4, v.hi);
}

SAMBA__KERNEL samba__vec samba__vec_add(samba__vec a, samba__vec b)
{
    return samba__pair_wasm(wasm_f32x4_add(a.lo, b.lo), wasm_f32x4_add(a.hi, b.hi));
}

SAMBA__KERNEL samba__vec samba__vec_mul(samba__vec a, samba__vec b)
{
    return samba__pair_wasm(wasm_f32x4_mul(a.lo, b.lo), wasm_f32x4_mul(a.hi, b.hi));
}

/* Lanes 0 and 1, or 2 and 3, in double. */
SAMBA__KERNEL v128_t samba__firsts_wasm(v128_t x)
{
    return wasm_f64x2_promote_low_f32x4(x);
}

SAMBA__KERNEL v128_t samba__seconds_wasm(v128_t x)
{
    return wasm_f64x2_promote_low_f32x4(wasm_i32x4_shuffle(x, x, 2, 3, 2, 3));
}

/* a b + c of four lanes, rounded to doubles and then to floats: see samba__fma_double. */
typedef struct samba__sum_wasm {
    v128_t first, second; /* of lanes 0 and 1, of lanes 2 and 3 */
    v128_t rounded;       /* to floats */
} samba__sum_wasm;

SAMBA__KERNEL samba__sum_wasm samba__sum_of_wasm(v128_t a, v128_t b, v128_t c)
{
    samba__sum_wasm s;
    s.first = wasm_f64x2_mul(samba__firsts_wasm(a), samba__firsts_wasm(b));
    s.first = wasm_f64x2_add(s.first, samba__firsts_wasm(c));
    s.second = wasm_f64x2_mul(samba__seconds_wasm(a), samba__seconds_wasm(b));
    s.second = wasm_f64x2_add(s.second, samba__seconds_wasm(c));
    s.rounded = wasm_i32x4_shuffle(wasm_f32x4_demote_f64x2_zero(s.first),
                                   wasm_f32x4_demote_f64x2_zero(s.second), 0, 1, 4, 5);
    return s;
}

/* Lanes that may be rounded wrongly: where the double is in the middle of two floats, and, to be
   quick, all that are subnormal or zero. */
SAMBA__KERNEL v128_t samba__suspects_wasm(const samba__sum_wasm *s)
{
    v128_t low = wasm_i32x4_shuffle(s->first, s->second, 0, 2, 4, 6);
    low = wasm_v128_and(low, wasm_i32x4_splat(0x1fffffff));
    v128_t middle = wasm_i32x4_eq(low, wasm_i32x4_splat(0x10000000));
    v128_t tiny = wasm_f32x4_lt(wasm_f32x4_abs(s->rounded), wasm_f32x4_splat(1.17549435e-38f));
    return wasm_v128_or(middle, tiny);
}

/* The same after rounding, when there are suspects. A sum that is zero, as from many a relu, is
   exact; others are computed one by one. */
SAMBA__NOINLINE v128_t samba__settle_wasm(const samba__sum_wasm *s, v128_t a, v128_t b, v128_t c)
{
    const v128_t zero = wasm_f64x2_splat(0.0);
    v128_t exact = wasm_i32x4_shuffle(wasm_f64x2_eq(s->first, zero), wasm_f64x2_eq(s->second, zero),
                                      0, 2, 4, 6);
    float x[4], y[4], z[4];
    if (!wasm_v128_any_true(wasm_v128_andnot(samba__suspects_wasm(s), exact))) return s->rounded;

    wasm_v128_store(x, a);
    wasm_v128_store(y, b);
    wasm_v128_store(z, c);
    for (int j = 0; j < 4; j++)
        z[j] = samba__fma(x[j], y[j], z[j]);
    return wasm_v128_load(z);
}

SAMBA__KERNEL samba__vec samba__vec_fma(samba__vec a, samba__vec b, samba__vec c)
{
    samba__sum_wasm lo = samba__sum_of_wasm(a.lo, b.lo, c.lo);
    samba__sum_wasm hi = samba__sum_of_wasm(a.hi, b.hi, c.hi);
    v128_t suspects = wasm_v128_or(samba__suspects_wasm(&lo), samba__suspects_wasm(&hi));
    if (__builtin_expect(wasm_v128_any_true(suspects), 0)) {
        lo.rounded = samba__settle_wasm(&lo, a.lo, b.lo, c.lo);
        hi.rounded = samba__settle_wasm(&hi, a.hi, b.hi, c.hi);
    }
    return samba__pair_wasm(lo.rounded, hi.rounded);
}

SAMBA__KERNEL float samba__vec_sum(samba__vec v)
{
    v128_t four = wasm_f32x4_add(v.lo, v.hi);
    v128_t two = wasm_f32x4_add(four, wasm_i32x4_shuffle(four, four, 2, 3, 2, 3));
    return wasm_f32x4_extract_lane(two, 0) + wasm_f32x4_extract_lane(two, 1);
}

SAMBA__KERNEL v128_t samba__larger_wasm(v128_t s, v128_t x)
{
    v128_t larger = wasm_v128_bitselect(x, s, wasm_f32x4_gt(x, s));
    return wasm_v128_bitselect(larger, wasm_f32x4_splat(SAMBA__NAN), wasm_f32x4_eq(x, x));
}

SAMBA__KERNEL samba__vec samba__vec_larger(samba__vec s, samba__vec x)
{
    return samba__pair_wasm(samba__larger_wasm(s.lo, x.lo), samba__larger_wasm(s.hi, x.hi));
}

SAMBA__KERNEL float samba__vec_largest(samba__vec v)
{
    v128_t four = samba__larger_wasm(v.lo, v.hi);
    four = samba__larger_wasm(four, wasm_i32x4_shuffle(four, four, 2, 3, 0, 1));
    four = samba__larger_wasm(four, wasm_i32x4_shuffle(four, four, 1, 0, 3, 2));
    return wasm_f32x4_extract_lane(four, 0);
}

SAMBA__KERNEL samba__mask samba__mask_first(int64_t n)
{
    return n;
}

SAMBA__KERNEL samba__vec samba__vec_only(samba__vec v, samba__mask mask)
{
    v128_t n = wasm_i32x4_splat((int32_t)samba__min64(mask, 8));
    v128_t lo = wasm_i32x4_gt(n, wasm_i32x4_const(0, 1, 2, 3));
    v128_t hi = wasm_i32x4_gt(n, wasm_i32x4_const(4, 5, 6, 7));
    return samba__pair_wasm(wasm_v128_and(v.lo, lo), wasm_v128_and(v.hi, hi));
}

SAMBA__KERNEL samba__vec samba__vec_load_some(const float *x, bool whole, samba__mask mask)
{
    float part[8] = { 0.0f };
    if (whole) return samba__vec_load(x);
    for (int j = 0; j < 8; j++)
        if (j < mask) part[j] = x[j];
    return samba__vec_load(part);
}

SAMBA__KERNEL void samba__vec_store_some(float *y, bool whole, samba__mask mask, samba__vec v)
{
    float part[8];
    if (whole) {
        samba__vec_store(y, v);
        return;
    }
    samba__vec_store(part, v);
    for (int j = 0; j < 8; j++)
        if (j < mask) y[j] = part[j];
}

SAMBA__KERNEL samba__vec samba__vec_of_bf16(const uint8_t *x)
{
    v128_t h = wasm_v128_load(x);
    return samba__pair_wasm(wasm_i32x4_shl(wasm_u32x4_extend_low_u16x8(h), 16),
                            wasm_i32x4_shl(wasm_u32x4_extend_high_u16x8(h), 16));
}

/* Eight integers of 16 bits, times d. */
SAMBA__KERNEL samba__vec samba__scaled_wasm(v128_t n, samba__vec d)
{
    v128_t lo = wasm_f32x4_convert_i32x4(wasm_i32x4_extend_low_i16x8(n));
    v128_t hi = wasm_f32x4_convert_i32x4(wasm_i32x4_extend_high_i16x8(n));
    return samba__vec_mul(samba__pair_wasm(lo, hi), d);
}

SAMBA__KERNEL samba__vec samba__vec_of_int8(const uint8_t *x, samba__vec d)
{
    return samba__scaled_wasm(wasm_i16x8_load8x8(x), d);
}

SAMBA__KERNEL samba__vec samba__vec_of_int4(const uint8_t *x, bool high, samba__vec d)
{
    v128_t n = wasm_u16x8_load8x8(x);
    n = high ? wasm_u16x8_shr(n, 4) : wasm_v128_and(n, wasm_i16x8_splat(15));
    return samba__scaled_wasm(wasm_i16x8_sub(n, wasm_i16x8_splat(8)), d);
}

SAMBA__KERNEL void samba__square4_wasm(const float *x, int64_t row, v128_t v[4])
{
    v128_t x0 = wasm_v128_load(x), x1 = wasm_v128_load(x + row);
    v128_t x2 = wasm_v128_load(x + 2 * row), x3 = wasm_v128_load(x + 3 * row);

    v128_t low01 = wasm_i32x4_shuffle(x0, x1, 0, 4, 1, 5);
    v128_t high01 = wasm_i32x4_shuffle(x0, x1, 2, 6, 3, 7);
    v128_t low23 = wasm_i32x4_shuffle(x2, x3, 0, 4, 1, 5);
    v128_t high23 = wasm_i32x4_shuffle(x2, x3, 2, 6, 3, 7);

    v[0] = wasm_i64x2_shuffle(low01, low23, 0, 2);
    v[1] = wasm_i64x2_shuffle(low01, low23, 1, 3);
    v[2] = wasm_i64x2_shuffle(high01, high23, 0, 2);
    v[3] = wasm_i64x2_shuffle(high01, high23, 1, 3);
}

SAMBA__KERNEL void samba__vec_transpose(const float *x, int64_t row, samba__vec v[4])
{
    v128_t lo[4], hi[4];
    samba__square4_wasm(x, row, lo);
    samba__square4_wasm(x + 4 * row, row, hi);
    for (int q = 0; q < 4; q++)
        v[q] = samba__pair_wasm(lo[q], hi[q]);
}
#endif
#undef SAMBA__SUFFIX
#undef SAMBA__NARROW_SUFFIX
#undef SAMBA__VEC_LANES
#undef SAMBA__MR
#undef SAMBA__NR
#undef SAMBA__MC
#undef SAMBA__KC
#endif
#endif /* the sets */
#if SAMBA__TEMPLATE == 0

