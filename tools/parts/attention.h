/* ==== [attention] ============================================================================= */
/* ---- scaled_dot_product_attention: P = softmax(q k^T scale + mask), y = P v, over blocks of keys.
   By definition, for query t of one head, S keys and D numbers in each:
       for (s = 0; s < S; s++)
           for (score[s] = mask[t][s], d = 0; d < D; d++)
               score[s] += q[t][d] * k[s][d] * scale;
       softmax(p, score, S);
       for (s = 0; s < S; s++)
           for (d = 0; d < D; d++)
               y[t][d] += p[s] * v[s][d];
   A row keeps its largest score so far and the sum of e^(score - largest), as samba__row_exp_sum
   does: Rabe, Staats, "Self-attention does not need O(n^2) memory", 2021. The second output is
   lse = largest + log(sum). With it the gradient has P = e^(score - lse) again, block by block:
   dv = P^T dy, dP = dy v^T, dS = P (dP - sum(dy y)) scale, dq = dS k, dk = dS^T q:
   Dao et al., "FlashAttention", NeurIPS 2022. The size of a block of keys is part of the
   arithmetic; blocks of queries are not, as the chains of a product go on from what is in memory.
   With dropout, M its mask over (*,T,S): y = (P M) v, dv = (P M)^T dy, dP = M (dy v^T).
   With q, k and v of bf16 all products are those in bf16 of [micro-kernel], which round P, dS and
   dy, too; y and the gradients are f32. Then a product over rows, for dk and dv, is a sum of 32
   rows at a time, counted from the first, so that a block of rows is a multiple of 32.
   Attributes: causal, scale, the key of the dropout layer. ---- */
#define SAMBA__ATTEND_KEYS 64
#define SAMBA__ATTEND_BAND 192 /* rows of a block, but with SAMBA_SMALL: */
#define SAMBA__ATTEND_SMALL 4
#define SAMBA__ATTEND_SMALL_BF16 SAMBA__BF16_STEPS
#define SAMBA__ATTEND_MOST \
    (!SAMBA__IS_SMALL            ? SAMBA__ATTEND_BAND \
         : SAMBA__HAS_TYPE(BF16) ? (int)SAMBA__ATTEND_SMALL_BF16 \
                                 : SAMBA__ATTEND_SMALL)

/* Rows of a block. */
SAMBA__FN int64_t samba__attend_rows(bool small, bool in_bf16)
{
    if (!small) return SAMBA__ATTEND_BAND;
    return in_bf16 ? (int64_t)SAMBA__ATTEND_SMALL_BF16 : SAMBA__ATTEND_SMALL;
}

/* What a thread needs: the buffers of a product, two blocks of scores. */
#define SAMBA__ATTEND_LOCAL \
    (SAMBA__GEMM_LOCAL + 2 * SAMBA__ATTEND_MOST * SAMBA__ATTEND_KEYS * sizeof(float))
typedef char
    samba__attend_fits[SAMBA__DEVICE_HALF || SAMBA__ATTEND_LOCAL <= SAMBA_LOCAL_BYTES ? 1 : -1];

/* samba_work.local: a host says what a small device needs. */
SAMBA__FN int64_t samba__need_attend(bool in_bf16)
{
    int64_t rows = samba__attend_rows(!SAMBA__DEVICE_HALF || SAMBA__IS_SMALL, in_bf16);
    int64_t buffers = SAMBA__DEVICE_HALF ? (int64_t)SAMBA__GEMM_LOCAL : 0;
    return buffers + 2 * rows * SAMBA__ATTEND_KEYS * (int64_t)sizeof(float);
}

typedef struct samba__attention_set samba__attention_set;

/* One element of the leading dimensions, and the current block of its scores. */
typedef struct samba__attention {
    const samba_args *args;
    const samba__attention_set *set;
    int64_t T, S, D, E, batch;
    int64_t b; /* the element */
    samba__dropping drop;
    float scale;
    bool causal;
    int32_t first, mask;   /* inputs: q, then k and v; the mask */
    samba_dtype type;      /* of q, k and v: f32, or bf16 if products are in bf16 */
    int64_t block;         /* rows of a block */
    const void *q, *k, *v; /* (T,D) (S,D) (S,E) */
    const float *mask_f32; /* at most one; (t,s) is at t * t_step + s * s_step */
    const uint8_t *mask_bool;
    int64_t t_step, s_step;
    int64_t t, rows, s, keys; /* the current block */
    float *p, *ds;            /* scores of a block: the thread's buffers */
} samba__attention;

/* What is computed row by row of a block, by each instruction set in its own way; products aside,
   all that takes time. top, sum, lse, delta are those of the block's rows. */
struct samba__attention_set {
    /* p = p scale + mask; -inf where a row may not look. */
    void (*mask_scores)(const samba__attention *at);
    void (*online_softmax_update)(const samba__attention *at, float *y, float *top, float *sum);
    /* y = y / sum, lse = top + log(sum), n rows of them. */
    void (*normalize)(const samba__attention *at, int64_t n, float *y, const float *top,
                      const float *sum, float *lse);
    /* delta = sum(dy y), n rows of it. */
    void (*delta)(const samba__attention *at, int64_t n, const float *dy, const float *y,
                  float *delta);
    /* From scores p and dP in ds: p = P, ds = dS. */
    void (*recompute)(const samba__attention *at, const float *lse, const float *delta);
};

/* Shapes only. */
SAMBA__FN samba__attention samba__attention_of(const samba_spec *in, const int32_t *attr,
                                               bool backward)
{
    samba__attention at = SAMBA__ZEROED;
    at.first = backward ? (int)SAMBA__ATTENTION_BACKWARD_Q : (int)SAMBA__ATTENTION_Q;
    at.mask = backward ? (int)SAMBA__ATTENTION_BACKWARD_MASK : (int)SAMBA__ATTENTION_MASK;

    const samba_shape *q = &in[at.first].shape, *v = &in[at.first + 2].shape;
    at.T = q->dim[q->ndim - 2];
    at.D = q->dim[q->ndim - 1];
    at.S = v->dim[v->ndim - 2];
    at.E = v->dim[v->ndim - 1];
    at.batch = samba__outer(q, q->ndim - 2);

    at.type = in[at.first].dtype;
    at.block = samba__attend_rows(SAMBA__IS_SMALL, at.type == SAMBA_BF16);
    at.causal = attr[SAMBA__ATTENTION_CAUSAL] != 0;
    at.scale = samba_attr_float(attr[SAMBA__ATTENTION_SCALE]);
    return at;
}

/* Does the mask let row t see a key? A float of -inf hides one. */
SAMBA__NOINLINE bool samba__attention_row_sees(const samba__attention *at, int64_t t)
{
    int64_t end = at->causal ? samba__min64(t + 1, at->S) : at->S, row = t * at->t_step;
    for (int64_t s = 0; s < end; s++) {
        int64_t m = row + s * at->s_step;
        bool hidden = (at->mask_bool && !at->mask_bool[m])
            || (at->mask_f32 && at->mask_f32[m] == -SAMBA__INF);
        if (!hidden) return true;
    }
    return false;
}

/* The mask of dropout for row i of the current block: 0, or what the rest is multiplied by. */
SAMBA__NOINLINE void samba__attention_keep(const samba__attention *at, int64_t i, float *keep)
{
    uint64_t e = at->drop.first + (uint64_t)(at->b * at->T + at->t + i) * (uint64_t)at->S
        + (uint64_t)at->s;
    uint32_t words[4];
    for (int64_t j = 0; j < at->keys; j++, e++) {
        if (j == 0 || e % 4 == 0) samba__philox(at->drop.key, e / 4, at->drop.counter, words);
        keep[j] = samba__unit(words[e % 4]) < at->drop.rate ? 0.0f : at->drop.scale;
    }
}

#endif /* SAMBA__TEMPLATE == 0 */

/* ---- A template: rows of a block, for each set ----------------------------------------------- */
#if SAMBA__TEMPLATE == SAMBA__TEMPLATE_ATTENTION && defined(SAMBA__SUFFIX)
#define samba__mask_scores SAMBA__OF_SET(samba__mask_scores)
#define samba__online_softmax_update SAMBA__OF_SET(samba__online_softmax_update)
#define samba__attention_normalize SAMBA__OF_SET(samba__attention_normalize)
#define samba__attention_delta SAMBA__OF_SET(samba__attention_delta)
#define samba__attention_gradients SAMBA__OF_SET(samba__attention_gradients)
#define samba__attention_kernels SAMBA__OF_SET(samba__attention_kernels)

SAMBA__VECTORIZED SAMBA__FN void samba__mask_scores(const samba__attention *at)
{
    int64_t n = at->keys, step = at->s_step;
    for (int64_t i = 0; i < at->rows; i++) {
        float *SAMBA__RESTRICT x = at->p + i * SAMBA__ATTEND_KEYS;
        int64_t t = at->t + i, m = t * at->t_step + at->s * step;
        const float *SAMBA__RESTRICT term = at->mask_f32;
        const uint8_t *SAMBA__RESTRICT may = at->mask_bool ? at->mask_bool + m : NULL;

        if (term)
            for (int64_t j = 0; j < n; j++)
                x[j] = samba__fma(x[j], at->scale, term[m + j * step]);
        else
            for (int64_t j = 0; j < n; j++)
                x[j] *= at->scale;

        if (may && step == 1)
            for (int64_t j = 0; j < n; j++)
                x[j] = may[j] ? x[j] : -SAMBA__INF;
        else if (may)
            for (int64_t j = 0; j < n; j++)
                x[j] = may[j * step] ? x[j] : -SAMBA__INF;

        if (at->causal)
            for (int64_t j = samba__max64(0, t + 1 - at->s); j < n; j++)
                x[j] = -SAMBA__INF;
    }
}

/* The update of an online softmax by one block: its scores x become e^(x - top), where top is the
   largest score of the row so far; where that grows, the sum and the output y of former blocks
   shrink by e^(old top - top). In three passes over the rows, so that their exponentials are
   computed as vectors. */
SAMBA__VECTORIZED SAMBA__FN void samba__online_softmax_update(const samba__attention *at, float *y,
                                                              float *top, float *sum)
{
    bool drops = at->drop.rate != 0.0f;
    float shrink[SAMBA__ATTEND_MOST], keep[SAMBA__ATTEND_KEYS];

    for (int64_t i = 0; i < at->rows; i++) {
        float most = samba__row_max(at->p + i * SAMBA__ATTEND_KEYS, (ptrdiff_t)at->keys);
        shrink[i] = top[i];
        top[i] = top[i] >= most ? top[i] : most;
    }

    SAMBA__IN_PLACE
    for (int64_t i = 0; i < at->rows; i++)
        shrink[i] = top[i] < SAMBA__INF ? samba__exp(shrink[i] - top[i]) : SAMBA__NAN;

    for (int64_t i = 0; i < at->rows; i++, y += at->E) {
        float *x = at->p + i * SAMBA__ATTEND_KEYS;
        if (top[i] == -SAMBA__INF) { /* nothing to attend yet */
            memset(x, 0, (size_t)at->keys * 4);
            continue;
        }

        if (shrink[i] != 1.0f)
            for (int64_t e = 0; e < at->E; e++)
                y[e] *= shrink[i];
        sum[i] = samba__fma(sum[i], shrink[i], samba__row_exp(x, x, top[i], (ptrdiff_t)at->keys));

        if (!drops) continue;
        samba__attention_keep(at, i, keep);
        for (int64_t j = 0; j < at->keys; j++)
            x[j] *= keep[j];
    }
}

/* A row that may look nowhere stays zero. One that may, but whose scores all fell to -inf, is NaN:
   what it looks at is lost. */
SAMBA__VECTORIZED SAMBA__FN void samba__attention_normalize(const samba__attention *at, int64_t n,
                                                            float *y, const float *top,
                                                            const float *sum, float *lse)
{
    for (int64_t i = 0; i < n; i++, y += at->E) {
        float share = sum[i] > 0.0f || sum[i] != sum[i] ? sum[i] : 1.0f;
        if (top[i] == -SAMBA__INF && samba__attention_row_sees(at, at->t + i)) share = SAMBA__NAN;
        for (int64_t e = 0; e < at->E; e++)
            y[e] /= share;
        lse[i] = share == share ? top[i] + samba__log(sum[i]) : share;
    }
}

SAMBA__VECTORIZED SAMBA__FN void samba__attention_delta(const samba__attention *at, int64_t n,
                                                        const float *dy, const float *y,
                                                        float *delta)
{
    for (int64_t i = 0; i < n; i++)
        delta[i] = samba__row_dot(dy + i * at->E, y + i * at->E, (ptrdiff_t)at->E);
}

SAMBA__VECTORIZED SAMBA__FN void samba__attention_gradients(const samba__attention *at,
                                                            const float *lse, const float *delta)
{
    bool drops = at->drop.rate != 0.0f;
    float keep[SAMBA__ATTEND_KEYS];

    for (int64_t i = 0; i < at->rows; i++) {
        float *SAMBA__RESTRICT x = at->p + i * SAMBA__ATTEND_KEYS;
        float *SAMBA__RESTRICT d = at->ds + i * SAMBA__ATTEND_KEYS;
        float top = lse[i] == -SAMBA__INF ? 0.0f : lse[i], sum = delta[i], zero = top - top;

        if (drops) {
            samba__attention_keep(at, i, keep);
            for (int64_t j = 0; j < at->keys; j++)
                d[j] *= keep[j];
        }

        for (int64_t j = 0; j < at->keys; j++) {
            x[j] = samba__exp_below(x[j] - top) + zero; /* or NaN */
            d[j] = x[j] * (d[j] - sum) * at->scale;
        }

        if (drops)
            for (int64_t j = 0; j < at->keys; j++)
                x[j] *= keep[j];
    }
}

static const samba__attention_set samba__attention_kernels = {
    samba__mask_scores,     samba__online_softmax_update, samba__attention_normalize,
    samba__attention_delta, samba__attention_gradients,
};
#endif /* the template */

#if SAMBA__TEMPLATE == 0
#undef SAMBA__TEMPLATE
#define SAMBA__TEMPLATE SAMBA__TEMPLATE_ATTENTION
#include SAMBA_SELF
#undef SAMBA__TEMPLATE
#define SAMBA__TEMPLATE 0

/* Row i of q, k or v, of n values each. */
SAMBA__FN const void *samba__attention_row(const samba__attention *at, const void *x, int64_t i,
                                           int64_t n)
{
    return (const uint8_t *)x + i * n * (int64_t)samba_dtype_size(at->type);
}

/* Points at element b of the batch. */
SAMBA__FN void samba__attention_seek(samba__attention *at, const samba_args *a, int64_t b)
{
    SAMBA_ASSERT(b >= 0 && b < at->batch);
    const samba_shape *q = &a->in_spec[at->first].shape;

    at->args = a;
    at->set = samba__set_of(a->isa)->attention;
    at->b = b;
    at->drop = samba__dropping_of(
        a, at->first ? (int)SAMBA__ATTENTION_BACKWARD_RATE : (int)SAMBA__ATTENTION_RATE,
        a->attr + SAMBA__ATTENTION_KEY, at->batch * at->T * at->S);

    at->p = a->local + SAMBA__GEMM_LOCAL / sizeof(float);
    at->ds = at->p + at->block * SAMBA__ATTEND_KEYS;
    at->q = samba__attention_row(at, a->in[at->first], b * at->T, at->D);
    at->k = samba__attention_row(at, a->in[at->first + 1], b * at->S, at->D);
    at->v = samba__attention_row(at, a->in[at->first + 2], b * at->S, at->E);

    if (at->mask >= a->n_in || !a->in[at->mask]) return;
    const samba_shape *m = &a->in_spec[at->mask].shape;
    int64_t offset = samba__stretched_at(m, q, q->ndim - 2, b);
    at->t_step = samba__stretched_step(m, q->ndim, q->ndim - 2);
    at->s_step = samba__stretched_step(m, q->ndim, q->ndim - 1);
    if (a->in_spec[at->mask].dtype == SAMBA_F32)
        at->mask_f32 = a->in[at->mask] + offset;
    else
        at->mask_bool = (const uint8_t *)(const void *)a->in[at->mask] + offset;
}

/* Does the mask let row t see a key of the current block? */
SAMBA__FN bool samba__attention_sees(const samba__attention *at, int64_t t)
{
    const uint8_t *row = at->mask_bool + t * at->t_step + at->s * at->s_step;
    /* Bytes that are all alike, as in most blocks of a mask, are found out faster by memcmp. */
    bool alike = at->s_step == 1 && !memcmp(row, row + 1, (size_t)at->keys - 1);
    if (alike) return row[0] != 0;

    for (int64_t j = 0; j < at->keys; j++)
        if (row[j * at->s_step]) return true;
    return false;
}

/* The first row from t on that sees a key of the current block, or `end`. */
SAMBA__FN int64_t samba__attention_first(const samba__attention *at, int64_t t, int64_t end)
{
    while (t < end && !samba__attention_sees(at, t))
        t++;
    return t;
}

/* Moves to the block of rows t ... and keys s ..., from the first row that sees a key of it. False:
   no row does. What is skipped must not depend on the size of a block, as a row that is not skipped
   meets a NaN or an infinity in v, even where it may not look: so the first row is looked for from
   where a block of a host would begin. In bf16 rows are summed 32 at a time, so it begins at a
   multiple of that. */
SAMBA__FN bool samba__attention_block(samba__attention *at, int64_t t, int64_t s)
{
    int64_t end = samba__min64(t + at->block, at->T);
    at->t = at->causal ? samba__max64(t, s) : t;
    at->s = s;
    at->keys = samba__min64(SAMBA__ATTEND_KEYS, at->S - s);

    if (at->mask_bool) {
        int64_t band = t - t % SAMBA__ATTEND_BAND;
        int64_t first = samba__attention_first(at, at->causal ? samba__max64(band, s) : band, end);
        if (first >= end) return false;
        if (at->type == SAMBA_BF16) first -= first % SAMBA__BF16_STEPS;
        at->t = samba__max64(at->t, first);
    }

    at->rows = end - at->t;
    SAMBA_ASSERT(at->keys > 0 && at->keys <= SAMBA__ATTEND_KEYS);
    SAMBA_ASSERT(at->rows <= at->block); /* a block of scores has room */
    return at->rows > 0;
}

/* An operand of a product: rows of q, k or v; or, of f32, of the gradient of y. */
typedef struct samba__attention_operand {
    const void *x;
    samba_dtype type;
    int64_t width; /* values of a row */
} samba__attention_operand;

SAMBA__FN samba__attention_operand samba__attention_of_type(const void *x, samba_dtype type,
                                                            int64_t width)
{
    samba__attention_operand operand = { x, type, width };
    return operand;
}

/* From row i on. */
SAMBA__FN const float *samba__attention_from(const samba__attention_operand *x, int64_t i)
{
    const uint8_t *first = (const uint8_t *)x->x;
    return (const float *)(const void *)(first + i * x->width * (int64_t)samba_dtype_size(x->type));
}

SAMBA__FN void samba__attention_multiply(const samba__attention *at, samba__gemm *g)
{
    g->in_bf16 = at->type == SAMBA_BF16;
    samba__gemm_run(g, 0, samba__gemm_tiles(g->m, g->n, g->k), at->args->local, at->args->isa);
}

/* The current block of x y^T, x (T,n), y (S,n). */
SAMBA__FN void samba__attention_product(const samba__attention *at, float *block,
                                        samba__attention_operand x, samba__attention_operand y)
{
    samba__gemm g = SAMBA__ZEROED;
    g.m = at->rows;
    g.n = at->keys;
    g.k = x.width;

    g.a = samba__attention_from(&x, at->t);
    g.a_type = x.type;
    g.a_row = x.width;
    g.a_col = 1;
    g.b = samba__attention_from(&y, at->s);
    g.b_type = y.type;
    g.b_row = 1;
    g.b_col = y.width;
    g.c = block;
    g.c_row = SAMBA__ATTEND_KEYS;
    samba__attention_multiply(at, &g);
}

/* to (T,n) += block x, x (S,n); or, by keys, to (S,n) += block^T x, x (T,n). */
SAMBA__FN void samba__attention_add(const samba__attention *at, float *to, const float *block,
                                    samba__attention_operand x, bool by_keys)
{
    samba__gemm g = SAMBA__ZEROED;
    g.m = by_keys ? at->keys : at->rows;
    g.n = x.width;
    g.k = by_keys ? at->rows : at->keys;

    g.a = block;
    g.a_type = SAMBA_F32;
    g.a_row = by_keys ? 1 : SAMBA__ATTEND_KEYS;
    g.a_col = by_keys ? SAMBA__ATTEND_KEYS : 1;
    g.b = samba__attention_from(&x, by_keys ? at->t : at->s);
    g.b_type = x.type;
    g.b_row = x.width;
    g.b_col = 1;
    g.c = to + (by_keys ? at->s : at->t) * x.width;
    g.c_row = x.width;
    g.accumulate = true;
    samba__attention_multiply(at, &g);
}

/* q, k and v as operands. */
SAMBA__FN samba__attention_operand samba__attention_q(const samba__attention *at)
{
    return samba__attention_of_type(at->q, at->type, at->D);
}

SAMBA__FN samba__attention_operand samba__attention_k(const samba__attention *at)
{
    return samba__attention_of_type(at->k, at->type, at->D);
}

SAMBA__FN samba__attention_operand samba__attention_v(const samba__attention *at)
{
    return samba__attention_of_type(at->v, at->type, at->E);
}

/* The current block of p = q k^T scale + mask. */
SAMBA__FN void samba__attention_scores(const samba__attention *at)
{
    samba__attention_product(at, at->p, samba__attention_q(at), samba__attention_k(at));
    at->set->mask_scores(at);
}

/* As many rows of k or v as a block has, of n values each, from row s on. */
SAMBA__FN void samba__attention_prefetch(const samba__attention *at, const void *x, int64_t s,
                                         int64_t n)
{
    const float *rows = (const float *)samba__attention_row(at, x, s, n);
    int64_t bytes = at->keys * n * (int64_t)samba_dtype_size(at->type);
    samba__prefetch_rows(rows, 16, bytes / 64);
}

/* y (T,E) and lse (T) of the rows t ... */
SAMBA__FN void samba__attention_rows(samba__attention *at, float *y, float *lse, int64_t t)
{
    int64_t rows = samba__min64(at->block, at->T - t), E = at->E;
    float *top = at->ds, *sum = top + at->block;
    bool few = rows <= 4; /* then most of the time goes into reading: prefetch */

    memset(y + t * E, 0, (size_t)(rows * E) * 4);
    for (int64_t i = 0; i < rows; i++) {
        top[i] = -SAMBA__INF;
        sum[i] = 0.0f;
    }

    for (int64_t s = 0; s < at->S; s += SAMBA__ATTEND_KEYS) {
        if (!samba__attention_block(at, t, s)) continue;
        SAMBA_ASSERT(at->t >= t && at->t + at->rows == t + rows);

        if (few) samba__attention_prefetch(at, at->v, s, E);
        samba__attention_scores(at);
        if (few) samba__attention_prefetch(at, at->k, s + at->keys, at->D);
        at->set->online_softmax_update(at, y + at->t * E, top + (at->t - t), sum + (at->t - t));
        samba__attention_add(at, y, at->p, samba__attention_v(at), false);
    }

    at->t = t;
    at->set->normalize(at, rows, y + t * E, top, sum, lse + t);
}

/* Phase 0: delta of rows t ...: sum(dy y), less what comes through lse. */
SAMBA__FN void samba__attention_begin_backward(const samba__attention *at, float *delta, int64_t t)
{
    const samba_args *a = at->args;
    int64_t row = at->b * at->T + t, n = samba__min64(at->block, at->T - t);
    const float *dy = a->in[SAMBA__ATTENTION_BACKWARD_DY] + row * at->E;
    const float *y = a->in[SAMBA__ATTENTION_BACKWARD_Y] + row * at->E;
    bool has_dlse = a->n_in > SAMBA__ATTENTION_BACKWARD_DLSE;
    const float *dlse = has_dlse ? a->in[SAMBA__ATTENTION_BACKWARD_DLSE] : NULL;

    at->set->delta(at, n, dy, y, delta + row);
    if (!dlse) return;
    for (int64_t i = row; i < row + n; i++)
        delta[i] -= dlse[i];
}

/* Recomputes the current block from lse and delta of each row: p = P, ds = dS. */
SAMBA__FN void samba__attention_recompute(const samba__attention *at)
{
    int64_t row = at->b * at->T + at->t;
    const float *lse = at->args->in[SAMBA__ATTENTION_BACKWARD_LSE] + row;
    const float *delta = (const float *)at->args->scratch + row;
    const float *dy = at->args->in[SAMBA__ATTENTION_BACKWARD_DY] + at->b * at->T * at->E;
    samba__attention_scores(at);
    samba__attention_product(at, at->ds, samba__attention_of_type(dy, SAMBA_F32, at->E),
                             samba__attention_v(at));
    at->set->recompute(at, lse, delta);
}

/* Many elements keep all threads busy: then phase 1 takes whole ones and computes P and dS once.
   Few are cut into blocks of keys, for dk and dv, and once more into blocks of rows, for dq. All
   sums have the same order either way. */
SAMBA__FN bool samba__attention_whole(const samba__attention *at)
{
    return at->batch >= 8;
}

/* By keys: dk and dv of the keys from ..., from all rows in order, and their part of dq if at once.
   Else: dq of the rows from ..., from all keys in order. */
SAMBA__FN void samba__attention_backward(samba__attention *at, int64_t from, bool by_keys)
{
    bool at_once = by_keys && samba__attention_whole(at);
    int64_t b = at->b;
    const float *dy = at->args->in[SAMBA__ATTENTION_BACKWARD_DY] + b * at->T * at->E;
    float *dq = at->args->out[0] + b * at->T * at->D, *dk = at->args->out[1] + b * at->S * at->D;
    float *dv = at->args->out[2] + b * at->S * at->E;

    int64_t size = by_keys ? samba__min64(SAMBA__ATTEND_KEYS, at->S - from)
                           : samba__min64(at->block, at->T - from);
    int64_t step = by_keys ? at->block : SAMBA__ATTEND_KEYS;

    memset((by_keys ? dk : dq) + from * at->D, 0, (size_t)(size * at->D) * 4);
    if (by_keys) memset(dv + from * at->E, 0, (size_t)(size * at->E) * 4);
    if (at_once && from == 0) memset(dq, 0, (size_t)(at->T * at->D) * 4);

    for (int64_t i = 0, end = by_keys ? at->T : at->S; i < end; i += step) {
        if (!samba__attention_block(at, by_keys ? i : from, by_keys ? from : i)) continue;
        samba__attention_recompute(at);
        if (by_keys) {
            samba__attention_add(at, dv, at->p, samba__attention_of_type(dy, SAMBA_F32, at->E),
                                 true);
            samba__attention_add(at, dk, at->ds, samba__attention_q(at), true);
        }
        if (!by_keys || at_once)
            samba__attention_add(at, dq, at->ds, samba__attention_k(at), false);
    }
}

SAMBA__FN void samba__attention_run(const samba_args *a, bool backward)
{
    samba__attention at = samba__attention_of(a->in_spec, a->attr, backward);
    int64_t step = a->phase == 1 ? SAMBA__ATTEND_KEYS : at.block;
    int64_t blocks = samba__ceil_div(a->phase == 1 ? at.S : at.T, step);
    int64_t each = a->phase == 1 && samba__attention_whole(&at) ? blocks : 1; /* of a unit */

    for (int64_t u = a->begin * each; u < a->end * each; u++) {
        int64_t b = u / blocks, i = u % blocks * step;
        SAMBA_ASSERT(i < (a->phase == 1 ? at.S : at.T));
        float *y = a->out[0] + b * at.T * at.E;
        samba__attention_seek(&at, a, b);

        if (!backward)
            samba__attention_rows(&at, y, a->out[1] + b * at.T, i);
        else if (a->phase == 0)
            samba__attention_begin_backward(&at, (float *)a->scratch, i);
        else
            samba__attention_backward(&at, i, a->phase == 1);
    }
}

/* The mask is bool or f32 and fits (*,T,S) by broadcasting; q is input `first`, k the next. */
SAMBA__FN bool samba__expect_mask(samba_call *c, int32_t first, int32_t mask)
{
    samba_shape score = c->in[first].shape, both;
    int32_t bad = 0;

    if (c->attr[SAMBA__ATTENTION_CAUSAL] < 0 || c->attr[SAMBA__ATTENTION_CAUSAL] > 1)
        return samba_refuse(c, SAMBA_EARG, "malformed call");
    float scale = samba_attr_float(c->attr[SAMBA__ATTENTION_SCALE]);
    if (scale - scale != 0.0f)
        return samba_refuse(c, SAMBA_ERANGE, "scale is %g; it must be finite", (double)scale);

    if (!samba__has(c, mask)) return true;
    const samba_spec *m = &c->in[mask];
    score.dim[score.ndim - 1] = c->in[first + 1].shape.dim[score.ndim - 2];

    if (m->dtype != SAMBA_F32 && m->dtype != SAMBA_BOOL)
        return samba_refuse(c, SAMBA_EDTYPE,
                            "the mask is %T, but must be bool or f32; use samba_cast",
                            (int)m->dtype);
    if (!samba__broadcast(&score, &m->shape, &both, &bad) || !samba__same_shape(&score, &both))
        return samba_refuse(
            c, SAMBA_ESHAPE,
            "mask %S does not fit the scores %S; make dimensions equal, or 1 to broadcast",
            &m->shape, &score);
    return true;
}

SAMBA__FN bool samba__attention_rule(samba_call *c, bool backward)
{
    int32_t n_in = c->n_in,
            first = backward ? (int)SAMBA__ATTENTION_BACKWARD_Q : (int)SAMBA__ATTENTION_Q;
    int32_t mask = backward ? (int)SAMBA__ATTENTION_BACKWARD_MASK : (int)SAMBA__ATTENTION_MASK;
    int32_t drop = backward ? (int)SAMBA__ATTENTION_BACKWARD_RATE : (int)SAMBA__ATTENTION_RATE;
    samba__binding b;
    if (!samba__expect(c, mask, drop + 3, 4)) return false;

    /* The optional inputs behind have rules of their own. */
    const samba_spec *given = c->in;
    samba_spec in[SAMBA__ATTENTION_BACKWARD_MASK];
    memcpy(in, given, (size_t)mask * sizeof *in);
    bool in_bf16 = true;
    for (int32_t i = first; i < first + 3; i++)
        in_bf16 = in_bf16 && given[i].dtype == SAMBA_BF16;
    for (int32_t i = first; in_bf16 && i < first + 3; i++)
        in[i].dtype = SAMBA_F32; /* otherwise as with f32 */

    c->in = in;
    c->n_in = mask;
    bool fits = samba__match(
        backward ? "*te,*td,*sd,*se,*te,*t->*td,*sd,*se" : "*td,*sd,*se->*te,*t", c, &b);
    c->in = given;
    c->n_in = n_in;
    if (!fits || !samba__expect_mask(c, first, mask)) return false;
    if (!samba__expect_dropping(c, drop)) return false;
    if (!backward || !samba__has(c, SAMBA__ATTENTION_BACKWARD_DLSE)) return true;

    const samba_spec *lse = &c->in[SAMBA__ATTENTION_BACKWARD_LSE],
                     *dlse = &c->in[SAMBA__ATTENTION_BACKWARD_DLSE];
    if (dlse->dtype != SAMBA_F32 || !samba__same_shape(&dlse->shape, &lse->shape))
        return samba_refuse(c, SAMBA_ESHAPE, "the gradient of lse must be f32 %S", &lse->shape);
    return true;
}

SAMBA__FN void samba__attention_work(samba_work *w, const samba_call *c, bool backward)
{
    samba__attention at = samba__attention_of(c->in, c->attr, backward);
    w->units[0] = at.batch * samba__ceil_div(at.T, at.block);
    w->local = (int32_t)samba__need_attend(at.type == SAMBA_BF16);
    bool whole = samba__attention_whole(&at);

    /* In floating point, as T S may be more than any tensor's count. */
    double pairs = (double)(at.batch * at.T) * (double)at.S * (at.causal ? 0.5 : 1.0);
    int products = 2; /* multiply-adds for each element of a row of q, k, v, y */
    if (backward) products = whole ? 6 : 8;
    double flops = pairs * ((double)(at.D + at.E) * products + 20.0);
    w->flops = flops < 1e18 ? (int64_t)flops : 1000000000000000000;

    if (!backward) return;
    w->n_phases = whole ? 2 : 3;
    w->units[1] = at.batch * (whole ? 1 : samba__ceil_div(at.S, SAMBA__ATTEND_KEYS));
    w->units[2] = w->units[0];
    w->scratch = at.batch * at.T * 4;
}

SAMBA__RULES(scaled_dot_product_attention, samba__attention_rule, samba__attention_work, false)
SAMBA__RULES(scaled_dot_product_attention_backward, samba__attention_rule, samba__attention_work,
             true)

SAMBA__FN void samba__scaled_dot_product_attention_kernel(const samba_args *a)
{
    samba__attention_run(a, false);
}

SAMBA__FN void samba__scaled_dot_product_attention_backward_kernel(const samba_args *a)
{
    samba__attention_run(a, true);
}

/* 1 / sqrt(width), in samba.h's own floating-point mode. A compiler may move arithmetic, but not
   what is volatile, over the change of the mode. */
SAMBA__FN float samba__attention_scale(const samba_shape *q)
{
    samba__float_mode callers = samba__enter_float_mode();
    volatile float width = q->ndim ? (float)q->dim[q->ndim - 1] : 1.0f;
    volatile float scale = samba__rsqrt(width);
    samba__leave_float_mode(callers);
    return scale;
}

/* drop: rate, seed and counter of a dropout layer with this key, or NULL. */
SAMBA__FN samba_tensor *samba__attend(samba_tensor *const qkv[3], samba_tensor *mask,
                                      const samba_attention_opts *opts, samba_tensor *const *drop,
                                      uint64_t key, samba_tensor **out)
{
    samba_tensor *in[SAMBA__ATTENTION_INPUTS] = { qkv[0], qkv[1], qkv[2], mask, NULL, NULL, NULL };
    if (!qkv[0]) return NULL;

    float scale = samba__or(opts ? opts->scale : 0.0f, samba__attention_scale(&qkv[0]->shape));
    int32_t attr[SAMBA__ATTENTION_END];
    attr[SAMBA__ATTENTION_CAUSAL] = opts && opts->causal;
    attr[SAMBA__ATTENTION_SCALE] = samba_float_attr(scale);
    samba__put_key(attr + SAMBA__ATTENTION_KEY, key);
    if (drop) memcpy(in + SAMBA__ATTENTION_RATE, drop, 3 * sizeof *in);

    (void)out; /* the device half does not trace */
    return samba__emit(qkv[0]->session, SAMBA__OP_scaled_dot_product_attention, in,
                       drop ? (int)SAMBA__ATTENTION_INPUTS : (int)SAMBA__ATTENTION_RATE, attr,
                       SAMBA__ATTENTION_END, out);
}

SAMBA__OP_API samba_tensor *samba_scaled_dot_product_attention(samba_tensor *q, samba_tensor *k,
                                                               samba_tensor *v, samba_tensor *mask,
                                                               const samba_attention_opts *opts)
{
    samba_tensor *qkv[3] = { q, k, v };
    return samba__attend(qkv, mask, opts, NULL, 0, NULL);
}

SAMBA__FN void samba__scaled_dot_product_attention_vjp(samba_vjp *g)
{
    samba_tensor *dy = g->dout[0],
                 *mask = g->n_in > SAMBA__ATTENTION_MASK ? g->in[SAMBA__ATTENTION_MASK] : NULL;
    if (!dy) dy = samba_full(g->session, g->out[0]->shape, 0.0f);

    samba_tensor *in[SAMBA__ATTENTION_BACKWARD_INPUTS]
        = { dy, g->in[0], g->in[1], g->in[2], g->out[0], g->out[1], mask, g->dout[1] };
    for (int32_t i = SAMBA__ATTENTION_RATE; i < g->n_in; i++)
        in[SAMBA__ATTENTION_BACKWARD_RATE - SAMBA__ATTENTION_RATE + i] = g->in[i];

    g->din[0] = samba__emit(g->session, SAMBA__OP_scaled_dot_product_attention_backward, in,
                            g->n_in > SAMBA__ATTENTION_RATE ? (int)SAMBA__ATTENTION_BACKWARD_INPUTS
                                                            : (int)SAMBA__ATTENTION_BACKWARD_RATE,
                            g->attr, 4, g->din);
}

