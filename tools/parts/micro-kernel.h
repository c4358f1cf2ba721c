/* ==== [micro-kernel] ========================================================================== */
/* The inside of a product: a few rows of A times a few columns of B, the sums in registers. It has
   the names that BLIS gives to the parts (F. Van Zee, R. van de Geijn: BLIS, 2015):

       micro-panel  of B: NR columns of a block, packed so that the values of a step are adjacent:
                    a step is one or two cache lines, and the panel stays in the first-level cache
                    while it goes down the rows of a block; of A: MR rows, packed or where they are
       micro-tile   MR x NR sums in the vector registers: what the micro-kernel computes. 6 x 16 of
                    them with NEON and AVX2, 12 x 32 with AVX-512; fewer rows at the end of a block.
                    NR is two vectors

   A step is one value p of k: a column of A times a row of B. The loops, from the outside in:

       for each tile of C, by whichever thread is free
         for NC columns at a time
           for KC steps at a time, for MC rows of A at a time      a block
             for NR columns at a time                              pack a panel of B, or point at it
               for MR rows at a time                               the micro-kernel:
                 for each step: MR x NR multiply-adds

                        NR columns                      micro-panel of B, as it is packed:
                         <------>
          B  k  +---+---+--------+---+        p = 0     | b(0,j) b(0,j+1) ... b(0,j+NR-1) |
             |  |   |   | step p |   |        p = 1     | b(1,j) b(1,j+1) ... b(1,j+NR-1) |
             v  +---+---+--------+---+        ...                one step after the other
                                              p = KC-1  | b(KC-1,j)     ...               |
          A  k ->        C
          +--------+    +---+--------+---+    micro-panel of A, where it is packed:
       MR | step p |    |   |MR x NR |   |    a(i,0) ... a(i+MR-1,0) | a(i,1) ... a(i+MR-1,1) | ...
          +--------+    +---+--------+---+
          |        |    |   |        |   |    A step of the micro-kernel: two loads of B, and MR
          +--------+    +---+--------+---+    values of A, each times both: 2 MR fma's. */
/* The largest micro-tile. */
#define SAMBA__GEMM_ROWS (SAMBA__IS_SMALL ? 6 : 12)
#define SAMBA__GEMM_COLS (SAMBA__IS_SMALL ? 16 : 32)
/* Steps of k in a block (a multiple of 16; AVX-512 takes up to 4 times as many), most rows (a
   multiple of 12) and columns (a multiple of 32) of a tile: a panel should fit the first-level
   cache, sums and block of A the second. */
#if !defined(SAMBA_GEMM_KC)
#define SAMBA_GEMM_KC (SAMBA__IS_SMALL ? 32 : 256)
#endif
#if !defined(SAMBA_GEMM_MC)
#define SAMBA_GEMM_MC (SAMBA__IS_SMALL ? 12 : 384)
#endif
#ifndef SAMBA_GEMM_NC
#define SAMBA_GEMM_NC 512
#endif
typedef char samba__gemm_blocks_are_whole
    [SAMBA_GEMM_KC % 16 == 0 && SAMBA_GEMM_MC % 12 == 0 && SAMBA_GEMM_NC % 32 == 0 ? 1 : -1];

/* Rows of a block where panels are 16 columns wide: 252 x 256 floats of A are 252 KiB, half of a
   second-level cache of 512 KiB. A multiple of MR = 6. */
#define SAMBA__GEMM_MC_NARROW (SAMBA__IS_SMALL ? SAMBA_GEMM_MC : SAMBA_GEMM_MC / 9 * 6)

/* C[rows x cols] (+)= A[rows x kc] B[kc x cols], with cols <= NR, operands where the fields say.
   The halves of a panel, of NR / 2 columns, need not be beside each other, except for the portable
   set: so a convolution reads two rows of an image. */
typedef struct samba__panel_product {
    int64_t rows, cols, kc;
    int64_t cols_hi, b_hi, c_hi; /* columns of the second half, and where it is in B and C */
    /* Row r of the micro-panel that begins with row i, at step p, is a[i * a_next + r * a_row +
       p * a_col]; a_col is 0 where A is packed: then a step is as many values as the micro-panel
       has rows. */
    const float *a;
    int64_t a_next, a_row, a_col;
    const float *b; /* B(p,j) = b[p * b_row + j]; NR readable values at every p */
    int64_t b_row;
    int64_t b_next;      /* from here to what is read next; 0: not known */
    const int32_t *b_at; /* NULL, or B(p,j) = b[b_at[p] + j]; not for the portable set */
    const float *from;   /* NULL: the sums start from zero; or where they are up to now */
    float *c;
    int64_t from_row, c_row;
    const float *bias; /* NULL except in the last block of k */
    const float *row_bias;
    bool prefetch_a; /* A comes from memory: prefetch the next micro-panel */
} samba__panel_product;

/* ---- Products in bf16 ----
   A product whose first operand is bf16, or f32 that GraphAMP rounds, is computed in bf16, and this
   is its definition:

       c = accumulate ? C(i,j) : 0;
       for (p = 0; p < k; p += 32) {
           even = odd = 0;
           for (q = p; q < k && q < p + 32; q += 2) even = fma(A(i,q), B(q,j), even);
           for (q = p + 1; q < k && q < p + 32; q += 2) odd = fma(A(i,q), B(q,j), odd);
           c = c + (even + odd);
       }
       C(i,j) = c, plus bias(j) if given, plus row_bias(i) if given

   Operands of f32 are rounded to bf16 first: subnormals to zero of their sign, others to nearest
   even; a NaN stays one. Each fma and each + rounds once, and what is below 2^-126 after rounding
   is zero of its sign, as are subnormal operands, and a subnormal C(i,j). Infinities are those of
   IEEE 754; a NaN is a NaN, of any sign and payload. That is what the matrix unit of Intel's
   processors does (AMX, Software Developer's Manual, TDPBF16PS); all others do the same in f32.
   VDPBF16PS and Arm's BFMMLA sum in another order, and are of no use.

   Of a panel, a samba__panel_product, both operands are values of bf16 in floats, none of them
   subnormal; a_col is not 0, `from` is NULL or c, and biases are NULL: they are added later, in
   the mode of all other ops. */
enum { SAMBA__BF16_STEPS = 32 };

#define SAMBA__LEAST_NORMAL 1.17549435e-38f /* 2^-126 */

/* The float of these bits, rounded to bf16 as operands are. Without branches, as loops of vectors
   want it. */
SAMBA__INLINE float samba__bf16_operand(uint32_t bits)
{
    uint32_t size = bits & 0x7FFFFFFFu;
    uint32_t nan = bits | 0x00400000u;
    uint32_t near = bits + 0x7FFFu + ((bits >> 16) & 1u);
    uint32_t zero = bits & 0x80000000u;
    uint32_t number = size < 0x00800000u ? zero : near;
    return samba__bits_float((size > 0x7F800000u ? nan : number) & 0xFFFF0000u);
}

/* The same of a bf16: only a subnormal changes. */
SAMBA__INLINE float samba__operand_of_bf16(uint16_t half)
{
    uint32_t bits = (uint32_t)half << 16;
    return samba__bits_float(bits & (bits & 0x7F800000u ? 0xFFFFFFFFu : 0x80000000u));
}

/* n values of x, f32 or bf16, as operands; f32 may be rounded in place. */
SAMBA__KERNEL void samba__load_operands(float *y, const void *x, samba_dtype type, int64_t n)
{
    if (type == SAMBA_BF16) {
        const uint16_t *half = (const uint16_t *)x;
        SAMBA__IN_PLACE
        for (int64_t i = 0; i < n; i++)
            y[i] = samba__operand_of_bf16(half[i]);
    } else {
        const float *whole = (const float *)x;
        SAMBA__IN_PLACE
        for (int64_t i = 0; i < n; i++)
            y[i] = samba__bf16_operand(samba__float_bits(whole[i]));
    }
}

SAMBA__INLINE float samba__flush(float x)
{
    return samba__abs(x) < SAMBA__LEAST_NORMAL ? x * 0.0f : x;
}

/* a b + c, flushed after rounding. Where numbers underflow gradually, what comes out as 2^-126 may
   have been less with 24 bits: the same 2^24 times larger, where nothing underflows, decides. */
SAMBA__FN float samba__fma_flushed(float a, float b, float c)
{
    const float up = 16777216.0f;
    float r = samba__fma(a, b, c);

    if (samba__abs(r) == SAMBA__LEAST_NORMAL) {
        float exact = samba__fma(a * up, b, c * up);
        if (samba__abs(exact) < SAMBA__LEAST_NORMAL * up) r *= 0.0f;
    }
    return samba__flush(r);
}

/* Is a value of n in rows this small, and not zero? */
SAMBA__FN bool samba__any_below(const float *x, int64_t row, int64_t rows, int64_t n, float least)
{
    int32_t found = 0;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < n; j++) {
            float size = samba__abs(x[i * row + j]);
            found |= (int32_t)(size < least) & (int32_t)(size > 0.0f);
        }
    return found != 0;
}

/* May a sum underflow? Operands of bf16 have 8 bits. Where they are zero or at least 2^-50,
   products are multiples of 2^-114, and so are all sums of them, which then are zero or at least
   that; added to a C that is zero or at least 2^-100, a multiple of 2^-123. */
SAMBA__FN bool samba__may_underflow(const samba__panel_product *s)
{
    const float least = 8.8817842e-16f, least_sum = 7.8886091e-31f; /* 2^-50, 2^-100 */
    SAMBA_ASSERT(!s->b_at);
    bool by_rows = s->a_col == 1;
    int64_t lines = by_rows ? s->rows : s->kc, line = by_rows ? s->a_next : s->a_col;

    return samba__any_below(s->a, line, lines, by_rows ? s->kc : s->rows, least)
        || samba__any_below(s->b, s->b_row, s->kc, s->cols, least)
        || (s->from && samba__any_below(s->c, s->c_row, s->rows, s->cols, least_sum));
}

/* A chain: sum[j] of every second step of a row of A, from `first` on. */
SAMBA__KERNEL void samba__bf16_chain(const samba__panel_product *s, const float *a, int64_t first,
                                     int64_t end, bool flush, float *sum)
{
    for (int64_t j = 0; j < s->cols; j++)
        sum[j] = 0.0f;

    for (int64_t p = first; p < end; p += 2) {
        const float x = a[p * s->a_col], *b = s->b + p * s->b_row;
        for (int64_t j = 0; j < s->cols; j++)
            sum[j] = flush ? samba__fma_flushed(x, b[j], sum[j]) : samba__fma(x, b[j], sum[j]);
    }
}

/* The definition, row by row: all there is where there are no vectors, or none that flush. */
SAMBA__KERNEL void samba__define_bf16(const samba__panel_product *s, bool flush)
{
    float even[SAMBA__GEMM_COLS], odd[SAMBA__GEMM_COLS];
    SAMBA_ASSERT(!s->b_at && (!s->from || s->from == s->c));

    for (int64_t i = 0; i < s->rows; i++) {
        const float *a = s->a + i * s->a_next;
        float *c = s->c + i * s->c_row;

        for (int64_t p = 0; p < s->kc; p += SAMBA__BF16_STEPS) {
            int64_t end = samba__min64(p + SAMBA__BF16_STEPS, s->kc);
            bool from_zero = !s->from && p == 0;
            samba__bf16_chain(s, a, p, end, flush, even);
            samba__bf16_chain(s, a, p + 1, end, flush, odd);

            for (int64_t j = 0; j < s->cols; j++) {
                float from = from_zero ? 0.0f : c[j];
                if (flush)
                    c[j] = samba__flush(samba__flush(from) + samba__flush(even[j] + odd[j]));
                else
                    c[j] = from + (even[j] + odd[j]);
            }
        }
    }
}

/* What an instruction set does in its own way; NULL: there are no vectors for it. */
typedef struct samba__gemm_set {
    int32_t mr, nr; /* a micro-tile */
    int32_t mc, kc; /* most rows and steps of a block; kc where panels are kept */
    void (*multiply_panel)(const samba__panel_product *s);
    /* At most 4 rows, and B(p,j) = b[j * b_row + p]. */
    void (*multiply_skinny)(const samba__panel_product *s);
    /* dst[p * dst_row + j] = src[j * src_row + p] for whole vectors of j < jc, groups of 4 p < pc.
     */
    void (*transpose_panel)(const float *src, int64_t src_row, int64_t pc, int64_t jc, float *dst,
                            int64_t dst_row, int64_t ahead);
    void (*unpack)(float *dst, const uint8_t *q, int64_t row, const uint16_t *scale,
                   samba_dtype type, int64_t p, int64_t pc);
    /* One row times packed weights. */
    void (*packed_row)(const samba__packed_product *s, int64_t j0, int64_t j1);
    /* In bf16; NULL: as it is defined. Called in the mode that flushes, if there is one, else only
       where nothing underflows. */
    void (*multiply_bf16)(const samba__panel_product *s);
    void (*load_operands)(float *y, const void *x, samba_dtype type, int64_t n);
} samba__gemm_set;

/* C (+)= A B in bf16, of one panel. */
SAMBA__FN void samba__multiply_bf16(const samba__gemm_set *set, const samba__panel_product *s)
{
    if (set->multiply_bf16 && samba__enter_flush_mode()) {
        set->multiply_bf16(s);
        samba__enter_float_mode();
    } else if (samba__may_underflow(s)) {
        samba__define_bf16(s, true);
    } else if (set->multiply_bf16) {
        set->multiply_bf16(s);
    } else {
        samba__define_bf16(s, false);
    }
}

#define SAMBA__LINE_FLOATS 16 /* of a line of the cache */

enum { SAMBA__LINE = SAMBA__LINE_FLOATS, SAMBA__AHEAD = 4 * SAMBA__LINE };

/* How many of the rows that are left the next micro-tile takes. Of 16 it takes 8 and 8: 12 and 4
   would leave a tile with too few sums to hide the latency of multiply-adds. */
SAMBA__INLINE int64_t samba__micro_rows(int mr, int64_t left)
{
    if (mr == 12 && left >= 12 && left != 16) return 12;
    if (mr == 12 && left >= 8) return 8;
    return samba__min64(left, mr < 6 ? mr : 6);
}

/* Prefetch a cache line of each of some rows. */
SAMBA__KERNEL void samba__prefetch_rows(const float *src, int64_t src_row, int64_t rows)
{
    for (int64_t j = 0; j < rows; j++)
        SAMBA__PREFETCH(src + j * src_row);
}

#endif /* SAMBA__TEMPLATE == 0 */

/* ---- A template: the kernels of each set ------------------------------------------------------
 */
#if SAMBA__TEMPLATE == SAMBA__TEMPLATE_GEMM && defined(SAMBA__SUFFIX) && !SAMBA__DIRECT
#define samba__multiply_panel SAMBA__OF_SET(samba__multiply_panel)
#define samba__gemm_kernels SAMBA__OF_SET(samba__gemm_kernels)

#if SAMBA__VEC_LANES == 1
/* The portable one is the definition, 16 columns at a time. */
SAMBA__FN void samba__multiply_panel(const samba__panel_product *s)
{
    for (int64_t i = 0; i < s->rows; i++) {
        int64_t r = i % SAMBA__MR, height = samba__micro_rows(SAMBA__MR, s->rows - i + r);
        int64_t a_col = s->a_col ? s->a_col : height;
        const float *a = s->a + (i - r) * s->a_next + r * s->a_row;
        const float *b = s->b;
        float *c = s->c + i * s->c_row;

        float acc[SAMBA__NR] = { 0.0f };
        if (s->from) memcpy(acc, s->from + i * s->from_row, (size_t)s->cols * sizeof(float));

        for (int64_t p = 0; p < s->kc; p++) {
            for (int j = 0; j < SAMBA__NR; j++)
                acc[j] = samba__fma(*a, b[j], acc[j]);
            a += a_col;
            b += s->b_row;
        }

        if (s->bias) {
            for (int64_t j = 0; j < s->cols; j++)
                acc[j] += s->bias[j];
        }
        if (s->row_bias) {
            for (int64_t j = 0; j < s->cols; j++)
                acc[j] += s->row_bias[i];
        }
        memcpy(c, acc, (size_t)s->cols * sizeof(float));
    }
}
#else
#define samba__edge SAMBA__OF_SET(samba__edge)
#define samba__sums_begin SAMBA__OF_SET(samba__sums_begin)
#define samba__sums_step SAMBA__OF_SET(samba__sums_step)
#define samba__sums_end SAMBA__OF_SET(samba__sums_end)
#define samba__micro_kernel SAMBA__OF_SET(samba__micro_kernel)
#define samba__transpose_line SAMBA__OF_SET(samba__transpose_line)
#define samba__transpose_panel SAMBA__OF_SET(samba__transpose_panel)
#define samba__skinny_kernel SAMBA__OF_SET(samba__skinny_kernel)
#define samba__multiply_skinny SAMBA__OF_SET(samba__multiply_skinny)

/* Which columns of the two vectors of a micro-tile exist, and how far the second is from the first
   in C. */
typedef struct samba__edge {
    bool whole;
    samba__mask lo, hi;
    int64_t c_hi;
} samba__edge;

/* The micro-kernel in short: acc, a micro-tile, stays in registers for the whole block. Each step
   loads one row of the panel of B, two vectors, and broadcasts one value of A after the other.
   Nothing is stored before the end. The functions below are inlined into it, where `rows` is a
   constant and `acc` is in registers, as long as the loops over rows are unrolled. */
SAMBA__KERNEL void samba__sums_begin(samba__vec acc[][2], int rows, const float *from,
                                     int64_t from_row, const samba__edge *e)
{
    SAMBA__UNROLLED
    for (int r = 0; r < rows; r++) {
        acc[r][0] = samba__vec_set(0.0f);
        acc[r][1] = samba__vec_set(0.0f);
        if (from) {
            const float *x = from + r * from_row;
            acc[r][0] = samba__vec_load_some(x, e->whole, e->lo);
            acc[r][1] = samba__vec_load_some(x + e->c_hi, e->whole, e->hi);
        }
    }
}

/* One step of k: a column of A times a row of B. x86 addresses are base + index x 1, 2, 4 or 8:
   with few multiples of a_row in registers, rows 0 to 5 are reached from a, and 6 to 11 from a6. */
SAMBA__KERNEL void samba__sums_step(samba__vec acc[][2], int rows, const float *a, const float *a6,
                                    int64_t a_row, const float *b, int64_t b_hi)
{
    samba__vec lo = samba__vec_load(b);
    samba__vec hi = samba__vec_load(b + b_hi);
    SAMBA__UNROLLED
    for (int r = 0; r < rows; r++) {
        samba__vec x = samba__vec_set((r < 6 ? a : a6)[r % 6 * a_row]);
        acc[r][0] = samba__vec_fma(x, lo, acc[r][0]);
        acc[r][1] = samba__vec_fma(x, hi, acc[r][1]);
    }
}

SAMBA__KERNEL void samba__sums_end(samba__vec acc[][2], int rows, const samba__panel_product *s,
                                   int64_t i, const samba__edge *e)
{
    float *c = s->c + i * s->c_row;

    if (s->bias) {
        samba__vec lo = samba__vec_load_some(s->bias, e->whole, e->lo);
        samba__vec hi = samba__vec_load_some(s->bias + SAMBA__VEC_LANES, e->whole, e->hi);
        SAMBA__UNROLLED
        for (int r = 0; r < rows; r++) {
            acc[r][0] = samba__vec_add(acc[r][0], lo);
            acc[r][1] = samba__vec_add(acc[r][1], hi);
        }
    }

    SAMBA__UNROLLED
    for (int r = 0; r < rows; r++) {
        if (s->row_bias) {
            samba__vec x = samba__vec_set(s->row_bias[i + r]);
            acc[r][0] = samba__vec_add(acc[r][0], x);
            acc[r][1] = samba__vec_add(acc[r][1], x);
        }

        samba__vec_store_some(c + r * s->c_row, e->whole, e->lo, acc[r][0]);
        samba__vec_store_some(c + r * s->c_row + e->c_hi, e->whole, e->hi, acc[r][1]);
    }
}

/* The micro-kernel: rows x 2 vectors of C, from row i on, (+)= a micro-panel of A times one of B.
   The next part of C is prefetched, and, if it comes from main memory, the next micro-panel of A.
 */
SAMBA__KERNEL void samba__micro_kernel(const samba__panel_product *s, const float *a, int64_t i,
                                       int rows, bool prefetch_a)
{
    const float *b = s->b, *a6 = a + 6 * s->a_row;
    const float *from = s->from ? s->from + i * s->from_row : NULL;
    const float *next = s->c + (i + 2 * rows <= s->rows ? i + rows : i) * s->c_row;
    const int32_t *at = s->b_at;
    const int64_t a_row = s->a_row, a_col = s->a_col ? s->a_col : rows, b_row = s->b_row;
    const int64_t b_hi = s->b_hi, next_a = rows * s->a_next;

    samba__vec acc[SAMBA__MR][2];
    samba__edge e;
    e.whole = s->cols == 2 * SAMBA__VEC_LANES;
    e.lo = samba__mask_first(s->cols - s->cols_hi);
    e.hi = samba__mask_first(s->cols_hi);
    e.c_hi = s->c_hi;
    samba__sums_begin(acc, rows, from, s->from_row, &e);

    SAMBA__UNROLLED
    for (int r = 0; r < rows; r++) {
        __builtin_prefetch(next + r * s->c_row, 1, 2);
        if (SAMBA__VEC_LANES > 8) __builtin_prefetch(next + r * s->c_row + e.c_hi, 1, 2);
    }

    if (at) {
        for (int64_t p = 0; p < s->kc; p++) {
            samba__sums_step(acc, rows, a, a6, a_row, b + at[p], b_hi);
            a += a_col;
            a6 += a_col;
        }
    } else {
        SAMBA__FOUR
        for (int64_t left = s->kc; left > 0; left--) {
            if (prefetch_a && left % 16 == 0) {
                SAMBA__UNROLLED
                for (int r = 0; r < rows; r++)
                    SAMBA__PREFETCH(a + next_a + r * a_row);
            }

            samba__sums_step(acc, rows, a, a6, a_row, b, b_hi);
            a += a_col;
            a6 += a_col;
            b += b_row;
        }
    }

    samba__sums_end(acc, rows, s, i, &e);
}

/* C (+)= A B, panel by panel of A. A case is a copy of the micro-kernel. */
SAMBA__FN void samba__multiply_panel(const samba__panel_product *s)
{
    int64_t height;
    for (int64_t i = 0; i < s->rows; i += height) {
        const float *a = s->a + i * s->a_next;
        height = samba__micro_rows(SAMBA__MR, s->rows - i);

        switch (height) {
#if SAMBA__MR == 12
        case 12:
            samba__micro_kernel(s, a, i, 12, false);
            break;
        case 8:
            samba__micro_kernel(s, a, i, 8, false);
            break;
        case 6:
            samba__micro_kernel(s, a, i, 6, false);
            break;

#elif SAMBA__MR == 6
        case 6:
            if (s->prefetch_a)
                samba__micro_kernel(s, a, i, 6, true);
            else
                samba__micro_kernel(s, a, i, 6, false);
            break;
#endif

#if SAMBA__MR > 4
        case 5:
            samba__micro_kernel(s, a, i, 5, false);
            break;
#endif

        case 4:
            samba__micro_kernel(s, a, i, 4, false);
            break;
        case 3:
            samba__micro_kernel(s, a, i, 3, false);
            break;
        case 2:
            samba__micro_kernel(s, a, i, 2, false);
            break;
        default:
            samba__micro_kernel(s, a, i, 1, false);
            break;
        }
    }
}

/* Transpose `some` steps (4, 8, 12 or 16) of as many columns as a vector has lanes. */
SAMBA__KERNEL void samba__transpose_line(const float *src, int64_t src_row, int64_t some,
                                         float *dst, int64_t dst_row)
{
#if SAMBA__VEC_LANES == SAMBA__LINE_FLOATS
    if (some == SAMBA__VEC_LANES) {
        samba__square_transpose(src, src_row, dst, dst_row);
        return;
    }
#endif

    for (int64_t q = 0; q < some; q += 4) {
        samba__vec v[4];
        samba__vec_transpose(src + q, src_row, v);

        samba__vec_store(dst + q * dst_row, v[0]);
        samba__vec_store(dst + (q + 1) * dst_row, v[1]);
        samba__vec_store(dst + (q + 2) * dst_row, v[2]);
        samba__vec_store(dst + (q + 3) * dst_row, v[3]);
    }
}

/* Pack jc stored rows of pc values as columns of a panel, whole groups of 4 steps and of a vector's
   columns. A line of the cache is taken of each row at once, as rows far apart evict each other
   from the first cache; what lies `ahead`, to be packed next, is prefetched. */
SAMBA__FN void samba__transpose_panel(const float *src, int64_t src_row, int64_t pc, int64_t jc,
                                      float *dst, int64_t dst_row, int64_t ahead)
{
    const int lanes = SAMBA__VEC_LANES;
    int64_t some;

    for (int64_t p = 0; p + 4 <= pc; p += some) {
        some = samba__min64(SAMBA__LINE, pc - pc % 4 - p);
        for (int64_t j = 0; j + lanes <= jc; j += lanes) {
            const float *from = src + j * src_row + p;
            float *to = dst + p * dst_row + j;
            samba__prefetch_rows(from + ahead, src_row, lanes);

            if (some == SAMBA__LINE)
                samba__transpose_line(from, src_row, SAMBA__LINE, to, dst_row);
            else
                samba__transpose_line(from, src_row, some, to, dst_row);
        }
    }
}

/* Up to 4 rows by whole panels of a B whose columns are contiguous, b(p,j) = b[j * b_row + p]: its
   values are used once, so a line of each column is transposed at a time, to a piece of a panel. */
SAMBA__KERNEL void samba__skinny_kernel(const samba__panel_product *s, int rows)
{
    enum { N = SAMBA__VEC_LANES };

    const float *a = s->a, *b = s->b;
    const int64_t far = samba__min64(SAMBA__AHEAD, s->kc);
    const int64_t over = s->b_next > 0 ? s->b_next + far - s->kc : 0; /* in the next panel */

    float piece[SAMBA__LINE * 2 * N];
    samba__vec acc[4][2];
    samba__edge e;
    e.whole = true;
    e.lo = samba__mask_first(N);
    e.hi = e.lo;
    e.c_hi = N;
    samba__sums_begin(acc, rows, s->from, s->from_row, &e);

    for (int64_t p = 0; p < s->kc; p += SAMBA__LINE) {
        int64_t some = samba__min64(SAMBA__LINE, s->kc - p);
        samba__prefetch_rows(b + (p + far < s->kc ? far : over), s->b_row, 2 * N);
        samba__transpose_line(b, s->b_row, some, piece, 2 * N);
        samba__transpose_line(b + N * s->b_row, s->b_row, some, piece + N, 2 * N);

        for (const float *at = piece; at < piece + some * 2 * N; at += 2 * N) {
            samba__sums_step(acc, rows, a, a, s->a_row, at, N);
            a++;
        }
        b += SAMBA__LINE;
    }

    samba__sums_end(acc, rows, s, 0, &e);
}

SAMBA__FN void samba__multiply_skinny(const samba__panel_product *s)
{
    switch (s->rows) {
    case 1:
        samba__skinny_kernel(s, 1);
        break;
    case 2:
        samba__skinny_kernel(s, 2);
        break;
    case 3:
        samba__skinny_kernel(s, 3);
        break;
    default:
        samba__skinny_kernel(s, 4);
        break;
    }
}

#endif

#define samba__round_operands SAMBA__OF_SET(samba__round_operands)

SAMBA__VECTORIZED SAMBA__FN void samba__round_operands(float *y, const void *x, samba_dtype type,
                                                       int64_t n)
{
    samba__load_operands(y, x, type, n);
}

#if SAMBA__VEC_LANES > 1
#define samba__bf16_chain_of SAMBA__OF_SET(samba__bf16_chain_of)
#define samba__bf16_end SAMBA__OF_SET(samba__bf16_end)
#define samba__bf16_kernel SAMBA__OF_SET(samba__bf16_kernel)
#define samba__bf16_panel SAMBA__OF_SET(samba__bf16_panel)

/* One of the two chains of a block of steps: every second step, n of them. */
SAMBA__KERNEL void samba__bf16_chain_of(samba__vec acc[][2], int rows,
                                        const samba__panel_product *s, const float *a, int64_t p,
                                        int64_t n)
{
    const float *b = s->b, *a6 = a + 6 * s->a_row;
    const int64_t a_row = s->a_row, a_col = 2 * s->a_col, b_hi = s->b_hi;
    SAMBA__UNROLLED
    for (int r = 0; r < rows; r++)
        acc[r][0] = acc[r][1] = samba__vec_set(0.0f);

    if (s->b_at) {
        for (const int32_t *at = s->b_at + p; n > 0; n--) {
            samba__sums_step(acc, rows, a, a6, a_row, b + *at, b_hi);
            a += a_col;
            a6 += a_col;
            at += 2;
        }
        return;
    }

    const int64_t b_row = 2 * s->b_row;
    b += p * s->b_row;
    for (; n > 0; n--) {
        samba__sums_step(acc, rows, a, a6, a_row, b, b_hi);
        a += a_col;
        a6 += a_col;
        b += b_row;
    }
}

/* c += even + odd, or = if the sums begin. */
SAMBA__KERNEL void samba__bf16_end(const float *even, samba__vec odd[][2], int rows, float *c,
                                   int64_t c_row, bool begins, const samba__edge *e)
{
    SAMBA__UNROLLED
    for (int r = 0; r < rows; r++) {
        float *lo = c + r * c_row, *hi = lo + e->c_hi;
        samba__vec from_lo = samba__vec_set(0.0f), from_hi = from_lo;
        if (!begins) {
            from_lo = samba__vec_load_some(lo, e->whole, e->lo);
            from_hi = samba__vec_load_some(hi, e->whole, e->hi);
        }

        const float *line = even + r * 2 * SAMBA__VEC_LANES;
        samba__vec sum_lo = samba__vec_add(samba__vec_load(line), odd[r][0]);
        samba__vec sum_hi = samba__vec_add(samba__vec_load(line + SAMBA__VEC_LANES), odd[r][1]);
        samba__vec_store_some(lo, e->whole, e->lo, samba__vec_add(from_lo, sum_lo));
        samba__vec_store_some(hi, e->whole, e->hi, samba__vec_add(from_hi, sum_hi));
    }
}

/* rows x 2 vectors of C, from row i on. The even chain of a block rests in memory while the odd one
   is computed: with both in registers a micro-tile had half as many rows, and read B twice as
   often, which a convolution reads across lines of the cache. */
SAMBA__KERNEL void samba__bf16_kernel(const samba__panel_product *s, int64_t i, int rows)
{
    float even[SAMBA__MR * 2 * SAMBA__VEC_LANES];
    const float *a = s->a + i * s->a_next;
    samba__edge e;
    e.whole = s->cols == 2 * SAMBA__VEC_LANES;
    e.lo = samba__mask_first(s->cols - s->cols_hi);
    e.hi = samba__mask_first(s->cols_hi);
    e.c_hi = s->c_hi;

    for (int64_t p = 0; p < s->kc; p += SAMBA__BF16_STEPS) {
        int64_t steps = samba__min64(SAMBA__BF16_STEPS, s->kc - p);
        samba__vec acc[SAMBA__MR][2];
        samba__bf16_chain_of(acc, rows, s, a, p, (steps + 1) / 2);
        SAMBA__UNROLLED
        for (int r = 0; r < rows; r++) {
            samba__vec_store(even + r * 2 * SAMBA__VEC_LANES, acc[r][0]);
            samba__vec_store(even + (2 * r + 1) * SAMBA__VEC_LANES, acc[r][1]);
        }

        samba__bf16_chain_of(acc, rows, s, a + s->a_col, p + 1, steps / 2);
        samba__bf16_end(even, acc, rows, s->c + i * s->c_row, s->c_row, !s->from && p == 0, &e);
        a += steps * s->a_col;
    }
}

/* A case is a copy of the micro-kernel. */
SAMBA__FN void samba__bf16_panel(const samba__panel_product *s)
{
    int64_t height;
    for (int64_t i = 0; i < s->rows; i += height) {
        height = samba__micro_rows(SAMBA__MR, s->rows - i);

        switch (height) {
#if SAMBA__MR == 12
        case 12:
            samba__bf16_kernel(s, i, 12);
            break;
        case 8:
            samba__bf16_kernel(s, i, 8);
            break;
#endif

#if SAMBA__MR > 4
        case 6:
            samba__bf16_kernel(s, i, 6);
            break;
        case 5:
            samba__bf16_kernel(s, i, 5);
            break;
#endif

        case 4:
            samba__bf16_kernel(s, i, 4);
            break;
        case 3:
            samba__bf16_kernel(s, i, 3);
            break;
        case 2:
            samba__bf16_kernel(s, i, 2);
            break;
        default:
            samba__bf16_kernel(s, i, 1);
            break;
        }
    }
}
#endif

/* What [gemm] knows of the set. */
static const samba__gemm_set samba__gemm_kernels = {
#if SAMBA__VEC_LANES > 1
    SAMBA__MR,
    SAMBA__NR,
    SAMBA__MC,
    SAMBA__KC,
    samba__multiply_panel,
    samba__multiply_skinny,
    samba__transpose_panel,
    samba__unpack,
    samba__packed_row,
    samba__bf16_panel,
#else
    SAMBA__MR,
    SAMBA__NR,
    SAMBA__MC,
    SAMBA__KC,
    samba__multiply_panel,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
#endif
    samba__round_operands,
};
#endif /* the template */

#if SAMBA__TEMPLATE == 0
#undef SAMBA__TEMPLATE
#define SAMBA__TEMPLATE SAMBA__TEMPLATE_GEMM
#include SAMBA_SELF
#undef SAMBA__TEMPLATE
#define SAMBA__TEMPLATE 0

#if SAMBA__DIRECT
/* Nothing is packed; for [conv], which asks for the set. */
static const samba__gemm_set samba__gemm_kernels_portable
    = { 1, 1, 1, 1, NULL, NULL, NULL, NULL, NULL, NULL, NULL };
#endif

