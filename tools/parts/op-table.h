/* ==== [op-table] ============================================================================== */
/* The list of ops: a row for each, from which enums, prototypes of kernels, the table of [op-rows]
   and the names in tools are made; then what the shape rules and kernels of all ops share. */

/* Builders record or compute through this seam, which [record] defines; the device half has none.
 */
#if defined(SAMBA_RUNTIME_ONLY)
#define samba__emit(s, op, in, n_in, attr, n_attr, outs) \
    ((void)(s), (void)(op), (void)(in), (void)(attr), (void)(n_attr), (samba_tensor *)NULL)
#define SAMBA__FAIL(list) ((void)0)
#define SAMBA__WARN(list) ((void)0)
#else
static samba_tensor *samba__emit(samba_session *s, int32_t op, samba_tensor *const *in,
                                 int32_t n_in, const int32_t *attr, int32_t n_attr,
                                 samba_tensor **outs);
static void samba__warn(samba_session *s, const char *fmt, ...);
#define SAMBA__FAIL(list) samba_fail list
#define SAMBA__WARN(list) samba__warn list
#endif
SAMBA__FN samba_tensor *samba__emit1(int32_t op, samba_tensor *x, const int32_t *attr,
                                     int32_t n_attr)
{
    return x ? samba__emit(x->session, op, &x, 1, attr, n_attr, NULL) : NULL;
}

SAMBA__FN samba_tensor *samba__emit2(int32_t op, samba_tensor *a, samba_tensor *b,
                                     const int32_t *attr, int32_t n_attr)
{
    samba_tensor *in[2] = { a, b };
    return a ? samba__emit(a->session, op, in, 2, attr, n_attr, NULL) : NULL;
}

SAMBA__FN samba_tensor *samba__emit3(int32_t op, samba_tensor *a, samba_tensor *b, samba_tensor *c,
                                     const int32_t *attr, int32_t n_attr)
{
    samba_tensor *in[3] = { a, b, c };
    return a ? samba__emit(a->session, op, in, 3, attr, n_attr, NULL) : NULL;
}

/* Attributes of ops: lists of them, which rows of the table name. Each attribute has a name, how
   many words it takes, 0 for as many as there are, and how it is printed, as samba_op.attributes
   says. An op that has fewer words than its family has the first ones; those of slice, and of pad
   without its value, come once for each dimension. */
/* clang-format off */
#define SAMBA__ATTRIBUTES_NONE(A)
#define SAMBA__ATTRIBUTES_SLOPE(A) \
    A(SLOPE_VALUE,           1, "slope:f")
#define SAMBA__ATTRIBUTES_SCALE(A) \
    A(SCALE_FACTOR,          1, "factor:f")
#define SAMBA__ATTRIBUTES_SHIFT(A) \
    A(SHIFT_TERM,            1, "term:f")
#define SAMBA__ATTRIBUTES_FULL(A) \
    A(FULL_VALUE,            1, "value:f") \
    A(FULL_SHAPE,            0, " shape:i*")
#define SAMBA__ATTRIBUTES_ARANGE(A) \
    A(ARANGE_START,          1, "start:f") \
    A(ARANGE_STEP,           1, " step:f") \
    A(ARANGE_COUNT,          1, " count:i")
#define SAMBA__ATTRIBUTES_CAST(A) \
    A(CAST_TYPE,             1, "type:t")
#define SAMBA__ATTRIBUTES_DROPOUT(A) \
    A(DROPOUT_KEY,           2, "key:x2")
#define SAMBA__ATTRIBUTES_NOISE(A) \
    A(NOISE_KEY,             2, "key:x2") \
    A(NOISE_NORMAL,          1, " normal:b")
#define SAMBA__ATTRIBUTES_COUNT(A) \
    A(COUNT_TRAINING_ONLY,   1, "training_only:b")
#define SAMBA__ATTRIBUTES_ACCUMULATE(A) \
    A(ACCUMULATE_ANEW,       1, "anew:b")
#define SAMBA__ATTRIBUTES_REDUCE(A) \
    A(REDUCE_AXES,             1, "axes:m") \
    A(REDUCE_KEEPDIM,          1, " keepdim:b")
#define SAMBA__ATTRIBUTES_ARGMAX(A) \
    A(ARGMAX_AXIS,           1, "axis:i") \
    A(ARGMAX_KEEPDIM,        1, " keepdim:b")
#define SAMBA__ATTRIBUTES_ARGSORT(A) \
    A(ARGSORT_COUNT,         1, "count:i") \
    A(ARGSORT_DESCENDING,    1, " descending:b")
#define SAMBA__ATTRIBUTES_MATMUL(A) \
    A(MATMUL_TRANSPOSE_A,    1, "transpose_a:b") \
    A(MATMUL_TRANSPOSE_B,    1, " transpose_b:b")
#define SAMBA__ATTRIBUTES_PACKED(A) \
    A(PACKED_ROWS,           1, "rows:i") \
    A(PACKED_COLUMNS,        1, " columns:i")
#define SAMBA__ATTRIBUTES_SHAPE(A) \
    A(SHAPE_DIMS,            0, "shape:i*")
#define SAMBA__ATTRIBUTES_PERMUTE(A) \
    A(PERMUTE_AXES,          0, "axes:i*")
#define SAMBA__ATTRIBUTES_SLICE(A) \
    A(SLICE_BEGIN,           1, "begin,") \
    A(SLICE_STOP,            1, "end,") \
    A(SLICE_STEP,            1, "step:i*")
#define SAMBA__ATTRIBUTES_PAD(A) \
    A(PAD_BEFORE,            1, "before,") \
    A(PAD_AFTER,             1, "after,") \
    A(PAD_BETWEEN,           1, "between:i*") \
    A(PAD_VALUE,             1, " value:f")
#define SAMBA__ATTRIBUTES_AXIS(A) \
    A(AXIS_NUMBER,           1, "axis:i")
#define SAMBA__ATTRIBUTES_GATHER(A) \
    A(GATHER_AXIS,           1, "axis:i") \
    A(GATHER_SHAPE,          0, " shape:i*")
#define SAMBA__ATTRIBUTES_SGD(A) \
    A(SGD_DAMPENING,         1, "dampening:f") \
    A(SGD_NESTEROV,          1, " nesterov:b") \
    A(SGD_KEY,               0, " key:x*")
#define SAMBA__ATTRIBUTES_ADAMW(A) \
    A(ADAMW_DECOUPLED,       1, "decoupled:b") \
    A(ADAMW_KEY,             0, " key:x*")
#define SAMBA__ATTRIBUTES_STEP(A) \
    A(STEP_KEY,              0, "key:x*")
#define SAMBA__ATTRIBUTES_CONV(A) \
    A(CONV_STRIDE,           2, "stride:i2") \
    A(CONV_PADDING,          2, " padding:i2") \
    A(CONV_DILATION,         2, " dilation:i2") \
    A(CONV_GROUPS,           1, " groups:i") \
    A(CONV_SIZE,             2, " size:i2")
#define SAMBA__ATTRIBUTES_MAX_POOL(A) \
    A(POOL_KERNEL,           2, "kernel:i2") \
    A(POOL_STRIDE,           2, " stride:i2") \
    A(POOL_PADDING,          2, " padding:i2") \
    A(POOL_CEIL_MODE,        1, " ceil_mode:b") \
    A(POOL_SIZE,             0, " size:i*")
#define SAMBA__ATTRIBUTES_AVG_POOL(A) \
    A(AVG_KERNEL,             2, "kernel:i2") \
    A(AVG_STRIDE,             2, " stride:i2") \
    A(AVG_PADDING,            2, " padding:i2") \
    A(AVG_CEIL_MODE,          1, " ceil_mode:b") \
    A(AVG_EXCLUDE_PADDING,    1, " exclude_padding:b") \
    A(AVG_SIZE,               0, " size:i*")
#define SAMBA__ATTRIBUTES_AVG_TO(A) \
    A(AVG_TO,                 2, "to:i2") \
    A(AVG_TO_SIZE,            0, " size:i*")
#define SAMBA__ATTRIBUTES_BATCH_NORM(A) \
    A(BATCH_NORM_MOMENTUM,   1, "momentum:f") \
    A(BATCH_NORM_EPS,        1, " eps:f")
#define SAMBA__ATTRIBUTES_NORM(A) \
    A(NORM_EPS,              1, "eps:f") \
    A(NORM_AFFINE,           1, " affine:b")
#define SAMBA__ATTRIBUTES_LOSS(A) \
    A(LOSS_REDUCTION,        1, "reduction:i") \
    A(LOSS_IGNORE,           1, " ignore_index:i") \
    A(LOSS_SMOOTHING,        1, " label_smoothing:f")
#define SAMBA__ATTRIBUTES_NLL(A) \
    A(NLL_REDUCTION,         1, "reduction:i") \
    A(NLL_IGNORE,            1, " ignore_index:i") \
    A(NLL_CLASSES,           1, " classes:i")
#define SAMBA__ATTRIBUTES_TABLE(A) \
    A(TABLE_ROWS,            1, "rows:i")
#define SAMBA__ATTRIBUTES_ATTENTION(A) \
    A(ATTENTION_CAUSAL,      1, "causal:b") \
    A(ATTENTION_SCALE,       1, " scale:f") \
    A(ATTENTION_KEY,         2, " key:x2")
#define SAMBA__ATTRIBUTES_OBSERVE(A) \
    A(OBSERVE_MOMENTUM,      1, "momentum:f")
#define SAMBA__ATTRIBUTES_GRID(A) \
    A(GRID_SCALE,            1, "scale:f") \
    A(GRID_ZERO,             1, " zero:i")
#define SAMBA__ATTRIBUTES_REQUANTIZE(A) \
    A(REQUANTIZE_ZERO_X,     1, "zero_x:i") \
    A(REQUANTIZE_FACTOR,     1, " factor:i") \
    A(REQUANTIZE_SHIFT,      1, " shift:i") \
    A(REQUANTIZE_ZERO_Y,     1, " zero_y:i") \
    A(REQUANTIZE_LIMITS,     2, " limits:i2")
#define SAMBA__ATTRIBUTES_ADD_INT8(A) \
    A(ADD_INT8_ZEROS,        2, "zeros:i2") \
    A(ADD_INT8_FACTORS,      2, " factors:i2") \
    A(ADD_INT8_SHIFT,        1, " shift:i") \
    A(ADD_INT8_ZERO_Y,       1, " zero_y:i") \
    A(ADD_INT8_LIMITS,       2, " limits:i2")
#define SAMBA__ATTRIBUTES_AFFINE_INT8(A) \
    A(AFFINE_INT8_ZERO_Y,    1, "zero_y:i") \
    A(AFFINE_INT8_LIMITS,    2, " limits:i2")
#define SAMBA__ATTRIBUTES_CONV_INT8(A) \
    A(CONV_INT8_STRIDE,      2, "stride:i2") \
    A(CONV_INT8_PADDING,     2, " padding:i2") \
    A(CONV_INT8_DILATION,    2, " dilation:i2") \
    A(CONV_INT8_GROUPS,      1, " groups:i") \
    A(CONV_INT8_ZERO_X,      1, " zero_x:i") \
    A(CONV_INT8_ZERO_Y,      1, " zero_y:i") \
    A(CONV_INT8_LIMITS,      2, " limits:i2")
#define SAMBA__ATTRIBUTES_COLUMNS(A) \
    A(COLUMNS_NUMBER,        1, "columns:i")
#define SAMBA__ATTRIBUTES_AVG_INT8(A) \
    A(AVG_INT8_KERNEL,           2, "kernel:i2") \
    A(AVG_INT8_STRIDE,           2, " stride:i2") \
    A(AVG_INT8_PADDING,          2, " padding:i2") \
    A(AVG_INT8_CEIL_MODE,        1, " ceil_mode:b") \
    A(AVG_INT8_EXCLUDE_PADDING,  1, " exclude_padding:b") \
    A(AVG_INT8_ZERO,             1, " zero:i")
/* clang-format on */

/* Where an attribute begins: SAMBA__CONV_STRIDE ...; SAMBA__CONV_END is behind the last one. */
#define SAMBA__ATTRIBUTE_AT(name, words, text) \
    SAMBA__##name, SAMBA__##name##_LAST = SAMBA__##name + (words)-1,
#define SAMBA__ATTRIBUTE_TEXT(name, words, text) text
#define SAMBA__ATTRIBUTES_AT(family) \
    enum { SAMBA__ATTRIBUTES_##family(SAMBA__ATTRIBUTE_AT) SAMBA__##family##_END };
SAMBA__ATTRIBUTES_AT(NONE)
SAMBA__ATTRIBUTES_AT(SLOPE)
SAMBA__ATTRIBUTES_AT(SCALE)
SAMBA__ATTRIBUTES_AT(SHIFT)
SAMBA__ATTRIBUTES_AT(FULL)
SAMBA__ATTRIBUTES_AT(ARANGE)
SAMBA__ATTRIBUTES_AT(CAST)
SAMBA__ATTRIBUTES_AT(DROPOUT)
SAMBA__ATTRIBUTES_AT(NOISE)
SAMBA__ATTRIBUTES_AT(COUNT)
SAMBA__ATTRIBUTES_AT(ACCUMULATE)
SAMBA__ATTRIBUTES_AT(REDUCE)
SAMBA__ATTRIBUTES_AT(ARGMAX)
SAMBA__ATTRIBUTES_AT(ARGSORT)
SAMBA__ATTRIBUTES_AT(MATMUL)
SAMBA__ATTRIBUTES_AT(PACKED)
SAMBA__ATTRIBUTES_AT(SHAPE)
SAMBA__ATTRIBUTES_AT(PERMUTE)
SAMBA__ATTRIBUTES_AT(SLICE)
SAMBA__ATTRIBUTES_AT(PAD)
SAMBA__ATTRIBUTES_AT(AXIS)
SAMBA__ATTRIBUTES_AT(GATHER)
SAMBA__ATTRIBUTES_AT(SGD)
SAMBA__ATTRIBUTES_AT(ADAMW)
SAMBA__ATTRIBUTES_AT(STEP)
SAMBA__ATTRIBUTES_AT(CONV)
SAMBA__ATTRIBUTES_AT(MAX_POOL)
SAMBA__ATTRIBUTES_AT(AVG_POOL)
SAMBA__ATTRIBUTES_AT(AVG_TO)
SAMBA__ATTRIBUTES_AT(BATCH_NORM)
SAMBA__ATTRIBUTES_AT(NORM)
SAMBA__ATTRIBUTES_AT(LOSS)
SAMBA__ATTRIBUTES_AT(NLL)
SAMBA__ATTRIBUTES_AT(TABLE)
SAMBA__ATTRIBUTES_AT(ATTENTION)
SAMBA__ATTRIBUTES_AT(OBSERVE)
SAMBA__ATTRIBUTES_AT(GRID)
SAMBA__ATTRIBUTES_AT(REQUANTIZE)
SAMBA__ATTRIBUTES_AT(ADD_INT8)
SAMBA__ATTRIBUTES_AT(AFFINE_INT8)
SAMBA__ATTRIBUTES_AT(CONV_INT8)
SAMBA__ATTRIBUTES_AT(AVG_INT8)
SAMBA__ATTRIBUTES_AT(COLUMNS)

/* The key of a stream of random numbers as two words. */
enum { SAMBA__KEY_WORDS = 2 };

SAMBA__FN void samba__put_key(int32_t *word, uint64_t key)
{
    word[0] = (int32_t)(uint32_t)(key >> 32);
    word[1] = (int32_t)(uint32_t)key;
}

/* Words that slice and pad have for each dimension. */
enum { SAMBA__SLICE_WORDS = SAMBA__SLICE_END, SAMBA__PAD_WORDS = SAMBA__PAD_VALUE };

/* Inputs of ops that have many. The last ones may be absent, those of dropout together. */
enum { SAMBA__AFFINE_X, SAMBA__AFFINE_WEIGHT, SAMBA__AFFINE_BIAS, SAMBA__AFFINE_INPUTS };

enum {
    SAMBA__AFFINE_PACKED_X,
    SAMBA__AFFINE_PACKED_WEIGHT,
    SAMBA__AFFINE_PACKED_SCALE, /* of groups of weights */
    SAMBA__AFFINE_PACKED_BIAS,
    SAMBA__AFFINE_PACKED_INPUTS
};

enum {
    SAMBA__LOOKUP_IDS,
    SAMBA__LOOKUP_WEIGHT,
    SAMBA__LOOKUP_PACKED_SCALE,
    SAMBA__LOOKUP_PACKED_INPUTS
};

/* Of products on int8: the table has bias, multiplier and shift of each channel. */
enum { SAMBA__INT8_X, SAMBA__INT8_WEIGHT, SAMBA__INT8_TABLE, SAMBA__INT8_INPUTS };

enum { SAMBA__WRITE_ROWS_CACHE, SAMBA__WRITE_ROWS_X, SAMBA__WRITE_ROWS_ROW };

/* Momentum is not read, but must stay 0. */
enum {
    SAMBA__MATMUL_SGD_W,
    SAMBA__MATMUL_SGD_A, /* then b: the gradient is op(a) op(b) */
    SAMBA__MATMUL_SGD_LR = 3,
    SAMBA__MATMUL_SGD_DECAY,
    SAMBA__MATMUL_SGD_MOMENTUM,
    SAMBA__MATMUL_SGD_INPUTS
};

/* The sum that is added to follows the inputs of the op that makes the addend. */
enum { SAMBA__ACCUMULATE_SUM = 2, SAMBA__ACCUMULATE_INPUTS };

enum {
    SAMBA__DROPOUT_X,
    SAMBA__DROPOUT_RATE, /* then seed and counter */
    SAMBA__DROPOUT_SEED,
    SAMBA__DROPOUT_COUNTER,
    SAMBA__DROPOUT_INPUTS
};

enum {
    SAMBA__NOISE_LIKE, /* read for its shape alone */
    SAMBA__NOISE_SEED, /* then the counter */
    SAMBA__NOISE_INPUTS = 3
};

enum {
    SAMBA__BATCH_NORM_X,
    SAMBA__BATCH_NORM_WEIGHT,
    SAMBA__BATCH_NORM_BIAS,
    SAMBA__BATCH_NORM_MEAN,
    SAMBA__BATCH_NORM_VARIANCE,
    SAMBA__BATCH_NORM_INPUTS,
    SAMBA__BATCH_BACKWARD_DY = 0,
    SAMBA__BATCH_BACKWARD_X,
    SAMBA__BATCH_BACKWARD_WEIGHT
};

enum {
    SAMBA__ATTENTION_Q, /* then k and v */
    SAMBA__ATTENTION_MASK = 3,
    SAMBA__ATTENTION_RATE, /* as of dropout */
    SAMBA__ATTENTION_INPUTS = 7,
    SAMBA__ATTENTION_BACKWARD_DY = 0,
    SAMBA__ATTENTION_BACKWARD_Q, /* then k and v */
    SAMBA__ATTENTION_BACKWARD_Y = 4,
    SAMBA__ATTENTION_BACKWARD_LSE,
    SAMBA__ATTENTION_BACKWARD_MASK,
    SAMBA__ATTENTION_BACKWARD_DLSE,
    SAMBA__ATTENTION_BACKWARD_RATE,
    SAMBA__ATTENTION_BACKWARD_INPUTS = 11
};

/* What an op is to the parts that treat kinds of ops alike. */
typedef enum samba__class {
    SAMBA__IS_OTHER,       /* and ops of users */
    SAMBA__IS_ELEMENTWISE, /* a row MAP: may be fused with others */
    SAMBA__IS_MOVES,       /* moves values as they are, makes or converts them; any type */
    SAMBA__IS_REDUCTION,
    SAMBA__IS_PRODUCT, /* GraphAMP gives it bf16, and so it computes in it: [micro-kernel] */
    SAMBA__IS_LOSS,
    SAMBA__IS_UPDATE, /* overwrites an input */
    SAMBA__IS_STEP    /* the same, and a unit makes one element of every output */
} samba__class;

/* Flags of built-in ops besides those of [api]: it multiplies, in bf16 if its first input, or its
   second, is bf16. A matrix unit can do that, and multiply bytes. */
#define SAMBA_OP_MULTIPLIES 16u
#define SAMBA_OP_MULTIPLIES_1 32u

/* What happens to the gradient of an op in the backward pass. A RULE is a function of the op's
   block, samba__NAME_vjp. ZERO: the op is piecewise constant or has no float input, so nothing
   flows through it. NONE: it is not offered, mostly because the op is itself a gradient. */
#define SAMBA__GRADIENT_RULE(name) samba__##name##_vjp
#define SAMBA__GRADIENT_ZERO(name) samba__zero_vjp
#define SAMBA__GRADIENT_NONE(name) NULL

/* What an op does to the rows of a batch, and in which function of [spread] that is worked
   out: where a batch runs in parts, its result has to be put together from those of the parts. */
/* clang-format off */
#define SAMBA__SPREAD_RULES(X) \
    X(UNKNOWN, unknown)        /* rows if they seem to be in the first dimension */ \
    X(SAME, same)              /* the same for every part */ \
    X(FUNCTION, elementwise)   /* elementwise: any function of its operands */ \
    X(ADDS, elementwise)       /* ... linear in all operands together */ \
    X(MULTIPLIES, elementwise) /* ... linear in each operand */ \
    X(DIVIDES, elementwise)    /* ... linear in the first operand */ \
    X(CHOOSES, elementwise)    /* ... one of two operands, as the first says */ \
    X(SHIFTS, elementwise)     /* ... adds a number */ \
    X(CASTS, elementwise)      /* ... converts; linear between floats */ \
    X(DROPS, elementwise)      /* ... of the first operand only */ \
    X(SUM, reduced)            /* reductions: over rows, or within them */ \
    X(MEAN, reduced) \
    X(SQUARES, reduced) \
    X(REDUCE, reduced) \
    X(ARGMAX, reduced) \
    X(RESHAPE, reshaped) \
    X(PERMUTE, permuted) \
    X(EXPAND, expanded) \
    X(PAD, padded) \
    X(SLICE, slice) \
    X(CAT, cat) \
    X(MATMUL, product) \
    X(AFFINE, affine) \
    X(IMAGES, images)   /* works on images: only the first dimension counts rows */ \
    X(PLANES, planes)   /* works on planes: all dimensions but the last two may */ \
    X(VECTORS, vectors) /* works on vectors: all but the last may */ \
    X(LOSS, loss) \
    X(LOOKUP, lookup) \
    X(ATTENTION, attention)

typedef enum samba__spread_rule {
#define X(rule, function) SAMBA__SPREAD_##rule,
    SAMBA__SPREAD_RULES(X)
#undef X
    SAMBA__N_SPREAD_RULES
} samba__spread_rule;

/* The table of ops. Wire numbers are written into PEF files: never change or reuse one. Each row
   has the wire number, what happens to the gradient, the SAMBA__SPREAD_RULES, the name, and
     MAP    elementwise: number of inputs, the value (of a, b, c and attributes p[]), flops per
            element, list of attributes; BOOL if the value is a truth, else F32
     CURVE  the same, where the value takes so many steps that operations are interleaved
     OP     samba__class, list of attributes, flops per output element, flags, and its shape rule,
            work and kernel
     FAST   the same, with a second kernel for sets of 8 lanes or 4, as its loops gain by vectors
     FAMILY the same for ops that differ in little and share these functions, which are compiled
            once: a run-time argument says which op is meant
   A row makes the enum, names, kernels and a row of samba__op_table; it needs its op's block. That
   of cast, for one, makes SAMBA__OP_cast, this row of the table
       { "cast", 0x0181, SAMBA_OP_NONE, NULL, 1, samba__cast_shape, samba__cast_work,
         samba__cast_kernel_portable, samba__cast_vjp, its attributes as text }
   and, on x86, its kernel for each instruction set, in samba__op_kernels:
       { samba__cast_kernel_portable, samba__cast_kernel_avx2, samba__cast_kernel_avx2, ... } */
#define SAMBA__OPS(MAP, CURVE, OP, FAST, FAMILY) \
    MAP(0x0101, RULE, ADDS,       add,        2, a + b,                     1, NONE, F32) \
    MAP(0x0102, RULE, ADDS,       sub,        2, a - b,                     1, NONE, F32) \
    MAP(0x0103, RULE, MULTIPLIES, mul,        2, a * b,                     1, NONE, F32) \
    MAP(0x0104, RULE, DIVIDES,    div,        2, a / b,                     4, NONE, F32) \
    CURVE(0x0105, RULE, FUNCTION,   pow,        2, samba__pow(a, b),          40, NONE, F32) \
    MAP(0x0106, RULE, FUNCTION,   minimum, 2, \
            a != a ? a : b != b ? b : a < b ? a : b, 1, NONE, F32) \
    MAP(0x0107, RULE, FUNCTION,   maximum, 2, \
            a != a ? a : b != b ? b : a > b ? a : b, 1, NONE, F32) \
    MAP(0x0108, ZERO, FUNCTION,   eq,         2, a == b ? 1.0f : 0.0f,      1, NONE, BOOL) \
    MAP(0x0109, ZERO, FUNCTION,   ne,         2, a != b ? 1.0f : 0.0f,      1, NONE, BOOL) \
    MAP(0x010A, ZERO, FUNCTION,   lt,         2, a < b ? 1.0f : 0.0f,       1, NONE, BOOL) \
    MAP(0x010B, ZERO, FUNCTION,   le,         2, a <= b ? 1.0f : 0.0f,      1, NONE, BOOL) \
    MAP(0x010C, ZERO, FUNCTION,   gt,         2, a > b ? 1.0f : 0.0f,       1, NONE, BOOL) \
    MAP(0x010D, ZERO, FUNCTION,   ge,         2, a >= b ? 1.0f : 0.0f,      1, NONE, BOOL) \
    MAP(0x010E, RULE, CHOOSES,    where,      3, a != 0.0f ? b : c,         1, NONE, F32) \
    MAP(0x0120, RULE, MULTIPLIES, neg,        1, -a,                        1, NONE, F32) \
    CURVE(0x0121, RULE, FUNCTION,   exp,        1, samba__exp(a),             15, NONE, F32) \
    CURVE(0x0122, RULE, FUNCTION,   log,        1, samba__log(a),             15, NONE, F32) \
    MAP(0x0123, RULE, FUNCTION,   sqrt,       1, samba__sqrt(a),            5, NONE, F32) \
    MAP(0x0124, RULE, FUNCTION,   rsqrt,      1, samba__rsqrt(a),           10, NONE, F32) \
    MAP(0x0125, RULE, FUNCTION,   abs,        1, samba__abs(a),             1, NONE, F32) \
    MAP(0x0126, RULE, FUNCTION,   relu,       1, a < 0.0f ? 0.0f : a,       1, NONE, F32) \
    MAP(0x0127, RULE, FUNCTION,   leaky_relu, 1, a > 0.0f ? a : a * p[0],   2, SLOPE, F32) \
    CURVE(0x0128, RULE, FUNCTION,   sigmoid,    1, samba__sigmoid(a),         20, NONE, F32) \
    CURVE(0x0129, RULE, FUNCTION,   tanh,       1, samba__tanh(a),            20, NONE, F32) \
    CURVE(0x012A, RULE, FUNCTION,   gelu,       1, samba__gelu(a),            30, NONE, F32) \
    CURVE(0x012B, RULE, FUNCTION,   gelu_tanh,  1, samba__gelu_tanh(a),       25, NONE, F32) \
    CURVE(0x012C, RULE, FUNCTION,   silu,       1, samba__silu(a),            20, NONE, F32) \
    CURVE(0x012D, RULE, FUNCTION,   softplus,   1, samba__softplus(a),        30, NONE, F32) \
    MAP(0x012E, RULE, MULTIPLIES, scale,      1, a * p[0],                  1, SCALE, F32) \
    MAP(0x012F, RULE, SHIFTS,     shift,      1, a + p[0],                  1, SHIFT, F32) \
    CURVE(0x0130, RULE, FUNCTION,   sin,        1, samba__sin(a),             70, NONE, F32) \
    CURVE(0x0131, RULE, FUNCTION,   cos,        1, samba__cos(a),             70, NONE, F32) \
    CURVE(0x0132, RULE, FUNCTION,   erf,        1, samba__erf(a),             40, NONE, F32) \
    CURVE(0x0133, RULE, FUNCTION,   log1p,      1, samba__log1p(a),           20, NONE, F32) \
    CURVE(0x0134, RULE, FUNCTION,   expm1,      1, samba__expm1(a),           20, NONE, F32) \
    MAP(0x0135, ZERO, FUNCTION,   floor,      1, samba__floor(a),           4, NONE, F32) \
    MAP(0x0136, ZERO, FUNCTION,   ceil,       1, samba__ceil(a),            4, NONE, F32) \
    MAP(0x0137, ZERO, FUNCTION,   round,      1, samba__round(a),           3, NONE, F32) \
    MAP(0x0138, ZERO, FUNCTION,   sign,       1, samba__sign(a),            2, NONE, F32) \
    MAP(0x0139, ZERO, MULTIPLIES, detach,     1, a,                         0, NONE, F32) \
    MAP(0x0140, RULE, FUNCTION,   tanh_backward, 2, a * samba__fma(-b, b, 1.0f), 3, NONE, F32) \
    MAP(0x0141, RULE, FUNCTION,   sigmoid_backward, 2, a * (b * (1.0f - b)), 3, NONE, F32) \
    MAP(0x0142, RULE, FUNCTION,   relu_backward, 2, b <= 0.0f ? 0.0f : a, 1, NONE, F32) \
    MAP(0x0143, RULE, FUNCTION,   leaky_relu_backward, 2, b > 0.0f ? a : a * p[0], 2, SLOPE, F32) \
    CURVE(0x0144, NONE, FUNCTION,   gelu_backward, 2, a * samba__gelu_grad(b), 40, NONE, F32) \
    CURVE(0x0145, NONE, FUNCTION,   gelu_tanh_backward, 2, \
            a * samba__gelu_tanh_grad(b), 35, NONE, F32) \
    CURVE(0x0146, NONE, FUNCTION,   silu_backward, 2, a * samba__silu_grad(b), 25, NONE, F32) \
    MAP(0x0147, NONE, FUNCTION,   abs_backward, 2, \
            samba__unless_nan(b, b > 0.0f ? a : b < 0.0f ? -a : 0.0f), 1, NONE, F32) \
    MAP(0x0148, NONE, FUNCTION,   maximum_backward, 3, \
            b < c ? 0.0f : b == c ? a * 0.5f : a, 2, NONE, F32) \
    CURVE(0x0149, NONE, FUNCTION,   pow_backward, 3, \
            c == 0.0f ? 0.0f : a * (c * samba__pow(b, c - 1.0f)), 45, NONE, F32) \
    CURVE(0x014A, NONE, FUNCTION,   pow_backward_exponent, 3, \
            samba__pow_slope(a, b, c), 20, NONE, F32) \
    FAST(0x0180,    ZERO, SAME,      full, MOVES, FULL, 0, NONE, \
         samba__full_shape, samba__flat_work, samba__full_kernel) \
    FAST(0x0181,    RULE, CASTS,     cast, MOVES, CAST, 1, NONE, \
         samba__cast_shape, samba__cast_work, samba__cast_kernel) \
    FAST(0x0182,    RULE, DROPS,     dropout, OTHER, DROPOUT, 12, INPLACE, \
         samba__dropout_shape, samba__dropout_work, samba__dropout_kernel) \
    OP(0x0183,      ZERO, SAME,      count, UPDATE, COUNT, 1, UPDATES(0x1u), \
       samba__count_shape, samba__single_work, samba__count_kernel) \
    FAST(0x0184,    ZERO, UNKNOWN,   zero, STEP, NONE, 0, UPDATES(0x1u), \
         samba__zero_shape, samba__flat_work, samba__zero_kernel) \
    FAST(0x0185,    ZERO, UNKNOWN,   accumulate, STEP, ACCUMULATE, 1, UPDATES(0x1u), \
         samba__accumulate_shape, samba__flat_work, samba__accumulate_kernel) \
    OP(0x0186,      ZERO, UNKNOWN,   write_rows, UPDATE, NONE, 1, UPDATES(0x1u), \
       samba__write_rows_shape, samba__write_rows_work, samba__write_rows_kernel) \
    FAST(0x0187,    ZERO, SAME,      arange, MOVES, ARANGE, 2, NONE, \
         samba__arange_shape, samba__flat_work, samba__arange_kernel) \
    FAST(0x0188,    ZERO, DROPS,     noise, OTHER, NOISE, 40, NONE, \
         samba__noise_shape, samba__noise_work, samba__noise_kernel) \
    FAMILY(0x0201,  RULE, SUM,       sum, REDUCTION, REDUCE, 1, NONE, \
           samba__reduce_rule, samba__reduce_work, samba__reduce_run, SAMBA__REDUCER_SUM) \
    FAMILY(0x0202,  RULE, MEAN,      mean, REDUCTION, REDUCE, 1, NONE, \
           samba__reduce_rule, samba__reduce_work, samba__reduce_run, SAMBA__REDUCER_MEAN) \
    FAMILY(0x0203,  RULE, REDUCE,    max, REDUCTION, REDUCE, 1, NONE, \
           samba__reduce_rule, samba__reduce_work, samba__reduce_run, SAMBA__REDUCER_MAX) \
    FAST(0x0204,    ZERO, ARGMAX,    argmax, REDUCTION, ARGMAX, 1, NONE, \
         samba__argmax_shape, samba__argmax_work, samba__argmax_kernel) \
    FAMILY(0x0205,  RULE, SQUARES,   square_sum, REDUCTION, REDUCE, 2, NONE, \
           samba__reduce_rule, samba__reduce_work, samba__reduce_run, SAMBA__REDUCER_SQUARES) \
    OP(0x0206,      ZERO, VECTORS,   argsort, OTHER, ARGSORT, 0, NONE, \
       samba__argsort_shape, samba__argsort_work, samba__argsort_kernel) \
    OP(0x0301,      RULE, MATMUL,    matmul, PRODUCT, MATMUL, 0, MULTIPLIES, \
       samba__matmul_shape, samba__matmul_work, samba__matmul_kernel) \
    OP(0x0302,      RULE, AFFINE,    affine, PRODUCT, NONE, 0, MULTIPLIES, \
       samba__affine_shape, samba__affine_work, samba__affine_kernel) \
    OP(0x0304,      NONE, UNKNOWN,   affine_packed, OTHER, PACKED, 0, MULTIPLIES, \
       samba__affine_packed_shape, samba__affine_work, samba__affine_packed_kernel) \
    OP(0x0303,      NONE, UNKNOWN,   matmul_accumulate, UPDATE, MATMUL, 0, \
       MULTIPLIES | SAMBA_OP_UPDATES(0x3u), \
       samba__matmul_accumulate_shape, samba__matmul_work, samba__matmul_accumulate_kernel) \
    OP(0x0601,      RULE, RESHAPE,   reshape, MOVES, SHAPE, 0, VIEW, \
       samba__reshape_shape, samba__flat_work, samba__reshape_kernel) \
    OP(0x0602,      RULE, PERMUTE,   permute, MOVES, PERMUTE, 1, NONE, \
       samba__permute_shape, samba__rows_work, samba__permute_kernel) \
    OP(0x0603,      RULE, SLICE,     slice, MOVES, SLICE, 1, NONE, \
       samba__slice_shape, samba__rows_work, samba__slice_kernel) \
    OP(0x0604,      RULE, PAD,       pad, MOVES, PAD, 1, NONE, \
       samba__pad_shape, samba__rows_work, samba__pad_kernel) \
    OP(0x0605,      RULE, CAT,       cat, MOVES, AXIS, 1, NONE, \
       samba__cat_shape, samba__cat_work, samba__cat_kernel) \
    OP(0x0606,      RULE, EXPAND,    expand, MOVES, SHAPE, 1, NONE, \
       samba__expand_shape, samba__rows_work, samba__expand_kernel) \
    OP(0x0607,      RULE, UNKNOWN,   gather, MOVES, GATHER, 0, NONE, \
       samba__gather_shape, samba__flat_work, samba__gather_kernel) \
    OP(0x0608,      RULE, UNKNOWN,   gather_backward, MOVES, GATHER, 0, NONE, \
       samba__gather_backward_shape, samba__gather_backward_work, samba__gather_backward_kernel) \
    FAST(0x0701,    ZERO, UNKNOWN,   sgd, STEP, SGD, 6, UPDATES(0x31u), \
         samba__sgd_shape, samba__flat_work, samba__sgd_kernel) \
    FAST(0x0702,    ZERO, UNKNOWN,   adamw, STEP, ADAMW, 20, UPDATES(0x431u), \
         samba__adamw_shape, samba__flat_work, samba__adamw_kernel) \
    OP(0x0703,      ZERO, UNKNOWN,   clip_factor, OTHER, NONE, 10, NONE, \
       samba__clip_factor_shape, samba__single_work, samba__clip_factor_kernel) \
    FAST(0x0704,    NONE, UNKNOWN,   matmul_sgd, UPDATE, MATMUL, 0, \
         MULTIPLIES_1 | SAMBA_OP_UPDATES(0x1u), \
         samba__matmul_sgd_shape, samba__matmul_sgd_work, samba__matmul_sgd_kernel) \
    FAST(0x0705,    ZERO, UNKNOWN,   amsgrad, STEP, ADAMW, 22, UPDATES(0x5431u), \
         samba__amsgrad_shape, samba__flat_work, samba__amsgrad_kernel) \
    FAST(0x0706,    ZERO, UNKNOWN,   rmsprop, STEP, STEP, 14, UPDATES(0x431u), \
         samba__rmsprop_shape, samba__flat_work, samba__rmsprop_kernel) \
    FAST(0x0707,    ZERO, UNKNOWN,   rmsprop_centered, STEP, STEP, 20, UPDATES(0x5431u), \
         samba__rmsprop_centered_shape, samba__flat_work, samba__rmsprop_centered_kernel) \
    FAST(0x0708,    ZERO, UNKNOWN,   adagrad, STEP, STEP, 11, UPDATES(0x31u), \
         samba__adagrad_shape, samba__flat_work, samba__adagrad_kernel) \
    FAST(0x0709,    ZERO, UNKNOWN,   lion, STEP, STEP, 13, UPDATES(0x31u), \
         samba__lion_shape, samba__flat_work, samba__lion_kernel) \
    OP(0x0401,      RULE, IMAGES,    convolution, PRODUCT, CONV, 0, MULTIPLIES, \
       samba__convolution_shape, samba__convolution_work, samba__convolution_kernel) \
    OP(0x0402,      RULE, UNKNOWN,   convolution_backward_input, OTHER, CONV, 0, MULTIPLIES, \
       samba__convolution_backward_input_shape, samba__convolution_backward_input_work, \
       samba__convolution_backward_input_kernel) \
    OP(0x0403,      RULE, UNKNOWN,   convolution_backward_weight, OTHER, CONV, 0, MULTIPLIES, \
       samba__convolution_backward_weight_shape, samba__convolution_backward_weight_work, \
       samba__convolution_backward_weight_kernel) \
    OP(0x0410,      RULE, PLANES,    max_pool2d, OTHER, MAX_POOL, 0, NONE, \
       samba__max_pool2d_shape, samba__max_pool2d_work, samba__max_pool2d_kernel) \
    OP(0x0411,      NONE, UNKNOWN,   max_pool2d_backward, OTHER, MAX_POOL, 0, NONE, \
       samba__max_pool2d_backward_shape, samba__max_pool2d_backward_work, \
       samba__max_pool2d_backward_kernel) \
    OP(0x0412,      RULE, PLANES,    avg_pool2d, OTHER, AVG_POOL, 0, NONE, \
       samba__avg_pool2d_shape, samba__avg_pool2d_work, samba__avg_pool2d_kernel) \
    OP(0x0413,      RULE, UNKNOWN,   avg_pool2d_backward, OTHER, AVG_POOL, 0, NONE, \
       samba__avg_pool2d_backward_shape, samba__avg_pool2d_backward_work, \
       samba__avg_pool2d_backward_kernel) \
    FAMILY(0x0420,  RULE, IMAGES,    batch_norm, OTHER, BATCH_NORM, 10, UPDATES(0x540u), \
           samba__batch_rule, samba__batch_work, samba__batch_run, false) \
    FAMILY(0x0421,  NONE, UNKNOWN,   batch_norm_backward, OTHER, NORM, 14, NONE, \
           samba__batch_rule, samba__batch_work, samba__batch_run, true) \
    FAMILY(0x0501,  RULE, VECTORS,   softmax, OTHER, AXIS, 20, INPLACE, \
           samba__soft_rule, samba__soft_work, samba__soft_run, 0) \
    FAMILY(0x0502,  NONE, UNKNOWN,   softmax_backward, OTHER, AXIS, 4, INPLACE, \
           samba__soft_rule, samba__soft_work, samba__soft_run, SAMBA__BACKWARD) \
    FAMILY(0x0503,  RULE, VECTORS,   log_softmax, OTHER, AXIS, 20, INPLACE, \
           samba__soft_rule, samba__soft_work, samba__soft_run, SAMBA__LOGS) \
    FAMILY(0x0504,  NONE, UNKNOWN,   log_softmax_backward, OTHER, AXIS, 18, INPLACE, \
           samba__soft_rule, samba__soft_work, samba__soft_run, SAMBA__LOGS_BACKWARD) \
    FAMILY(0x0510,  RULE, VECTORS,   layer_norm, OTHER, NORM, 8, INPLACE, \
           samba__norm_rule, samba__norm_work, samba__norm_run, SAMBA__CENTERED) \
    FAMILY(0x0511,  NONE, UNKNOWN,   layer_norm_backward, OTHER, NORM, 16, NONE, \
           samba__norm_rule, samba__norm_work, samba__norm_run, SAMBA__CENTERED_BACKWARD) \
    FAMILY(0x0512,  RULE, VECTORS,   rms_norm, OTHER, NORM, 5, INPLACE, \
           samba__norm_rule, samba__norm_work, samba__norm_run, 0) \
    FAMILY(0x0513,  NONE, UNKNOWN,   rms_norm_backward, OTHER, NORM, 12, NONE, \
           samba__norm_rule, samba__norm_work, samba__norm_run, SAMBA__BACKWARD) \
    FAMILY(0x0520,  RULE, LOSS,      cross_entropy, LOSS, LOSS, 0, NONE, \
           samba__loss_rule, samba__loss_work, samba__loss_run, SAMBA__LOGITS) \
    FAMILY(0x0521,  NONE, UNKNOWN,   cross_entropy_backward, LOSS, LOSS, 20, INPLACE_1, \
           samba__loss_rule, samba__loss_work, samba__loss_run, SAMBA__LOGITS_BACKWARD) \
    FAMILY(0x0522,  RULE, LOSS,      nll, LOSS, NLL, 0, NONE, \
           samba__loss_rule, samba__loss_work, samba__loss_run, 0) \
    FAMILY(0x0523,  NONE, UNKNOWN,   nll_backward, LOSS, NLL, 1, NONE, \
           samba__loss_rule, samba__loss_work, samba__loss_run, SAMBA__BACKWARD) \
    OP(0x0530,      RULE, LOOKUP,    lookup, OTHER, NONE, 1, NONE, \
       samba__lookup_shape, samba__rows_work, samba__lookup_kernel) \
    OP(0x0533,      NONE, UNKNOWN,   lookup_packed, OTHER, PACKED, 1, NONE, \
       samba__lookup_packed_shape, samba__rows_work, samba__lookup_packed_kernel) \
    FAST(0x0531,    RULE, UNKNOWN,   lookup_backward, OTHER, TABLE, 1, NONE, \
         samba__lookup_backward_shape, samba__lookup_backward_work, \
         samba__lookup_backward_kernel) \
    FAST(0x0532,    NONE, UNKNOWN,   lookup_accumulate, UPDATE, TABLE, 1, UPDATES(0x3u), \
         samba__lookup_accumulate_shape, samba__lookup_backward_work, \
         samba__lookup_accumulate_kernel) \
    OP(0x0540,      RULE, ATTENTION, scaled_dot_product_attention, \
       PRODUCT, ATTENTION, 0, MULTIPLIES, \
       samba__scaled_dot_product_attention_shape, samba__scaled_dot_product_attention_work, \
       samba__scaled_dot_product_attention_kernel) \
    OP(0x0541,      NONE, UNKNOWN,   scaled_dot_product_attention_backward, \
       OTHER, ATTENTION, 0, MULTIPLIES_1, \
       samba__scaled_dot_product_attention_backward_shape, \
       samba__scaled_dot_product_attention_backward_work, \
       samba__scaled_dot_product_attention_backward_kernel) \
    OP(0x0801,      NONE, UNKNOWN,   observe, UPDATE, OBSERVE, 3, UPDATES(0x2u), \
       samba__observe_shape, samba__single_work, samba__observe_kernel) \
    OP(0x0802,      RULE, IMAGES,    fake_quantize, OTHER, OBSERVE, 8, UPDATES(0x20u), \
       samba__fake_quantize_shape, samba__fake_quantize_work, samba__fake_quantize_kernel) \
    OP(0x0803,      NONE, UNKNOWN,   fake_quantize_backward, OTHER, NONE, 4, NONE, \
       samba__fake_quantize_backward_shape, samba__blocks_work, \
       samba__fake_quantize_backward_kernel) \
    OP(0x0804,      RULE, SAME,      fake_quantize_weight, OTHER, AXIS, 8, NONE, \
       samba__fake_quantize_weight_shape, samba__fake_quantize_weight_work, \
       samba__fake_quantize_weight_kernel) \
    OP(0x0805,      NONE, UNKNOWN,   quantize, OTHER, GRID, 5, NONE, \
       samba__quantize_shape, samba__blocks_work, samba__quantize_kernel) \
    OP(0x0806,      NONE, UNKNOWN,   dequantize, OTHER, GRID, 2, NONE, \
       samba__dequantize_shape, samba__blocks_work, samba__dequantize_kernel) \
    OP(0x0807,      NONE, UNKNOWN,   requantize, OTHER, REQUANTIZE, 5, INPLACE, \
       samba__requantize_shape, samba__blocks_work, samba__requantize_kernel) \
    OP(0x0808,      NONE, UNKNOWN,   add_int8, OTHER, ADD_INT8, 8, INPLACE, \
       samba__add_int8_shape, samba__blocks_work, samba__add_int8_kernel) \
    OP(0x0809,      NONE, UNKNOWN,   affine_int8, OTHER, AFFINE_INT8, 0, NONE, \
       samba__affine_int8_shape, samba__affine_int8_work, samba__affine_int8_kernel) \
    OP(0x080A,      NONE, UNKNOWN,   convolution_int8, OTHER, CONV_INT8, 0, NONE, \
       samba__convolution_int8_shape, samba__convolution_int8_work, \
       samba__convolution_int8_kernel) \
    OP(0x080B,      NONE, UNKNOWN,   max_pool2d_int8, OTHER, MAX_POOL, 0, NONE, \
       samba__max_pool2d_int8_shape, samba__int8_pool_work, samba__max_pool2d_int8_kernel) \
    OP(0x080C,      NONE, UNKNOWN,   avg_pool2d_int8, OTHER, AVG_INT8, 0, NONE, \
       samba__avg_pool2d_int8_shape, samba__int8_pool_work, samba__avg_pool2d_int8_kernel) \
    OP(0x080D,      NONE, UNKNOWN,   matmul_integer, OTHER, NONE, 0, MULTIPLIES, \
       samba__matmul_integer_shape, samba__matmul_integer_work, samba__matmul_integer_kernel) \
    OP(0x080E,      NONE, UNKNOWN,   affine_integer, OTHER, COLUMNS, 0, MULTIPLIES, \
       samba__affine_integer_shape, samba__affine_integer_work, samba__affine_integer_kernel) \
    OP(0x080F,      NONE, UNKNOWN,   convolution_integer, OTHER, CONV, 0, MULTIPLIES, \
       samba__convolution_integer_shape, samba__convolution_integer_work, \
       samba__convolution_integer_kernel) \
    OP(0x0810,      NONE, UNKNOWN,   quantize_bytes, OTHER, NONE, 5, NONE, \
       samba__quantize_bytes_shape, samba__blocks_work, samba__quantize_bytes_kernel) \
    OP(0x0811,      NONE, UNKNOWN,   dequantize_bytes, OTHER, NONE, 2, NONE, \
       samba__dequantize_bytes_shape, samba__blocks_work, samba__dequantize_bytes_kernel) \
    OP(0x0812,      NONE, UNKNOWN,   quantize_dynamic, OTHER, NONE, 8, NONE, \
       samba__quantize_dynamic_shape, samba__quantize_dynamic_work, \
       samba__quantize_dynamic_kernel)
/* The numbers of ops: places in samba__op_table. Those that are left out are behind its end. */
enum {
#define X(wire, gradient, spread, name, ...) SAMBA__IF(SAMBA__HAS(name), SAMBA__OP_##name, )
    SAMBA__OPS(X, X, X, X, X)
#undef X
    SAMBA__N_OPS,
#define X(wire, gradient, spread, name, ...) SAMBA__IF_NOT(SAMBA__HAS(name), SAMBA__OP_##name, )
    SAMBA__OPS(X, X, X, X, X)
#undef X
    SAMBA__NO_OP
};

/* At least one SAMBA_USE_<op> has to be defined with SAMBA_SELECT_OPS. */
typedef char samba__ops_are_selected[SAMBA__N_OPS > 0 ? 1 : -1];
/* clang-format on */

/* The shape rule and the work of an op of a family, whose kernel is compiled once. */
#define SAMBA__RULES(name, rule, work, which) \
    SAMBA__FN bool samba__##name##_shape(samba_call *c) \
    { \
        return rule(c, which); \
    } \
    SAMBA__FN void samba__##name##_work(samba_work *w, const samba_call *c) \
    { \
        work(w, c, which); \
    }

/* Which op of a family: bit 0 is set in the gradient ops, bit 1 in one of two kinds. */
enum {
    SAMBA__BACKWARD = 1,
    SAMBA__LOGS = 2,
    SAMBA__LOGS_BACKWARD,
    SAMBA__CENTERED = 2,
    SAMBA__CENTERED_BACKWARD,
    SAMBA__LOGITS = 2,
    SAMBA__LOGITS_BACKWARD
};

/* Counts an axis of an op from the front: one of the dimensions of x and `more`. False after a
   failure, or if x is NULL because something failed before. */
SAMBA__FN bool samba__find_axis(const samba_tensor *x, const char *op, int32_t *axis, int32_t more)
{
    if (!x) return false;
    int32_t given = *axis, n = x->shape.ndim + more;
    if (given < 0) *axis += n;
    if (*axis >= 0 && *axis < n && n <= SAMBA_MAX_DIMS) return true;
    (void)op;
    SAMBA__FAIL((x->session, SAMBA_EARG,
                 "in %s(%s %T %S): axis %d is out of range; axes are -%d ... %d", op, x->name,
                 (int)x->dtype, &x->shape, given, n, n - 1));
    return false;
}

/* Words of samba_args.fault. ELEMENT is INT32_MAX if the index does not fit; LEAST > MOST: the
   range is unknown. The value and the range take two words each, the lower half first. */
enum {
    SAMBA__FAULT_SET,
    SAMBA__FAULT_INPUT,
    SAMBA__FAULT_ELEMENT,
    SAMBA__FAULT_VALUE,
    SAMBA__FAULT_LEAST = SAMBA__FAULT_VALUE + 2,
    SAMBA__FAULT_MOST = SAMBA__FAULT_LEAST + 2,
    SAMBA__FAULT_WORDS = SAMBA__FAULT_MOST + 2
};

/* As SET: a value that is not finite; a thread is writing the other words. */
enum { SAMBA__FAULT_NONFINITE = 2, SAMBA__FAULT_BUSY = 3 };

SAMBA__FN void samba__put_fault_number(int32_t *word, int64_t value)
{
    memcpy(word, &value, sizeof value);
}

SAMBA__FN int64_t samba__fault_number(const int32_t *word)
{
    int64_t value;
    memcpy(&value, word, sizeof value);
    return value;
}

SAMBA__FN void samba__fault_with(const samba_args *a, int32_t which, int64_t value, int64_t element,
                                 int64_t least, int64_t most)
{
    if (!a || !a->fault) return;
    int32_t *f = a->fault;
    int32_t at = element < 0 || element > INT32_MAX ? INT32_MAX : (int32_t)element;

#if defined(__GNUC__) && !defined(SAMBA_NO_THREADS)
    int32_t before = __atomic_exchange_n(&f[SAMBA__FAULT_SET], SAMBA__FAULT_BUSY, __ATOMIC_ACQUIRE);
    while (before == SAMBA__FAULT_BUSY)
        before = __atomic_exchange_n(&f[SAMBA__FAULT_SET], SAMBA__FAULT_BUSY, __ATOMIC_ACQUIRE);
#else
    int32_t before = f[SAMBA__FAULT_SET];
#endif

    if (!before || at < f[SAMBA__FAULT_ELEMENT]) { /* whatever thread comes first */
        f[SAMBA__FAULT_INPUT] = which;
        f[SAMBA__FAULT_ELEMENT] = at;
        samba__put_fault_number(f + SAMBA__FAULT_VALUE, value);
        samba__put_fault_number(f + SAMBA__FAULT_LEAST, least);
        samba__put_fault_number(f + SAMBA__FAULT_MOST, most);
    }

#if defined(__GNUC__) && !defined(SAMBA_NO_THREADS)
    __atomic_store_n(&f[SAMBA__FAULT_SET], 1, __ATOMIC_RELEASE);
#else
    f[SAMBA__FAULT_SET] = 1;
#endif
}

/* Element `element` of input `which` is NaN where an integer is to be made of it: least and most
   are those of no range. */
SAMBA__FN void samba__fault_of_nan(const samba_args *a, int32_t which, int64_t element)
{
    samba__fault_with(a, which, 0, element, INT64_MAX, INT64_MIN);
}

SAMBA_API void samba_fault_at(const samba_args *a, int32_t which, int32_t value, int64_t element,
                              int32_t least, int32_t most)
{
    samba__fault_with(a, which, value, element, least, most);
}

SAMBA_API void samba_fault(const samba_args *a, int32_t which, int32_t value)
{
    samba_fault_at(a, which, value, -1, 0, -1);
}

SAMBA__FN const int32_t *samba__in_i32(const samba_args *a, int32_t i)
{
    return (const int32_t *)(const void *)a->in[i];
}

/* Reads an index, once: what was proved is what is used, even if a mapped file changes then. */
SAMBA__INLINE int32_t samba__index(const int32_t *at)
{
    return *(const volatile int32_t *)at;
}

/* Reads an absent optional input as absent. */
SAMBA__FN bool samba__has(const samba_call *c, int32_t i)
{
    return i < c->n_in && c->in[i].shape.ndim >= 0;
}

/* Expects `least` to `most` inputs, the first `least` of them present, and n_attr attributes. */
SAMBA__FN bool samba__expect(samba_call *c, int32_t least, int32_t most, int32_t n_attr)
{
    if (c->n_in < least || c->n_in > most)
        return samba_refuse(c, SAMBA_EARG, "%d inputs given; %d to %d are needed", c->n_in, least,
                            most);
    for (int32_t i = 0; i < least; i++)
        if (!samba__has(c, i)) return samba_refuse(c, SAMBA_EARG, "input %d is missing", i);
    if (c->n_attr != n_attr)
        return samba_refuse(c, SAMBA_EARG, "%d attributes given, %d needed", c->n_attr, n_attr);
    c->n_out = 1;
    return true;
}

SAMBA__FN bool samba__expect_f32(samba_call *c, int32_t i)
{
    if (samba__has(c, i) && c->in[i].dtype != SAMBA_F32)
        return samba_refuse(c, SAMBA_EDTYPE, "input %d is %T, but must be f32; use samba_cast", i,
                            (int)c->in[i].dtype);
    return true;
}

SAMBA__FN bool samba__expect_float(samba_call *c, int32_t i)
{
    return samba__is_float(c->in[i].dtype) || samba__expect_f32(c, i);
}

/* Expects inputs that are all f32, and makes output 0 one. */
SAMBA__FN bool samba__expect_all_f32(samba_call *c, int32_t least, int32_t most, int32_t n_attr)
{
    if (!samba__expect(c, least, most, n_attr)) return false;
    for (int32_t i = 0; i < most; i++)
        if (!samba__expect_f32(c, i)) return false;
    c->out[0].dtype = SAMBA_F32;
    return true;
}

SAMBA__FN int32_t samba__wrap_axis(const samba_tensor *x, int32_t axis)
{
    return x && axis < 0 ? axis + x->shape.ndim : axis;
}

SAMBA__FN bool samba__expect_axis(samba_call *c, int32_t axis)
{
    int32_t n = c->in[0].shape.ndim;
    if (axis < 0 || axis >= n)
        return samba_refuse(c, SAMBA_EARG,
                            "axis %d is out of range; input 0 %S has %d dimensions, so -%d ... %d",
                            axis, &c->in[0].shape, n, n, n - 1);
    return true;
}

SAMBA__FN void samba__push_dim(samba_shape *s, int32_t dim)
{
    s->dim[s->ndim++] = dim;
}

/* n <= SAMBA_MAX_DIMS dimensions as a shape. */
SAMBA__FN samba_shape samba__shape_of(const int32_t *dim, int32_t n)
{
    samba_shape s = samba_scalar_shape();
    for (int32_t i = 0; i < n; i++)
        samba__push_dim(&s, dim[i]);
    return s;
}

SAMBA__FN int64_t samba__last_dim(const samba_spec *x)
{
    return x->shape.dim[x->shape.ndim - 1];
}

/* Appends a dimension of n to output 0. */
SAMBA__FN bool samba__append_dim(samba_call *c, int32_t n)
{
    samba_shape *y = &c->out[0].shape;
    if (n <= 0)
        return samba_refuse(c, SAMBA_EARG, "a dimension of %d is asked for; make it 1 or more", n);
    if (y->ndim >= SAMBA_MAX_DIMS)
        return samba_refuse(c, SAMBA_ESHAPE, "%S and one more dimension are too many", y);
    samba__push_dim(y, n);
    return true;
}

/* x with the axes of the mask dropped, or 1 if they are kept. */
SAMBA__FN samba_shape samba__reduced(const samba_shape *x, int32_t mask, bool keep)
{
    samba_shape s = samba_scalar_shape();
    for (int32_t i = 0; i < x->ndim; i++) {
        bool gone = mask >> i & 1;
        if (!gone || keep) samba__push_dim(&s, gone ? 1 : x->dim[i]);
    }
    return s;
}

/* Expects one input and, as attributes, one number per dimension or axis. */
SAMBA__FN bool samba__expect_dims(samba_call *c)
{
    if (c->n_attr > SAMBA_MAX_DIMS)
        return samba_refuse(c, SAMBA_ESHAPE, "more than %d dimensions", SAMBA_MAX_DIMS);
    return samba__expect(c, 1, 1, c->n_attr);
}

/* Expects what the signature says, and n_attr attributes. */
SAMBA__FN bool samba__expect_match(samba_call *c, const char *signature, int32_t n_attr)
{
    samba__binding b;
    if (c->n_attr != n_attr)
        return samba_refuse(c, SAMBA_EARG, "%d attributes given, %d needed", c->n_attr, n_attr);
    return samba__match(signature, c, &b);
}

/* The shape rule of an op that has only these two. */
#define SAMBA__MATCHES(name, signature, n_attr) \
    SAMBA__FN bool samba__##name##_shape(samba_call *c) \
    { \
        return samba__expect_match(c, signature, n_attr); \
    }

