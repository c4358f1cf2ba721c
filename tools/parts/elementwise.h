/* ==== [elementwise] =========================================================================== */
/* ---- Elementwise ops: one driver walks the broadcast, one loop for each row computes ---- */
/* elements per call of a loop: four such buffers stay in L1, or on a small stack */
#define SAMBA__RUN (SAMBA__IS_SMALL ? 32 : 256)

/* Where element `at` of an input, or of output 0, lies: any type. */
SAMBA__INLINE const uint8_t *samba__in_bytes(const samba_args *a, int32_t i, int64_t at)
{
    size_t offset = (size_t)at * samba_dtype_size(a->in_spec[i].dtype);
    return (const uint8_t *)(const void *)a->in[i] + offset;
}

SAMBA__INLINE uint8_t *samba__out_bytes(const samba_args *a, int64_t at)
{
    return (uint8_t *)(void *)a->out[0] + (size_t)at * samba_dtype_size(a->out_spec[0].dtype);
}

typedef void (*samba__loop_fn)(float *y, const float *a, const float *b, const float *c,
                               const float *p, ptrdiff_t n);

/* The output's dimensions with the step of each input along them, mergeable ones merged. */
typedef struct samba__walk {
    int32_t ndim, n_in;
    ptrdiff_t dim[SAMBA_MAX_DIMS];
    ptrdiff_t step[3][SAMBA_MAX_DIMS]; /* in elements; 0 where an input is stretched */
} samba__walk;

SAMBA__FN void samba__walk_push(samba__walk *w, ptrdiff_t dim, const ptrdiff_t *step)
{
    bool merge = w->ndim > 0;
    int32_t last = w->ndim - 1;
    if (dim == 1) return;
    SAMBA_ASSERT(dim > 0);

    for (int32_t k = 0; merge && k < w->n_in; k++)
        merge = w->step[k][last] == step[k] * dim;
    SAMBA_ASSERT(merge || w->ndim < SAMBA_MAX_DIMS);
    if (!merge) last = w->ndim++;
    w->dim[last] = merge ? w->dim[last] * dim : dim;
    for (int32_t k = 0; k < w->n_in; k++)
        w->step[k][last] = step[k];
}

/* The step of x along dimension i of a result of n dimensions; 0 where x is stretched. */
SAMBA__FN ptrdiff_t samba__stretched_step(const samba_shape *x, int32_t n, int32_t i)
{
    SAMBA_ASSERT(i >= 0 && i < n && x->ndim <= n);
    int32_t own = i - (n - x->ndim);
    return own < 0 || x->dim[own] == 1 ? 0 : (ptrdiff_t)samba__inner(x, own);
}

/* Where x is at element `index` of the first n dimensions of y, which x is stretched to. */
SAMBA__FN int64_t samba__stretched_at(const samba_shape *x, const samba_shape *y, int32_t n,
                                      int64_t index)
{
    int64_t at = 0;
    for (int32_t i = n - 1; i >= 0; index /= y->dim[i--])
        at += index % y->dim[i] * samba__stretched_step(x, y->ndim, i);
    return at;
}

SAMBA__FN void samba__walk_open(samba__walk *w, const samba_shape *out, const samba_spec *in,
                                int32_t n_in)
{
    memset(w, 0, sizeof *w);
    w->n_in = n_in;
    for (int32_t i = 0; i < out->ndim; i++) {
        ptrdiff_t step[3] = { 0, 0, 0 };
        for (int32_t k = 0; k < n_in; k++)
            step[k] = samba__stretched_step(&in[k].shape, out->ndim, i);
        samba__walk_push(w, out->dim[i], step);
    }
    if (w->ndim == 0) w->dim[w->ndim++] = 1;
}

/* Offsets of element e in each input; returns how many elements follow in the last dimension. */
SAMBA__FN ptrdiff_t samba__walk_to(const samba__walk *w, ptrdiff_t e, ptrdiff_t *offset)
{
    ptrdiff_t left = 0, sum[3] = { 0, 0, 0 };
    for (int32_t i = w->ndim - 1; i >= 0; i--) {
        ptrdiff_t rest = i ? e / w->dim[i] : 0, at = e - rest * w->dim[i];
        SAMBA_ASSERT(at >= 0 && at < w->dim[i]); /* e is an element */
        if (i == w->ndim - 1) left = w->dim[i] - at;
        for (int32_t k = 0; k < w->n_in; k++)
            sum[k] += at * w->step[k][i];
        e = rest;
    }

    for (int32_t k = 0; k < w->n_in; k++)
        offset[k] = sum[k];
    return left;
}

/* Any types in; f32 out, or the inputs' one half type if all have it; comparisons give bool. */
SAMBA__FN bool samba__map_shape(samba_call *c, int32_t arity, int32_t n_attr, samba_dtype result)
{
    int32_t bad = 0, first = arity == 3 && c->n_in > 0 && c->in[0].dtype == SAMBA_BOOL ? 1 : 0;
    if (!samba__expect(c, arity, arity, n_attr)) return false;

    samba_shape y = c->in[0].shape;
    samba_dtype type = c->in[first].dtype;
    for (int32_t i = 1; i < arity; i++)
        if (!samba__broadcast(&y, &c->in[i].shape, &y, &bad))
            return samba_refuse(
                c, SAMBA_ESHAPE,
                "the shapes differ in dimension %d of the result; make them equal, or 1 to broadcast",
                bad);

    for (int32_t i = first; i < arity; i++)
        type = c->in[i].dtype == type ? type : SAMBA_F32;
    if (!samba__is_float(type)) type = SAMBA_F32;

    c->out[0].dtype = result == SAMBA_BOOL ? SAMBA_BOOL : type;
    c->out[0].shape = y;
    return true;
}

SAMBA__FN void samba__map_work(samba_work *w, const samba_call *c)
{
    w->units[0] = samba_count(&c->out[0].shape);
    w->part = 1;
}

/* One unit for each element, but not to be fused: it may read other elements of its inputs. */
SAMBA__FN void samba__flat_work(samba_work *w, const samba_call *c)
{
    w->units[0] = samba_count(&c->out[0].shape);
}

SAMBA__FN void samba__single_work(samba_work *w, const samba_call *c)
{
    (void)c;
    w->units[0] = 1;
}

/* What an elementwise op computes, and its shape rule. */
#define SAMBA__DEFINE_MAP(wire, gradient, spread, name, arity, value, cost, attributes, type) \
    SAMBA__INLINE float samba__##name##_value(float a, float b, float c, const float *p) \
    { \
        (void)a, (void)b, (void)c, (void)p; \
        return value; \
    } \
    SAMBA__FN bool samba__##name##_shape(samba_call *c) \
    { \
        return samba__map_shape(c, arity, SAMBA__##attributes##_END, SAMBA_##type); \
    }
#define SAMBA__NO_ROW(wire, gradient, spread, name, ...)
SAMBA__OPS(SAMBA__DEFINE_MAP, SAMBA__DEFINE_MAP, SAMBA__NO_ROW, SAMBA__NO_ROW, SAMBA__NO_ROW)

enum { SAMBA__CURVE_BLOCK = 32 };

/* Sums a gradient over the dimensions along which input i was stretched; a leaf's stays f32. */
SAMBA__FN samba_tensor *samba__to_input(const samba_vjp *g, int32_t i, samba_tensor *dy)
{
    const samba_tensor *x = g->in[i];
    samba_shape axes = samba_scalar_shape();
    if (!dy || !x || !samba__is_float(x->dtype)) return NULL;

    int32_t lead = dy->shape.ndim - x->shape.ndim;
    for (int32_t k = 0; k < dy->shape.ndim; k++) {
        int32_t d = k < lead ? 1 : x->shape.dim[k - lead];
        if (k < lead || d != dy->shape.dim[k]) axes.dim[axes.ndim++] = k;
    }

    if (axes.ndim) dy = samba_sum(samba_cast(dy, SAMBA_F32), axes, true);
    if (lead) dy = samba_reshape(dy, x->shape);
    return x->dtype == SAMBA_F32 || !x->node ? dy : samba_cast(dy, x->dtype);
}

/* The builders of ops without attributes, and gradients written in dy, the inputs and y. */
#define SAMBA__BUILD1(name) \
    SAMBA__OP_API samba_tensor *samba_##name(samba_tensor *x) \
    { \
        return samba__emit1(SAMBA__OP_##name, x, NULL, 0); \
    }
#define SAMBA__BUILD2(name) \
    SAMBA__OP_API samba_tensor *samba_##name(samba_tensor *a, samba_tensor *b) \
    { \
        return samba__emit2(SAMBA__OP_##name, a, b, NULL, 0); \
    }
/* The builder of an op with one float. */
#define SAMBA__BUILD1F(name, number) \
    SAMBA__OP_API samba_tensor *samba_##name(samba_tensor *x, float number) \
    { \
        int32_t attr = samba_float_attr(number); \
        return samba__emit1(SAMBA__OP_##name, x, &attr, 1); \
    }
#define SAMBA__GRAD1(name, dx) \
    SAMBA__FN void samba__##name##_vjp(samba_vjp *g) \
    { \
        samba_tensor *dy = g->dout[0], *x = g->in[0], *y = g->out[0]; \
        (void)x, (void)y; \
        g->din[0] = dx; \
    }
#define SAMBA__GRAD2(name, da, db) \
    SAMBA__FN void samba__##name##_vjp(samba_vjp *g) \
    { \
        samba_tensor *dy = g->dout[0], *a = g->in[0], *b = g->in[1], *y = g->out[0]; \
        (void)a, (void)b, (void)y; \
        g->din[0] = samba__to_input(g, 0, da); \
        g->din[1] = samba__to_input(g, 1, db); \
    }
#define SAMBA__UNARY(name, dx) \
    SAMBA__BUILD1(name) \
    SAMBA__GRAD1(name, dx)
#define SAMBA__BINARY(name, da, db) \
    SAMBA__BUILD2(name) \
    SAMBA__GRAD2(name, da, db)
/* dx of ops that have a gradient op, which needs dy and x or y; or dy and two more. */
#define SAMBA__BY_OP(name, x) samba__emit2(SAMBA__OP_##name##_backward, dy, x, g->attr, g->n_attr)
#define SAMBA__BY_OP3(name, x, y) samba__emit3(SAMBA__OP_##name, dy, x, y, NULL, 0)
SAMBA__BINARY(add, dy, dy)
SAMBA__BINARY(sub, dy, samba_neg(dy))
SAMBA__BINARY(mul, samba_mul(dy, b), samba_mul(dy, a))
SAMBA__BINARY(div, samba_div(dy, b), samba_neg(samba_mul(samba_div(dy, b), y)))
/* y = a^b: da = dy b a^(b-1), 0 where b is 0; db = dy y log(a), 0 where a is 0 and y finite */
SAMBA__BINARY(pow, SAMBA__BY_OP3(pow_backward, a, b), SAMBA__BY_OP3(pow_backward_exponent, a, y))
/* The larger operand takes the gradient; equal ones take half each. Where one is NaN both take it
   all, as in PyTorch: no comparison holds then, and none may end a NaN. */
SAMBA__BINARY(maximum, SAMBA__BY_OP3(maximum_backward, a, b), SAMBA__BY_OP3(maximum_backward, b, a))
SAMBA__BINARY(minimum, SAMBA__BY_OP3(maximum_backward, b, a), SAMBA__BY_OP3(maximum_backward, a, b))
SAMBA__BUILD2(eq)
SAMBA__BUILD2(ne)
SAMBA__BUILD2(lt)
SAMBA__BUILD2(le)
SAMBA__BUILD2(gt)
SAMBA__BUILD2(ge)

SAMBA__OP_API samba_tensor *samba_where(samba_tensor *cond, samba_tensor *a, samba_tensor *b)
{
    return samba__emit3(SAMBA__OP_where, cond, a, b, NULL, 0);
}

SAMBA__FN void samba__where_vjp(samba_vjp *g)
{
    samba_tensor *zero = samba_full(g->session, samba_scalar_shape(), 0.0f), *dy = g->dout[0];
    g->din[1] = samba__to_input(g, 1, samba_where(g->in[0], dy, zero));
    g->din[2] = samba__to_input(g, 2, samba_where(g->in[0], zero, dy));
}
SAMBA__UNARY(neg, samba_neg(dy))
SAMBA__UNARY(exp, samba_mul(dy, y))
SAMBA__UNARY(log, samba_div(dy, x))
SAMBA__UNARY(sqrt, samba_div(samba_scale(dy, 0.5f), y))
SAMBA__UNARY(rsqrt, samba_scale(samba_mul(dy, samba_mul(y, samba_mul(y, y))), -0.5f))
SAMBA__UNARY(softplus, samba_mul(dy, samba_sigmoid(x)))
SAMBA__UNARY(sin, samba_mul(dy, samba_cos(x)))
SAMBA__UNARY(cos, samba_neg(samba_mul(dy, samba_sin(x))))
/* dy 2/sqrt(pi) e^(-x^2) */
SAMBA__UNARY(erf, samba_mul(dy, samba_scale(samba_exp(samba_neg(samba_mul(x, x))), 1.12837917f)))
SAMBA__UNARY(log1p, samba_div(dy, samba_shift(x, 1.0f)))
SAMBA__UNARY(expm1, samba_mul(dy, samba_exp(x)))
SAMBA__BUILD1(floor)
SAMBA__BUILD1(ceil)
SAMBA__BUILD1(round)
SAMBA__BUILD1(sign)
SAMBA__BUILD1(detach)
SAMBA__BUILD1F(scale, factor)
SAMBA__GRAD1(scale, samba_scale(dy, samba_attr_float(g->attr[SAMBA__SCALE_FACTOR])))
SAMBA__BUILD1F(shift, term)
SAMBA__GRAD1(shift, dy)
SAMBA__UNARY(abs, SAMBA__BY_OP(abs, x))
SAMBA__UNARY(relu, SAMBA__BY_OP(relu, y))
SAMBA__UNARY(sigmoid, SAMBA__BY_OP(sigmoid, y))
SAMBA__UNARY(tanh, SAMBA__BY_OP(tanh, y))
SAMBA__UNARY(gelu, SAMBA__BY_OP(gelu, x)) /* Hendrycks, Gimpel, "Gaussian error linear units" */
SAMBA__UNARY(gelu_tanh, SAMBA__BY_OP(gelu_tanh, x))
SAMBA__UNARY(silu, SAMBA__BY_OP(silu, x))
SAMBA__BUILD1F(leaky_relu, slope)
SAMBA__GRAD1(leaky_relu, SAMBA__BY_OP(leaky_relu, x))
/* Second derivatives: the gradients of dx = dy f'(v). That of dy is made as dx is. */
#define SAMBA__SECOND(name, dv) \
    SAMBA__FN void samba__##name##_backward_vjp(samba_vjp *g) \
    { \
        samba_tensor *dx = g->dout[0], *dy = g->in[0], *v = g->in[1]; \
        (void)dy; \
        g->din[0] = samba__emit2(SAMBA__OP_##name##_backward, dx, v, g->attr, g->n_attr); \
        g->din[1] = dv; \
    }
SAMBA__SECOND(relu, NULL)
SAMBA__SECOND(leaky_relu, NULL)
SAMBA__SECOND(tanh, samba_scale(samba_mul(samba_mul(dx, dy), v), -2.0f))

/* dx dy (1 - 2 v). The slope is a statement of its own, as arguments have no order. */
SAMBA__FN samba_tensor *samba__sigmoid_second(samba_tensor *dx, samba_tensor *dy, samba_tensor *v)
{
    samba_tensor *slope = samba_shift(samba_scale(v, -2.0f), 1.0f);
    return samba_mul(samba_mul(dx, dy), slope);
}

SAMBA__SECOND(sigmoid, samba__sigmoid_second(dx, dy, v))

/* ---- full: a tensor of one value. Attributes: the value, then the shape. ---- */
SAMBA__OP_API samba_tensor *samba_full(samba_session *s, samba_shape shape, float value)
{
    int32_t attr[1 + SAMBA_MAX_DIMS], n = 1;
    attr[SAMBA__FULL_VALUE] = samba_float_attr(value);
    for (int32_t i = 0; i < shape.ndim && i < SAMBA_MAX_DIMS; i++)
        attr[n++] = shape.dim[i];
    return samba__emit(s, SAMBA__OP_full, NULL, 0, attr, n, NULL);
}

SAMBA__FN bool samba__full_shape(samba_call *c)
{
    if (c->n_attr < 1 || c->n_attr > 1 + SAMBA_MAX_DIMS)
        return samba_refuse(c, SAMBA_EARG, "malformed call");
    if (!samba__expect(c, 0, 0, c->n_attr)) return false;
    c->out[0].dtype = SAMBA_F32;
    c->out[0].shape = samba__shape_of(c->attr + SAMBA__FULL_SHAPE, c->n_attr - SAMBA__FULL_SHAPE);
    return true;
}

/* ---- arange: y[i] = start + i step, for i below count ---- */
SAMBA__OP_API samba_tensor *samba_arange(samba_session *s, int32_t count, float start, float step)
{
    int32_t attr[SAMBA__ARANGE_END];
    attr[SAMBA__ARANGE_START] = samba_float_attr(start);
    attr[SAMBA__ARANGE_STEP] = samba_float_attr(step);
    attr[SAMBA__ARANGE_COUNT] = count;
    return samba__emit(s, SAMBA__OP_arange, NULL, 0, attr, SAMBA__ARANGE_END, NULL);
}

SAMBA__FN bool samba__arange_shape(samba_call *c)
{
    if (!samba__expect(c, 0, 0, SAMBA__ARANGE_END)) return false;
    c->out[0].dtype = SAMBA_F32;
    c->out[0].shape = samba_scalar_shape();
    return samba__append_dim(c, c->attr[SAMBA__ARANGE_COUNT]);
}

/* ---- cast: dx = cast dy back; through an integer or bool nothing flows ---- */
SAMBA__OP_API samba_tensor *samba_cast(samba_tensor *x, samba_dtype dtype)
{
    int32_t attr = (int32_t)dtype;
    return x && x->dtype == dtype ? x : samba__emit1(SAMBA__OP_cast, x, &attr, 1);
}

SAMBA__FN bool samba__cast_shape(samba_call *c)
{
    if (!samba__expect(c, 1, 1, 1)) return false;
    if (c->attr[SAMBA__CAST_TYPE] < 0 || c->attr[SAMBA__CAST_TYPE] >= SAMBA_N_DTYPES)
        return samba_refuse(c, SAMBA_EDTYPE, "no type has number %d", c->attr[SAMBA__CAST_TYPE]);
    c->out[0].dtype = (samba_dtype)c->attr[SAMBA__CAST_TYPE];
    c->out[0].shape = c->in[0].shape;
    return true;
}

SAMBA__FN void samba__cast_work(samba_work *w, const samba_call *c)
{
    w->part = 16;
    w->units[0] = samba__ceil_div(samba_count(&c->out[0].shape), w->part);
}

/* Between integers, not all of which f32 holds: exact, or the run ends. */
SAMBA__FN void samba__cast_integers(const samba_args *a, int64_t begin, int64_t end)
{
    samba_dtype from = a->in_spec[0].dtype, to = a->out_spec[0].dtype;
    int64_t least, most;
    samba__integer_range(to, &least, &most);

    for (int64_t e = begin; e < end; e++) {
        int64_t value = samba__integer_at(a->in[0], from, e);
        if (value < least || value > most) {
            samba__fault_with(a, 0, value, e, least, most);
            value = 0;
        }
        samba__put_integer(a->out[0], to, e, value);
    }
}

/* Is a cast from one of these types to the other to be exact? */
SAMBA__FN bool samba__casts_exactly(samba_dtype from, samba_dtype to)
{
    int64_t least, most;
    return (samba__is_stored_only(from) || samba__is_stored_only(to))
        && samba__integer_range(from, &least, &most) && samba__integer_range(to, &least, &most);
}

/* A leaf's gradient stays f32. */
SAMBA__FN void samba__cast_vjp(samba_vjp *g)
{
    samba_tensor *dy = g->dout[0];
    const samba_tensor *x = g->in[0];
    if (!dy || !samba__is_float(x->dtype)) return;
    g->din[0] = x->node ? samba_cast(dy, x->dtype) : dy;
}

/* ---- count: n <- n + 1 at each run of its section, which microbatches share; attribute 1: at
   training runs only ---- */
SAMBA__MATCHES(count, "i:->i:", 1)

SAMBA__KERNEL void samba__count_kernel(const samba_args *a)
{
    uint32_t n;
    memcpy(&n, a->in[0], sizeof n);
    n += a->microbatch == 0 && (a->train || !a->attr[SAMBA__COUNT_TRAINING_ONLY]);
    memcpy(a->out[0], &n, sizeof n);
}

/* ---- zero: x <- 0, and accumulate: x <- x + y, for gradients and losses of microbatches;
   attribute of accumulate, 1: begin anew with the first microbatch ---- */
SAMBA__MATCHES(zero, "*->*", 0)

SAMBA__MATCHES(accumulate, "*,*->*", 1)

/* ---- dropout: y = x mask/(1-p), mask from (seed, layer, counter, element): Srivastava et al.,
   JMLR 2014. Inputs x, rate f32, seed i32, counter i32; attributes: the layer's key ---- */
/* Input `in` is a rate of dropout, which seed and counter follow; or it is absent. */
SAMBA__FN bool samba__expect_dropping(samba_call *c, int32_t in)
{
    if (!samba__has(c, in)) return true;
    for (int32_t i = in; i < in + 3; i++) {
        samba_dtype dtype = i == in ? SAMBA_F32 : SAMBA_I32;
        if (!samba__has(c, i) || c->in[i].dtype != dtype || c->in[i].shape.ndim != 0)
            return samba_refuse(
                c, SAMBA_ESHAPE,
                "dropout has a rate, a seed and a counter: input %d must be a %T scalar", i,
                (int)dtype);
    }
    return true;
}
SAMBA__MATCHES(dropout, "*,,i:,i:->*", 2)

/* A layer of dropout in a run: what its mask depends on, besides the element. */
typedef struct samba__dropping {
    uint64_t key;
    uint64_t first; /* elements of the microbatches before this one */
    uint32_t counter;
    float rate, scale;
} samba__dropping;

/* The key of a layer that draws, by its two words and by input `in`, its seed. */
SAMBA__INLINE uint64_t samba__drawing_key(const samba_args *a, int32_t in, const int32_t *key)
{
    uint64_t words = (uint64_t)(uint32_t)key[0] << 32 | (uint32_t)key[1];
    return words + (uint32_t)samba__in_i32(a, in)[0] * SAMBA__P1;
}

/* in: the number of the input with the rate; seed and counter follow. count: elements of the mask,
   which continues from microbatch to microbatch, as if they were one batch. */
SAMBA__INLINE samba__dropping samba__dropping_of(const samba_args *a, int32_t in,
                                                 const int32_t *key, int64_t count)
{
    samba__dropping d;
    d.first = (uint64_t)a->microbatch * (uint64_t)count;
    d.rate = a->train && in + 2 < a->n_in && a->in[in] ? a->in[in][0] : 0.0f;
    d.scale = d.rate < 1.0f ? 1.0f / (1.0f - d.rate) : 0.0f;
    d.key = 0;
    d.counter = 0;
    if (d.rate == 0.0f) return d;

    d.key = samba__drawing_key(a, in + 1, key);
    d.counter = (uint32_t)samba__in_i32(a, in + 2)[0];
    return d;
}

/* x in a layer of dropout, or 0 where the random number u says so: as x - x, which is NaN where x
   is not finite. To drop a value must not hide that. */
SAMBA__INLINE float samba__dropped(float u, float x, const samba__dropping *d)
{
    return u < d->rate ? x - x : x * d->scale;
}

/* A unit is what one call of the generator decides. */
SAMBA__FN void samba__dropout_work(samba_work *w, const samba_call *c)
{
    w->units[0] = samba__ceil_div(samba_count(&c->out[0].shape), 4);
    w->part = 4;
}

SAMBA__FN void samba__dropout_vjp(samba_vjp *g)
{
    samba_tensor *in[4] = { g->dout[0], g->in[1], g->in[2], g->in[3] };
    g->din[0] = samba__emit(g->session, SAMBA__OP_dropout, in, 4, g->attr, g->n_attr, NULL);
}

/* ---- noise: as many random numbers as x has elements, U[0,1) or N(0,1), from (seed, name,
   counter, element) as the mask of dropout. Inputs x, of which only the shape matters, seed,
   counter ---- */
/* Elements of a unit: 16 calls of the generator. */
enum { SAMBA__NOISE_UNIT = 64 };

SAMBA__FN bool samba__noise_shape(samba_call *c)
{
    if (!samba__expect(c, SAMBA__NOISE_INPUTS, SAMBA__NOISE_INPUTS, SAMBA__NOISE_END)) return false;
    for (int32_t i = SAMBA__NOISE_SEED; i < SAMBA__NOISE_INPUTS; i++) {
        if (c->in[i].dtype != SAMBA_I32 || c->in[i].shape.ndim != 0)
            return samba_refuse(
                c, SAMBA_ESHAPE,
                "noise has a seed and a counter: input %d must be a scalar of type i32", i);
    }
    c->out[0].dtype = SAMBA_F32;
    c->out[0].shape = c->in[SAMBA__NOISE_LIKE].shape;
    return true;
}

SAMBA__FN void samba__noise_work(samba_work *w, const samba_call *c)
{
    w->units[0] = samba__ceil_div(samba_count(&c->out[0].shape), SAMBA__NOISE_UNIT);
}

#endif /* SAMBA__TEMPLATE == 0 */

#if (SAMBA__TEMPLATE == SAMBA__TEMPLATE_ROWS || SAMBA__TEMPLATE == SAMBA__TEMPLATE_OPS) \
    && defined(SAMBA__SUFFIX)
/* -- For all kernels below -- */
#if SAMBA__VEC_LANES > 1 && !defined(__clang__)
/* The rest of -O3 takes long to compile. */
#pragma GCC optimize("O2", "tree-vectorize", "vect-cost-model=dynamic")
#pragma GCC optimize("no-trapping-math", "no-tree-loop-distribute-patterns")
#endif
/* Before a loop of constant length, over some vectors: they stay in registers. */
#undef SAMBA__EACH_VEC
#if SAMBA__VEC_LANES > 1
#define SAMBA__EACH_VEC SAMBA__UNROLLED
#else
#define SAMBA__EACH_VEC
#endif
#endif

#if SAMBA__TEMPLATE == SAMBA__TEMPLATE_OPS && defined(SAMBA__SUFFIX)
/* -- How ops with a kernel for each instruction set read and write: runs of any type as f32 -- */
#define samba__load_run SAMBA__OF_NARROW(samba__load_run)
#define samba__store_run SAMBA__OF_NARROW(samba__store_run)
#define samba__operand SAMBA__OF_NARROW(samba__operand)
#define samba__map_input SAMBA__OF_NARROW(samba__map_input)
#define samba__map_range SAMBA__OF_NARROW(samba__map_range)
#define samba__map_run SAMBA__OF_NARROW(samba__map_run)
#define samba__full_kernel SAMBA__OF_NARROW(samba__full_kernel)
#define samba__arange_kernel SAMBA__OF_NARROW(samba__arange_kernel)
#define samba__cast_kernel SAMBA__OF_NARROW(samba__cast_kernel)
#define samba__zero_kernel SAMBA__OF_NARROW(samba__zero_kernel)
#define samba__accumulate_kernel SAMBA__OF_NARROW(samba__accumulate_kernel)
#define samba__dropout_shifted SAMBA__OF_NARROW(samba__dropout_shifted)
#define samba__dropout_kernel SAMBA__OF_NARROW(samba__dropout_kernel)
#define samba__draw_noise SAMBA__OF_NARROW(samba__draw_noise)
#define samba__noise_kernel SAMBA__OF_NARROW(samba__noise_kernel)
#if SAMBA__VEC_LANES < 16

#if SAMBA__VEC_LANES > 1
SAMBA__NOINLINE void samba__load_run(float *y, const void *x, samba_dtype dtype, int64_t n)
{
    samba__load_values(y, x, dtype, n);
}

SAMBA__NOINLINE void samba__store_run(void *y, const float *x, samba_dtype dtype, int64_t n)
{
    samba__store_values(y, x, dtype, n);
}
#else
SAMBA__FN void samba__load_run(float *y, const void *x, samba_dtype dtype, int64_t n)
{
    samba__load(y, x, dtype, n);
}

SAMBA__FN void samba__store_run(void *y, const float *x, samba_dtype dtype, int64_t n)
{
    samba__store(y, x, dtype, n);
}
#endif

/* An input as f32, for some elements at a time. */
typedef struct samba__operand {
    float buffer[SAMBA__RUN];
    ptrdiff_t at, n; /* so many of buffer are element `at`, which is stretched */
} samba__operand;

/* n elements of input k from `at` on: in place if they lie so, else stretched or converted. */
SAMBA__FN const float *samba__map_input(const samba_args *a, int32_t k, ptrdiff_t at,
                                        ptrdiff_t step, ptrdiff_t n, samba__operand *to)
{
    samba_dtype dtype = a->in_spec[k].dtype;
    const uint8_t *x = samba__in_bytes(a, k, at);
    if (step && dtype == SAMBA_F32) return (const float *)(const void *)x;
    if (step) {
        samba__load_run(to->buffer, x, dtype, n);
        return to->buffer;
    }

    /* A scalar, and what is stretched along a row, is the same for many runs. */
    if (at == to->at && n <= to->n) return to->buffer;
    samba__load_run(to->buffer, x, dtype, 1);
    to->at = at;
    to->n = n;
    float first = to->buffer[0];
    for (ptrdiff_t i = 1; i < n; i++)
        to->buffer[i] = first;
    return to->buffer;
}

/* Elements begin ... end - 1 of the output. */
SAMBA__FN void samba__map_range(const samba_args *a, samba__loop_fn loop, const samba__walk *w,
                                const float *p, ptrdiff_t begin, ptrdiff_t end)
{
    samba__operand operand[3];
    float result[SAMBA__RUN];
    const float *x[3] = { NULL, NULL, NULL };
    samba_dtype type = a->out_spec[0].dtype;
    bool direct = type == SAMBA_F32; /* no buffer is needed: runs may be long */
    for (int32_t k = 0; k < a->n_in; k++) {
        direct = direct && a->in_spec[k].dtype == SAMBA_F32 && w->step[k][w->ndim - 1];
        operand[k].at = operand[k].n = 0;
    }

    for (ptrdiff_t e = begin, at[3], n; e < end; e += n) {
        n = samba__min_index(samba__walk_to(w, e, at), end - e);
        if (!direct) n = samba__min_index(n, SAMBA__RUN);

        uint8_t *y = samba__out_bytes(a, e);
        for (int32_t k = 0; k < a->n_in; k++)
            x[k] = samba__map_input(a, k, at[k], w->step[k][w->ndim - 1], n, &operand[k]);
        float *value = type == SAMBA_F32 ? (float *)(void *)y : result;
        loop(value, x[0], a->n_in > 1 ? x[1] : x[0], a->n_in > 2 ? x[2] : x[0], p, n);
        if (type != SAMBA_F32) samba__store_run(y, value, type, n);
    }
}

SAMBA__FN void samba__map_run(const samba_args *a, samba__loop_fn loop)
{
    float p[SAMBA_MAX_ATTR];
    samba__walk w;
    samba__walk_open(&w, &a->out_spec[0].shape, a->in_spec, a->n_in);
    p[0] = 0.0f;
    for (int32_t i = 0; i < a->n_attr; i++)
        p[i] = samba_attr_float(a->attr[i]);

    const ptrdiff_t begin = (ptrdiff_t)a->begin, end = (ptrdiff_t)a->end;
    const ptrdiff_t rows = (ptrdiff_t)a->rows, pitch = (ptrdiff_t)a->pitch;
    for (ptrdiff_t row = 0; row == 0 || row < rows; row++)
        samba__map_range(a, loop, &w, p, begin + row * pitch, end + row * pitch);
}

SAMBA__FN void samba__full_kernel(const samba_args *a)
{
    float value = samba_attr_float(a->attr[SAMBA__FULL_VALUE]);
    for (int64_t i = a->begin; i < a->end; i++)
        a->out[0][i] = value;
}

SAMBA__FN void samba__arange_kernel(const samba_args *a)
{
    float start = samba_attr_float(a->attr[SAMBA__ARANGE_START]);
    float step = samba_attr_float(a->attr[SAMBA__ARANGE_STEP]);
    const int32_t end = (int32_t)a->end;
    for (int32_t i = (int32_t)a->begin; i < end; i++)
        a->out[0][i] = samba__fma((float)i, step, start);
}

SAMBA__FN void samba__cast_kernel(const samba_args *a)
{
    samba__operand x; /* is not stretched */
    ptrdiff_t end = (ptrdiff_t)samba__min64(a->end * 16, samba_count(&a->out_spec[0].shape));

    if (samba__casts_exactly(a->in_spec[0].dtype, a->out_spec[0].dtype)) {
        samba__cast_integers(a, a->begin * 16, end);
        return;
    }

    samba_dtype to = a->out_spec[0].dtype;
    for (ptrdiff_t e = (ptrdiff_t)a->begin * 16, n; e < end; e += n) {
        uint8_t *y = samba__out_bytes(a, e);
        n = samba__min_index(SAMBA__RUN, end - e);
        if (to == SAMBA_F32)
            samba__load_run((float *)(void *)y, samba__in_bytes(a, 0, e), a->in_spec[0].dtype, n);
        else
            samba__store_run(y, samba__map_input(a, 0, e, 1, n, &x), to, n);
    }
}

SAMBA__FN void samba__zero_kernel(const samba_args *a)
{
    for (int64_t i = a->begin; i < a->end; i++)
        a->out[0][i] = 0.0f;
}

SAMBA__FN void samba__accumulate_kernel(const samba_args *a)
{
    bool anew = a->attr[SAMBA__ACCUMULATE_ANEW] && a->microbatch == 0;
    const float *x = a->in[1];
    float *y = a->out[0];

    if (anew)
        for (int64_t i = a->begin; i < a->end; i++)
            y[i] = x[i];
    else
        for (int64_t i = a->begin; i < a->end; i++)
            y[i] += x[i];
}

/* Elements [begin,end) where the mask begins amid a call of the generator. */
SAMBA__FN void samba__dropout_shifted(const samba_args *a, const samba__dropping *d, int64_t begin,
                                      int64_t end)
{
    uint32_t words[4];
    for (int64_t i = begin; i < end; i++) {
        uint64_t e = d->first + (uint64_t)i;
        if (i == begin || e % 4 == 0) samba__philox(d->key, e / 4, d->counter, words);
        a->out[0][i] = samba__dropped(samba__unit(words[e % 4]), a->in[0][i], d);
    }
}

SAMBA__FN void samba__dropout_kernel(const samba_args *a)
{
    int64_t count = samba_count(&a->out_spec[0].shape), end = samba__min64(a->end * 4, count);
    samba__dropping d = samba__dropping_of(a, 1, a->attr, count);
    uint32_t words[4];

    if (d.first % 4) {
        samba__dropout_shifted(a, &d, a->begin * 4, end);
        return;
    }

    for (int64_t e = a->begin * 4; e < end; e += 4) {
        const float *x = a->in[0] + e;
        float *y = a->out[0] + e;
        samba__philox_words(d.key, (d.first + (uint64_t)e) / 4, d.counter, words);

        if (e + 4 <= end) {
            SAMBA__UNROLLED
            for (int i = 0; i < 4; i++)
                y[i] = samba__dropped(samba__unit(words[i]), x[i], &d);
        } else {
            for (int i = 0; i < end - e; i++)
                y[i] = samba__dropped(samba__unit(words[i]), x[i], &d);
        }
    }
}

/* n numbers made of n random words, n even. Normal ones in pairs: Box, Muller, "A note on the
   generation of random normal deviates", 1958. */
SAMBA__FN void samba__draw_noise(float *y, const uint32_t *word, int n, bool normal)
{
    if (!normal) {
        for (int i = 0; i < n; i++)
            y[i] = samba__unit(word[i]);
        return;
    }

    for (int i = 0; i < n; i += 2) {
        float r = samba__sqrt(-2.0f * samba__log(samba__open_unit(word[i])));
        float u = samba__unit(word[i + 1]);
        y[i] = r * samba__sin_2pi(u, 1); /* cos */
        y[i + 1] = r * samba__sin_2pi(u, 0);
    }
}

/* A unit may begin amid a call of the generator, as microbatches go on where others ended: so one
   call more is made than a unit needs. */
SAMBA__FN void samba__noise_kernel(const samba_args *a)
{
    enum { DRAWN = SAMBA__NOISE_UNIT + 4 };

    bool normal = a->attr[SAMBA__NOISE_NORMAL];
    int64_t count = samba_count(&a->out_spec[0].shape);
    uint64_t first = (uint64_t)a->microbatch * (uint64_t)count;
    uint64_t key = samba__drawing_key(a, SAMBA__NOISE_SEED, a->attr + SAMBA__NOISE_KEY);
    uint32_t counter = (uint32_t)samba__in_i32(a, SAMBA__NOISE_SEED + 1)[0];

    for (int64_t unit = a->begin; unit < a->end; unit++) {
        int64_t at = unit * SAMBA__NOISE_UNIT;
        uint64_t block = (first + (uint64_t)at) / 4;
        int skipped = (int)((first + (uint64_t)at) % 4);
        uint32_t word[DRAWN];
        float drawn[DRAWN];

        for (int i = 0; i < DRAWN; i += 4)
            samba__philox_words(key, block + (uint64_t)(i / 4), counter, word + i);
        samba__draw_noise(drawn, word, DRAWN, normal);

        int64_t n = samba__min64(SAMBA__NOISE_UNIT, count - at);
        memcpy(a->out[0] + at, drawn + skipped, (size_t)n * sizeof *drawn);
    }
}
#endif

/* -- The loop of an elementwise op, and its kernel -- */
#if SAMBA__VEC_LANES > 1
#define samba__curve_store SAMBA__OF_SET(samba__curve_store)
#define samba__curve_pad SAMBA__OF_SET(samba__curve_pad)
#define samba__curve_rest SAMBA__OF_SET(samba__curve_rest)

SAMBA__KERNEL void samba__curve_store(float *y, const float *block)
{
    SAMBA__EACH_VEC
    for (int i = 0; i < SAMBA__CURVE_BLOCK; i++)
        y[i] = block[i];
}

SAMBA__KERNEL void samba__curve_pad(float *to, const float *x, ptrdiff_t n)
{
    for (ptrdiff_t i = 0; i < SAMBA__CURVE_BLOCK; i += SAMBA__VEC_LANES)
        samba__vec_store(to + i, samba__vec_load_some(x + i, false, samba__mask_first(n - i)));
}

/* The last elements of a curve, fewer than a block: as a whole block of copies. */
SAMBA__NOINLINE void samba__curve_rest(samba__loop_fn curve, float *y, const float *a,
                                       const float *b, const float *c, const float *p, ptrdiff_t n)
{
    float x[3][SAMBA__CURVE_BLOCK], value[SAMBA__CURVE_BLOCK];
    if (n == 0) return;
    samba__curve_pad(x[0], a, n);
    if (b != a) samba__curve_pad(x[1], b, n);
    if (c != a) samba__curve_pad(x[2], c, n);
    curve(value, x[0], b != a ? x[1] : x[0], c != a ? x[2] : x[0], p, SAMBA__CURVE_BLOCK);
    for (ptrdiff_t i = 0; i < n; i += SAMBA__VEC_LANES)
        samba__vec_store_some(y + i, false, samba__mask_first(n - i), samba__vec_load(value + i));
}
#endif

#define SAMBA__LOOP_OF(name) SAMBA__OF_SET(samba__##name##_loop)
#define SAMBA__LOOP_ARGS \
    float *y, const float *a, const float *b, const float *c, const float *p, ptrdiff_t n
#define SAMBA__MAP_LOOP(wire, gradient, spread, name, ...) \
    SAMBA__FN void SAMBA__LOOP_OF(name)(SAMBA__LOOP_ARGS) \
    { \
        SAMBA__IN_PLACE \
        for (ptrdiff_t i = 0; i < n; i++) \
            y[i] = samba__##name##_value(a[i], b[i], c[i], p); \
    }
/* Curves compute much. Each of their operations waits for the one before: so those of several
   vectors are interleaved, a block of 32 elements. */
#define SAMBA__CURVE_LOOP(wire, gradient, spread, name, ...) \
    SAMBA__FN void SAMBA__LOOP_OF(name)(SAMBA__LOOP_ARGS) \
    { \
        for (; n >= SAMBA__CURVE_BLOCK; n -= 32, y += 32, a += 32, b += 32, c += 32) { \
            float block[SAMBA__CURVE_BLOCK]; \
            SAMBA__FOUR_IN_PLACE \
            for (int i = 0; i < SAMBA__CURVE_BLOCK; i++) \
                block[i] = samba__##name##_value(a[i], b[i], c[i], p); \
            samba__curve_store(y, block); \
        } \
        samba__curve_rest(SAMBA__LOOP_OF(name), y, a, b, c, p, n); \
    }
#define SAMBA__LOOP_KERNEL(wire, gradient, spread, name, ...) \
    SAMBA__FN void SAMBA__OF_SET(samba__##name##_kernel)(const samba_args *args) \
    { \
        samba__map_run(args, SAMBA__LOOP_OF(name)); \
    }
#if SAMBA__VEC_LANES == 1
SAMBA__OPS(SAMBA__MAP_LOOP, SAMBA__MAP_LOOP, SAMBA__NO_ROW, SAMBA__NO_ROW, SAMBA__NO_ROW)
SAMBA__OPS(SAMBA__LOOP_KERNEL, SAMBA__LOOP_KERNEL, SAMBA__NO_ROW, SAMBA__NO_ROW, SAMBA__NO_ROW)
#else
#if SAMBA__VEC_LANES < 16
SAMBA__OPS(SAMBA__MAP_LOOP, SAMBA__NO_ROW, SAMBA__NO_ROW, SAMBA__NO_ROW, SAMBA__NO_ROW)
SAMBA__OPS(SAMBA__LOOP_KERNEL, SAMBA__NO_ROW, SAMBA__NO_ROW, SAMBA__NO_ROW, SAMBA__NO_ROW)
#endif
#if !defined(__clang__)
#pragma GCC push_options
#pragma GCC optimize("schedule-insns", "sched-pressure")
#endif
SAMBA__OPS(SAMBA__NO_ROW, SAMBA__CURVE_LOOP, SAMBA__NO_ROW, SAMBA__NO_ROW, SAMBA__NO_ROW)
SAMBA__OPS(SAMBA__NO_ROW, SAMBA__LOOP_KERNEL, SAMBA__NO_ROW, SAMBA__NO_ROW, SAMBA__NO_ROW)
#if !defined(__clang__)
#pragma GCC pop_options
#endif
#endif
#endif /* a template: kernels */
#if SAMBA__TEMPLATE == 0

