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
    X(ALPHA,         alpha,         1.0,             1.0) \
    X(LR_DECAY,      lr_decay,      SAMBA__MOST,     SAMBA__NO_LIMIT) \
    X(EPS,           eps,           SAMBA__MOST,     SAMBA__NO_LIMIT) \
    X(MAX_GRAD_NORM, max_grad_norm, SAMBA__NO_LIMIT, SAMBA__NO_LIMIT)

/* What the op of an optimizer reads besides w and g. First S, states: a name, the end of the
   tensor's name, "?" if it may be absent, as the last one may. Then A, argins: a name, which one,
   what 0 means. */
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
#define SAMBA__AMSGRAD_INPUTS(S, A) \
    S(AMSGRAD_M,            "exp_avg",        "") \
    S(AMSGRAD_V,            "exp_avg_sq",     "") \
    S(AMSGRAD_MOST,         "max_exp_avg_sq", "") \
    A(AMSGRAD_LR,           LR,           1e-3f) \
    A(AMSGRAD_WEIGHT_DECAY, WEIGHT_DECAY, 0.0f) \
    A(AMSGRAD_BETA1,        BETA1,        0.9f) \
    A(AMSGRAD_BETA2,        BETA2,        0.997f) \
    A(AMSGRAD_EPS,          EPS,          1e-8f)
#define SAMBA__RMSPROP_INPUTS(S, A) \
    S(RMSPROP_V,            "square_avg", "") \
    S(RMSPROP_BUFFER,       "momentum",   "?") \
    A(RMSPROP_LR,           LR,           1e-2f) \
    A(RMSPROP_WEIGHT_DECAY, WEIGHT_DECAY, 0.0f) \
    A(RMSPROP_ALPHA,        ALPHA,        0.99f) \
    A(RMSPROP_EPS,          EPS,          1e-8f) \
    A(RMSPROP_MOMENTUM,     MOMENTUM,     0.0f)
#define SAMBA__RMSPROP_CENTERED_INPUTS(S, A) \
    S(RMSPROP_CENTERED_V,            "square_avg", "") \
    S(RMSPROP_CENTERED_MEAN,         "grad_avg",   "") \
    S(RMSPROP_CENTERED_BUFFER,       "momentum",   "?") \
    A(RMSPROP_CENTERED_LR,           LR,           1e-2f) \
    A(RMSPROP_CENTERED_WEIGHT_DECAY, WEIGHT_DECAY, 0.0f) \
    A(RMSPROP_CENTERED_ALPHA,        ALPHA,        0.99f) \
    A(RMSPROP_CENTERED_EPS,          EPS,          1e-8f) \
    A(RMSPROP_CENTERED_MOMENTUM,     MOMENTUM,     0.0f)
#define SAMBA__ADAGRAD_INPUTS(S, A) \
    S(ADAGRAD_SUM,          "sum",        "") \
    A(ADAGRAD_LR,           LR,           1e-2f) \
    A(ADAGRAD_WEIGHT_DECAY, WEIGHT_DECAY, 0.0f) \
    A(ADAGRAD_LR_DECAY,     LR_DECAY,     0.0f) \
    A(ADAGRAD_EPS,          EPS,          1e-10f)
#define SAMBA__LION_INPUTS(S, A) \
    S(LION_M,            "exp_avg",    "") \
    A(LION_LR,           LR,           1e-4f) \
    A(LION_WEIGHT_DECAY, WEIGHT_DECAY, 0.0f) \
    A(LION_BETA1,        BETA1,        0.9f) \
    A(LION_BETA2,        BETA2,        0.99f)
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
   words of the key of its rounding. A kind has a second row if a bool of samba_optim, its variant,
   asks for another op. */
typedef struct samba__optimizer_row {
    int32_t kind;               /* samba_optim_kind */
    const char *name, *written; /* for messages: "Adam", "SAMBA_ADAM" */
    int32_t op;
    const char *signature;
    const char *state[SAMBA__MOST_STATES + 1]; /* the last one is NULL */
    int32_t kept_for; /* the last state exists only if this argin may be other than 0; NO_ARGIN:
                         always */

    struct {
        int32_t argin; /* SAMBA__ARGIN_..., beginning with LR */
        float initial;
    } argin[SAMBA__MOST_ARGINS];

    int32_t n_argins;
    samba__option variant; /* kind 'b', or NO_VARIANT */
    int32_t n_options;
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
#define SAMBA__NO_VARIANT { 'c', 0 }
#define SAMBA__VARIANT(field) SAMBA__OPTION('b', field)
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
#define SAMBA__OPTIMIZER(kind, name, op, inputs, kept_for, variant, n_options, ...) \
    { SAMBA__KIND(kind), name, "SAMBA_" #kind, SAMBA__OP_##op, SAMBA__STEP_SIGNATURE(inputs), \
      { inputs(SAMBA__STATE_NAME, SAMBA__INPUT_NONE) NULL }, SAMBA__##kept_for, \
      { inputs(SAMBA__INPUT_NONE, SAMBA__ARGIN_VALUE) }, \
      0 inputs(SAMBA__INPUT_NONE, SAMBA__ARGIN_ONE), variant, n_options, { __VA_ARGS__ } },

static const samba__optimizer_row samba__optimizers[] = {
    SAMBA__OPTIMIZER(SGD, "SGD", sgd, SAMBA__SGD_INPUTS, ARGIN_MOMENTUM, SAMBA__NO_VARIANT, 2,
                     SAMBA__OPTION('f', dampening), SAMBA__OPTION('b', nesterov))
    SAMBA__OPTIMIZER(ADAMW, "AdamW", adamw, SAMBA__ADAMW_INPUTS, NO_ARGIN, SAMBA__NO_VARIANT,
                     1, { 'c', 1 })
    SAMBA__OPTIMIZER(ADAM, "Adam", adamw, SAMBA__ADAMW_INPUTS, NO_ARGIN, SAMBA__NO_VARIANT,
                     1, { 'c', 0 })
    SAMBA__IF(SAMBA__HAS(amsgrad),
    SAMBA__OPTIMIZER(ADAMW, "AdamW with amsgrad", amsgrad, SAMBA__AMSGRAD_INPUTS, NO_ARGIN,
                     SAMBA__VARIANT(amsgrad), 1, { 'c', 1 })
    SAMBA__OPTIMIZER(ADAM, "Adam with amsgrad", amsgrad, SAMBA__AMSGRAD_INPUTS, NO_ARGIN,
                     SAMBA__VARIANT(amsgrad), 1, { 'c', 0 }))
    SAMBA__IF(SAMBA__HAS(rmsprop),
    SAMBA__OPTIMIZER(RMSPROP, "RMSprop", rmsprop, SAMBA__RMSPROP_INPUTS, ARGIN_MOMENTUM,
                     SAMBA__NO_VARIANT, 0, { 'c', 0 }))
    SAMBA__IF(SAMBA__HAS(rmsprop_centered),
    SAMBA__OPTIMIZER(RMSPROP, "centered RMSprop", rmsprop_centered, SAMBA__RMSPROP_CENTERED_INPUTS,
                     ARGIN_MOMENTUM, SAMBA__VARIANT(centered), 0, { 'c', 0 }))
    SAMBA__IF(SAMBA__HAS(adagrad),
    SAMBA__OPTIMIZER(ADAGRAD, "Adagrad", adagrad, SAMBA__ADAGRAD_INPUTS, NO_ARGIN,
                     SAMBA__NO_VARIANT, 0, { 'c', 0 }))
    SAMBA__IF(SAMBA__HAS(lion),
    SAMBA__OPTIMIZER(LION, "Lion", lion, SAMBA__LION_INPUTS, NO_ARGIN,
                     SAMBA__NO_VARIANT, 0, { 'c', 0 }))
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

SAMBA__FN int32_t samba__count_states(const samba__optimizer_row *row)
{
    int32_t n = 0;
    while (row->state[n])
        n++;
    return n;
}

SAMBA__FN bool samba__step_rule(samba_call *c, int32_t op)
{
    const samba__optimizer_row *row = samba__optimizer_with(op);
    samba_dtype type = c->n_in > 0 ? c->in[0].dtype : SAMBA_F32;
    if (!row) return samba_refuse(c, SAMBA_EOP, "no optimizer has this op");

    int32_t n_attr = row->n_options + (type == SAMBA_F32 ? 0 : 2);
    if (!samba__expect_match(c, row->signature, n_attr)) return false;
    c->out[0].dtype = type;
    int32_t n_states = samba__count_states(row);
    if (!samba__has(c, 1 + n_states)) c->n_out = n_states; /* the states follow w and g */
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
SAMBA__STEP_OP(amsgrad, AMSGRAD)
SAMBA__STEP_OP(rmsprop, RMSPROP)
SAMBA__STEP_OP(rmsprop_centered, RMSPROP_CENTERED)
SAMBA__STEP_OP(adagrad, ADAGRAD)
SAMBA__STEP_OP(lion, LION)

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

typedef struct samba__adam_rates {
    float rate, root, shrink, l2, b1, b2, eps, clip; /* as in the kernels of Adam */
    int32_t step;
} samba__adam_rates;

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
#define samba__adam_rates_of SAMBA__OF_NARROW(samba__adam_rates_of)
#define samba__adamw_kernel SAMBA__OF_NARROW(samba__adamw_kernel)
#define samba__amsgrad_kernel SAMBA__OF_NARROW(samba__amsgrad_kernel)
#define samba__scale_by_mean_square SAMBA__OF_NARROW(samba__scale_by_mean_square)
#define samba__rmsprop_kernel SAMBA__OF_NARROW(samba__rmsprop_kernel)
#define samba__rmsprop_centered_kernel SAMBA__OF_NARROW(samba__rmsprop_centered_kernel)
#define samba__adagrad_kernel SAMBA__OF_NARROW(samba__adagrad_kernel)
#define samba__lion_kernel SAMBA__OF_NARROW(samba__lion_kernel)
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

/* What a step of Adam multiplies by. Its inputs from `first` on are step, lr, weight_decay, beta1,
   beta2, eps and clip. */
SAMBA__KERNEL samba__adam_rates samba__adam_rates_of(const samba_args *a, int32_t first)
{
    samba__adam_rates o;
    float lr = a->in[first + 1][0], decay = a->in[first + 2][0];
    bool decoupled = a->attr[SAMBA__ADAMW_DECOUPLED]
        != 0; /* AdamW; else Adam, where decay is part of the gradient */

    o.step = samba__in_i32(a, first)[0];
    o.b1 = a->in[first + 3][0];
    o.b2 = a->in[first + 4][0];
    o.eps = a->in[first + 5][0];
    o.clip = samba__clip_of(a, first + 6);

    o.rate = (float)((double)lr / (1.0 - samba__power((double)o.b1, o.step)));
    o.root = 1.0f / samba__sqrt((float)(1.0 - samba__power((double)o.b2, o.step)));
    o.shrink = decoupled ? samba__fma(-lr, decay, 1.0f) : 1.0f;
    o.l2 = decoupled ? 0.0f : decay;
    return o;
}

/* AdamW (decay decoupled: Loshchilov, Hutter 2019) and Adam (decay in the gradient), as
   torch.optim. m = b1 m + (1-b1) g; v = b2 v + (1-b2) g^2;
   w -= lr/(1-b1^t) m / (sqrt(v)/sqrt(1-b2^t) + eps) */
SAMBA__FN void samba__adamw_kernel(const samba_args *a)
{
    float *SAMBA__RESTRICT m = a->out[1], *SAMBA__RESTRICT v = a->out[2];
    float block[SAMBA__STEP_PART], size[SAMBA__STEP_PART] = { 0.0f };
    const float *g = a->in[SAMBA__ADAMW_G];
    const samba__adam_rates o = samba__adam_rates_of(a, SAMBA__ADAMW_STEP);
    const ptrdiff_t end = (ptrdiff_t)a->end;
    float c1 = 1.0f - o.b1, c2 = 1.0f - o.b2;

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
            float d = samba__fma(o.l2, w[k], g[i + k] * o.clip);
            m[i + k] = samba__fma(c1, d, o.b1 * m[i + k]);
            size[k] = v[i + k] = samba__fma(c2 * d, d, o.b2 * v[i + k]);
        }

        samba__roots(size);
        SAMBA__IN_PLACE
        for (ptrdiff_t k = 0; k < n; k++)
            w[k] = samba__fma(-o.rate, m[i + k] / samba__step_size(size[k], o.root, o.eps),
                              w[k] * o.shrink);

        samba__close_weights(a, i, n, w, o.step);
    }
}

/* The same two with the largest v so far in place of v: Reddi, Kale, Kumar, "On the convergence of
   Adam and beyond", 2018. */
SAMBA__FN void samba__amsgrad_kernel(const samba_args *a)
{
    float *SAMBA__RESTRICT m = a->out[1], *SAMBA__RESTRICT v = a->out[2];
    float *SAMBA__RESTRICT most = a->out[3];
    float block[SAMBA__STEP_PART], size[SAMBA__STEP_PART] = { 0.0f };
    const float *g = a->in[SAMBA__AMSGRAD_G];
    const samba__adam_rates o = samba__adam_rates_of(a, SAMBA__AMSGRAD_STEP);
    const ptrdiff_t end = (ptrdiff_t)a->end;
    float c1 = 1.0f - o.b1, c2 = 1.0f - o.b2;

    for (ptrdiff_t i = (ptrdiff_t)a->begin, n; i < end; i += n) {
        n = samba__min_index(SAMBA__STEP_PART - i % SAMBA__STEP_PART, end - i);
        float *SAMBA__RESTRICT w = samba__open_weights(a, i, n, block);

        SAMBA__IN_PLACE
        for (ptrdiff_t k = 0; k < n; k++) {
            float d = samba__fma(o.l2, w[k], g[i + k] * o.clip);
            float square = samba__fma(c2 * d, d, o.b2 * v[i + k]);
            m[i + k] = samba__fma(c1, d, o.b1 * m[i + k]);
            v[i + k] = square;
            size[k] = most[i + k] = most[i + k] >= square ? most[i + k] : square;
        }

        samba__roots(size);
        SAMBA__IN_PLACE
        for (ptrdiff_t k = 0; k < n; k++)
            w[k] = samba__fma(-o.rate, m[i + k] / samba__step_size(size[k], o.root, o.eps),
                              w[k] * o.shrink);

        samba__close_weights(a, i, n, w, o.step);
    }
}

/* torch.optim.RMSprop (Tieleman, Hinton 2012), inputs from `first` on being step, lr, weight_decay,
   alpha, eps, momentum and clip. g += wd w; v = alpha v + (1-alpha) g^2; w -= lr g / (sqrt(v) +
   eps). A mean makes it centered: mean += (1-alpha) (g - mean), and v - mean^2 is below the root:
   0 where rounding makes less of it, whose root torch.optim takes, and has NaN. A buffer has
   momentum: buffer = momentum buffer + quotient; w -= lr buffer. */
SAMBA__KERNEL void samba__scale_by_mean_square(const samba_args *a, int32_t first, float *mean,
                                               float *buffer)
{
    float block[SAMBA__STEP_PART], d[SAMBA__STEP_PART], size[SAMBA__STEP_PART] = { 0.0f };
    const float *g = a->in[1], lr = a->in[first + 1][0], decay = a->in[first + 2][0];
    float *v = a->out[1], alpha = a->in[first + 3][0], fresh = 1.0f - alpha;
    float eps = a->in[first + 4][0], momentum = a->in[first + 5][0];
    float clip = samba__clip_of(a, first + 6);
    const ptrdiff_t end = (ptrdiff_t)a->end;

    for (ptrdiff_t i = (ptrdiff_t)a->begin, n; i < end; i += n) {
        n = samba__min_index(SAMBA__STEP_PART - i % SAMBA__STEP_PART, end - i);
        ptrdiff_t centered = mean ? n : 0, smoothed = buffer ? n : 0; /* so many elements */
        float *w = samba__open_weights(a, i, n, block);

        SAMBA__IN_PLACE
        for (ptrdiff_t k = 0; k < n; k++) {
            d[k] = samba__fma(decay, w[k], g[i + k] * clip);
            size[k] = v[i + k] = samba__fma(fresh * d[k], d[k], alpha * v[i + k]);
        }

        SAMBA__IN_PLACE
        for (ptrdiff_t k = 0; k < centered; k++) {
            float moved = samba__fma(fresh, d[k] - mean[i + k], mean[i + k]);
            float variance = samba__fma(-moved, moved, size[k]);
            mean[i + k] = moved;
            size[k] = variance < 0.0f ? 0.0f : variance;
        }

        samba__roots(size);
        SAMBA__IN_PLACE
        for (ptrdiff_t k = 0; k < n; k++)
            d[k] = d[k] / samba__step_size(size[k], 1.0f, eps);

        SAMBA__IN_PLACE
        for (ptrdiff_t k = 0; k < smoothed; k++)
            d[k] = buffer[i + k] = samba__fma(momentum, buffer[i + k], d[k]);

        SAMBA__IN_PLACE
        for (ptrdiff_t k = 0; k < n; k++)
            w[k] = samba__fma(-lr, d[k], w[k]);

        samba__close_weights(a, i, n, w, samba__in_i32(a, first)[0]);
    }
}

SAMBA__FN void samba__rmsprop_kernel(const samba_args *a)
{
    float *buffer = a->n_out > 2 ? a->out[2] : NULL;
    samba__scale_by_mean_square(a, SAMBA__RMSPROP_STEP, NULL, buffer);
}

SAMBA__FN void samba__rmsprop_centered_kernel(const samba_args *a)
{
    float *buffer = a->n_out > 3 ? a->out[3] : NULL;
    samba__scale_by_mean_square(a, SAMBA__RMSPROP_CENTERED_STEP, a->out[2], buffer);
}

/* torch.optim.Adagrad (Duchi, Hazan, Singer 2011): g += wd w; sum += g^2;
   w -= lr / (1 + (t-1) lr_decay) g / (sqrt(sum) + eps) */
SAMBA__FN void samba__adagrad_kernel(const samba_args *a)
{
    float block[SAMBA__STEP_PART], d[SAMBA__STEP_PART], size[SAMBA__STEP_PART] = { 0.0f };
    const float *g = a->in[SAMBA__ADAGRAD_G], decay = a->in[SAMBA__ADAGRAD_WEIGHT_DECAY][0];
    float *sum = a->out[1], clip = samba__clip_of(a, SAMBA__ADAGRAD_CLIP);
    float eps = a->in[SAMBA__ADAGRAD_EPS][0], lr_decay = a->in[SAMBA__ADAGRAD_LR_DECAY][0];
    const ptrdiff_t end = (ptrdiff_t)a->end;

    int32_t step = samba__in_i32(a, SAMBA__ADAGRAD_STEP)[0];
    float lr = a->in[SAMBA__ADAGRAD_LR][0] / samba__fma((float)(step - 1), lr_decay, 1.0f);

    for (ptrdiff_t i = (ptrdiff_t)a->begin, n; i < end; i += n) {
        n = samba__min_index(SAMBA__STEP_PART - i % SAMBA__STEP_PART, end - i);
        float *w = samba__open_weights(a, i, n, block);

        SAMBA__IN_PLACE
        for (ptrdiff_t k = 0; k < n; k++) {
            d[k] = samba__fma(decay, w[k], g[i + k] * clip);
            size[k] = sum[i + k] = samba__fma(d[k], d[k], sum[i + k]);
        }

        samba__roots(size);
        SAMBA__IN_PLACE
        for (ptrdiff_t k = 0; k < n; k++)
            w[k] = samba__fma(-lr, d[k] / samba__step_size(size[k], 1.0f, eps), w[k]);

        samba__close_weights(a, i, n, w, step);
    }
}

/* Lion (Chen et al., "Symbolic discovery of optimization algorithms", 2023): w -= lr (sign(b1 m +
   (1-b1) g) + wd w); m = b2 m + (1-b2) g. An infinity has a sign, but the step is NaN: m would stay
   infinite, and all later steps would go the same way. */
SAMBA__FN void samba__lion_kernel(const samba_args *a)
{
    float *m = a->out[1], block[SAMBA__STEP_PART];
    const float *g = a->in[SAMBA__LION_G], lr = a->in[SAMBA__LION_LR][0];
    float decay = a->in[SAMBA__LION_WEIGHT_DECAY][0], clip = samba__clip_of(a, SAMBA__LION_CLIP);
    float b1 = a->in[SAMBA__LION_BETA1][0], b2 = a->in[SAMBA__LION_BETA2][0];
    float c1 = 1.0f - b1, c2 = 1.0f - b2, shrink = samba__fma(-lr, decay, 1.0f);
    const ptrdiff_t end = (ptrdiff_t)a->end;

    for (ptrdiff_t i = (ptrdiff_t)a->begin, n; i < end; i += n) {
        n = samba__min_index(SAMBA__STEP_PART - i % SAMBA__STEP_PART, end - i);
        float *w = samba__open_weights(a, i, n, block);

        SAMBA__IN_PLACE
        for (ptrdiff_t k = 0; k < n; k++) {
            float d = g[i + k] * clip;
            float way = samba__fma(c1, d, b1 * m[i + k]);
            float step = samba__sign(way) + (way - way);
            m[i + k] = samba__fma(c2, d, b2 * m[i + k]);
            w[k] = samba__fma(-lr, step, w[k] * shrink);
        }

        samba__close_weights(a, i, n, w, samba__in_i32(a, SAMBA__LION_STEP)[0]);
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

