/* ==== [optim-ops] ============================================================================= */
/* ---- Optimizer steps: they overwrite the parameter and its state. A parameter in bf16 is rounded
   at random, or else steps below half its last bit would all be lost: Gupta et al., "Deep learning
   with limited numerical precision", 2015. Two more attributes are the key of its numbers. ---- */
/* What optimizers read from argins: a field of samba_optim each, and the ends of its range. */
/* clang-format off */
#define SAMBA__OPTIM_ARGINS(X) \
    X(LR,            lr,            SAMBA__MOST,     SAMBA__NO_LIMIT) \
    X(WEIGHT_DECAY,  weight_decay,  SAMBA__MOST,     SAMBA__NO_LIMIT) \
    X(MOMENTUM,      momentum,      SAMBA__MOST,     SAMBA__NO_LIMIT) \
    X(BETA1,         beta1,         1.0,             1.0) \
    X(BETA2,         beta2,         1.0,             1.0) \
    X(EPS,           eps,           SAMBA__MOST,     SAMBA__NO_LIMIT) \
    X(MAX_GRAD_NORM, max_grad_norm, SAMBA__NO_LIMIT, SAMBA__NO_LIMIT)

/* What the op of an optimizer reads besides w and g. First S, states: a name, the end of the
   tensor's name, "?" if it may be absent. Then A, argins: a name, which one, what 0 means. */
#define SAMBA__SGD_INPUTS(S, A) \
    S(SGD_V,             "momentum", "?") \
    A(SGD_LR,            LR,           1e-3f) \
    A(SGD_WEIGHT_DECAY,  WEIGHT_DECAY, 0.0f) \
    A(SGD_MOMENTUM,      MOMENTUM,     0.0f)
#define SAMBA__ADAMW_INPUTS(S, A) \
    S(ADAMW_M,            "exp_avg",    "") \
    S(ADAMW_V,            "exp_avg_sq", "") \
    A(ADAMW_LR,           LR,           1e-3f) \
    A(ADAMW_WEIGHT_DECAY, WEIGHT_DECAY, 0.0f) \
    A(ADAMW_BETA1,        BETA1,        0.9f) \
    A(ADAMW_BETA2,        BETA2,        0.997f) \
    A(ADAMW_EPS,          EPS,          1e-8f)
/* clang-format on */

#define SAMBA__ARGIN_AT(name, field, most, below) SAMBA__ARGIN_##name,

/* Which hyperparameter an argin is: an optimizer's, or one of the others. */
enum {
    SAMBA__OPTIM_ARGINS(SAMBA__ARGIN_AT) /**/
    SAMBA__N_OPTIM_ARGINS,
    SAMBA__ARGIN_RATE = SAMBA__N_OPTIM_ARGINS, /* of dropout */
    SAMBA__ARGIN_SEED,
    SAMBA__N_RANGED_ARGINS,
    SAMBA__ARGIN_GRAD = SAMBA__N_RANGED_ARGINS, /* of a loss: it may be any value */
    SAMBA__ARGIN_OTHER,                         /* no op that is known reads it */
    SAMBA__NO_ARGIN = -1
};

#define SAMBA__INPUT_AT(name, ...) SAMBA__##name,
#define SAMBA__INPUT_NONE(name, ...)

enum { SAMBA__MOST_STATES = 3, SAMBA__MOST_ARGINS = 7, SAMBA__MOST_OPTIONS = 3 };

/* An attribute of an optimizer's op: 'f' a float and 'b' a bool of samba_optim, 'c' the number. */
typedef struct samba__option {
    char kind;
    int32_t at;
} samba__option;

/* One optimizer. The inputs of its op are w, g, states, the step counter, argins, clip (or absent);
   it overwrites w and the states. Attributes are the options and, for a parameter in bf16, the two
   words of the key of its rounding. */
typedef struct samba__optimizer_row {
    int32_t kind;               /* samba_optim_kind */
    const char *name, *written; /* for messages: "Adam", "SAMBA_ADAM" */
    int32_t op;
    const char *signature;
    const char *state[SAMBA__MOST_STATES];
    int32_t kept_for; /* states exist only if this argin may be other than 0; NO_ARGIN: always */

    struct {
        int32_t argin; /* SAMBA__ARGIN_..., beginning with LR */
        float initial;
    } argin[SAMBA__MOST_ARGINS];

    int32_t n_argins, n_options;
    samba__option option[SAMBA__MOST_OPTIONS];
} samba__optimizer_row;

/* clang-format off */
#if defined(SAMBA_RUNTIME_ONLY) /* it has no samba_optim */
#define SAMBA__KIND(kind) 0
#define SAMBA__OPTION(letter, field) { letter, 0 }
#else
#define SAMBA__KIND(kind) SAMBA_##kind
#define SAMBA__OPTION(letter, field) { letter, (int32_t)offsetof(samba_optim, field) }
#endif
#define SAMBA__STATE_NAME(name, text, optional) text,
#define SAMBA__STATE_TERM(name, text, optional) ",*" optional
#define SAMBA__STATE_RESULT(name, text, optional) ",*"
#define SAMBA__ARGIN_VALUE(name, argin, initial) { SAMBA__ARGIN_##argin, initial },
#define SAMBA__ARGIN_TERM(name, argin, initial) ","
#define SAMBA__ARGIN_ONE(name, argin, initial) +1
#define SAMBA__STEP_SIGNATURE(inputs) \
    "w:*,*" inputs(SAMBA__STATE_TERM, SAMBA__INPUT_NONE) ",i:" \
    inputs(SAMBA__INPUT_NONE, SAMBA__ARGIN_TERM) ",?->*" \
    inputs(SAMBA__STATE_RESULT, SAMBA__INPUT_NONE)
#define SAMBA__OPTIMIZER(kind, name, op, inputs, kept_for, n_options, ...) \
    { SAMBA__KIND(kind), name, "SAMBA_" #kind, SAMBA__OP_##op, SAMBA__STEP_SIGNATURE(inputs), \
      { inputs(SAMBA__STATE_NAME, SAMBA__INPUT_NONE) NULL }, SAMBA__##kept_for, \
      { inputs(SAMBA__INPUT_NONE, SAMBA__ARGIN_VALUE) }, \
      0 inputs(SAMBA__INPUT_NONE, SAMBA__ARGIN_ONE), n_options, { __VA_ARGS__ } },

static const samba__optimizer_row samba__optimizers[] = {
    SAMBA__OPTIMIZER(SGD, "SGD", sgd, SAMBA__SGD_INPUTS, ARGIN_MOMENTUM, 2,
                     SAMBA__OPTION('f', dampening), SAMBA__OPTION('b', nesterov))
    SAMBA__OPTIMIZER(ADAMW, "AdamW", adamw, SAMBA__ADAMW_INPUTS, NO_ARGIN, 1, { 'c', 1 })
    SAMBA__OPTIMIZER(ADAM, "Adam", adamw, SAMBA__ADAMW_INPUTS, NO_ARGIN, 1, { 'c', 0 })
};

/* clang-format on */
enum { SAMBA__N_OPTIMIZERS = sizeof samba__optimizers / sizeof *samba__optimizers };

/* The first row with this op; NULL if it is no optimizer's. */
SAMBA__FN const samba__optimizer_row *samba__optimizer_with(int32_t op)
{
    for (int32_t i = 0; i < SAMBA__N_OPTIMIZERS; i++)
        if (samba__optimizers[i].op == op) return &samba__optimizers[i];
    return NULL;
}

SAMBA__FN bool samba__step_rule(samba_call *c, int32_t op)
{
    const samba__optimizer_row *row = samba__optimizer_with(op);
    samba_dtype type = c->n_in > 0 ? c->in[0].dtype : SAMBA_F32;
    if (!row) return samba_refuse(c, SAMBA_EOP, "no optimizer has this op");

    int32_t n_attr = row->n_options + (type == SAMBA_F32 ? 0 : 2);
    if (!samba__expect_match(c, row->signature, n_attr)) return false;
    c->out[0].dtype = type;
    if (row->state[0] && !samba__has(c, 2)) c->n_out = 1; /* the states follow w and g */
    if (type == SAMBA_F16)
        return samba_refuse(c, SAMBA_EDTYPE,
                            "a parameter in f16 cannot be trained; store it as bf16");
    return true;
}

/* What the op of an optimizer has by its row: its inputs by name, SAMBA__SGD_W ..., its shape rule,
   and no gradient. It needs a kernel besides. */
#define SAMBA__STEP_INPUTS(NAME) \
    enum { \
        SAMBA__##NAME##_W, \
        SAMBA__##NAME##_G, \
        SAMBA__##NAME##_INPUTS(SAMBA__INPUT_AT, SAMBA__INPUT_NONE) SAMBA__##NAME##_STEP, \
        SAMBA__##NAME##_INPUTS(SAMBA__INPUT_NONE, SAMBA__INPUT_AT) SAMBA__##NAME##_CLIP \
    };
#define SAMBA__STEP_OP(name, NAME) \
    SAMBA__STEP_INPUTS(NAME) \
    SAMBA__FN bool samba__##name##_shape(samba_call *c) \
    { \
        return samba__step_rule(c, SAMBA__OP_##name); \
    }
SAMBA__STEP_OP(sgd, SGD)
SAMBA__STEP_OP(adamw, ADAMW)

/* Elements [i, i + n) of the parameter as f32, and back, all in one run. The generator seeds a run
   at step t; the last lines of Appleby's MurmurHash3 make 16 bits for each element of it. */
enum { SAMBA__STEP_RUN = 128, SAMBA__STEP_PART = SAMBA__IS_SMALL ? 16 : SAMBA__STEP_RUN };

/* beta^step by repeated squaring, in double: 1 - beta^step must be right for the first steps. Not
   inlined, so that no compiler joins its last product and the caller's subtraction. */
SAMBA__NOINLINE double samba__power(double base, int32_t n)
{
    double r = 1.0;
    for (; n > 0; n >>= 1, base *= base)
        r *= n & 1 ? base : 1.0;
    return r;
}

/* ---- matmul_sgd: sgd of a parameter whose gradient is a product, block by block. So the gradient
   is never whole: a layer learns in the memory of its weights. ---- */
enum {
    SAMBA__SMALL_GRADIENT = 16, /* rows and columns of a block with SAMBA_SMALL */
    SAMBA__GRADIENT_ROWS = SAMBA__IS_SMALL ? SAMBA__SMALL_GRADIENT : 96,
    SAMBA__GRADIENT_COLS = SAMBA__IS_SMALL ? SAMBA__SMALL_GRADIENT : 512,
    SAMBA__GRADIENT_BLOCK = SAMBA__GRADIENT_ROWS * SAMBA__GRADIENT_COLS
};

#define SAMBA__GRADIENT_LOCAL (SAMBA__GEMM_LOCAL + SAMBA__GRADIENT_BLOCK * sizeof(float))
typedef char
    samba__gradient_fits[SAMBA__DEVICE_HALF || SAMBA__GRADIENT_LOCAL <= SAMBA_LOCAL_BYTES ? 1 : -1];

SAMBA__FN bool samba__matmul_sgd_shape(samba_call *c)
{
    const samba_spec *in = c->in, *w = &in[SAMBA__MATMUL_SGD_W];
    int32_t n = c->n_in;
    if (n != SAMBA__MATMUL_SGD_INPUTS || !samba__has(c, SAMBA__MATMUL_SGD_W))
        return samba_refuse(c, SAMBA_EARG, "an input is missing");

    c->in = in + SAMBA__MATMUL_SGD_A;
    c->n_in = 2;
    bool fits = samba__matmul_shape(c);
    c->in = in;
    c->n_in = n;

    if (!fits) return false;
    for (int32_t i = SAMBA__MATMUL_SGD_LR; i < n; i++)
        if (in[i].dtype != SAMBA_F32 || in[i].shape.ndim != 0)
            return samba_refuse(c, SAMBA_ESHAPE, "input %d must be an f32 scalar", i);
    return c->out[0].shape.ndim == 2 && w->dtype == SAMBA_F32
        && samba__same_shape(&w->shape, &c->out[0].shape);
}

SAMBA__FN void samba__matmul_sgd_work(samba_work *w, const samba_call *c)
{
    samba__product p = samba__product_of(c->in + SAMBA__MATMUL_SGD_A, c->attr);
    w->units[0]
        = samba__ceil_div(p.m, SAMBA__GRADIENT_ROWS) * samba__ceil_div(p.n, SAMBA__GRADIENT_COLS);
    int64_t rows = samba__min64(p.m, SAMBA__SMALL_GRADIENT);
    int64_t cols = samba__min64(p.n, SAMBA__SMALL_GRADIENT);
    w->local = (int32_t)(SAMBA__NEED_GEMM + rows * cols * 4);
    w->flops = 2 * p.m * p.n * p.k + 6 * p.m * p.n;
}

/* The factor of the gradients; 1 if the op has no such input. */
SAMBA__FN float samba__clip_of(const samba_args *a, int32_t input)
{
    return a->n_in > input && a->in[input] ? a->in[input][0] : 1.0f;
}
#endif /* SAMBA__TEMPLATE == 0 */

#if SAMBA__TEMPLATE == SAMBA__TEMPLATE_OPS && defined(SAMBA__SUFFIX)
#define samba__step_bits SAMBA__OF_NARROW(samba__step_bits)
#define samba__open_weights SAMBA__OF_NARROW(samba__open_weights)
#define samba__close_weights SAMBA__OF_NARROW(samba__close_weights)
#define samba__sgd_kernel SAMBA__OF_NARROW(samba__sgd_kernel)
#define samba__step_block SAMBA__OF_NARROW(samba__step_block)
#define samba__matmul_sgd_kernel SAMBA__OF_NARROW(samba__matmul_sgd_kernel)
#define samba__roots SAMBA__OF_NARROW(samba__roots)
#define samba__step_size SAMBA__OF_NARROW(samba__step_size)
#define samba__adamw_kernel SAMBA__OF_NARROW(samba__adamw_kernel)
#if SAMBA__VEC_LANES < 16

/* Random bits for elements k and k + STEP_RUN / 2 of a run: the low and the high 16. */
SAMBA__KERNEL uint32_t samba__step_bits(const uint32_t *seed, uint32_t k)
{
    uint32_t x = seed[0] + k * 0x9E3779B9u;
    x = (x ^ x >> 16) * 0x85EBCA6Bu;
    x = (x ^ x >> 13) * 0xC2B2AE35u;
    return x ^ x >> 16 ^ seed[1];
}

SAMBA__FN float *samba__open_weights(const samba_args *a, ptrdiff_t i, ptrdiff_t n, float *block)
{
    if (a->out_spec[0].dtype == SAMBA_F32) return a->out[0] + i;
    samba__load(block, samba__out_bytes(a, i), SAMBA_BF16, n);
    return block;
}

SAMBA__FN void samba__close_weights(const samba_args *a, ptrdiff_t i, ptrdiff_t n, const float *w,
                                    int32_t t)
{
    SAMBA_ASSERT(n > 0 && i % SAMBA__STEP_RUN + n <= SAMBA__STEP_RUN); /* all in one run */
    uint32_t seed[4];
    uint16_t *to = (uint16_t *)(void *)samba__out_bytes(a, i);
    if (a->out_spec[0].dtype == SAMBA_F32) return;

    const int32_t *key = a->attr + a->n_attr - 2;
    samba__philox((uint64_t)(uint32_t)key[0] << 32 | (uint32_t)key[1],
                  (uint64_t)i / SAMBA__STEP_RUN, (uint32_t)t, seed);

#if SAMBA__IS_SMALL
    for (ptrdiff_t k = 0; k < n; k++) {
        uint32_t at = (uint32_t)((i + k) % SAMBA__STEP_RUN);
        uint32_t x = samba__step_bits(seed, at % (SAMBA__STEP_RUN / 2));
        to[k] = samba__dither_bf16(w[k], at < SAMBA__STEP_RUN / 2 ? x & 0xFFFFu : x >> 16);
    }
#else
    uint32_t bits[SAMBA__STEP_RUN];
    for (uint32_t k = 0; k < SAMBA__STEP_RUN / 2; k++) {
        uint32_t x = samba__step_bits(seed, k);
        bits[k] = x & 0xFFFFu;
        bits[k + SAMBA__STEP_RUN / 2] = x >> 16;
    }

    const uint32_t *random = bits + i % SAMBA__STEP_RUN;
    for (ptrdiff_t k = 0; k < n; k++)
        to[k] = samba__dither_bf16(w[k], random[k]);
#endif
}

/* torch.optim.SGD: g += wd w; v = mu v + (1 - damp) g, at first g; w -= lr v */
SAMBA__FN void samba__sgd_kernel(const samba_args *a)
{
    const float *g = a->in[SAMBA__SGD_G];
    float *v = a->n_out > 1 ? a->out[1] : NULL, block[SAMBA__STEP_PART];
    const ptrdiff_t end = (ptrdiff_t)a->end;
    float lr = a->in[SAMBA__SGD_LR][0], decay = a->in[SAMBA__SGD_WEIGHT_DECAY][0];
    float momentum = a->in[SAMBA__SGD_MOMENTUM][0], clip = samba__clip_of(a, SAMBA__SGD_CLIP);

    int32_t t = samba__in_i32(a, SAMBA__SGD_STEP)[0];
    bool first = t <= 1, nesterov = a->attr[SAMBA__SGD_NESTEROV] != 0;
    float fresh = first ? 1.0f : 1.0f - samba_attr_float(a->attr[SAMBA__SGD_DAMPENING]);
    float kept = first ? 0.0f : momentum;

    for (ptrdiff_t i = (ptrdiff_t)a->begin, n; i < end; i += n) {
        n = samba__min_index(SAMBA__STEP_PART - i % SAMBA__STEP_PART, end - i);
        float *w = samba__open_weights(a, i, n, block);

        if (v) {
            SAMBA__IN_PLACE
            for (ptrdiff_t k = 0; k < n; k++) {
                float d = samba__fma(decay, w[k], g[i + k] * clip);
                float moved = samba__fma(kept, v[i + k], d * fresh);
                float step = nesterov ? samba__fma(momentum, moved, d) : moved;
                v[i + k] = moved;
                w[k] = samba__fma(-lr, step, w[k]);
            }
        } else {
            SAMBA__IN_PLACE
            for (ptrdiff_t k = 0; k < n; k++)
                w[k] = samba__fma(-lr, samba__fma(decay, w[k], g[i + k] * clip), w[k]);
        }

        samba__close_weights(a, i, n, w, t);
    }
}

/* Rows of a block: w -= lr (d + decay w), with the bits of the loop without momentum above. */
SAMBA__FN void samba__step_block(const samba__gemm *g, float *w, ptrdiff_t w_row, float lr,
                                 float decay)
{
    const ptrdiff_t n = (ptrdiff_t)g->n;
    const float *d = g->c;

    for (ptrdiff_t r = (ptrdiff_t)g->m; r > 0; r--) {
        SAMBA__IN_PLACE
        for (ptrdiff_t k = 0; k < n; k++)
            w[k] = samba__fma(-lr, samba__fma(decay, w[k], d[k]), w[k]);
        w += w_row;
        d += n;
    }
}

/* A unit is a block of the gradient. */
SAMBA__FN void samba__matmul_sgd_kernel(const samba_args *a)
{
    samba__product p = samba__product_of(a->in_spec + SAMBA__MATMUL_SGD_A, a->attr);
    samba__gemm g = samba__matmul_gemm(&p, a->in_spec + SAMBA__MATMUL_SGD_A);

    const int64_t across = samba__ceil_div(p.n, SAMBA__GRADIENT_COLS);
    int64_t i = a->begin / across * SAMBA__GRADIENT_ROWS;
    int64_t j = a->begin % across * SAMBA__GRADIENT_COLS;
    g.c = a->local + SAMBA__GEMM_LOCAL / sizeof(float);

    for (int64_t u = a->begin; u < a->end; u++) {
        g.m = samba__min64(p.m - i, SAMBA__GRADIENT_ROWS);
        g.n = g.c_row = samba__min64(p.n - j, SAMBA__GRADIENT_COLS);
        g.a = (const float *)(const void *)samba__in_bytes(a, SAMBA__MATMUL_SGD_A, i * g.a_row);
        g.b = (const float *)(const void *)samba__in_bytes(a, SAMBA__MATMUL_SGD_A + 1, j * g.b_col);

        samba__gemm_run(&g, 0, samba__gemm_tiles(g.m, g.n, g.k), a->local, a->isa);
        samba__step_block(&g, a->out[0] + i * p.n + j, (ptrdiff_t)p.n,
                          a->in[SAMBA__MATMUL_SGD_LR][0], a->in[SAMBA__MATMUL_SGD_DECAY][0]);

        j += SAMBA__GRADIENT_COLS;
        if (j < p.n) continue;
        j = 0;
        i += SAMBA__GRADIENT_ROWS;
    }
}

/* The square roots of a run. The processor has them, but gcc makes no vectors of sqrtf. */
SAMBA__FN void samba__roots(float *x)
{
#if SAMBA__X86 && SAMBA__VEC_LANES > 1
    for (int k = 0; k < SAMBA__STEP_PART; k += 8)
        _mm256_storeu_ps(x + k, _mm256_sqrt_ps(_mm256_loadu_ps(x + k)));
#else
    for (int k = 0; k < SAMBA__STEP_PART; k++)
        x[k] = samba__sqrt(x[k]);
#endif
}

/* sqrt(v) root + eps; or NaN where v is infinite, as the square of a gradient beyond 1.8e19 is: a
   quotient by infinity would leave the parameter as it is, from then on for good. */
SAMBA__KERNEL float samba__step_size(float size, float root, float eps)
{
    return samba__fma(size, root, eps) + (size - size);
}

/* AdamW (decay decoupled: Loshchilov, Hutter 2019) and Adam (decay in the gradient), as
   torch.optim. m = b1 m + (1-b1) g; v = b2 v + (1-b2) g^2;
   w -= lr/(1-b1^t) m / (sqrt(v)/sqrt(1-b2^t) + eps) */
SAMBA__FN void samba__adamw_kernel(const samba_args *a)
{
    float *SAMBA__RESTRICT m = a->out[1], *SAMBA__RESTRICT v = a->out[2];
    float block[SAMBA__STEP_PART], size[SAMBA__STEP_PART] = { 0.0f };
    const float *g = a->in[SAMBA__ADAMW_G], lr = a->in[SAMBA__ADAMW_LR][0];
    float decay = a->in[SAMBA__ADAMW_WEIGHT_DECAY][0], clip = samba__clip_of(a, SAMBA__ADAMW_CLIP);
    float b1 = a->in[SAMBA__ADAMW_BETA1][0], b2 = a->in[SAMBA__ADAMW_BETA2][0];
    const ptrdiff_t end = (ptrdiff_t)a->end;
    float eps = a->in[SAMBA__ADAMW_EPS][0];
    int32_t step = samba__in_i32(a, SAMBA__ADAMW_STEP)[0];

    float rate = (float)((double)lr / (1.0 - samba__power((double)b1, step)));
    float root = 1.0f / samba__sqrt((float)(1.0 - samba__power((double)b2, step)));

    bool decoupled = a->attr[SAMBA__ADAMW_DECOUPLED]
        != 0; /* AdamW; else Adam, where decay is part of the gradient */
    float shrink = decoupled ? samba__fma(-lr, decay, 1.0f) : 1.0f;
    float l2 = decoupled ? 0.0f : decay;
    float c1 = 1.0f - b1, c2 = 1.0f - b2;

    for (ptrdiff_t i = (ptrdiff_t)a->begin, n; i < end;
         i += n) { /* memory is what takes the time */
        n = samba__min_index(SAMBA__STEP_PART - i % SAMBA__STEP_PART, end - i);
        for (ptrdiff_t l = i + 512; l < i + n + 512; l += 16) {
            SAMBA__PREFETCH(samba__out_bytes(a, l));
            SAMBA__PREFETCH(g + l);
            SAMBA__PREFETCH(m + l);
            SAMBA__PREFETCH(v + l);
        }

        float *SAMBA__RESTRICT w = samba__open_weights(a, i, n, block);
        SAMBA__IN_PLACE
        for (ptrdiff_t k = 0; k < n; k++) {
            float d = samba__fma(l2, w[k], g[i + k] * clip);
            m[i + k] = samba__fma(c1, d, b1 * m[i + k]);
            size[k] = v[i + k] = samba__fma(c2 * d, d, b2 * v[i + k]);
        }

        samba__roots(size);
        SAMBA__IN_PLACE
        for (ptrdiff_t k = 0; k < n; k++)
            w[k]
                = samba__fma(-rate, m[i + k] / samba__step_size(size[k], root, eps), w[k] * shrink);

        samba__close_weights(a, i, n, w, step);
    }
}
#endif
#endif /* a template: kernels */
#if SAMBA__TEMPLATE == 0

/* clip_factor: min(1, max_norm / (sqrt(sum of squares) + 1e-6)), as torch's clip_grad_norm_. NaN if
   the sum is NaN, as there, or infinite: then some gradient is, or f32 does not hold the norm's
   square, as beyond 1.8e19. A factor of 1 or 0 would hide that: all gradients would go through
   unclipped, or every step would do nothing. */
SAMBA__MATCHES(clip_factor, "f:,f:->f:", 0)

enum { SAMBA__CLIP_FACTOR_SQUARES, SAMBA__CLIP_FACTOR_NORM };

SAMBA__KERNEL void samba__clip_factor_kernel(const samba_args *a)
{
    float squares = a->in[0][0];
    float factor = a->in[1][0] / (samba__sqrt(squares) + 1e-6f);
    if (factor >= 1.0f) factor = 1.0f;
    a->out[0][0] = squares < SAMBA__INF ? factor : SAMBA__NAN;
}

