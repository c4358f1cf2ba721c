/* ==== [pool] ================================================================================== */
/* ---- Pooling over the last two axes. Attributes of max: kernel, stride, padding as (rows,
   columns), ceil_mode; of avg also exclude_padding; of adaptive avg only the rows and columns of y.
   avg_pool2d_backward appends the rows and columns of x. Padding is at most half the kernel and no
   window starts behind x, so that each window holds an element. Units are planes. ---- */
enum {
    SAMBA__MAX_WORDS = SAMBA__POOL_SIZE,
    SAMBA__AVG_WORDS = SAMBA__AVG_SIZE,
    SAMBA__ADAPTIVE_WORDS = SAMBA__AVG_TO_SIZE
};

typedef enum samba__pooling {
    SAMBA__MAX_FORWARD,
    SAMBA__AVG_FORWARD,
    SAMBA__MAX_BACKWARD,
    SAMBA__AVG_BACKWARD
} samba__pooling;

/* Outputs along one axis of n inputs; 0 after a refusal. */
SAMBA__FN int32_t samba__pooling_side(samba_call *c, int32_t n, const int32_t *attr)
{
    int64_t kernel = attr[SAMBA__POOL_KERNEL], stride = attr[SAMBA__POOL_STRIDE],
            padding = attr[SAMBA__POOL_PADDING], up = c->attr[SAMBA__POOL_CEIL_MODE] != 0;
    bool small = n + 2 * padding + kernel + stride <= INT32_MAX; /* any sum of these fits */
    if (kernel >= 1 && stride >= 1 && padding >= 0 && padding <= kernel / 2 && small) {
        int64_t room = n + 2 * padding - kernel + up * (stride - 1);
        int64_t out = room < 0 ? 0 : room / stride + 1;
        if (up && out > 0 && (out - 1) * stride >= n + padding) out--; /* starts behind x */
        if (out >= 1 && out <= INT32_MAX) return (int32_t)out;
    }

    samba_refuse(
        c, SAMBA_ESHAPE,
        "kernel %d, stride %d, padding %d do not fit %d elements: kernel and stride must be at least 1, padding at most half the kernel, and the kernel at most the elements with padding; all together are below 2^31",
        attr[SAMBA__POOL_KERNEL], attr[SAMBA__POOL_STRIDE], attr[SAMBA__POOL_PADDING], n);
    return 0;
}

/* The rule of the four ops. Backward: output 0 is dx, if pooling x makes a dy. */
SAMBA__FN bool samba__pooling_rule(samba_call *c, samba__pooling op)
{
    int32_t n_in = op == SAMBA__MAX_BACKWARD ? 2 : 1, more = op == SAMBA__AVG_BACKWARD ? 2 : 0;
    bool max = op == SAMBA__MAX_FORWARD || op == SAMBA__MAX_BACKWARD;
    bool adaptive = !max && c->n_attr < SAMBA__MAX_WORDS;
    int32_t words = max ? SAMBA__MAX_WORDS : SAMBA__AVG_WORDS;
    if (adaptive) words = SAMBA__ADAPTIVE_WORDS;
    if (!samba__expect_all_f32(c, n_in, n_in, words + more)) return false;

    samba_shape x = c->in[0].shape, y = x;
    const samba_shape *dy = &c->in[n_in - 1].shape;
    for (int32_t i = 0; i < 2 && x.ndim >= 2 && x.ndim <= SAMBA_MAX_DIMS; i++) {
        int32_t d = x.ndim - 2 + i;
        if (more) x.dim[d] = c->attr[words + i];
        y.dim[d] = adaptive ? c->attr[i] : samba__pooling_side(c, x.dim[d], c->attr + i);
        if (c->code) return false;
    }

    if (x.ndim < 2 || !samba__sound_shape(&x) || !samba__sound_shape(&y))
        return samba_refuse(
            c, SAMBA_ESHAPE,
            "x %S must end in rows and columns; neither it nor y %S may be empty or too large", &x,
            &y);

    c->out[0].shape = op <= SAMBA__AVG_FORWARD ? y : x;
    if (op > SAMBA__AVG_FORWARD && !samba__same_shape(&y, dy))
        return samba_refuse(c, SAMBA_ESHAPE, "dy is %S, but pooling %S makes %S", dy, &x, &y);
    return true;
}

SAMBA__FN void samba__pooling_words(const samba_pool_opts *opts, int32_t *attr)
{
    static const samba_pool_opts none = { { 0, 0 }, { 0, 0 }, { 0, 0 }, false, false };
    const samba_pool_opts *o = opts ? opts : &none;

    for (int32_t i = 0; i < 2; i++) {
        attr[SAMBA__POOL_KERNEL + i] = o->kernel[i] ? o->kernel[i] : o->kernel[0];
        attr[SAMBA__POOL_STRIDE + i] = o->stride[i] ? o->stride[i] : attr[SAMBA__POOL_KERNEL + i];
        attr[SAMBA__POOL_PADDING + i] = o->padding[i];
    }
    attr[SAMBA__POOL_CEIL_MODE] = o->ceil_mode;
    attr[SAMBA__AVG_EXCLUDE_PADDING] = o->exclude_padding;
}

/* An adaptive window takes all of x once, any other a kernel for each y. */
SAMBA__FN void samba__pooling_work(samba_work *w, const samba_call *c, samba__pooling op)
{
    const samba_spec *last = &c->in[c->n_in - 1], *y = op <= SAMBA__AVG_FORWARD ? c->out : last;
    int64_t n = samba_count(&y->shape);
    w->units[0] = samba__outer(&y->shape, y->shape.ndim - 2);
    w->flops = n + samba_count(&c->in[0].shape);
    if (c->n_attr < SAMBA__MAX_WORDS) return;
    w->flops
        = samba__flops(n, (int64_t)c->attr[SAMBA__POOL_KERNEL] * c->attr[SAMBA__POOL_KERNEL + 1])
        / 2;
}

typedef struct samba__pool_sides {
    ptrdiff_t in[2], out[2], kernel[2], stride[2], padding[2]; /* rows, columns */
    bool adaptive, exclude_padding;
} samba__pool_sides;

/* Inputs begin ... end-1 of output o along an axis; size counts padding, unless it is excluded.
   Adaptive: window o of m over n inputs is floor(o n/m) ... ceil((o+1) n/m) - 1. */
typedef struct samba__window {
    ptrdiff_t begin, end, size;
} samba__window;

SAMBA__INLINE samba__window samba__window_of(const samba__pool_sides *v, int axis, ptrdiff_t o)
{
    samba__window w;
    ptrdiff_t n = v->in[axis], m = v->out[axis];
    ptrdiff_t begin = v->adaptive ? o * n / m : o * v->stride[axis] - v->padding[axis];
    ptrdiff_t end = v->adaptive ? samba__ceil_index((o + 1) * n, m) : begin + v->kernel[axis];

    w.begin = samba__max_index(begin, 0);
    w.end = samba__min_index(end, n);
    w.size = v->exclude_padding ? w.end - w.begin
                                : samba__min_index(end, n + v->padding[axis]) - begin;
    return w;
}

/* Maxima, as each instruction set finds them. Pooling waits for memory, but maxima of planes in the
   cache took four times as long without vectors. */
typedef struct samba__pool_set {
    void (*max_plane)(const samba__pool_sides *v, const float *x, float *y);
    void (*max_plane_backward)(const samba__pool_sides *v, const float *x, const float *dy,
                               float *dx);
    void (*max_squares)(const samba__pool_sides *v, const float *x, float *y);
    void (*max_squares_backward)(const samba__pool_sides *v, const float *x, const float *dy,
                                 float *dx);
    float (*row_sum)(const float *x, ptrdiff_t n);
    void (*row_add)(float *y, float share, ptrdiff_t n); /* to each of n elements */
} samba__pool_set;

/* One of the four elements of a window of 2 x 2. Masks instead of choices, which compilers would
   turn into branches. */
SAMBA__INLINE void samba__max_tap(float g, int32_t tap, float *most, int32_t *best)
{
    int32_t more = (g > *most) | (g != g);
    *most = more ? g : *most;
    *best += (tap - *best) & -more;
}

/* The bits of dy at the tap that was largest, else those of 0. */
SAMBA__INLINE float samba__if_best(uint32_t bits, int32_t best, int32_t tap)
{
    return samba__bits_float(bits & (0u - (uint32_t)(best == tap)));
}

#endif /* SAMBA__TEMPLATE == 0 */

/* ---- A template: maxima, for each set -------------------------------------------------------- */
#if SAMBA__TEMPLATE == SAMBA__TEMPLATE_POOL && defined(SAMBA__SUFFIX)
#define samba__max_windows SAMBA__OF_NARROW(samba__max_windows)
#define samba__max_plane SAMBA__OF_NARROW(samba__max_plane)
#define samba__max_plane_backward SAMBA__OF_NARROW(samba__max_plane_backward)
#define samba__max_squares SAMBA__OF_NARROW(samba__max_squares)
#define samba__max_squares_backward SAMBA__OF_NARROW(samba__max_squares_backward)
#define samba__pool_sum SAMBA__OF_NARROW(samba__pool_sum)
#define samba__pool_add SAMBA__OF_NARROW(samba__pool_add)
#define samba__pool_kernels SAMBA__OF_NARROW(samba__pool_kernels)
#if SAMBA__VEC_LANES < 16 /* many rows are shorter than longer vectors */

/* A plane of maxima: pieces of rows of y, tap after tap. The maximum is the first, or the last NaN;
   it is found without a branch, because nobody predicts what data decide. */
SAMBA__KERNEL void samba__max_windows(const samba__pool_sides *v, bool forward, const float *x,
                                      const float *dy, float *to)
{
    enum { COLUMNS = SAMBA__IS_SMALL ? 16 : 64 };

    float most[COLUMNS];
    ptrdiff_t best[COLUMNS], by = v->stride[1], width = v->in[1];

    for (ptrdiff_t o = 0, n; o < v->out[0] * v->out[1]; o += n) {
        samba__window rows = samba__window_of(v, 0, o / v->out[1]);
        ptrdiff_t left = o % v->out[1] * by - v->padding[1];
        n = samba__min_index(v->out[1] - o % v->out[1], COLUMNS);

        for (ptrdiff_t i = 0; i < n; i++) {
            most[i] = -SAMBA__INF;
            best[i] = rows.begin * width + samba__max_index(left + i * by, 0);
        }

        for (ptrdiff_t tap = 0; tap < (rows.end - rows.begin) * v->kernel[1]; tap++) {
            ptrdiff_t column = left + tap % v->kernel[1], row = rows.begin + tap / v->kernel[1];
            ptrdiff_t at = row * width + column, end = n;
            ptrdiff_t i = column < 0 ? samba__ceil_index(-column, by) : 0;
            if (column + (n - 1) * by >= width) end = samba__ceil_index(width - column, by);
            for (; i < end; i++) {
                float g = x[at + i * by];
                bool more = g > most[i] || g != g;
                most[i] = more ? g : most[i];
                if (!forward) best[i] += (at + i * by - best[i]) & -(ptrdiff_t)more;
            }
        }

        if (forward)
            memcpy(to + o, most, (size_t)n * sizeof *to);
        else
            for (ptrdiff_t i = 0; i < n; i++)
                to[best[i]] += dy[o + i];
    }
}

SAMBA__VECTORIZED SAMBA__FN void samba__max_plane(const samba__pool_sides *v, const float *x,
                                                  float *y)
{
    samba__max_windows(v, true, x, NULL, y);
}

SAMBA__VECTORIZED SAMBA__FN void samba__max_plane_backward(const samba__pool_sides *v,
                                                           const float *x, const float *dy,
                                                           float *dx)
{
    samba__max_windows(v, false, x, dy, dx);
}

/* The same if windows of 2 x 2 fill x without overlap: every element of dx is written once. */
SAMBA__VECTORIZED SAMBA__FN void samba__max_squares(const samba__pool_sides *v, const float *x,
                                                    float *SAMBA__RESTRICT y)
{
    ptrdiff_t n = v->out[1], width = 2 * n;
    for (ptrdiff_t row = 0; row < v->out[0]; row++, x += 2 * width, y += n)
        for (ptrdiff_t i = 0; i < n; i++) {
            float most = x[2 * i];
            int32_t best = 0;
            samba__max_tap(x[2 * i + 1], 1, &most, &best);
            samba__max_tap(x[2 * i + width], 2, &most, &best);
            samba__max_tap(x[2 * i + width + 1], 3, &most, &best);
            y[i] = most;
        }
}

SAMBA__VECTORIZED SAMBA__FN void samba__max_squares_backward(const samba__pool_sides *v,
                                                             const float *x,
                                                             const float *SAMBA__RESTRICT dy,
                                                             float *SAMBA__RESTRICT dx)
{
    ptrdiff_t n = v->out[1], width = 2 * n;
    for (ptrdiff_t row = 0; row < v->out[0]; row++, x += 2 * width, dx += 2 * width, dy += n)
        for (ptrdiff_t i = 0; i < n; i++) {
            float most = x[2 * i];
            int32_t best = 0;
            samba__max_tap(x[2 * i + 1], 1, &most, &best);
            samba__max_tap(x[2 * i + width], 2, &most, &best);
            samba__max_tap(x[2 * i + width + 1], 3, &most, &best);

            uint32_t bits = samba__float_bits(dy[i]);
            dx[2 * i] = samba__if_best(bits, best, 0);
            dx[2 * i + 1] = samba__if_best(bits, best, 1);
            dx[2 * i + width] = samba__if_best(bits, best, 2);
            dx[2 * i + width + 1] = samba__if_best(bits, best, 3);
        }
}

SAMBA__VECTORIZED SAMBA__FN float samba__pool_sum(const float *x, ptrdiff_t n)
{
    return samba__row_sum(x, n);
}

SAMBA__VECTORIZED SAMBA__FN void samba__pool_add(float *y, float share, ptrdiff_t n)
{
    for (ptrdiff_t i = 0; i < n; i++)
        y[i] += share;
}

static const samba__pool_set samba__pool_kernels = {
    samba__max_plane, samba__max_plane_backward, samba__max_squares, samba__max_squares_backward,
    samba__pool_sum,  samba__pool_add,
};
#endif
#endif /* the template */

#if SAMBA__TEMPLATE == 0
#undef SAMBA__TEMPLATE
#define SAMBA__TEMPLATE SAMBA__TEMPLATE_POOL
#include SAMBA_SELF
#undef SAMBA__TEMPLATE
#define SAMBA__TEMPLATE 0

/* A plane of means, window by window. */
SAMBA__INLINE void samba__avg_plane(const samba__pool_set *set, const samba__pool_sides *v,
                                    const float *x, float *y)
{
    for (ptrdiff_t row = 0; row < v->out[0]; row++) {
        samba__window rows = samba__window_of(v, 0, row);
        for (ptrdiff_t column = 0; column < v->out[1]; column++, y++) {
            samba__window columns = samba__window_of(v, 1, column);
            ptrdiff_t n = columns.end - columns.begin, high = rows.end - rows.begin;
            const float *from = x + rows.begin * v->in[1] + columns.begin;
            float sum = 0.0f;
            if (n == v->in[1]) { /* whole rows are one long row */
                n *= high;
                high = 1;
            }

            for (ptrdiff_t i = 0; i < high; i++, from += v->in[1]) {
                if (n >= SAMBA__LANES) {
                    sum += set->row_sum(from, n);
                } else {
                    for (ptrdiff_t k = 0; k < n; k++)
                        sum += from[k];
                }
            }

            *y = sum / (float)(rows.size * columns.size);
        }
    }
}

/* Each element of a window gets its share of dy. */
SAMBA__INLINE void samba__avg_plane_backward(const samba__pool_set *set, const samba__pool_sides *v,
                                             const float *dy, float *dx)
{
    for (ptrdiff_t row = 0; row < v->out[0]; row++) {
        samba__window rows = samba__window_of(v, 0, row);
        for (ptrdiff_t column = 0; column < v->out[1]; column++, dy++) {
            samba__window columns = samba__window_of(v, 1, column);
            ptrdiff_t n = columns.end - columns.begin, high = rows.end - rows.begin;
            float *to = dx + rows.begin * v->in[1] + columns.begin;
            float share = *dy / (float)(rows.size * columns.size);
            if (n == v->in[1]) { /* whole rows are one long row */
                n *= high;
                high = 1;
            }

            for (ptrdiff_t i = 0; i < high; i++, to += v->in[1]) {
                if (n >= 8) {
                    set->row_add(to, share, n);
                } else {
                    for (ptrdiff_t k = 0; k < n; k++)
                        to[k] += share;
                }
            }
        }
    }
}

SAMBA__FN samba__pool_sides samba__pool_sides_of(const samba_args *a, samba__pooling op)
{
    const samba_shape *x = op == SAMBA__AVG_BACKWARD ? &a->out_spec->shape : &a->in_spec->shape;
    const samba_shape *y = &a->out_spec->shape; /* or dy, the last input */
    if (op > SAMBA__AVG_FORWARD) y = &a->in_spec[a->n_in - 1].shape;

    samba__pool_sides v = SAMBA__ZEROED;
    v.adaptive = a->n_attr < SAMBA__MAX_WORDS;
    v.exclude_padding = a->n_attr >= SAMBA__AVG_WORDS && a->attr[SAMBA__AVG_EXCLUDE_PADDING];

    for (int32_t i = 0; i < 2; i++) {
        v.in[i] = x->dim[x->ndim - 2 + i];
        v.out[i] = y->dim[y->ndim - 2 + i];
        if (v.adaptive) continue;
        v.kernel[i] = a->attr[SAMBA__POOL_KERNEL + i];
        v.stride[i] = a->attr[SAMBA__POOL_STRIDE + i];
        v.padding[i] = a->attr[SAMBA__POOL_PADDING + i];
    }
    return v;
}

/* Do windows of 2 x 2 fill x without overlap? Then there is no padding either. */
SAMBA__FN bool samba__has_squares(const samba__pool_sides *v)
{
    bool squares = true;
    for (int32_t i = 0; i < 2; i++)
        squares = squares && v->kernel[i] == 2 && v->stride[i] == 2 && v->in[i] == 2 * v->out[i];
    return squares;
}

SAMBA__FN void samba__pooling_run(const samba_args *a, samba__pooling op)
{
    const samba__pool_set *set = samba__set_of(a->isa)->pool;
    samba__pool_sides v = samba__pool_sides_of(a, op);
    ptrdiff_t x_plane = v.in[0] * v.in[1], y_plane = v.out[0] * v.out[1];
    bool squares = samba__has_squares(&v);

    const ptrdiff_t end = (ptrdiff_t)a->end;
    for (ptrdiff_t u = (ptrdiff_t)a->begin; u < end; u++) {
        const float *x = a->in[0] + u * x_plane, *dy = a->in[a->n_in - 1] + u * y_plane;
        float *y = a->out[0] + u * y_plane, *dx = a->out[0] + u * x_plane;

        if (op == SAMBA__MAX_FORWARD && squares) {
            set->max_squares(&v, x, y);
        } else if (op == SAMBA__MAX_FORWARD) {
            set->max_plane(&v, x, y);
        } else if (op == SAMBA__AVG_FORWARD) {
            samba__avg_plane(set, &v, x, y);
        } else if (op == SAMBA__MAX_BACKWARD && squares) {
            set->max_squares_backward(&v, x, dy, dx);
        } else {
            memset(dx, 0, (size_t)x_plane * sizeof *dx);

            if (op == SAMBA__MAX_BACKWARD)
                set->max_plane_backward(&v, x, dy, dx);
            else
                samba__avg_plane_backward(set, &v, dy, dx);
        }
    }
}

SAMBA__RULES(max_pool2d, samba__pooling_rule, samba__pooling_work, SAMBA__MAX_FORWARD)
SAMBA__RULES(max_pool2d_backward, samba__pooling_rule, samba__pooling_work, SAMBA__MAX_BACKWARD)
SAMBA__RULES(avg_pool2d, samba__pooling_rule, samba__pooling_work, SAMBA__AVG_FORWARD)
SAMBA__RULES(avg_pool2d_backward, samba__pooling_rule, samba__pooling_work, SAMBA__AVG_BACKWARD)

SAMBA__FN void samba__max_pool2d_kernel(const samba_args *a)
{
    samba__pooling_run(a, SAMBA__MAX_FORWARD);
}

SAMBA__FN void samba__max_pool2d_backward_kernel(const samba_args *a)
{
    samba__pooling_run(a, SAMBA__MAX_BACKWARD);
}

SAMBA__FN void samba__avg_pool2d_kernel(const samba_args *a)
{
    samba__pooling_run(a, SAMBA__AVG_FORWARD);
}

SAMBA__FN void samba__avg_pool2d_backward_kernel(const samba_args *a)
{
    samba__pooling_run(a, SAMBA__AVG_BACKWARD);
}

/* ---- max_pool2d: the largest of a window, NaN if it has one; dy goes to where that is:
       for (top = -INFINITY, iy = y0; iy < y1; iy++)
           for (ix = x0; ix < x1; ix++)
               if (x[iy][ix] > top || isnan(x[iy][ix])) top = x[iy][ix];
   ---- */
SAMBA__OP_API samba_tensor *samba_max_pool2d(samba_tensor *x, const samba_pool_opts *opts)
{
    int32_t attr[SAMBA__AVG_WORDS];
    samba__pooling_words(opts, attr);
    return samba__emit1(SAMBA__OP_max_pool2d, x, attr, SAMBA__MAX_WORDS);
}
SAMBA__GRAD1(max_pool2d, samba__emit2(SAMBA__OP_max_pool2d_backward, x, dy, g->attr, g->n_attr))

/* ---- avg_pool2d: the mean of a window; backward dy / size goes to each of its elements:
       for (sum = 0, iy = y0; iy < y1; iy++)
           for (ix = x0; ix < x1; ix++)
               sum += x[iy][ix];
       y[oy][ox] = sum / size;
   ---- */
SAMBA__OP_API samba_tensor *samba_avg_pool2d(samba_tensor *x, const samba_pool_opts *opts)
{
    int32_t attr[SAMBA__AVG_WORDS];
    samba__pooling_words(opts, attr);
    return samba__emit1(SAMBA__OP_avg_pool2d, x, attr, SAMBA__AVG_WORDS);
}

SAMBA__OP_API samba_tensor *samba_adaptive_avg_pool2d(samba_tensor *x, int32_t out_h, int32_t out_w)
{
    int32_t attr[SAMBA__ADAPTIVE_WORDS] = { out_h, out_w };
    return samba__emit1(SAMBA__OP_avg_pool2d, x, attr, SAMBA__ADAPTIVE_WORDS);
}

/* Emits avg_pool2d_backward: the attributes of the pooling, then the rows and columns of x. */
SAMBA__FN samba_tensor *samba__avg_backward(samba_tensor *dy, const samba_shape *x,
                                            const int32_t *attr, int32_t n_attr)
{
    int32_t words[SAMBA__AVG_WORDS + 2];
    memcpy(words, attr, (size_t)n_attr * sizeof *words);
    memcpy(words + n_attr, &x->dim[x->ndim - 2], 2 * sizeof *words);
    return samba__emit1(SAMBA__OP_avg_pool2d_backward, dy, words, n_attr + 2);
}
SAMBA__GRAD1(avg_pool2d, samba__avg_backward(dy, &x->shape, g->attr, g->n_attr))
SAMBA__GRAD1(avg_pool2d_backward, samba__emit1(SAMBA__OP_avg_pool2d, dy, g->attr, g->n_attr - 2))

