/* ==== [reduce] ================================================================================ */
/* ---- Reductions of a row. Lane l of 32 takes elements l, l + 32, ... in order; then lanes are
   combined in pairs: l with l + 16, l + 8, ... l + 1. The lanes fill the vectors of every
   instruction set, so the order of a sum, and with it its bits, is the same on all. ---- */
#define SAMBA__LANES 32

/* A sum of exponentials is 1 or more; 0 stands for a row whose maximum is not finite. */
SAMBA__INLINE float samba__unless_zero(float sum)
{
    return sum != 0.0f ? sum : SAMBA__NAN;
}

#endif /* SAMBA__TEMPLATE == 0 */

#if SAMBA__TEMPLATE == SAMBA__TEMPLATE_ROWS && defined(SAMBA__SUFFIX)
/* -- Rows -- */
#define samba__vecs_sum SAMBA__OF_SET(samba__vecs_sum)
#define samba__row_part SAMBA__OF_SET(samba__row_part)
#define samba__lanes_sum SAMBA__OF_SET(samba__lanes_sum)
#define samba__row_sum SAMBA__OF_SET(samba__row_sum)
#define samba__row_dot SAMBA__OF_SET(samba__row_dot)
#define samba__row_dot3 SAMBA__OF_SET(samba__row_dot3)
#define samba__row_squares SAMBA__OF_SET(samba__row_squares)
#define samba__row_max SAMBA__OF_SET(samba__row_max)
#define samba__row_exp SAMBA__OF_SET(samba__row_exp)
#define samba__row_exp_sum SAMBA__OF_SET(samba__row_exp_sum)
#define SAMBA__LANE_VECS (SAMBA__LANES / SAMBA__VEC_LANES)

/* The sum of all lanes: of l and l + 16, and so on. */
SAMBA__KERNEL float samba__vecs_sum(samba__vec *v)
{
    SAMBA__EACH_VEC
    for (int half = SAMBA__LANE_VECS / 2; half > 0; half /= 2) {
        SAMBA__EACH_VEC
        for (int k = 0; k < half; k++)
            v[k] = samba__vec_add(v[k], v[k + half]);
    }
    return samba__vec_sum(v[0]);
}

/* Of 32 floats. */
SAMBA__KERNEL float samba__lanes_sum(const float *lane)
{
    samba__vec v[SAMBA__LANE_VECS];
    SAMBA__EACH_VEC
    for (int k = 0; k < SAMBA__LANE_VECS; k++)
        v[k] = samba__vec_load(lane + k * SAMBA__VEC_LANES);
    return samba__vecs_sum(v);
}

/* Of x, which has n more elements: SAMBA__VEC_LANES or fewer, then zeros. */
SAMBA__KERNEL samba__vec samba__row_part(const float *x, ptrdiff_t n)
{
    return samba__vec_load_some(x, false, samba__mask_first(n));
}

/* sum of x[i] */
SAMBA__FN float samba__row_sum(const float *x, ptrdiff_t n)
{
    samba__vec v[SAMBA__LANE_VECS];
    SAMBA__EACH_VEC
    for (int k = 0; k < SAMBA__LANE_VECS; k++)
        v[k] = samba__vec_set(0.0f);

    for (; n >= SAMBA__LANES; n -= SAMBA__LANES, x += SAMBA__LANES) {
        SAMBA__EACH_VEC
        for (int k = 0; k < SAMBA__LANE_VECS; k++)
            v[k] = samba__vec_add(v[k], samba__vec_load(x + k * SAMBA__VEC_LANES));
    }

    SAMBA__EACH_VEC
    for (int k = 0; k < SAMBA__LANE_VECS; k++) {
        int i = k * SAMBA__VEC_LANES;
        if (i >= n) continue;
        v[k] = samba__vec_add(v[k], samba__row_part(x + i, n - i));
    }

    return samba__vecs_sum(v);
}

/* sum of x[i] y[i] */
SAMBA__FN float samba__row_dot(const float *x, const float *y, ptrdiff_t n)
{
    samba__vec v[SAMBA__LANE_VECS];
    SAMBA__EACH_VEC
    for (int k = 0; k < SAMBA__LANE_VECS; k++)
        v[k] = samba__vec_set(0.0f);

    for (; n >= SAMBA__LANES; n -= SAMBA__LANES, x += SAMBA__LANES, y += SAMBA__LANES) {
        SAMBA__EACH_VEC
        for (int k = 0; k < SAMBA__LANE_VECS; k++) {
            int i = k * SAMBA__VEC_LANES;
            v[k] = samba__vec_fma(samba__vec_load(x + i), samba__vec_load(y + i), v[k]);
        }
    }

    SAMBA__EACH_VEC
    for (int k = 0; k < SAMBA__LANE_VECS; k++) {
        int i = k * SAMBA__VEC_LANES;
        if (i >= n) continue;
        v[k] = samba__vec_fma(samba__row_part(x + i, n - i), samba__row_part(y + i, n - i), v[k]);
    }

    return samba__vecs_sum(v);
}

/* sum of x[i] y[i] z[i] */
SAMBA__FN float samba__row_dot3(const float *x, const float *y, const float *z, ptrdiff_t n)
{
    float lane[SAMBA__LANES] = { 0.0f };
    ptrdiff_t whole = n - n % SAMBA__LANES;

    for (ptrdiff_t at = 0; at < whole; at += SAMBA__LANES) {
        SAMBA__IN_PLACE
        SAMBA__EACH_VEC
        for (int l = 0; l < SAMBA__LANES; l++)
            lane[l] = samba__fma(x[at + l] * y[at + l], z[at + l], lane[l]);
    }
    for (ptrdiff_t i = whole; i < n; i++)
        lane[i - whole] = samba__fma(x[i] * y[i], z[i], lane[i - whole]);
    return samba__lanes_sum(lane);
}

/* sum of (x[i] - mean)^2 */
SAMBA__FN float samba__row_squares(const float *x, float mean, ptrdiff_t n)
{
    samba__vec v[SAMBA__LANE_VECS], d, less = samba__vec_set(-mean);
    SAMBA__EACH_VEC
    for (int k = 0; k < SAMBA__LANE_VECS; k++)
        v[k] = samba__vec_set(0.0f);

    for (; n >= SAMBA__LANES; n -= SAMBA__LANES, x += SAMBA__LANES) {
        SAMBA__EACH_VEC
        for (int k = 0; k < SAMBA__LANE_VECS; k++) {
            d = samba__vec_add(samba__vec_load(x + k * SAMBA__VEC_LANES), less);
            v[k] = samba__vec_fma(d, d, v[k]);
        }
    }

    SAMBA__EACH_VEC
    for (int k = 0; k < SAMBA__LANE_VECS; k++) {
        int i = k * SAMBA__VEC_LANES;
        if (i >= n) continue;
        d = samba__vec_add(samba__row_part(x + i, n - i), less);
        d = samba__vec_only(d, samba__mask_first(n - i));
        v[k] = samba__vec_fma(d, d, v[k]);
    }

    return samba__vecs_sum(v);
}

/* The largest, or NaN if there is one: of any order. */
SAMBA__FN float samba__row_max(const float *x, ptrdiff_t n)
{
    float top = -SAMBA__INF;
    samba__vec v[SAMBA__LANE_VECS];
    ptrdiff_t whole = n - n % SAMBA__LANES;
    for (ptrdiff_t i = whole; i < n; i++)
        top = samba__larger(top, x[i]);
    if (whole == 0) return top;

    SAMBA__EACH_VEC
    for (int k = 0; k < SAMBA__LANE_VECS; k++)
        v[k] = samba__vec_set(top);

    for (ptrdiff_t at = 0; at < whole; at += SAMBA__LANES) {
        SAMBA__EACH_VEC
        for (int k = 0; k < SAMBA__LANE_VECS; k++)
            v[k] = samba__vec_larger(v[k], samba__vec_load(x + at + k * SAMBA__VEC_LANES));
    }

    SAMBA__EACH_VEC
    for (int half = SAMBA__LANE_VECS / 2; half > 0; half /= 2) {
        SAMBA__EACH_VEC
        for (int k = 0; k < half; k++)
            v[k] = samba__vec_larger(v[k], v[k + half]);
    }
    return samba__vec_largest(v[0]);
}

/* y = e^(x - top), in place or not, and its sum: 0 if top is not finite, else 1 or more. */
SAMBA__FN float samba__row_exp(float *y, const float *x, float top, ptrdiff_t n)
{
    for (ptrdiff_t at = 0, end; at < n; at = end) {
        end = samba__min_index(at + 256, n);
        if (n > 1024) samba__prefetch_rows(x + n + at, 16, (end - at) / 16); /* the next row */
        SAMBA__IN_PLACE
        for (ptrdiff_t i = at; i < end; i++)
            y[i] = samba__exp_below(x[i] - top);
    }
    return samba__row_sum(y, n);
}

/* sum of e^(x - top), NaN if top is not finite; and top. x is read once: where a block brings a
   larger top, what was summed before shrinks by e^(old - new): Milakov, Gimelshein, "Online
   normalizer calculation for softmax", 2018. */
SAMBA__FN float samba__row_exp_sum(const float *x, ptrdiff_t n, float *top)
{
    enum { BLOCK = 256, ROOM = SAMBA__DIRECT ? SAMBA__LANES : BLOCK };

    float sum = 0.0f, old = *top = -SAMBA__INF, e[ROOM];
    for (ptrdiff_t at = 0; at < n; at += BLOCK) {
        ptrdiff_t m = samba__min_index(BLOCK, n - at);
        *top = samba__row_max(x + at, m);
        if (*top <= old)
            *top = old;
        else
            sum = samba__mul(sum, samba__exp(old - *top));

        samba__prefetch_rows(x + at + 2 * BLOCK, 16,
                             BLOCK / 16); /* loads go on while exp is computed */
#if SAMBA__DIRECT
        memset(e, 0, sizeof e); /* the lanes of samba__row_sum, as the stack is small */
        for (ptrdiff_t i = 0; i < m; i++)
            e[i % SAMBA__LANES] += samba__exp_below(x[at + i] - *top);
        sum += samba__vecs_sum(e);
#else
        sum += samba__row_exp(e, x + at, *top, m);
#endif
        old = *top;
    }
    return samba__unless_zero(sum);
}

#endif /* a template: kernels */
#if SAMBA__TEMPLATE == 0
#undef SAMBA__TEMPLATE
#define SAMBA__TEMPLATE SAMBA__TEMPLATE_ROWS
#include SAMBA_SELF
#undef SAMBA__TEMPLATE
#define SAMBA__TEMPLATE 0

/* ---- sum, mean, max, square_sum: attributes are a bit mask of axes and keepdim ----
   The reduced elements of one output are cut into pieces, by the shape alone, so that the result
   does not depend on threads. Phase 0 reduces each piece (into scratch, if there is more than
   one), phase 1 combines the pieces in order. */

typedef enum samba__reducer {
    SAMBA__REDUCER_SUM,
    SAMBA__REDUCER_MEAN,
    SAMBA__REDUCER_MAX,
    SAMBA__REDUCER_SQUARES
} samba__reducer;

#define SAMBA__REDUCE_PIECE 8192 /* elements of a piece if the innermost axis is reduced */
#define SAMBA__REDUCE_ROWS 512   /* rows of a piece if it is kept */
#define SAMBA__REDUCE_COLUMNS (SAMBA__IS_SMALL ? 16 : 64) /* columns of a unit if it is kept */

/* The walk of a reduction: kept dimensions make the outputs, reduced ones the runs. */
typedef struct samba__reduce_plan {
    bool rows;                 /* the innermost axis is reduced: a run is `inner` long */
    bool cut;                  /* the only run is cut into runs of SAMBA__REDUCE_PIECE */
    ptrdiff_t inner;           /* merged length of the innermost group of axes */
    ptrdiff_t n_out, n_kept;   /* outputs; outputs without the innermost group */
    ptrdiff_t runs;            /* runs (or rows) that make one output */
    ptrdiff_t piece, n_pieces; /* runs per piece */
    samba__walk kept, reduced; /* the other axes */
} samba__reduce_plan;

SAMBA__FN void samba__reduce_plan_of(samba__reduce_plan *f, const samba_shape *x, int32_t mask)
{
    const ptrdiff_t piece = SAMBA__REDUCE_PIECE;
    int32_t last = x->ndim - 1;
    memset(f, 0, sizeof *f);
    f->kept.n_in = f->reduced.n_in = 1;

    f->rows = last < 0 || (mask >> last & 1);
    f->inner = f->n_kept = f->runs = 1;
    for (; last >= 0 && (mask >> last & 1) == (int32_t)f->rows; last--)
        f->inner *= x->dim[last];

    for (int32_t i = 0; i <= last; i++) {
        ptrdiff_t step = (ptrdiff_t)samba__inner(x, i);
        bool gone = mask >> i & 1;
        samba__walk_push(gone ? &f->reduced : &f->kept, x->dim[i], &step);
        *(gone ? &f->runs : &f->n_kept) *= x->dim[i];
    }

    f->cut = f->rows && f->runs == 1 && f->inner > piece;
    if (f->cut) {
        f->runs = samba__ceil_index(f->inner, piece);
        samba__walk_push(&f->reduced, f->runs, &piece);
    }
    SAMBA_ASSERT(f->cut || f->n_kept * f->runs * f->inner == samba_count(x));

    f->n_out = f->rows ? f->n_kept : f->n_kept * f->inner;
    f->piece = f->rows ? samba__max_index(1, piece / f->inner) : SAMBA__REDUCE_ROWS;
    f->n_pieces = samba__ceil_index(f->runs, f->piece);
}

SAMBA__FN bool samba__reduce_rule(samba_call *c, samba__reducer kind)
{
    (void)kind;
    if (!samba__expect_all_f32(c, 1, 1, 2)) return false;
    const samba_shape *x = &c->in[0].shape;
    int32_t mask = c->attr[SAMBA__REDUCE_AXES], keep = c->attr[SAMBA__REDUCE_KEEPDIM];
    if (mask < 0 || mask >> x->ndim || keep < 0 || keep > 1)
        return samba_refuse(
            c, SAMBA_EARG, "an axis is out of range or named twice; input 0 %S has axes -%d ... %d",
            x, x->ndim, x->ndim - 1);

    c->out[0].shape = samba__reduced(x, mask, keep);
    return true;
}

SAMBA__FN void samba__reduce_work(samba_work *w, const samba_call *c, samba__reducer kind)
{
    samba__reduce_plan f;
    (void)kind;
    samba__reduce_plan_of(&f, &c->in[0].shape, c->attr[SAMBA__REDUCE_AXES]);
    ptrdiff_t blocks = f.rows ? 1 : samba__ceil_index(f.inner, SAMBA__REDUCE_COLUMNS);
    w->units[0] = f.n_kept * f.n_pieces * blocks;
    w->flops = samba_count(&c->in[0].shape);

    if (f.n_pieces == 1) return;
    w->n_phases = 2;
    w->units[1] = f.n_out;
    w->scratch = f.n_out * f.n_pieces * 4;
}

SAMBA__INLINE float samba__combine(samba__reducer kind, float a, float b)
{
    if (kind != SAMBA__REDUCER_MAX) return a + b;
    if (a != a || b != b) return a != a ? a : b;
    return a > b ? a : b;
}

/* Where run (or row) number i of a walk begins. */
SAMBA__FN ptrdiff_t samba__run_start(const samba__walk *w, ptrdiff_t i)
{
    ptrdiff_t at = i * w->step[0][0];
    if (w->ndim > 1) samba__walk_to(w, i, &at);
    return at;
}

#endif /* SAMBA__TEMPLATE == 0 */

#if SAMBA__TEMPLATE == SAMBA__TEMPLATE_OPS && defined(SAMBA__SUFFIX)
#define samba__reduce_row SAMBA__OF_NARROW(samba__reduce_row)
#define samba__add_columns SAMBA__OF_NARROW(samba__add_columns)
#define samba__reduce_rows SAMBA__OF_NARROW(samba__reduce_rows)
#define samba__reduce_columns SAMBA__OF_NARROW(samba__reduce_columns)
#define samba__reduce_pieces SAMBA__OF_NARROW(samba__reduce_pieces)
#define samba__reduce_run SAMBA__OF_NARROW(samba__reduce_run)
#define samba__argmax_kernel SAMBA__OF_NARROW(samba__argmax_kernel)
#if SAMBA__VEC_LANES < 16
SAMBA__FN float samba__reduce_row(samba__reducer kind, const float *x, ptrdiff_t n)
{
    if (kind == SAMBA__REDUCER_MAX) return samba__row_max(x, n);
    return kind == SAMBA__REDUCER_SQUARES ? samba__row_squares(x, 0.0f, n) : samba__row_sum(x, n);
}

/* One piece of one output whose innermost axis is reduced. */
SAMBA__FN float samba__reduce_rows(const samba__reduce_plan *f, samba__reducer kind, const float *x,
                                   ptrdiff_t begin, ptrdiff_t end)
{
    float value = 0.0f;
    for (ptrdiff_t r = begin; r < end; r++) {
        ptrdiff_t n = f->inner;
        if (f->cut) n = samba__min_index(SAMBA__REDUCE_PIECE, n - r * SAMBA__REDUCE_PIECE);
        float run = samba__reduce_row(kind, x + samba__run_start(&f->reduced, r), n);
        value = r == begin ? run : samba__combine(kind, value, run);
    }
    return value;
}

/* Adds a row of as many columns as a unit has, or its squares. */
SAMBA__KERNEL void samba__add_columns(float *acc, const float *x, bool squares)
{
    if (squares) {
        SAMBA__EACH_VEC
        for (int k = 0; k < SAMBA__REDUCE_COLUMNS; k += SAMBA__VEC_LANES) {
            samba__vec v = samba__vec_load(x + k);
            samba__vec_store(acc + k, samba__vec_fma(v, v, samba__vec_load(acc + k)));
        }
        return;
    }

    SAMBA__EACH_VEC
    for (int k = 0; k < SAMBA__REDUCE_COLUMNS; k += SAMBA__VEC_LANES)
        samba__vec_store(acc + k, samba__vec_add(samba__vec_load(acc + k), samba__vec_load(x + k)));
}

/* One piece of up to so many neighboring outputs whose innermost axis is kept. */
SAMBA__FN void samba__reduce_columns(const samba__reduce_plan *f, samba__reducer kind,
                                     const float *x, ptrdiff_t begin, ptrdiff_t end, float *y,
                                     ptrdiff_t n)
{
    bool max = kind == SAMBA__REDUCER_MAX, squares = kind == SAMBA__REDUCER_SQUARES;
    float acc[SAMBA__REDUCE_COLUMNS];
    const float *v = x + samba__run_start(&f->reduced, begin);
    for (ptrdiff_t j = 0; j < n; j++)
        acc[j] = squares ? v[j] * v[j] : v[j];

    for (ptrdiff_t r = begin + 1; r < end; r++) {
        v = x + samba__run_start(&f->reduced, r);

        if (n == SAMBA__REDUCE_COLUMNS && !max)
            samba__add_columns(acc, v, squares);
        else if (n == SAMBA__REDUCE_COLUMNS)
            for (int j = 0; j < SAMBA__REDUCE_COLUMNS; j++)
                acc[j] = samba__combine(kind, acc[j], v[j]);
        else if (max)
            for (ptrdiff_t j = 0; j < n; j++)
                acc[j] = samba__combine(kind, acc[j], v[j]);
        else if (squares)
            for (ptrdiff_t j = 0; j < n; j++)
                acc[j] = samba__fma(v[j], v[j], acc[j]);
        else
            for (ptrdiff_t j = 0; j < n; j++)
                acc[j] += v[j];
    }

    memcpy(y, acc, (size_t)n * sizeof *y);
}

SAMBA__FN void samba__reduce_pieces(const samba_args *a, const samba__reduce_plan *f,
                                    samba__reducer kind, float *y, float count)
{
    ptrdiff_t blocks = f->rows ? 1 : samba__ceil_index(f->inner, SAMBA__REDUCE_COLUMNS);
    const ptrdiff_t end = (ptrdiff_t)a->end;
    for (ptrdiff_t u = (ptrdiff_t)a->begin; u < end; u++) {
        ptrdiff_t p = u / blocks % f->n_pieces, kept = u / blocks / f->n_pieces,
                  first = p * f->piece;
        ptrdiff_t last = samba__min_index(first + f->piece, f->runs);
        ptrdiff_t j = u % blocks * SAMBA__REDUCE_COLUMNS, n = 1;
        const float *x = a->in[0] + samba__run_start(&f->kept, kept) + j;
        float *to = y + p * f->n_out + kept * (f->rows ? 1 : f->inner) + j;
        if (!f->rows) n = samba__min_index(SAMBA__REDUCE_COLUMNS, f->inner - j);

        if (f->rows)
            *to = samba__reduce_rows(f, kind, x, first, last);
        else
            samba__reduce_columns(f, kind, x, first, last, to, n);

        if (count == 1.0f) continue;
        for (ptrdiff_t i = 0; i < n; i++)
            to[i] /= count;
    }
}

/* Only a mean has a count other than 1; its sums are divided by it at the end. */
SAMBA__NOINLINE void samba__reduce_run(const samba_args *a, samba__reducer kind)
{
    samba__reduce_plan f;
    samba__reduce_plan_of(&f, &a->in_spec[0].shape, a->attr[SAMBA__REDUCE_AXES]);
    bool once = f.n_pieces == 1;
    float *sums = once ? a->out[0] : (float *)a->scratch, count = 1.0f;
    if (kind == SAMBA__REDUCER_MEAN)
        count = (float)((ptrdiff_t)samba_count(&a->in_spec[0].shape) / f.n_out);

    if (a->phase == 0) {
        samba__reduce_pieces(a, &f, kind, sums, once ? count : 1.0f);
        return;
    }

    const ptrdiff_t end = (ptrdiff_t)a->end;
    for (ptrdiff_t o = (ptrdiff_t)a->begin; o < end; o++) {
        float value = sums[o];
        for (ptrdiff_t p = 1; p < f.n_pieces; p++)
            value = samba__combine(kind, value, sums[p * f.n_out + o]);
        a->out[0][o] = value / count;
    }
}

SAMBA__FN void samba__argmax_kernel(const samba_args *a)
{
    const samba_shape *shape = &a->in_spec[0].shape;
    int64_t n = shape->dim[a->attr[SAMBA__ARGMAX_AXIS]],
            inner = samba__inner(shape, a->attr[SAMBA__ARGMAX_AXIS]);

    for (int64_t u = a->begin; u < a->end; u++) {
        const float *x = a->in[0] + u / inner * n * inner + u % inner;
        int32_t best = 0;
        for (int64_t i = 1; i < n; i++) {
            float top = x[best * inner], v = x[i * inner];
            if (v > top || (v != v && top == top)) best = (int32_t)i;
        }
        memcpy(a->out[0] + u, &best, sizeof best);
    }
}
#endif
#endif /* a template: kernels */
#if SAMBA__TEMPLATE == 0

/* The mask of a list of axes; -1 if one is out of range or twice there. No axes means all. */
SAMBA__FN int32_t samba__axis_mask(const samba_tensor *x, const samba_shape *axes)
{
    int32_t mask = 0;
    for (int32_t i = 0; i < axes->ndim && i < SAMBA_MAX_DIMS; i++) {
        int32_t axis = samba__wrap_axis(x, axes->dim[i]);
        if (axis < 0 || axis >= x->shape.ndim || (mask >> axis & 1)) return -1;
        mask |= 1 << axis;
    }
    return axes->ndim ? mask : (1 << x->shape.ndim) - 1;
}

/* Gives dy, from which axes were dropped, the rank of input 0 again, with 1 in their place. */
SAMBA__FN samba_tensor *samba__with_axes(const samba_vjp *g, samba_tensor *dy)
{
    return samba_reshape(dy, samba__reduced(&g->in[0]->shape, g->attr[SAMBA__REDUCE_AXES], true));
}

#define SAMBA__BUILD_REDUCTION(name) \
    SAMBA__OP_API samba_tensor *samba_##name(samba_tensor *x, samba_shape axes, bool keepdim) \
    { \
        int32_t attr[2] = { x ? samba__axis_mask(x, &axes) : 0, keepdim }; \
        return samba__emit1(SAMBA__OP_##name, x, attr, 2); \
    }
SAMBA__BUILD_REDUCTION(sum)
SAMBA__BUILD_REDUCTION(mean)
SAMBA__BUILD_REDUCTION(max)
SAMBA__GRAD1(sum, samba_expand(samba__with_axes(g, dy), x->shape))
SAMBA__GRAD1(
    mean,
    samba_expand(samba_scale(samba__with_axes(g, dy),
                             1.0f / (float)(samba_count(&x->shape) / samba_count(&y->shape))),
                 x->shape))

/* Each of the k elements that equal the maximum gets dy/k. */
SAMBA__FN void samba__max_vjp(samba_vjp *g)
{
    samba_tensor *y = samba__with_axes(g, g->out[0]), *dy = samba__with_axes(g, g->dout[0]);
    samba_tensor *top = samba_cast(samba_eq(g->in[0], y), SAMBA_F32);
    samba_tensor *ties = samba__emit1(SAMBA__OP_sum, top, g->attr, 2);
    g->din[0] = samba_mul(top, samba_div(dy, ties ? samba__with_axes(g, ties) : NULL));
}
/* Sum of squares of everything; the gradient norm is made of these. dx = 2 x dy */
SAMBA__GRAD1(square_sum, samba_scale(samba_mul(x, samba__with_axes(g, dy)), 2.0f))

/* mean, sum or all of (x - y)^2. */
SAMBA__OP_API samba_tensor *samba_mse(samba_tensor *x, samba_tensor *y, samba_reduction reduction)
{
    if ((unsigned)reduction > SAMBA_REDUCE_NONE && x)
        SAMBA__FAIL((x->session, SAMBA_ERANGE,
                     "in samba_mse of %s: reduction %d is not mean 0, sum 1, none 2", x->name,
                     (int32_t)reduction));

    samba_tensor *d = samba_sub(x, y), *square = samba_mul(d, d);
    if (d && !samba__same_shape(&x->shape, &y->shape))
        SAMBA__WARN((
            x->session,
            "in samba_mse(%s %S, %s %S): the shapes differ and are broadcast to %S; reshape one of them if each value has one target",
            x->name, &x->shape, y->name, &y->shape, &d->shape));

    if (reduction == SAMBA_REDUCE_NONE) return square;
    return reduction == SAMBA_REDUCE_SUM ? samba_sum(square, samba_scalar_shape(), false)
                                         : samba_mean(square, samba_scalar_shape(), false);
}

/* ---- argmax: the index of the first largest element; a NaN counts as largest ---- */
SAMBA__OP_API samba_tensor *samba_argmax(samba_tensor *x, int32_t axis, bool keepdim)
{
    int32_t attr[2] = { samba__wrap_axis(x, axis), keepdim };
    return samba__emit1(SAMBA__OP_argmax, x, attr, 2);
}

SAMBA__FN bool samba__argmax_shape(samba_call *c)
{
    if (!samba__expect_all_f32(c, 1, 1, 2) || !samba__expect_axis(c, c->attr[SAMBA__ARGMAX_AXIS]))
        return false;
    c->out[0].dtype = SAMBA_I32;
    c->out[0].shape = samba__reduced(&c->in[0].shape, 1 << c->attr[SAMBA__ARGMAX_AXIS],
                                     c->attr[SAMBA__ARGMAX_KEEPDIM] != 0);
    return true;
}

SAMBA__FN void samba__argmax_work(samba_work *w, const samba_call *c)
{
    w->units[0] = samba_count(&c->out[0].shape);
    w->flops = samba_count(&c->in[0].shape);
}

/* ---- argsort: the indices of the first `count` elements of each row in sorted order, by merging.
   Equal ones keep their order, and NaN is the largest, as in PyTorch. Along the last axis: the
   builder transposes others to there. ---- */
SAMBA__OP_API samba_tensor *samba_argsort(samba_tensor *x, int32_t axis, int32_t count,
                                          bool descending)
{
    if (!samba__find_axis(x, "argsort", &axis, 0)) return NULL;
    int32_t last = x->shape.ndim - 1, attr[SAMBA__ARGSORT_END];
    attr[SAMBA__ARGSORT_COUNT] = count ? count : x->shape.dim[axis];
    attr[SAMBA__ARGSORT_DESCENDING] = descending;

    samba_tensor *rows = samba_transpose(x, axis, last);
    samba_tensor *index = samba__emit1(SAMBA__OP_argsort, rows, attr, SAMBA__ARGSORT_END);
    return samba_transpose(index, axis, last);
}

SAMBA__FN bool samba__argsort_shape(samba_call *c)
{
    if (!samba__expect_all_f32(c, 1, 1, SAMBA__ARGSORT_END)) return false;
    const samba_shape *x = &c->in[0].shape;
    int32_t count = c->attr[SAMBA__ARGSORT_COUNT];
    if (x->ndim == 0) return samba_refuse(c, SAMBA_ESHAPE, "a scalar has no axis to sort along");
    if (count < 1 || count > x->dim[x->ndim - 1])
        return samba_refuse(c, SAMBA_ERANGE, "%d of %d elements are asked for", count,
                            x->dim[x->ndim - 1]);

    c->out[0].dtype = SAMBA_I32;
    c->out[0].shape = *x;
    c->out[0].shape.dim[x->ndim - 1] = count;
    return true;
}

/* Two lists of indices for each row. */
SAMBA__FN void samba__argsort_work(samba_work *w, const samba_call *c)
{
    int64_t count = samba_count(&c->in[0].shape), n = samba__last_dim(&c->in[0]), steps = 1;
    while (n >> steps)
        steps++;
    w->units[0] = count / n;
    w->scratch = count * 2 * (int64_t)sizeof(int32_t);
    w->flops = count * steps;
}

/* Does x stand before y where they differ? */
SAMBA__INLINE bool samba__sorts_before(float x, float y, bool descending)
{
    bool below = x < y || (y != y && x == x), above = y < x || (x != x && y == y);
    return descending ? above : below;
}

/* Merges the sorted lists from[begin,middle) and from[middle,end). */
SAMBA__FN void samba__merge_indices(const float *x, const int32_t *from, int32_t *to, int64_t begin,
                                    int64_t middle, int64_t end, bool descending)
{
    int64_t i = begin, j = middle;
    for (int64_t k = begin; k < end; k++) {
        bool second = i == middle;
        if (i < middle && j < end) second = samba__sorts_before(x[from[j]], x[from[i]], descending);
        to[k] = second ? from[j++] : from[i++];
    }
}

SAMBA__KERNEL void samba__argsort_kernel(const samba_args *a)
{
    int64_t n = samba__last_dim(a->in_spec), count = a->attr[SAMBA__ARGSORT_COUNT];
    bool descending = a->attr[SAMBA__ARGSORT_DESCENDING];

    for (int64_t u = a->begin; u < a->end; u++) {
        const float *x = a->in[0] + u * n;
        int32_t *from = (int32_t *)a->scratch + u * 2 * n, *to = from + n;
        for (int64_t i = 0; i < n; i++)
            from[i] = (int32_t)i;

        for (int64_t width = 1; width < n; width *= 2) {
            for (int64_t begin = 0; begin < n; begin += 2 * width) {
                int64_t middle = samba__min64(begin + width, n);
                int64_t end = samba__min64(middle + width, n);
                samba__merge_indices(x, from, to, begin, middle, end, descending);
            }

            int32_t *sorted = to;
            to = from;
            from = sorted;
        }
        memcpy(a->out[0] + u * count, from, (size_t)count * sizeof *from);
    }
}

