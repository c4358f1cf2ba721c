/* ==== [direct] ================================================================================ */
/* Products of processors that have a few KiB of fast memory and no caches, as microcontrollers: the
   same sums as in [gemm], but operands are read where they lie. Packing would cost more than it
   saves, and memory that a small device does not have. */
#if SAMBA__DIRECT
#if SAMBA__FMA == SAMBA__FMA_INSTRUCTION || SAMBA__FMA == SAMBA__FMA_ASSEMBLER
#define SAMBA__FOUR_CHAINS 1
#else
#define SAMBA__FOUR_CHAINS 0
#endif

/* Neighbors in a row of C that are summed at once: 4, and of two matrices of floats 8. */
enum { SAMBA__CHAINS = SAMBA__FOUR_CHAINS ? 8 : 4 };

/* Up to SAMBA__CHAINS neighbors in a row of C: sum[j] += A(p) B(p,j), for p = 0 ... k - 1 in this
 * order. */
typedef struct samba__chains {
    const float *a; /* A(p) = a[p * a_col] */
    const float *b; /* B(p,j) = b[p * b_row + j * b_col], or, with at, b[at[p] + j] */
    const int32_t *at;
    intptr_t a_col, b_row, b_col, k;
} samba__chains;

#if SAMBA__FOUR_CHAINS
/* The values of a column of B are adjacent, as in a layer's weights: all columns share each value
   of A. A column that is missing is the last one again. */
SAMBA__NOINLINE void samba__sum_columns(const samba__chains *s, int32_t n, float *sum)
{
    const float *a = s->a, *b[SAMBA__CHAINS];
    float x[SAMBA__CHAINS];
    const intptr_t a_col = s->a_col;
    SAMBA__UNROLLED
    for (int l = 0; l < SAMBA__CHAINS; l++) {
        b[l] = s->b + (l < n ? l : n - 1) * s->b_col;
        x[l] = sum[l];
    }

    intptr_t left = s->k;
    if (left > 0) {
        do { /* a loop that asks in the beginning had a jump more */
            const float y = *a;
            a += a_col;
            SAMBA__UNROLLED
            for (int l = 0; l < SAMBA__CHAINS; l++)
                x[l] = samba__fma(y, *b[l]++, x[l]);
        } while (--left > 0);
    }

    SAMBA__UNROLLED
    for (int l = 0; l < SAMBA__CHAINS; l++)
        sum[l] = x[l];
}

/* The values of a row of B are adjacent, and four of them can be read. */
SAMBA__NOINLINE void samba__sum_rows(const samba__chains *s, float *sum)
{
    const float *a = s->a, *b = s->b;
    const int32_t *at = s->at;
    float s0 = sum[0], s1 = sum[1], s2 = sum[2], s3 = sum[3];
    const intptr_t a_col = s->a_col, b_row = s->b_row;

    for (intptr_t left = s->k; left > 0; left--) {
        const float *y = at ? b + *at++ : b;
        float x = *a;
        a += a_col;
        b += b_row;
        s0 = samba__fma(x, y[0], s0);
        s1 = samba__fma(x, y[1], s1);
        s2 = samba__fma(x, y[2], s2);
        s3 = samba__fma(x, y[3], s3);
    }

    sum[0] = s0;
    sum[1] = s1;
    sum[2] = s2;
    sum[3] = s3;
}
#endif

/* One sum after the other: all there is where samba__fma is a call. */
SAMBA__FN void samba__sum_chains(const samba__chains *s, int32_t n, float *sum)
{
#if SAMBA__FOUR_CHAINS
    if (s->at || (s->b_col == 1 && n == 4)) {
        samba__sum_rows(s, sum);
        return;
    }
    if (s->b_row == 1) {
        samba__sum_columns(s, n, sum);
        return;
    }
#endif

    for (int32_t j = 0; j < n; j++) {
        const float *a = s->a, *b = s->b + j * s->b_col;
        float x = sum[j];
        for (intptr_t p = 0; p < s->k; p++) {
            x = samba__fma(*a, s->at ? b[s->at[p]] : *b, x);
            a += s->a_col;
            b += s->b_row;
        }
        sum[j] = x;
    }
}

/* c[0] ... c[n - 1] = the sums, which begin with those in `from`, if it is not NULL; plus biases,
   if given: one for each, and one for all. */
SAMBA__FN void samba__write_chains(const samba__chains *s, int32_t n, const float *from,
                                   const float *bias, const float *row_bias, float *c)
{
    float sum[SAMBA__CHAINS];
    SAMBA__UNROLLED /* as an initializer, or a loop, it is a call of memset */
        for (int32_t j = 0; j < SAMBA__CHAINS; j++) sum[j]
        = 0.0f;
    for (int32_t j = 0; from && j < n; j++)
        sum[j] = from[j];
    samba__sum_chains(s, n, sum);

    for (int32_t j = 0; j < n; j++) {
        float y = sum[j];
        if (bias) y += bias[j];
        if (row_bias) y += *row_bias;
        c[j] = y;
    }
}

enum { SAMBA__CHAIN_STEPS = 8 }; /* of values that are not f32: so many of 4 columns at a time */

/* Points s at steps p ... and columns j ... of B, or at their values in `values`. */
SAMBA__FN void samba__open_chains(samba__chains *s, const samba__gemm *g, intptr_t p, intptr_t j,
                                  int32_t n, float *values)
{
    if (!g->packed && g->b_type == SAMBA_F32) {
        s->b = g->b + (p * (intptr_t)g->b_row + j * (intptr_t)g->b_col);
        s->b_row = (intptr_t)g->b_row;
        s->b_col = (intptr_t)g->b_col;
        return;
    }

    s->b = values;
    s->b_row = 4;
    s->b_col = 1;

    if (g->packed) {
        const uint8_t *q = samba__packed_at(g->packed, g->b_type, g->k, j);
        samba__unpack_any(values, q, samba__panel_row(g->b_type),
                          samba__scale_at(g->scale, g->k, j), g->b_type, p, s->k, 4);
        return;
    }

    const uint16_t *b = (const uint16_t *)(const void *)g->b + (p * g->b_row + j * g->b_col);
    for (intptr_t u = 0; u < s->k; u++)
        for (int32_t v = 0; v < n; v++)
            samba__load(values + u * 4 + v, b + u * g->b_row + v * g->b_col, g->b_type, 1);
}

/* A unit of work is a row of C. */
SAMBA__FN int64_t samba__gemm_tiles(int64_t m, int64_t n, int64_t k)
{
    (void)n;
    (void)k;
    return m;
}

/* Rows [begin,end) of n columns j ... Places fit a pointer: products of 64 bits would take as long
   as a short sum. */
SAMBA__FN void samba__gemm_columns(const samba__gemm *g, intptr_t begin, intptr_t end, intptr_t j,
                                   int32_t n)
{
    float values[SAMBA__CHAIN_STEPS * 4];
    samba__chains s;
    bool plain = !g->packed && g->b_type == SAMBA_F32;
    const intptr_t k = (intptr_t)g->k, a_row = (intptr_t)g->a_row, c_row = (intptr_t)g->c_row;
    intptr_t step = plain ? k : (intptr_t)SAMBA__CHAIN_STEPS, p = 0;
    s.at = NULL;
    s.a_col = (intptr_t)g->a_col;

    do {
        s.k = step < k - p ? step : k - p;
        bool last = p + s.k >= k;
        samba__open_chains(&s, g, p, j, n, values);
        float *c = g->c + begin * c_row + j;
        s.a = g->a + begin * a_row + p * s.a_col;

        for (intptr_t i = begin; i < end; i++) {
            samba__write_chains(&s, n, p > 0 || g->accumulate ? c : NULL,
                                last && g->bias ? g->bias + j : NULL,
                                last && g->row_bias ? g->row_bias + i : NULL, c);
            c += c_row;
            s.a += a_row;
        }
        p += s.k;
    } while (p < k);
}

/* In bf16: steps [p, p + n) of row i of A, and of column j of B. */
SAMBA__FN void samba__open_bf16(const samba__gemm *g, intptr_t i, intptr_t j, intptr_t p, int32_t n,
                                float *a, float *b)
{
    const size_t a_size = samba_dtype_size(g->a_type), b_size = samba_dtype_size(g->b_type);
    const uint8_t *from_a = (const uint8_t *)(const void *)g->a;
    const uint8_t *from_b = (const uint8_t *)(const void *)g->b;
    if (g->packed)
        samba__unpack_any(b, samba__packed_at(g->packed, g->b_type, g->k, j),
                          samba__panel_row(g->b_type), samba__scale_at(g->scale, g->k, j),
                          g->b_type, p, n, 1);

    for (int32_t u = 0; u < n; u++) {
        int64_t at_a = i * g->a_row + (p + u) * g->a_col, at_b = (p + u) * g->b_row + j * g->b_col;
        samba__load_operands(a + u, from_a + (size_t)at_a * a_size, g->a_type, 1);
        if (!g->packed) samba__load(b + u, from_b + (size_t)at_b * b_size, g->b_type, 1);
        b[u] = samba__bf16_operand(samba__float_bits(b[u]));
    }
}

/* c (+)= the sum of a[p] b[p], of operands of one block. */
SAMBA__FN void samba__bf16_sum(const float *a, const float *b, intptr_t n, bool begins, float *c)
{
    samba__panel_product s;
    memset(&s, 0, sizeof s);
    s.rows = s.cols = 1;
    s.kc = n;
    s.a = a;
    s.a_row = s.a_next = n;
    s.a_col = 1;
    s.b = b;
    s.b_row = 1;
    s.c = c;
    s.c_row = s.from_row = 1;
    s.from = begins ? NULL : c;
    samba__multiply_bf16(&samba__gemm_kernels_portable, &s);
}

SAMBA__FN void samba__bf16_element(const samba__gemm *g, intptr_t i, intptr_t j)
{
    float a[SAMBA__BF16_STEPS], b[SAMBA__BF16_STEPS];
    float *c = g->c + i * (intptr_t)g->c_row + j;

    for (intptr_t p = 0, k = (intptr_t)g->k; p < k; p += SAMBA__BF16_STEPS) {
        int32_t n = k - p < SAMBA__BF16_STEPS ? (int32_t)(k - p) : (int32_t)SAMBA__BF16_STEPS;
        samba__open_bf16(g, i, j, p, n, a, b);
        samba__bf16_sum(a, b, n, p == 0 && !g->accumulate, c);
    }

    if (g->bias) *c += g->bias[j];
    if (g->row_bias) *c += g->row_bias[i];
}

/* Rows [begin,end) of C. */
SAMBA__FN void samba__gemm_run(const samba__gemm *g, int64_t begin, int64_t end, float *local,
                               int isa)
{
    (void)local;
    (void)isa;
    SAMBA_ASSERT(!g->transposed);

    const intptr_t n = (intptr_t)g->n;
    if (SAMBA__HAS_TYPE(BF16) && g->in_bf16) {
        for (int64_t i = begin; i < end; i++)
            for (intptr_t j = 0; j < n; j++)
                samba__bf16_element(g, (intptr_t)i, j);
        samba__gemm_epilogue(g, begin, end, 0, g->n);
        return;
    }

    bool columns = g->b_row == 1 && !g->packed && g->b_type == SAMBA_F32;
    const intptr_t most = columns ? SAMBA__CHAINS : 4;
    for (intptr_t j = 0, cols; j < n; j += cols) {
        cols = n - j < most ? n - j : most;
        samba__gemm_columns(g, (intptr_t)begin, (intptr_t)end, j, (int32_t)cols);
    }

    samba__gemm_epilogue(g, begin, end, 0, g->n);
}

/* In bf16, column by column; k is one block. */
SAMBA__FN void samba__gathered_bf16(const samba__gathered *g)
{
    const size_t size = samba_dtype_size(g->a_type);
    float a[SAMBA__BF16_STEPS], b[SAMBA__BF16_STEPS];
    SAMBA_ASSERT(g->k <= SAMBA__BF16_STEPS);

    for (ptrdiff_t j = 0; j < g->n; j++) {
        const float *from = g->b + j / g->run * g->step + j % g->run;
        for (ptrdiff_t p = 0; p < g->k; p++)
            b[p] = from[g->at[p]];

        for (ptrdiff_t i = 0; i < g->m; i++) {
            float *c = g->c + i * g->c_row + j;
            const uint8_t *row = (const uint8_t *)g->a + (size_t)(i * g->a_row) * size;
            samba__load_operands(a, row, g->a_type, g->k);
            samba__bf16_sum(a, b, g->k, !g->accumulate, c);
            if (g->row_bias) *c += g->row_bias[i];
        }
    }
}

/* Nothing here is computed by tiles. */
SAMBA__FN bool samba__takes_tiles(const samba__set *set, int64_t rows)
{
    (void)set;
    (void)rows;
    return false;
}

/* Four columns of a run at a time. */
SAMBA__FN void samba__multiply_gathered(const samba__gathered *g, float *local, int isa)
{
    samba__chains t;
    (void)local;
    (void)isa;
    if (SAMBA__HAS_TYPE(BF16) && g->in_bf16) {
        samba__gathered_bf16(g);
        return;
    }
    t.at = g->at;
    t.a_col = 1;
    t.b_row = 0;
    t.b_col = 1;
    t.k = (intptr_t)g->k;

    ptrdiff_t x = 0;
    t.b = g->b;
    for (ptrdiff_t j = 0, n; j < g->n; j += n) {
        n = samba__min_index(4, g->run - x);
        for (ptrdiff_t i = 0; i < g->m; i++) {
            float *c = g->c + i * g->c_row + j;
            t.a = (const float *)g->a + i * g->a_row;
            samba__write_chains(&t, (int32_t)n, g->accumulate ? c : NULL, NULL,
                                g->row_bias ? g->row_bias + i : NULL, c);
        }

        x += n;
        t.b += n;
        if (x < g->run) continue;
        x = 0;
        t.b += g->step - g->run;
    }
}
#endif /* SAMBA__DIRECT */

