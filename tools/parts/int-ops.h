/* ==== [int-ops] =============================================================================== */
/* Ops of int8, on the grids of [quant]. First, what their rules share. */
SAMBA__FN bool samba__expect_type(samba_call *c, int32_t i, samba_dtype type)
{
    if (c->in[i].dtype != type)
        return samba_refuse(c, SAMBA_EDTYPE, "input %d is %T, but must be %T", i,
                            (int)c->in[i].dtype, (int)type);
    return true;
}

/* Expects n_in inputs, of which the first n_int8 are int8, as output 0 is. */
SAMBA__FN bool samba__expect_int8(samba_call *c, int32_t n_in, int32_t n_int8, int32_t n_attr)
{
    if (!samba__expect(c, n_in, n_in, n_attr)) return false;
    for (int32_t i = 0; i < n_int8; i++)
        if (!samba__expect_type(c, i, SAMBA_I8)) return false;
    c->out[0] = c->in[0];
    return true;
}

/* Is word i of the attributes, called name, in least ... most? */
SAMBA__FN bool samba__expect_word(samba_call *c, int32_t i, const char *name, int32_t least,
                                  int32_t most)
{
    if (c->attr[i] < least || c->attr[i] > most)
        return samba_refuse(c, SAMBA_ERANGE, "%s is %d; it is %d ... %d", name, c->attr[i], least,
                            most);
    return true;
}

SAMBA__FN bool samba__expect_zero(samba_call *c, int32_t i)
{
    return samba__expect_word(c, i, "a zero", SAMBA__INT8_LEAST, SAMBA__INT8_MOST);
}

/* Words of the attributes from i on: zero, least and most of y. */
SAMBA__FN bool samba__expect_y(samba_call *c, int32_t i)
{
    return samba__expect_zero(c, i)
        && samba__expect_word(c, i + 1, "least", SAMBA__INT8_LEAST, SAMBA__INT8_MOST)
        && samba__expect_word(c, i + 2, "most", c->attr[i + 1], SAMBA__INT8_MOST);
}

SAMBA__FN const int8_t *samba__in_int8(const samba_args *a, int32_t i)
{
    return (const int8_t *)(const void *)a->in[i];
}

SAMBA__FN int8_t *samba__out_int8(const samba_args *a)
{
    return (int8_t *)(void *)a->out[0];
}

/* zero, least and most of y */
typedef struct samba__int8_y {
    int32_t zero, least, most;
} samba__int8_y;

SAMBA__FN samba__int8_y samba__int8_y_of(const int32_t *attr)
{
    samba__int8_y y = { attr[0], attr[1], attr[2] };
    return y;
}

SAMBA__INLINE int8_t samba__int8_limited(int32_t q, const samba__int8_y *y)
{
    if (q < y->least) return (int8_t)y->least;
    return (int8_t)(q > y->most ? y->most : q);
}

/* ---- quantize and dequantize: to the grid of the attributes, and back. Beyond the grid quantize
   takes its end, also for infinities; a NaN ends the run, since no int8 stands for it. ---- */
SAMBA__FN bool samba__expect_grid(samba_call *c)
{
    float scale = samba_attr_float(c->attr[SAMBA__GRID_SCALE]);
    if (!(scale > 0.0f && scale < SAMBA__INF))
        return samba_refuse(c, SAMBA_ERANGE, "the scale %g is not above 0, or infinite",
                            (double)scale);
    return samba__expect_zero(c, SAMBA__GRID_ZERO);
}

SAMBA__FN samba__int8_grid samba__grid_attr(const int32_t *attr)
{
    samba__int8_grid g = { samba_attr_float(attr[SAMBA__GRID_SCALE]), attr[SAMBA__GRID_ZERO] };
    return g;
}

SAMBA__FN bool samba__quantize_shape(samba_call *c)
{
    if (!samba__expect_all_f32(c, 1, 1, SAMBA__GRID_END) || !samba__expect_grid(c)) return false;
    c->out[0] = c->in[0];
    c->out[0].dtype = SAMBA_I8;
    return true;
}

SAMBA__VECTORIZED SAMBA__FN void samba__quantize_kernel(const samba_args *a)
{
    int64_t last, i = samba__block_range(a, &last);
    samba__int8_grid g = samba__grid_attr(a->attr);
    int8_t *y = samba__out_int8(a);
    bool nan = false;

    for (int64_t k = i; k < last; k++) {
        float x = a->in[0][k];
        y[k] = (int8_t)samba__to_grid(x, g);
        nan |= x != x;
    }

    if (!nan) return;
    while (a->in[0][i] == a->in[0][i])
        i++;
    samba__fault_of_nan(a, 0, i);
}

SAMBA__FN bool samba__dequantize_shape(samba_call *c)
{
    if (!samba__expect_int8(c, 1, 1, SAMBA__GRID_END) || !samba__expect_grid(c)) return false;
    c->out[0].dtype = SAMBA_F32;
    return true;
}

SAMBA__VECTORIZED SAMBA__FN void samba__dequantize_kernel(const samba_args *a)
{
    int64_t last, i = samba__block_range(a, &last);
    samba__int8_grid g = samba__grid_attr(a->attr);
    const int8_t *x = samba__in_int8(a, 0);
    for (; i < last; i++)
        a->out[0][i] = samba__from_grid(x[i], g);
}

/* ---- requantize: from the grid of x to that of y, and
   add_int8: y = a + b, on three grids. Factors are at most 2^21 and shifts 30, so 32 bits do:
       q_y = zero_y + (((q_a - zero_a) factor_a + (q_b - zero_b) factor_b + 2^(shift-1)) >> shift)
   with the limits of y. ---- */
enum { SAMBA__SUM_MOST_FACTOR = 1 << 21, SAMBA__SUM_MOST_SHIFT = 30 };

SAMBA__FN bool samba__expect_factor(samba_call *c, int32_t i)
{
    return samba__expect_word(c, i, "a factor", 0, SAMBA__SUM_MOST_FACTOR);
}

SAMBA__FN bool samba__requantize_shape(samba_call *c)
{
    return samba__expect_int8(c, 1, 1, SAMBA__REQUANTIZE_END)
        && samba__expect_zero(c, SAMBA__REQUANTIZE_ZERO_X)
        && samba__expect_factor(c, SAMBA__REQUANTIZE_FACTOR)
        && samba__expect_word(c, SAMBA__REQUANTIZE_SHIFT, "shift", 0, SAMBA__SUM_MOST_SHIFT)
        && samba__expect_y(c, SAMBA__REQUANTIZE_ZERO_Y);
}

/* sum / 2^shift, rounded, on the grid of y. */
SAMBA__INLINE int8_t samba__int8_shifted(int32_t sum, int32_t shift, const samba__int8_y *y)
{
    int32_t half = (1 << shift) >> 1;
    return samba__int8_limited(y->zero + ((sum + half) >> shift), y);
}

SAMBA__VECTORIZED SAMBA__FN void samba__requantize_kernel(const samba_args *a)
{
    int64_t last, i = samba__block_range(a, &last);
    samba__int8_y to = samba__int8_y_of(a->attr + SAMBA__REQUANTIZE_ZERO_Y);
    int32_t zero = a->attr[SAMBA__REQUANTIZE_ZERO_X], factor = a->attr[SAMBA__REQUANTIZE_FACTOR];
    const int8_t *x = samba__in_int8(a, 0);
    int8_t *y = samba__out_int8(a);
    for (; i < last; i++)
        y[i] = samba__int8_shifted((x[i] - zero) * factor, a->attr[SAMBA__REQUANTIZE_SHIFT], &to);
}

SAMBA__FN bool samba__add_int8_shape(samba_call *c)
{
    if (!samba__expect_int8(c, 2, 2, SAMBA__ADD_INT8_END)) return false;
    for (int32_t i = 0; i < 2; i++)
        if (!samba__expect_zero(c, SAMBA__ADD_INT8_ZEROS + i)
            || !samba__expect_factor(c, SAMBA__ADD_INT8_FACTORS + i))
            return false;

    if (!samba__expect_word(c, SAMBA__ADD_INT8_SHIFT, "shift", 0, SAMBA__SUM_MOST_SHIFT)
        || !samba__expect_y(c, SAMBA__ADD_INT8_ZERO_Y))
        return false;
    if (!samba__same_shape(&c->in[0].shape, &c->in[1].shape))
        return samba_refuse(c, SAMBA_ESHAPE, "%S and %S differ; int8 sums do not stretch",
                            &c->in[0].shape, &c->in[1].shape);
    return true;
}

SAMBA__VECTORIZED SAMBA__FN void samba__add_int8_kernel(const samba_args *a)
{
    int64_t last, i = samba__block_range(a, &last);
    samba__int8_y to = samba__int8_y_of(a->attr + SAMBA__ADD_INT8_ZERO_Y);
    const int32_t *zero = a->attr + SAMBA__ADD_INT8_ZEROS;
    const int32_t *factor = a->attr + SAMBA__ADD_INT8_FACTORS;
    const int8_t *x = samba__in_int8(a, 0), *z = samba__in_int8(a, 1);
    int8_t *y = samba__out_int8(a);

    for (; i < last; i++) {
        int32_t sum = (x[i] - zero[0]) * factor[0] + (z[i] - zero[1]) * factor[1];
        y[i] = samba__int8_shifted(sum, a->attr[SAMBA__ADD_INT8_SHIFT], &to);
    }
}

/* ---- Products. Indexes are as wide as pointers, since 64-bit ones are slow on small devices. ----
   sum[j] += x . row j for 4 rows of weights, w_row apart, of length k: all that products do, so it
   is what instruction sets have their own of. Two pointers and a distance reach all rows: four
   pointers would not fit into the registers of small processors. ---- */
/* k terms, one at a time. */
SAMBA__INLINE void samba__dot4_rest(const int8_t *x, const int8_t *w, ptrdiff_t w_row, ptrdiff_t k,
                                    int32_t *sum)
{
    const int8_t *w2 = w + 2 * w_row, *end = x + k;
    int32_t s0 = sum[0], s1 = sum[1], s2 = sum[2], s3 = sum[3];

    for (; x < end; x++, w++, w2++) {
        int32_t v = *x;
        s0 += v * w[0];
        s1 += v * w[w_row];
        s2 += v * w2[0];
        s3 += v * w2[w_row];
    }

    sum[0] = s0;
    sum[1] = s1;
    sum[2] = s2;
    sum[3] = s3;
}

/* Cortex-M4, M7 and the like: 4 bytes become two pairs of 16 bits (sxtb16), whose products are
   added to a sum by one instruction (smlad). */
#if defined(__ARM_FEATURE_DSP) && defined(__ARM_FEATURE_UNALIGNED) && defined(__GNUC__) \
    && defined(__OPTIMIZE__) /* else too few registers are left */
#define SAMBA__DSP 1
#else
#define SAMBA__DSP 0
#endif

#if SAMBA__DSP
SAMBA__INLINE uint32_t samba__dsp_even(uint32_t bytes)
{
    uint32_t pair;
    __asm__("sxtb16 %0, %1" : "=r"(pair) : "r"(bytes));
    return pair;
}

SAMBA__INLINE uint32_t samba__dsp_odd(uint32_t bytes)
{
    uint32_t pair;
    __asm__("sxtb16 %0, %1, ror #8" : "=r"(pair) : "r"(bytes));
    return pair;
}

/* The sum of a row, to which four products are added; %[at] says where its weights are. All of it
   is one statement, since compilers run short of registers, and keep a sum on the stack. */
#define SAMBA__DSP_ROW(sum, at) \
    "ldr %[low], [" at "\n\t" \
    "sxtb16 %[high], %[low], ror #8\n\t" \
    "sxtb16 %[low], %[low]\n\t" \
    "smlad %[" sum "], %[odd], %[high], %[" sum "]\n\t" \
    "smlad %[" sum "], %[even], %[low], %[" sum "]\n\t"

SAMBA__FN void samba__dot4_portable(const int8_t *x, const int8_t *w, ptrdiff_t w_row, ptrdiff_t k,
                                    int32_t *sum)
{
    const int8_t *w2 = w + 2 * w_row, *end = x + (k & ~(ptrdiff_t)3);
    int32_t s0 = sum[0], s1 = sum[1], s2 = sum[2], s3 = sum[3];
    uint32_t even, odd, low, high;

    if (x < end)
        __asm__(
            /* clang-format off */
            "1:\n"
            "ldr %[odd], [%[x]], #4\n"
            "sxtb16 %[even], %[odd]\n"
            "sxtb16 %[odd], %[odd], ror #8\n"

            SAMBA__DSP_ROW("s1", "%[w], %[row]]")
            SAMBA__DSP_ROW("s0", "%[w]], #4")
            SAMBA__DSP_ROW("s3", "%[w2], %[row]]")
            SAMBA__DSP_ROW("s2", "%[w2]], #4")

            "cmp %[x], %[end]\n"
            "bne 1b"
            /* clang-format on */
            : [x] "+r"(x), [w] "+r"(w), [w2] "+r"(w2), [s0] "+r"(s0), [s1] "+r"(s1), [s2] "+r"(s2),
              [s3] "+r"(s3), [even] "=&r"(even), [odd] "=&r"(odd), [low] "=&r"(low),
              [high] "=&r"(high)
            : [row] "r"(w_row), [end] "r"(end)
            : "cc", "memory");

    sum[0] = s0;
    sum[1] = s1;
    sum[2] = s2;
    sum[3] = s3;
    samba__dot4_rest(x, w, w_row, k & 3, sum);
}
#else
SAMBA__VECTORIZED SAMBA__FN void samba__dot4_portable(const int8_t *x, const int8_t *w,
                                                      ptrdiff_t w_row, ptrdiff_t k, int32_t *sum)
{
    samba__dot4_rest(x, w, w_row, k, sum);
}
#endif

#if SAMBA__X86
/* 16 terms at a time: as 16 bits, whose products vpmaddwd adds in pairs. */
SAMBA__AVX2_FN SAMBA__FN void samba__dot4_avx2(const int8_t *x, const int8_t *w, ptrdiff_t w_row,
                                               ptrdiff_t k, int32_t *sum)
{
    __m256i all[4];
    ptrdiff_t p = 0;
    SAMBA__UNROLLED
    for (int j = 0; j < 4; j++)
        all[j] = _mm256_setzero_si256();

    for (; p + 16 <= k; p += 16) {
        __m256i v = _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(const void *)(x + p)));
        SAMBA__UNROLLED
        for (int j = 0; j < 4; j++) {
            __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)(w + j * w_row + p));
            __m256i pairs = _mm256_madd_epi16(v, _mm256_cvtepi8_epi16(bytes));
            all[j] = _mm256_add_epi32(all[j], pairs);
        }
    }

    for (int j = 0; j < 4; j++) {
        int32_t lane[8];
        _mm256_storeu_si256((__m256i *)(void *)lane, all[j]);
        for (int l = 0; l < 8; l++)
            sum[j] += lane[l];
    }

    samba__dot4_rest(x + p, w + p, w_row, k - p, sum);
}

#if SAMBA__VNNI
/* The sums of the lanes of four vectors. */
SAMBA__VNNI_FN SAMBA__INLINE __m128i samba__lane_sums(const __m512i v[4])
{
    __m256i half[4];
    SAMBA__UNROLLED
    for (int j = 0; j < 4; j++)
        half[j]
            = _mm256_add_epi32(_mm512_castsi512_si256(v[j]), _mm512_extracti64x4_epi64(v[j], 1));

    __m256i low = _mm256_hadd_epi32(half[0], half[1]), high = _mm256_hadd_epi32(half[2], half[3]);
    __m256i four = _mm256_hadd_epi32(low, high);
    return _mm_add_epi32(_mm256_castsi256_si128(four), _mm256_extracti128_si256(four, 1));
}

/* 64 terms at a time: vpdpbusd adds products of unsigned and signed bytes. w + 128 is unsigned, so
   that 128 times the sum of x is too much, of all four rows: it is taken off at the end. */
SAMBA__VNNI_FN SAMBA__FN void samba__dot4_vnni(const int8_t *x, const int8_t *w, ptrdiff_t w_row,
                                               ptrdiff_t k, int32_t *sum)
{
    const __m512i flip = _mm512_set1_epi8(-128), ones = _mm512_set1_epi8(1);
    __m512i all[4], of_x = _mm512_setzero_si512();
    SAMBA__UNROLLED
    for (int j = 0; j < 4; j++)
        all[j] = _mm512_setzero_si512();

    for (ptrdiff_t p = 0; p < k; p += 64) {
        __mmask64 there = ~(__mmask64)0 >> (k - p < 64 ? 64 - (k - p) : 0);
        __m512i v = _mm512_maskz_loadu_epi8(there, x + p);
        of_x = _mm512_dpbusd_epi32(of_x, ones, v);
        SAMBA__UNROLLED
        for (int j = 0; j < 4; j++) {
            __m512i bytes = _mm512_maskz_loadu_epi8(there, w + j * w_row + p);
            all[j] = _mm512_dpbusd_epi32(all[j], _mm512_xor_si512(bytes, flip), v);
        }
    }

    of_x = _mm512_slli_epi32(of_x, 7);
    SAMBA__UNROLLED
    for (int j = 0; j < 4; j++)
        all[j] = _mm512_sub_epi32(all[j], of_x);

    __m128i *to = (__m128i *)(void *)sum;
    _mm_storeu_si128(to, _mm_add_epi32(_mm_loadu_si128(to), samba__lane_sums(all)));
}
#endif
#endif

#if SAMBA__SDOT
/* 16 terms at a time: sdot adds four products to each sum. ARMv8.4 has it, and many before. */
SAMBA__SDOT_FN SAMBA__FN void samba__dot4_sdot(const int8_t *x, const int8_t *w, ptrdiff_t w_row,
                                               ptrdiff_t k, int32_t *sum)
{
    int32x4_t all[4];
    ptrdiff_t p = 0;
    for (int j = 0; j < 4; j++)
        all[j] = vdupq_n_s32(0);

    for (; p + 16 <= k; p += 16) {
        int8x16_t v = vld1q_s8(x + p);
        SAMBA__UNROLLED
        for (int j = 0; j < 4; j++)
            all[j] = vdotq_s32(all[j], v, vld1q_s8(w + j * w_row + p));
    }

    for (int j = 0; j < 4; j++)
        sum[j] += vaddvq_s32(all[j]);
    samba__dot4_rest(x + p, w + p, w_row, k - p, sum);
}
#endif

/* A channel of y: how its sum becomes an int8. A row of input 2 of both products. */
typedef struct samba__int8_channel {
    int32_t bias, multiplier, shift;
} samba__int8_channel;

/* The compiler proves that no sum overflows; a file may hold any numbers, so they are added as
   unsigned ones, and the shift is masked. Above 32 it leaves nothing of the low word, to which half
   of it adds nothing, so that the high word is enough: that is most channels. */
SAMBA__INLINE int8_t samba__int8_scaled(int32_t sum, const samba__int8_channel *c,
                                        const samba__int8_y *y)
{
    int64_t whole = (int32_t)((uint32_t)sum + (uint32_t)c->bias);
    uint64_t product = (uint64_t)(whole * c->multiplier);
    uint32_t shift = (uint32_t)c->shift & 63u;

    if (shift > 32u) {
        uint32_t high = (uint32_t)(product >> 32) + (1u << (shift - 33u));
        return samba__int8_limited(y->zero + ((int32_t)high >> (shift - 32u)), y);
    }

    int64_t scaled = (int64_t)(product + (((uint64_t)1 << shift) >> 1)) >> shift;
    scaled = scaled > 1024 ? 1024 : scaled;
    return samba__int8_limited(y->zero + (int32_t)(scaled < -1024 ? -1024 : scaled), y);
}

/* sum[j] += x . row j of w, of n rows that are w_row apart. The last four rows may overlap those
   before; of fewer than four rows, each is taken four times. */
SAMBA__FN void samba__int8_dots(samba__dot4_fn dot4, const int8_t *x, const int8_t *w,
                                ptrdiff_t w_row, ptrdiff_t k, ptrdiff_t n, int32_t *sum)
{
    ptrdiff_t rows = n < 4 ? 1 : 4;
    for (ptrdiff_t j = 0; j < n; j += rows) {
        int32_t four[4] = { 0, 0, 0, 0 };
        ptrdiff_t first = j + rows > n ? n - rows : j;
        dot4(x, w + first * w_row, rows == 4 ? w_row : 0, k, four);
        for (ptrdiff_t i = j - first; i < rows; i++)
            sum[first + i] += four[i];
    }
}

/* n sums to the grid of y: of channels from c on, or of one if `same`. Not inlined, as registers
   are few where it is called. */
SAMBA__NOINLINE void samba__int8_store(const int32_t *sum, ptrdiff_t n,
                                       const samba__int8_channel *c, bool same,
                                       const samba__int8_y *to, int8_t *y, ptrdiff_t step)
{
    for (const int32_t *end = sum + n; sum < end; sum++, y += step) {
        *y = samba__int8_scaled(*sum, c, to);
        c += !same;
    }
}

/* Expects the table of `channels` rows of weights, and sums of k products that an int32 holds. */
SAMBA__FN bool samba__expect_channels(samba_call *c, int32_t channels, int64_t k)
{
    const samba_shape *s = &c->in[SAMBA__INT8_TABLE].shape;
    if (!samba__expect_type(c, SAMBA__INT8_TABLE, SAMBA_I32)) return false;
    if (s->ndim != 2 || s->dim[0] != channels || s->dim[1] != 3)
        return samba_refuse(
            c, SAMBA_ESHAPE,
            "input %d is %S, not (%d,3): bias, multiplier and shift of each channel",
            (int32_t)SAMBA__INT8_TABLE, s, channels);

    if (k > SAMBA__INT8_MOST_K)
        return samba_refuse(
            c, SAMBA_ERANGE,
            "%l products are summed; more than %d could overflow an int32: split them, or leave this layer in f32",
            k, (int32_t)SAMBA__INT8_MOST_K);
    return true;
}

enum { SAMBA__INT8_COLUMNS = 32 }; /* channels whose sums are on the stack */

/* ---- affine_int8: y (*,n) = x (*,k) w (n,k)^T; inputs x, w, and the table of channels. For a row:
       for (sum = bias[n], k = 0; k < K; k++)
           sum += x[k] * w[n][k];
       y[n] = limit(zero_y + ((sum * multiplier[n] + (1 << (shift[n] - 1))) >> shift[n]));
   The table has bias, multiplier and shift of each channel; the bias has what zero_x adds. ---- */
SAMBA__FN bool samba__affine_int8_shape(samba_call *c)
{
    if (!samba__expect_int8(c, SAMBA__INT8_INPUTS, SAMBA__INT8_TABLE, SAMBA__AFFINE_INT8_END))
        return false;

    const samba_shape *x = &c->in[0].shape, *w = &c->in[SAMBA__INT8_WEIGHT].shape;
    if (x->ndim < 1 || w->ndim != 2 || x->dim[x->ndim - 1] != w->dim[1])
        return samba_refuse(c, SAMBA_ESHAPE, "x %S (*,k) does not fit the weights %S (n,k)", x, w);

    c->out[0].shape.dim[x->ndim - 1] = w->dim[0];
    return samba__expect_y(c, SAMBA__AFFINE_INT8_ZERO_Y)
        && samba__expect_channels(c, w->dim[0], w->dim[1]);
}

/* Units are some columns of a row of y. */
SAMBA__FN void samba__affine_int8_work(samba_work *w, const samba_call *c)
{
    int64_t n = samba__last_dim(&c->out[0]), k = samba__last_dim(&c->in[0]);
    int64_t rows = samba_count(&c->in[0].shape) / k;
    w->units[0] = rows * samba__ceil_div(n, SAMBA__INT8_COLUMNS);
    w->flops = samba__flops(rows * n, k);
}

SAMBA__FN void samba__affine_int8_kernel(const samba_args *a)
{
    ptrdiff_t n = (ptrdiff_t)samba__last_dim(&a->out_spec[0]);
    ptrdiff_t k = (ptrdiff_t)samba__last_dim(&a->in_spec[0]);
    ptrdiff_t blocks = (n - 1) / SAMBA__INT8_COLUMNS + 1;
    samba__int8_y to = samba__int8_y_of(a->attr + SAMBA__AFFINE_INT8_ZERO_Y);
    const samba__int8_channel *table
        = (const samba__int8_channel *)(const void *)a->in[SAMBA__INT8_TABLE];

    for (ptrdiff_t u = (ptrdiff_t)a->begin; u < (ptrdiff_t)a->end; u++) {
        ptrdiff_t row = u / blocks, j = u % blocks * SAMBA__INT8_COLUMNS;
        ptrdiff_t some = n - j < SAMBA__INT8_COLUMNS ? n - j : (ptrdiff_t)SAMBA__INT8_COLUMNS;
        int32_t sum[SAMBA__INT8_COLUMNS] = { 0 };
        int8_t *y = samba__out_int8(a) + row * n + j;

        samba__int8_dots(samba__set_of(a->isa)->dot4, samba__in_int8(a, 0) + row * k,
                         samba__in_int8(a, SAMBA__INT8_WEIGHT) + j * k, k, k, some, sum);
        samba__int8_store(sum, some, &table[j], false, &to, y, 1);
    }
}

/* ---- convolution_int8: as convolution; inputs x, w, and the table of channels. Padding is
   zero_x, the code of 0. There are two ways with the same results:
     a group of few channels   the rows of x that a row of y reads are copied, with what is beside
                               them, and four windows at a time are read in place
     else                      the window of an output is copied to one row, in the order of
                               weights, which then meets all channels of its group
   To copy windows of 5 x 5 for 6 channels takes 1.7 times as many instructions on a Cortex-M, of a
   depthwise convolution 5 to 8 times; windows of 3 x 3 x 3 for 16 channels are the faster way. ----
 */
enum {
    SAMBA__INT8_TERMS = SAMBA__IS_SMALL ? 256 : 1024, /* bytes of the copy */
    SAMBA__INT8_MANY = 8                              /* channels of y */
};

typedef struct samba__int8_conv {
    const int8_t *x, *w;
    int8_t *y;
    const samba__int8_channel *table;
    samba__conv_geometry g;
    ptrdiff_t k;    /* terms of a sum */
    ptrdiff_t wide; /* columns that a row of y reads */
    samba__dot4_fn dot4;
    int8_t zero_x;
    samba__int8_y to;
} samba__int8_conv;

SAMBA__FN bool samba__convolution_int8_shape(samba_call *c)
{
    if (!samba__expect_int8(c, SAMBA__INT8_INPUTS, SAMBA__INT8_TABLE, SAMBA__CONV_INT8_END))
        return false;

    const samba_shape *w = &c->in[SAMBA__INT8_WEIGHT].shape;
    samba_shape y;
    c->n_attr = SAMBA__CONV_WORDS; /* those that convolution has as well */
    bool fits = samba__conv_shape(c, &c->in[0].shape, w, &y);
    c->n_attr = SAMBA__CONV_INT8_END;
    if (!fits) return false;

    c->out[0].shape = y;
    return samba__expect_zero(c, SAMBA__CONV_INT8_ZERO_X)
        && samba__expect_y(c, SAMBA__CONV_INT8_ZERO_Y)
        && samba__expect_channels(c, w->dim[0], samba__inner(w, 0));
}

/* Units are rows of the output of an image, with all channels. */
SAMBA__FN void samba__convolution_int8_work(samba_work *w, const samba_call *c)
{
    const samba_shape *y = &c->out[0].shape;
    w->units[0] = (int64_t)y->dim[0] * samba__side(y, y->ndim - 2, 0);
    w->flops = samba__flops(samba_count(y), samba__inner(&c->in[1].shape, 0));
}

SAMBA__FN samba__int8_conv samba__int8_conv_of(const samba_args *a)
{
    samba__int8_conv v;

    v.x = samba__in_int8(a, 0);
    v.w = samba__in_int8(a, SAMBA__INT8_WEIGHT);
    v.y = samba__out_int8(a);
    v.table = (const samba__int8_channel *)(const void *)a->in[SAMBA__INT8_TABLE];

    samba__open_geometry(&v.g, SAMBA__MAKES_Y, a->in_spec, a->out_spec, a->attr);
    v.k = v.g.in_channels * v.g.kernel[0] * v.g.kernel[1];
    v.wide = (v.g.output[1] - 1) * v.g.stride[1] + (v.g.kernel[1] - 1) * v.g.dilation[1] + 1;

    v.dot4 = samba__set_of(a->isa)->dot4;
    v.zero_x = (int8_t)a->attr[SAMBA__CONV_INT8_ZERO_X];
    v.to = samba__int8_y_of(a->attr + SAMBA__CONV_INT8_ZERO_Y);
    return v;
}

/* ---- Windows in place. Rows of x that row `row` of y reads in the channels at x: channel by
   channel, each v->wide. ---- */
SAMBA__NOINLINE void samba__int8_rows(const samba__int8_conv *v, const int8_t *x, ptrdiff_t row,
                                      int8_t *to)
{
    ptrdiff_t before = v->g.padding[1] < v->wide ? v->g.padding[1] : v->wide;
    ptrdiff_t inside = v->wide - before < v->g.input[1] ? v->wide - before : v->g.input[1];

    for (ptrdiff_t c = 0; c < v->g.in_channels; c++, x += v->g.input[0] * v->g.input[1])
        for (ptrdiff_t ky = 0; ky < v->g.kernel[0]; ky++, to += v->wide) {
            ptrdiff_t iy = row * v->g.stride[0] - v->g.padding[0] + ky * v->g.dilation[0];
            memset(to, v->zero_x, (size_t)v->wide);
            if (iy >= 0 && iy < v->g.input[0])
                memcpy(to + before, x + iy * v->g.input[1], (size_t)inside);
        }
}

/* The sums of four windows side by side, of which the first begins at x, with the weights w. */
SAMBA__NOINLINE void samba__int8_windows(const samba__int8_conv *v, const int8_t *x,
                                         const int8_t *w, int32_t *sum)
{
    ptrdiff_t width = v->g.kernel[1], step = v->g.stride[1], next = v->wide - width;
    const int8_t *x2 = x + 2 * step, *last = w + v->k;
    int32_t s0 = 0, s1 = 0, s2 = 0, s3 = 0;

    do {
        const int8_t *end = w + width;
        do {
            int32_t weight = *w++;
            s0 += weight * x[0];
            s1 += weight * x[step];
            s2 += weight * x2[0];
            s3 += weight * x2[step];
            x++;
            x2++;
        } while (w < end);
        x += next;
        x2 += next;
    } while (w < last);

    sum[0] = s0;
    sum[1] = s1;
    sum[2] = s2;
    sum[3] = s3;
}

#if SAMBA__DSP
/* The same where the stride is 1: one word has a number for each window. */
SAMBA__NOINLINE void samba__int8_near_windows(const samba__int8_conv *v, const int8_t *x,
                                              const int8_t *w, int32_t *sum)
{
    ptrdiff_t width = v->g.kernel[1], next = v->wide - width;
    const int8_t *last = w + v->k;
    int32_t s0 = 0, s1 = 0, s2 = 0, s3 = 0;

    do {
        const int8_t *end = w + width;
        do {
            uint32_t bytes;
            int32_t weight = *w++;
            memcpy(&bytes, x, sizeof bytes);
            int32_t even = (int32_t)samba__dsp_even(bytes), odd = (int32_t)samba__dsp_odd(bytes);
            x++;
            s0 += (int16_t)even * weight;
            s1 += (int16_t)odd * weight;
            s2 += (even >> 16) * weight;
            s3 += (odd >> 16) * weight;
        } while (w < end);
        x += next;
    } while (w < last);

    sum[0] = s0;
    sum[1] = s1;
    sum[2] = s2;
    sum[3] = s3;
}
#else
#define samba__int8_near_windows samba__int8_windows
#endif

/* Row `row` of y of an image, in the channels of a group. As in samba__int8_dots, the last ones
   may overlap those before. */
SAMBA__NOINLINE void samba__int8_in_place(const samba__int8_conv *v, ptrdiff_t image,
                                          ptrdiff_t group, ptrdiff_t row)
{
    int8_t rows[SAMBA__INT8_TERMS];
    int32_t sum[SAMBA__INT8_COLUMNS];
    ptrdiff_t n = v->g.output[1], plane = v->g.output[0] * n, stride = v->g.stride[1];
    ptrdiff_t part = image * v->g.groups + group, channel = group * v->g.out_channels;
    int8_t *y = v->y + part * v->g.out_channels * plane + row * n;

    samba__int8_rows(v, v->x + part * v->g.in_channels * v->g.input[0] * v->g.input[1], row, rows);

    for (ptrdiff_t o = channel; o < channel + v->g.out_channels; o++, y += plane) {
        ptrdiff_t some = n < SAMBA__INT8_COLUMNS ? n : (ptrdiff_t)SAMBA__INT8_COLUMNS;
        for (ptrdiff_t begin = 0; begin < n; begin += some) {
            ptrdiff_t j = begin + some > n ? n - some : begin;
            for (ptrdiff_t i = 0; i < some; i += 4) {
                ptrdiff_t at = i + 4 > some ? some - 4 : i;
                if (stride == 1)
                    samba__int8_near_windows(v, rows + j + at, v->w + o * v->k, sum + at);
                else
                    samba__int8_windows(v, rows + (j + at) * stride, v->w + o * v->k, sum + at);
            }
            samba__int8_store(sum, some, &v->table[o], true, &v->to, y + j, 1);
        }
    }
}

/* ---- Copied windows. That of an output in the channels at x, if all of it is inside of x, which
   then begins at its corner, and dilation is 1 in a row. ---- */
SAMBA__NOINLINE void samba__int8_inner(const samba__int8_conv *v, const int8_t *x, int8_t *to)
{
    ptrdiff_t width = v->g.kernel[1], down = v->g.dilation[0] * v->g.input[1];
    ptrdiff_t next = v->g.input[0] * v->g.input[1] - v->g.kernel[0] * down;

    for (ptrdiff_t c = v->g.in_channels; c > 0; c--, x += next)
        for (ptrdiff_t ky = v->g.kernel[0]; ky > 0; ky--, x += down) {
            ptrdiff_t i = 0;
            if (width == 3) { /* most of them */
                to[0] = x[0];
                to[1] = x[1];
                i = 2;
            }
            do
                to[i] = x[i];
            while (++i < width);
            to += width;
        }
}

/* Terms p ... p + n - 1 of any window, that of output (row, column). */
SAMBA__FN void samba__int8_window(const samba__int8_conv *v, const int8_t *x, ptrdiff_t row,
                                  ptrdiff_t column, ptrdiff_t p, ptrdiff_t n, int8_t *to)
{
    ptrdiff_t width = v->g.kernel[1], taps = v->g.kernel[0] * width, step = v->g.dilation[1];
    ptrdiff_t top = row * v->g.stride[0] - v->g.padding[0];
    ptrdiff_t left = column * v->g.stride[1] - v->g.padding[1];
    ptrdiff_t channel = p / taps, ky = p % taps / width, kx = p % width;
    ptrdiff_t bottom = top + (v->g.kernel[0] - 1) * v->g.dilation[0];

    if (n == v->k && step == 1 && top >= 0 && left >= 0 && bottom < v->g.input[0]
        && left + width <= v->g.input[1]) {
        samba__int8_inner(v, x + top * v->g.input[1] + left, to);
        return;
    }

    while (n > 0) {
        ptrdiff_t iy = top + ky * v->g.dilation[0], ix = left + kx * step;
        ptrdiff_t at = (channel * v->g.input[0] + iy) * v->g.input[1];
        bool inside = iy >= 0 && iy < v->g.input[0];
        ptrdiff_t some = width - kx < n ? width - kx : n;

        ptrdiff_t i = 0;
        for (; i < some && ix < 0; i++, ix += step)
            to[i] = v->zero_x;
        for (; inside && i < some && ix < v->g.input[1]; i++, ix += step)
            to[i] = x[at + ix];
        for (; i < some; i++)
            to[i] = v->zero_x;

        to += some;
        n -= some;
        kx = 0;
        ky++;
        if (ky < v->g.kernel[0]) continue;
        ky = 0;
        channel++;
    }
}

/* The outputs at (row, column) of an image, in the channels of a group. */
SAMBA__NOINLINE void samba__int8_pixel(const samba__int8_conv *v, ptrdiff_t image, ptrdiff_t group,
                                       ptrdiff_t row, ptrdiff_t column)
{
    int8_t window[SAMBA__INT8_TERMS];
    const int8_t *x
        = v->x + (image * v->g.groups + group) * v->g.in_channels * v->g.input[0] * v->g.input[1];
    ptrdiff_t plane = v->g.output[0] * v->g.output[1];

    for (ptrdiff_t o = 0; o < v->g.out_channels; o += SAMBA__INT8_COLUMNS) {
        ptrdiff_t n = v->g.out_channels - o, channel = group * v->g.out_channels + o;
        if (n > SAMBA__INT8_COLUMNS) n = SAMBA__INT8_COLUMNS;
        int32_t sum[SAMBA__INT8_COLUMNS] = { 0 };
        int8_t *y = v->y + (image * v->g.groups * v->g.out_channels + channel) * plane
            + row * v->g.output[1] + column;

        for (ptrdiff_t p = 0; p < v->k; p += SAMBA__INT8_TERMS) {
            ptrdiff_t some = v->k - p;
            if (some > SAMBA__INT8_TERMS) some = SAMBA__INT8_TERMS;
            if (o == 0 || v->k > SAMBA__INT8_TERMS) /* else it is still there */
                samba__int8_window(v, x, row, column, p, some, window);
            samba__int8_dots(v->dot4, window, v->w + channel * v->k + p, v->k, some, n, sum);
        }
        samba__int8_store(sum, n, &v->table[channel], false, &v->to, y, plane);
    }
}

SAMBA__FN void samba__convolution_int8_kernel(const samba_args *a)
{
    samba__int8_conv v = samba__int8_conv_of(a);
    bool in_place = v.g.out_channels < SAMBA__INT8_MANY && v.g.output[1] >= 4
        && v.g.dilation[1] == 1 && v.g.in_channels * v.g.kernel[0] * v.wide <= SAMBA__INT8_TERMS;

    for (ptrdiff_t u = (ptrdiff_t)a->begin; u < (ptrdiff_t)a->end; u++)
        for (ptrdiff_t group = 0; group < v.g.groups; group++) {
            ptrdiff_t image = u / v.g.output[0], row = u % v.g.output[0];
            if (in_place) samba__int8_in_place(&v, image, group, row);
            for (ptrdiff_t column = 0; !in_place && column < v.g.output[1]; column++)
                samba__int8_pixel(&v, image, group, row, column);
        }
}

/* ---- Pooling on the grid of x, which y has, too: the largest of a window, or its mean
       floor((2 sum + size) / (2 size)),  halves up,
   where padding counts as zero, unless it is excluded ---- */
SAMBA__FN bool samba__int8_pool_rule(samba_call *c, int32_t words)
{
    if (!samba__expect_int8(c, 1, 1, words)) return false;
    samba_shape *y = &c->out[0].shape;
    for (int32_t i = 0; i < 2 && y->ndim >= 2; i++) {
        int32_t *side = &y->dim[y->ndim - 2 + i];
        *side = samba__pooling_side(c, *side, c->attr + i);
        if (c->code) return false;
    }
    if (y->ndim < 2)
        return samba_refuse(c, SAMBA_ESHAPE, "x %S must end in rows and columns", &c->in[0].shape);
    return true;
}

SAMBA__FN bool samba__max_pool2d_int8_shape(samba_call *c)
{
    return samba__int8_pool_rule(c, SAMBA__MAX_WORDS);
}

SAMBA__FN bool samba__avg_pool2d_int8_shape(samba_call *c)
{
    return samba__int8_pool_rule(c, SAMBA__AVG_INT8_END)
        && samba__expect_zero(c, SAMBA__AVG_INT8_ZERO);
}

SAMBA__FN void samba__int8_pool_work(samba_work *w, const samba_call *c)
{
    samba__pooling_work(w, c, SAMBA__MAX_FORWARD);
}

/* The part of a window that is in x: rows of `wide` elements, `width` apart. */
SAMBA__FN int8_t samba__int8_largest(const int8_t *x, ptrdiff_t width, ptrdiff_t high,
                                     ptrdiff_t wide)
{
    int32_t most = SAMBA__INT8_LEAST;
    for (; high > 0; high--, x += width)
        for (ptrdiff_t k = 0; k < wide; k++)
            most = x[k] > most ? x[k] : most;
    return (int8_t)most;
}

/* Of `size` elements, of which those that are not in x are zero. */
SAMBA__FN int8_t samba__int8_mean(const int8_t *x, ptrdiff_t width, ptrdiff_t high, ptrdiff_t wide,
                                  int64_t size, int32_t zero)
{
    int64_t sum = (size - high * wide) * zero;
    for (; high > 0; high--, x += width)
        for (ptrdiff_t k = 0; k < wide; k++)
            sum += x[k];
    sum = 2 * sum + size + 256 * size; /* not below 0, so that / rounds down */
    return (int8_t)(sum / (2 * size) - 128);
}

/* Windows of maxima do not adapt, so they are as far apart everywhere. */
SAMBA__FN void samba__max_pool2d_int8_kernel(const samba_args *a)
{
    samba__pool_sides v = samba__pool_sides_of(a, SAMBA__MAX_FORWARD);
    ptrdiff_t width = v.in[1], stride = v.stride[1];
    int8_t *y = samba__out_int8(a) + a->begin * v.out[0] * v.out[1];

    for (ptrdiff_t u = (ptrdiff_t)a->begin; u < (ptrdiff_t)a->end; u++) {
        for (ptrdiff_t row = 0; row < v.out[0]; row++) {
            samba__window rows = samba__window_of(&v, 0, row);
            const int8_t *x = samba__in_int8(a, 0) + (u * v.in[0] + rows.begin) * width;
            ptrdiff_t begin = -v.padding[1], high = rows.end - rows.begin;
            for (const int8_t *last = y + v.out[1]; y < last; y++, begin += stride) {
                ptrdiff_t end = begin + v.kernel[1], first = begin < 0 ? 0 : begin;
                *y = samba__int8_largest(x + first, width, high,
                                         (end < width ? end : width) - first);
            }
        }
    }
}

SAMBA__FN void samba__avg_pool2d_int8_kernel(const samba_args *a)
{
    samba__pool_sides v = samba__pool_sides_of(a, SAMBA__AVG_FORWARD);
    int8_t *y = samba__out_int8(a) + a->begin * v.out[0] * v.out[1];

    for (ptrdiff_t u = (ptrdiff_t)a->begin; u < (ptrdiff_t)a->end; u++) {
        const int8_t *x = samba__in_int8(a, 0) + u * v.in[0] * v.in[1];
        for (ptrdiff_t row = 0; row < v.out[0]; row++) {
            samba__window rows = samba__window_of(&v, 0, row);
            for (ptrdiff_t column = 0; column < v.out[1]; column++) {
                samba__window columns = samba__window_of(&v, 1, column);
                *y++ = samba__int8_mean(x + rows.begin * v.in[1] + columns.begin, v.in[1],
                                        rows.end - rows.begin, columns.end - columns.begin,
                                        rows.size * columns.size, a->attr[SAMBA__AVG_INT8_ZERO]);
            }
        }
    }
}

